"""What carries a session's state on: closing a session writes its page."""
