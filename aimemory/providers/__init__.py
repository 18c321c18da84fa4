"""Where vectors come from: files on this machine, or an endpoint that somebody configured. Nothing here is needed."""
