"""Bundles of the Open Knowledge Format on disk."""
