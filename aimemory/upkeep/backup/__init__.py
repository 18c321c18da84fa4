"""Backups: one archive file that holds everything that is no cache, and the way back.

`contents` says what belongs, `archive` is the format, `make` takes a consistent copy beside a running daemon, `check`
restores one into a scratch directory, `restore` puts one in place.
"""
