"""Transcripts: what harnesses record of their sessions themselves, as events of the same type that their hooks give."""
