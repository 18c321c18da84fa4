"""What runs as an agent's MCP server: JSON-RPC lines on stdio to the daemon's `/mcp` and back.

Stands beside the stack, standard library only, and starts in about the time of a bare interpreter.
"""
