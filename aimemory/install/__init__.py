"""Edits to other programs' configuration, and the launchers that such configuration names."""
