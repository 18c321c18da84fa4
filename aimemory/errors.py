"""Every error a user can meet.

    AimemoryError
    ├── UserError          can be fixed by the user: bad input, unknown page, refused scope   exit 2,  HTTP 400
    │   ├── NotFound       the thing named does not exist                                      exit 2,  HTTP 404
    │   ├── TooLarge       more bytes than the limit that the message names                    exit 2,  HTTP 413
    │   └── Forbidden      a foreign Host or Origin; `Unauthorized` without a token            exit 2,  HTTP 403, 401
    ├── Conflict           someone else was first: the page changed on disk                    exit 3,  HTTP 409
    ├── Unavailable        later may work: daemon down, queue full, index rebuilding           exit 75, HTTP 503
    │   ├── Unanswered     a directory that hangs; what happens in others isn't concerned      exit 75, HTTP 503
    │   └── Busy           the queue is full; `retry_after_s` says when to come back           exit 75, HTTP 429
    └── Damaged            data is not what we wrote; names the file and the repair            exit 1,  HTTP 500

A class exists because a caller does something different. A message says what happened, where, and what to do now;
it never holds page text, prompts or tokens. Bugs are not in this tree: they keep their traceback.
"""


class AimemoryError(Exception):
    """Root of the tree; `exit_code` and `http_status` are what the surfaces' translators use."""

    exit_code = 1
    http_status = 500


class UserError(AimemoryError):
    exit_code = 2
    http_status = 400


class NotFound(UserError):
    http_status = 404


class TooLarge(UserError):
    http_status = 413


class Forbidden(UserError):
    http_status = 403


class Unauthorized(Forbidden):
    http_status = 401


class Conflict(AimemoryError):
    """Someone else was first. `current` is the text that stands now, `version` its token, where there is one.

    `kept` is the id of the conflict copy that holds what could not be written.
    """

    exit_code = 3
    http_status = 409

    def __init__(
        self, message: str, *, current: str | None = None, version: str | None = None, kept: str | None = None
    ) -> None:
        super().__init__(message)
        self.current = current
        self.version = version
        self.kept = kept


class Unavailable(AimemoryError):
    exit_code = 75
    http_status = 503


class Unanswered(Unavailable):
    pass


class Busy(Unavailable):
    http_status = 429

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Damaged(AimemoryError):
    exit_code = 1
    http_status = 500
