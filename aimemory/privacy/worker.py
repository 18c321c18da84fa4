"""One warm process that sanitises large payloads, so that the daemon's loop never waits for a pattern.

Patterns hold the interpreter lock, so a thread would not do. This module owns the process, one thread and the pipe
between; what is sanitised and how is the same code as in the daemon.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import IO, NamedTuple, cast

from aimemory.errors import Busy, Unavailable
from aimemory.model.event import Json
from aimemory.privacy.frames import DONE, HEADER_BYTES, NOT_JSON, read_frame, write_frame
from aimemory.privacy.sanitized import PRIVACY_SEAL, Sanitized

_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
_START = "import sys; sys.path.insert(0, sys.argv[1]); from aimemory.privacy.child import serve; serve()"
_ATTEMPTS = 2


class WorkerFailed(Unavailable):
    """The sanitising process died twice over a payload, or took too long; nothing of the payload was kept."""


_STOPPING = "The sanitising process is stopped, since the daemon is stopping. Send the event again later."


def _failed(problem: str, job: "_Job") -> WorkerFailed:
    return WorkerFailed(
        f"The sanitising process {problem} over a payload of {len(job.body)} bytes. Nothing of it was kept."
    )


class _Job(NamedTuple):
    body: bytes
    leaf_cap_bytes: int
    result: "Future[Sanitized[Json]]"


class Worker:
    """Sanitises payloads one after another in a process that starts with the first and is restarted when it dies."""

    def __init__(
        self, settings: Mapping[str, object] | None = None, timeout_s: float = 30.0, most_waiting: int = 16
    ) -> None:
        """settings: the `[privacy]` table that the process is put under, as `privacy.settings` takes it."""
        self._settings = json.dumps(settings or {}).encode()
        self._timeout_s = timeout_s
        self._most_waiting = most_waiting
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards _thread and _closed; held for moments
        self._thread: threading.Thread | None = None
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process that runs now, if one does."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def submit(self, body: bytes, leaf_cap_bytes: int = 65536) -> "Future[Sanitized[Json]]":
        """The payload as `sanitize_payload` would give it, later.

        The future ends within the time limit of each payload before it and its own. It raises ValueError for what is
        not JSON, as `sanitize_payload` does, and WorkerFailed when the process could not do it.
        Raises Busy at once when too many payloads wait, WorkerFailed after `close`.
        """
        result: Future[Sanitized[Json]] = Future()
        with self._lock:
            if self._closed:
                raise WorkerFailed(_STOPPING)
            if self._jobs.qsize() >= self._most_waiting:
                raise Busy(
                    f"{self._most_waiting} large payloads wait to be sanitised. Send this one again in a second."
                )
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sanitise", daemon=True)
                self._thread.start()
            self._jobs.put(_Job(body, leaf_cap_bytes, result))
        return result

    def close(self, wait_s: float = 2.0) -> None:
        """Give the payload at work `wait_s` to finish, refuse those that wait, end the process. May be called twice."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._jobs.put(None)
        if thread is None:
            return
        thread.join(wait_s)
        while thread.is_alive():  # again and again, since the thread may only now be starting the process
            process = self._process
            if process is not None:
                process.kill()
            thread.join(0.05)

    def _run(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                if not job.result.set_running_or_notify_cancel():
                    continue
                if self._closed:
                    job.result.set_exception(WorkerFailed(_STOPPING))
                    continue
                try:
                    self._do(job)
                except MemoryError:
                    job.result.set_exception(_failed("gave an answer too large for this machine", job))
        finally:
            self._stop_process()

    def _do(self, job: _Job) -> None:
        problem = f"died {_ATTEMPTS} times"
        for _ in range(_ATTEMPTS):
            try:
                answer, late = self._exchange(job)
            except OSError as error:
                problem = f"can't be started ({error.strerror})"
                break
            if answer is not None:
                self._resolve(job, answer)
                return
            self._stop_process()
            if late or self._closed:
                problem = f"took longer than {self._timeout_s:g} s" if late else "was stopped"
                break
        job.result.set_exception(_failed(problem, job))

    def _exchange(self, job: _Job) -> tuple[bytes | None, bool]:
        """The answer, or None if the process died, with whether that was for its being late."""
        process = self._running()
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._timeout_s, stop)
        timer.start()
        try:
            write_frame(cast(IO[bytes], process.stdin), job.leaf_cap_bytes.to_bytes(HEADER_BYTES, "big"), job.body)
            answer = read_frame(cast(IO[bytes], process.stdout))
        except BrokenPipeError:
            answer = None
        finally:
            timer.cancel()
            timer.join()
        return answer, late.is_set()

    def _resolve(self, job: _Job, answer: bytes) -> None:
        status, content = answer[:1], answer[1:]
        if status == DONE:
            value, counts = json.loads(content)
            job.result.set_result(Sanitized(value, counts, PRIVACY_SEAL))
        elif status == NOT_JSON:
            job.result.set_exception(ValueError(content.decode()))
        else:
            job.result.set_exception(_failed(f"ran into {content.decode()}", job))

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self._stop_process()
            # own session: an interrupt typed at the daemon's terminal must not end what the daemon still has to finish;
            # no standard error: a traceback could name what is in a payload
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, _PACKAGE_ROOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
            write_frame(cast(IO[bytes], self._process.stdin), self._settings)
        return self._process

    def _stop_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:  # what was buffered for a process that is gone
                    pass
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
