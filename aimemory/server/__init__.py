"""The HTTP and MCP faces of the daemon: parse, call one operation, render. Nothing here decides."""
