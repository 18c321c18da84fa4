"""Whether a living data directory is what we wrote: read-only, each part by a module, `run` for all."""
