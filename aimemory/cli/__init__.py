"""The command line: parse, call the daemon, print. Imports per command, light by default."""
