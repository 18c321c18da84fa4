"""Looks at everything from outside: files, daemon, stores, agents. Each finding has its evidence and one fix."""
