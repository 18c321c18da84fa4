"""Running the daemon: lock, sockets, signals, start and stop."""

import asyncio
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable

from aimemory import __version__, datadir
from aimemory.config import Config
from aimemory.daemon.build import build
from aimemory.daemon.mend import finish_mending, tell_of_finished
from aimemory.daemon.parts import Parts
from aimemory.daemon.tasks import TASKS, Supervisor
from aimemory.errors import AimemoryError, UserError
from aimemory.harness.registry import load_registry
from aimemory.index.events import keys_after, last_of_harnesses, stored_hashes
from aimemory.index.purges import stored_purges
from aimemory.install.launchers import write_launchers
from aimemory.journal.lines import Line
from aimemory.privacy import settings
from aimemory.server.auth import Guard, load_token
from aimemory.server.listen import Listener, inherited_socket, tcp_socket, unix_socket
from aimemory.server.logs import set_up_logging
from aimemory.store.cutoff import take_back_cut_off
from aimemory.wiki.files import WikiFiles

log = logging.getLogger(__name__)

_OPEN_REQUESTS_S = 1.5
_AGAIN_S = 5.0
_STOP_S = 4.5
_QUICK_TAIL = 20_000
"""So many lines that the index doesn't show yet are read before the first answer: some 0.2 s."""


def serve(config: Config, *, foreground: bool) -> None:
    """Run the daemon until SIGTERM, SIGINT or a stop request.

    Raises AlreadyRunning when another one owns the data directory, UserError when that directory can't be used,
    AimemoryError when a task failed that it can't do without.
    """
    os.umask(0o077)
    tightened = config.data.create()
    with datadir.instance_lock(config.data):
        set_up_logging(config.data.log_file, config.storage.log_bytes, foreground=foreground)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run(config, tightened, foreground))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # the daemon runs without it, slower
        return None
    return uvloop.new_event_loop


async def _run(config: Config, tightened: list[str], foreground: bool) -> None:
    parts = build(config, tightened)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, parts.stopping.set)
    supervisor = Supervisor(parts)
    token = load_token(config.data.token_file)
    listener = Listener(parts.app, Guard(parts.app, token, config.server.allow_remote), __version__)
    try:
        await _open(parts)
        finished = await finish_mending(parts)
        supervisor.start()
        sockets = _sockets(config)
        await listener.open(sockets)
        _announce(parts, sockets)
        write_launchers(config.data, load_registry().reply_events(), spool_bytes=config.storage.spool_bytes)
        _write_privacy_settings(config)
        log.info("started", extra={"pid": os.getpid(), "version": __version__, "data": str(config.data.root)})
        if foreground:
            print(f"aimemory {__version__} serves {config.data.root}; Ctrl-C stops it.", flush=True)  # noqa: T201
        catch_up = asyncio.create_task(_catch_up(parts, finished), name="catch-up")
        await parts.stopping.wait()
        catch_up.cancel()
        await asyncio.gather(catch_up, return_exceptions=True)
    finally:
        await _stop(parts, supervisor, listener)
    if supervisor.failed:  # whoever watches this process must see that nobody asked for its end
        raise AimemoryError(f"The task {supervisor.failed} failed, so the daemon stopped. See {config.data.log_file}.")


async def _open(parts: Parts) -> None:
    """What the first event needs: the end of the journal, the index, the known projects."""
    parts.journal.open()
    had_index = await parts.projector.open()
    shown, last = parts.projector.applied_seq, parts.journal.last_seq
    if shown > last:
        parts.projector.note_damage(f"lines {last + 1} to {shown} of the journal are gone: the index had seen them")
        parts.journal.skip_to(shown)
    parts.projector.expect(last)
    if shown > last or (not had_index and (last or any(parts.config.data.wiki.glob("*/*")))):
        parts.projector.ask_rebuild()
    for data in await parts.projector.execute(stored_purges):
        parts.forgotten.take(data)
    parts.purge.prime()

    def on_line(line: Line) -> None:
        if line.type == "purge":
            parts.forgotten.take(line.data)

    known = shown if had_index and shown <= last else 0
    prime = parts.dedupe.prime(parts.config.data.journal, known, on_line)
    if last - shown <= _QUICK_TAIL:
        await prime
    else:
        parts.state.background.append(asyncio.create_task(prime, name="keys"))  # events wait for it, and then spool
    await parts.projects.load()


async def _catch_up(parts: Parts, finished: list[str]) -> None:
    """What may come a little after the first answer; each step is repeated until it has succeeded once.

    finished: what was done about a mending that was cut off.
    """

    async def known_keys() -> None:
        await parts.projector.settled()
        await parts.projector.reached(parts.projector.applied_seq + parts.projector.lag)
        await asyncio.to_thread(parts.dedupe.load, await _stored_digests(parts))

    async def known_harnesses() -> None:
        for harness, event, at_ns in await parts.reader.read(last_of_harnesses()):
            parts.counters.known(harness, event, at_ns)

    async def purge_left() -> None:
        await parts.purge.finish()

    async def mending_told() -> None:
        await tell_of_finished(parts, finished)

    async def vectors_begun() -> None:
        parts.vectors.begin()

    async def cut_off() -> None:
        await take_back_cut_off(
            parts.journal.ended_with, files=WikiFiles(parts.config.data.wiki), reader=parts.reader,
            writer=parts.writer, projector=parts.projector, clock=parts.clock, actor=parts.actor,
        )  # fmt: skip

    steps = (
        mending_told, known_keys, cut_off, known_harnesses, vectors_begun, parts.refiling.finish,
        parts.pages.hand_edits.take_stock, parts.relinking.finish, purge_left,
    )  # fmt: skip
    for step in steps:
        while True:
            try:
                await step()
                parts.state.pulses["scheduler"].over("start: ")
                break
            except (AimemoryError, OSError) as error:
                parts.state.pulses["scheduler"].fail(f"start: {error}")
                await asyncio.sleep(_AGAIN_S)


async def _stored_digests(parts: Parts) -> list[str]:
    """Keys and payload hashes of everything stored."""
    digests: list[str] = []
    last = ""
    while page := await parts.reader.read(keys_after(last)):
        digests += page
        last = page[-1]
    return digests + await parts.reader.read(stored_hashes())


def _sockets(config: Config) -> list[socket.socket]:
    sockets = [inherited_socket() if config.activated else unix_socket(config.data.socket)]
    if config.server.tcp:
        host = config.server.host
        if host not in ("127.0.0.1", "::1", "localhost") and not config.server.allow_remote:
            raise UserError(
                f"[server] host is {host}, which others can reach. Set [server] allow_remote = true if that is meant; "
                "everyone who has the token can then read and write all of this memory."
            )
        try:
            sockets.append(tcp_socket("127.0.0.1" if host == "localhost" else host, config.server.port))
        except AimemoryError as error:  # hooks, command line and MCP shim don't need it
            log.warning("no TCP", extra={"reason": str(error)})
    return sockets


def _announce(parts: Parts, sockets: list[socket.socket]) -> None:
    """Write the `endpoint` file: where the daemon listens now."""
    where: dict[str, object] = {"socket": str(parts.config.data.socket), "pid": os.getpid(), "version": __version__}
    for sock in sockets:
        if sock.family != socket.AF_UNIX:
            host, port = sock.getsockname()[:2]
            where["tcp"] = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            if port != parts.config.server.port and parts.config.server.port:
                where["note"] = f"port {parts.config.server.port} was taken"
    parts.state.endpoint = where
    datadir.write_atomic(parts.config.data.endpoint, json.dumps(where, indent=2).encode() + b"\n")


async def _stop(parts: Parts, supervisor: Supervisor, listener: Listener) -> None:
    """Everything acknowledged is on disk and, where that is quick, in index and git. Ends within five seconds."""
    log.info("stopping")
    _end_anyway(_STOP_S, 1 if supervisor.failed else 0)
    await listener.close(_OPEN_REQUESTS_S)
    if not parts.config.activated:
        parts.config.data.socket.unlink(missing_ok=True)
    parts.config.data.endpoint.unlink(missing_ok=True)
    for task in reversed(TASKS):
        if task.name not in ("writer", "projector", "committer"):
            await supervisor.stop(task.name)
    await parts.vectors.close()
    await asyncio.to_thread(parts.automatic.close)
    await asyncio.to_thread(parts.selfcheck.close)
    await parts.writer.close()
    await supervisor.stop("writer")
    await supervisor.stop("projector")
    await parts.reader.close()
    await parts.projector.close(parts.writer.last_seq)
    await supervisor.stop("committer")
    await parts.committer.close()
    await asyncio.to_thread(parts.worker.close)
    log.info("stopped")


def _end_anyway(after_s: float, code: int) -> None:
    """End this process after that time, whatever its threads are at then: packing git's objects, a look at a directory
    that doesn't answer. No less than after a kill is on disk, since what was acknowledged is durable."""

    def end() -> None:
        names = ", ".join(sorted(thread.name for thread in threading.enumerate() if not thread.daemon))
        log.warning("cut off at the stop", extra={"threads": names})
        os._exit(code)

    timer = threading.Timer(after_s, end)
    timer.daemon = True
    timer.start()


def _write_privacy_settings(config: Config) -> None:
    """For hooks that find no daemon; see `privacy.settings`."""
    path, table = config.data.privacy_file, config.privacy.table()
    if table:
        datadir.write_atomic(path, settings.render(table))
    else:
        path.unlink(missing_ok=True)
