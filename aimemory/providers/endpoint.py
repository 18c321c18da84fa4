"""Vectors from an endpoint that speaks OpenAI's `embeddings`, here or elsewhere. Only where one is configured.

What leaves passes the privacy boundary in this very module once more. Redirects are not followed and no proxy of the
environment is used: text goes where the setting says and nowhere else.
"""

import http.client
import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from aimemory.errors import Unavailable
from aimemory.privacy import Sanitized, sanitize
from aimemory.providers.vectors import Matrix, Model, unit

PROVIDER = "endpoint"
PROBE = "aimemory"

_CONNECT_S = 5.0
_MOST_BYTES = 32 << 20
_MOST_DIMENSION = 8192


@dataclass(frozen=True, slots=True)
class Place:
    """Where to ask. url: of the `embeddings` route. key: sent as a bearer token, or empty."""

    url: str
    model: str
    key: str = ""


class Endpoint:
    """One request at a time from each thread."""

    def __init__(self, place: Place, limit_s: float) -> None:
        """Asks once, for the dimension. Blocks. Raises Unavailable where there is no answer that can be used."""
        self._place = place
        self._live: set[http.client.HTTPConnection] = set()
        self._closed = False
        found = self._ask([sanitize(PROBE)], limit_s)
        self.model = Model(PROVIDER, f"{place.model} at {place.url}", found.shape[1])

    def embed(self, texts: Sequence[Sanitized[str]], limit_s: float) -> Matrix:
        """One row for each text, of length 1. Blocks. Raises Unavailable, also when `limit_s` is over."""
        found = self._ask(texts, limit_s)
        if found.shape[1] != self.model.dimension:
            raise Unavailable("The endpoint answers with vectors of another length than before.")
        return found

    def close(self) -> None:
        """End what is under way."""
        self._closed = True
        for connection in list(self._live):
            _cut(connection)

    def _ask(self, texts: Sequence[Sanitized[str]], limit_s: float) -> Matrix:
        body = {"model": self._place.model, "input": [sanitize(text.value).value for text in texts]}
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "aimemory"}
        if self._place.key:
            headers["Authorization"] = f"Bearer {self._place.key}"
        status, answer = self._exchange(json.dumps(body).encode(), headers, limit_s)
        if status != 200:
            raise Unavailable(f"The endpoint for vectors answered with status {status}.")
        return _matrix(answer, len(texts))

    def _exchange(self, body: bytes, headers: dict[str, str], limit_s: float) -> tuple[int, bytes]:
        parts = urlsplit(self._place.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=min(limit_s, _CONNECT_S))
        timer = threading.Timer(limit_s, _cut, (connection,))  # a limit for the whole, however slowly bytes come
        timer.daemon = True
        self._live.add(connection)
        try:
            if self._closed:
                raise Unavailable("The daemon is stopping.")
            timer.start()
            connection.connect()
            connection.sock.settimeout(limit_s)
            connection.request("POST", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}", body, headers)
            response = connection.getresponse()
            answer = response.read(_MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"The endpoint for vectors doesn't answer ({type(error).__name__}).") from error
        finally:
            timer.cancel()
            self._live.discard(connection)
            connection.close()
        return response.status, answer


def _cut(connection: http.client.HTTPConnection) -> None:
    try:
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is closed already
        pass


def _matrix(answer: bytes, wanted: int) -> Matrix:
    try:
        rows: list[Any] = sorted(json.loads(answer)["data"], key=lambda row: row["index"])
        found = np.array([row["embedding"] for row in rows], np.float32)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unavailable("The endpoint's answer holds no vectors.") from error
    if found.ndim != 2 or found.shape[0] != wanted or not 0 < found.shape[1] <= _MOST_DIMENSION:
        raise Unavailable("The endpoint's answer holds other vectors than were asked for.")
    if not np.isfinite(found).all():
        raise Unavailable("The endpoint's answer holds no numbers.")
    return unit(found)
