"""The bounded text given to a starting session: parts, filled to a budget, inside one untrusted block. No IO."""
