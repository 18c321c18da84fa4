"""An endpoint for vectors on loopback. Importing this skips the module where the extra can't be had."""

import hashlib
import importlib.util
import json
import platform
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aimemory.privacy import sanitize


def _need_extra():
    """Where the extra has a wheel it must be installed, or these tests would never run."""
    if importlib.util.find_spec("wordllama") is None:
        has_wheel = sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14)
        assert not has_wheel, "the extra is missing: pip install -e '.[test]'"
        pytest.skip("the extra has no wheel for this machine", allow_module_level=True)


_need_extra()


def clean(*texts):
    return [sanitize(text) for text in texts]


class StandIn:
    """Speaks `embeddings`: a vector counts the words of a text by hash. Keeps what was sent; does what it is told.

    dimension: of its vectors. status: what it answers with. answer: bytes in place of vectors. pause: an event for
    which each request waits.
    """

    def __init__(self):
        self.dimension = 32
        self.status = 200
        self.answer = None
        self.pause = None
        self.refused = ""
        self.requests = []
        self.headers = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.headers.append(dict(self.headers))
                if outer.pause is not None:
                    outer.pause.wait(60)
                is_refused = outer.refused and any(outer.refused in text for text in body["input"])
                status = 400 if is_refused else outer.status
                answer = outer.answer if outer.answer is not None else json.dumps(outer.vectors(body)).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/embeddings"

    def vectors(self, body):
        rows = []
        for number, text in enumerate(body["input"]):
            row = [0.01] * self.dimension
            for word in text.lower().split():
                row[hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1.0
            rows.append({"index": number, "embedding": row})
        return {"data": rows[::-1]}  # in any order, as the interface allows

    @property
    def sent(self):
        return [text for body in self.requests for text in body["input"]]

    def close(self):
        if self.pause is not None:
            self.pause.set()
        self._server.shutdown()
        self._server.server_close()
