"""Append-only JSON lines in shared segments: one global sequence, a checksum per line, group commit.

The journal is the truth of everything that happened. It knows nothing of what a line means; see `store`.
"""
