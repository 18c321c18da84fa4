"""The only place that combines wiki, journal and index: makes a change durable, applies it, commits it."""
