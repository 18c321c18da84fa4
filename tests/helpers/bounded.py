"""Work that is cut off where it takes too long."""

import signal


def is_done_within(limit_s: float, work) -> bool:
    """Whether the work takes less; what takes more is cut off, since a slow pattern could take days."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit_s)  # of this process; `re` looks for signals while it matches
    try:
        work()
        return True
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
