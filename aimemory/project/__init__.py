"""Which project a directory belongs to: one resolver and one view of the known projects, used by every part."""
