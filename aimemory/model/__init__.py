"""Values, ids and small protocols of the domain: no IO, no third-party import."""
