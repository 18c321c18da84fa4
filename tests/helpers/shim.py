"""The installed MCP launcher as an agent starts it."""

import json
import subprocess


class Client:
    """Speaks JSON-RPC lines with `bin/mcp`, as an agent does."""

    def __init__(self, daemon, cwd):
        self.process = subprocess.Popen(
            [str(daemon.data.mcp_launcher)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=cwd, env={"HOME": str(daemon.home), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        self.number = 0

    def begin(self):
        self.call(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"}
        )
        return self

    def call(self, method, **params):
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number
        return answer

    def tool(self, name, **arguments):
        """(text, is_error) of a tool call."""
        result = self.call("tools/call", name=name, arguments=arguments)["result"]
        return result["content"][0]["text"], bool(result.get("isError"))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)
