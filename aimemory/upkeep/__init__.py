"""Jobs on what is stored, and when they run."""
