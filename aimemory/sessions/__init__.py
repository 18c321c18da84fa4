"""Sessions as pure functions: observations to a session's state, state to the session page. No IO."""
