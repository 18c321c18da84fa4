"""Page files: read with a version token, written atomically against one, never through a symlink.

The only writer of files below `wiki/`. What a page means is left to `parse`, who may write it to `store`.
"""

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from aimemory import points
from aimemory.datadir import TEMP_PREFIX, sync_fd
from aimemory.errors import AimemoryError, Conflict, NotFound, TooLarge, Unavailable, UserError
from aimemory.model.ids import Version, page_version
from aimemory.privacy import Sanitized
from aimemory.wiki.exchange import exchange, has_writer
from aimemory.wiki.walk import Stat, stat_of

MAX_PAGE_BYTES = 8 * 1024 * 1024
"""Far above what a person writes; below it a page can be read, hashed and committed in one piece."""

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | _CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | _CLOEXEC  # O_NONBLOCK: a fifo must not hang us
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | _CLOEXEC
_NOT_OURS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO)
"""What `open` says of a link (differs by platform), of a file in a folder's place, and of a socket."""
_CLOSED = (errno.EACCES, errno.EPERM)
_WRITER_TRIES, _WRITER_PAUSE_S = 10, 0.01
"""A save takes milliseconds; who holds a page open for longer has it put back."""
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class WikiFiles:
    """The files below `root`. Paths are relative, with `/`, as `names.check_page_path` returns them.

    Each folder of a path is opened relative to the one before it and no link is followed, so neither a symlink in the
    tree nor one that appears meanwhile leads out of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str) -> tuple[bytes, Version]:
        """The bytes of a page and the token that a write must give back.

        Raises NotFound; UserError for a link, a folder or a device; TooLarge above `MAX_PAGE_BYTES`; Unavailable, as
        all methods do, where the system lets nobody in or the wiki itself is away.
        """
        content = self._content(path)
        if content is None:
            raise NotFound(f"There is no page {path} in the wiki. `aimemory search` finds it by its words.")
        return content, page_version(content)

    def read_each(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes, Version]]:
        """Path, bytes and token of each page that can be read; what `read` would refuse is left out.

        Paths of one folder that follow each other cost one way down to it: half the time of a `read` each.
        """
        for _, some in groupby(paths, key=lambda path: path.rpartition("/")[0]):
            among = list(some)
            try:
                with self._folder(among[0]) as (folder, _name):
                    for path in among if folder is not None else ():
                        assert folder is not None
                        try:
                            content = _read_at(path, folder, path.rpartition("/")[2])
                        except AimemoryError:
                            continue
                        if content is not None:
                            yield path, content, page_version(content)
            except AimemoryError:  # a link or a file in a folder's place
                continue

    def version(self, path: str) -> Version | None:
        """The version token of the file as it is now; None when there is none. Raises as `read` does."""
        content = self._content(path)
        return None if content is None else page_version(content)

    def stat(self, path: str) -> Stat | None:
        """What a walk would remember of the file; None when there is none, or something else in its place."""
        with self._folder(path) as (folder, name):
            try:
                found = None if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return None
        return stat_of(found, time.time_ns()) if found is not None and stat.S_ISREG(found.st_mode) else None

    def write(self, path: str, content: Sanitized[bytes] | Sanitized[str], expected: Version | None) -> Version:
        """Replace the page whose version is `expected`, or create it when `expected` is None.

        Missing folders are made. What is replaced is looked at once more when it has given way, and put back if it is
        another version, so no save in between is lost; readers and crashes see the old page or the new one. Durable on
        return; the file's mode is kept. Returns the new version.
        Raises Conflict, with the text and version that stand, when the page is another one than expected; TooLarge.
        """
        raw = content.value
        data = raw if isinstance(raw, bytes) else raw.encode("utf-8")
        if len(data) > MAX_PAGE_BYTES:
            raise TooLarge(f"{path} would have {len(data)} bytes; a page has at most {MAX_PAGE_BYTES}. Split it.")
        with self._folder(path, create=expected is None) as (folder, name):
            if folder is None:
                raise self._conflict(path, None)
            self._check(path, folder, name, expected)
            temp = self._temp_file(folder, name, data)
            try:
                points.reached("page.temp-synced")
                if expected is None:
                    self._move_new(path, folder, temp, name)
                else:
                    self._check(path, folder, name, expected)
                    self._replace(path, folder, temp, name, expected, page_version(data))
            except BaseException:
                _unlink_if_there(temp, folder)
                raise
            points.reached("page.named")
            os.fsync(folder)
        return page_version(data)

    def delete(self, path: str, expected: Version) -> None:
        """Remove the page whose version is `expected`. Durable on return. Raises NotFound; Conflict as `write` does."""
        gone = f"There is no page {path} in the wiki: it is already gone."
        with self._folder(path) as (folder, name):
            if folder is None or _read_at(path, folder, name) is None:
                raise NotFound(gone)
            self._check(path, folder, name, expected)
            aside = f"{TEMP_PREFIX}{secrets.token_hex(8)}"
            try:
                os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            except FileNotFoundError:
                raise NotFound(gone) from None
            content = _settled(path, folder, aside)
            if _version_of(content) != expected:  # saved since the check: it comes back
                try:
                    self._move_new(path, folder, aside, name)
                except Conflict:  # and saved once more since: the newer one stands
                    _unlink_if_there(aside, folder)
                raise self._conflict(path, _read_at(path, folder, name))
            os.unlink(aside, dir_fd=folder)
            points.reached("page.removed")
            os.fsync(folder)

    def rename(self, old: str, new: str) -> None:
        """Give a file or a folder another place; missing folders of the new one are made. Durable on return.

        Raises NotFound when there is nothing, Conflict when something is in the new place.
        """
        with self._folder(old) as (source, name), self._folder(new, create=True) as (target, new_name):
            if source is None or target is None or not _is_there(source, name):
                raise NotFound(f"There is nothing at {old} in the wiki.")
            if _is_there(target, new_name):
                raise Conflict(f"There is something at {new} in the wiki already.")
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
            points.reached("page.moved")
            os.fsync(target)
            os.fsync(source)

    def exists(self, path: str) -> bool:
        """Whether a file, a folder or anything else is there."""
        with self._folder(path) as (folder, name):
            return folder is not None and _is_there(folder, name)

    def standing(self, path: str, otherwise: Version | None = None) -> Version | None:
        """As `version`, after a failure of the disk or where it doesn't matter: `otherwise` when it can't be told."""
        try:
            return self.version(path)
        except (OSError, UserError, Unavailable):
            return otherwise

    def existing(self, paths: Iterable[str]) -> set[str]:
        """Those of these pages that lie on the disk now, or may: what can't be looked at counts as there. Blocks."""
        return {path for path in paths if _may_be_there(self.root / path)}

    def _content(self, path: str) -> bytes | None:
        with self._folder(path) as (folder, name):
            return None if folder is None else _read_at(path, folder, name)

    def _check(self, path: str, folder: int, name: str, expected: Version | None) -> None:
        content = _read_at(path, folder, name)
        if _version_of(content) != expected:
            raise self._conflict(path, content)

    def _conflict(self, path: str, content: bytes | None) -> Conflict:
        if content is None:
            return Conflict(f"{path} was removed since it was read. Write it as a new page if it should exist.")
        return Conflict(
            f"{path} changed on disk since it was read, or exists already. Read it and repeat the write.",
            current=content.decode("utf-8", "replace"),
            version=page_version(content),
        )

    def _temp_file(self, folder: int, name: str, data: bytes) -> str:
        """A synced file with the new content and the old file's mode, in the same folder."""
        temp = f"{TEMP_PREFIX}{secrets.token_hex(8)}"
        fd = os.open(temp, _CREATE_FLAGS, 0o600, dir_fd=folder)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                try:
                    old = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
                except FileNotFoundError:
                    pass  # a new page keeps 0600
                sync_fd(file.fileno())
        except BaseException:
            _unlink_if_there(temp, folder)
            raise
        return temp

    def _replace(self, path: str, folder: int, temp: str, name: str, expected: Version, ours: Version) -> None:
        """Put `temp` in the place of the page, unless that is another version by then.

        The two change places, so what was saved since the check is in our hands instead of lost, and goes back.
        Where the file system can't exchange names, what is saved between the check and the rename is lost.
        """
        try:
            exchanged = exchange(temp, name, folder)
        except FileNotFoundError:  # removed since the check
            raise self._conflict(path, None) from None
        if not exchanged:
            os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        content = _settled(path, folder, temp)
        if _version_of(content) != expected:
            self._put_back(path, folder, temp, name, ours)
            raise self._conflict(path, _read_at(path, folder, name))
        os.unlink(temp, dir_fd=folder)

    def _put_back(self, path: str, folder: int, temp: str, name: str, standing: Version) -> None:
        """Give `temp` the name again that has `standing` now; if somebody saves meanwhile, the newest save has it."""
        for _ in range(_WRITER_TRIES):
            going_back = _version_of(_settled(path, folder, temp))
            try:
                exchange(temp, name, folder)
            except FileNotFoundError:  # taken away since; what was saved before is kept all the same
                self._move_new(path, folder, temp, name)
                return
            if _version_of(_settled(path, folder, temp)) == standing:
                return
            standing = going_back or standing

    def _move_new(self, path: str, folder: int, temp: str, name: str) -> None:
        """Give the file its name only if nobody has it: of two creators one wins, the other gets a Conflict."""
        try:
            os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise self._conflict(path, _read_at(path, folder, name)) from None
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            try:  # file systems without hard links: reserve the name, then replace the reservation
                os.close(os.open(name, _CREATE_FLAGS, 0o600, dir_fd=folder))
            except FileExistsError:
                raise self._conflict(path, _read_at(path, folder, name)) from None
            os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        points.reached("page.linked")
        os.unlink(temp, dir_fd=folder)

    @contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[tuple[int | None, str]]:
        """A descriptor of the folder that holds `path` (None when there is none) and the file's name in it."""
        *parents, name = path.split("/")
        if not name or any(part in ("", ".", "..") for part in parents) or name in (".", ".."):
            raise UserError(f"{path!a} is no path below the wiki. Give a path like default/app/notes/a.md.")
        try:
            fd: int | None = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | _CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise away(self.root) from error
        except PermissionError as error:
            raise Unavailable(f"{self.root} can't be read: {error.strerror}. Check its owner and mode.") from error
        try:
            for part in parents:
                assert fd is not None
                below = _open_folder(path, fd, part, create)
                os.close(fd)
                fd = below
                if fd is None:
                    break
            yield fd, name
        finally:
            if fd is not None:
                os.close(fd)


def away(root: Path) -> Unavailable:
    """What to say where the wiki itself is missing."""
    return Unavailable(f"The wiki is not at {root}. Is it unmounted or moved?")


def _open_folder(path: str, parent: int, part: str, create: bool) -> int | None:
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            return None
    except OSError as error:
        raise _not_followed(path, part, error) from error
    try:
        os.mkdir(part, 0o700, dir_fd=parent)
        points.reached("page.folder-made")
        os.fsync(parent)
    except FileExistsError:
        pass  # somebody made it meanwhile; what it is, the open tells
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=parent)
    except OSError as error:
        raise _not_followed(path, part, error) from error


def _read_at(path: str, folder: int, name: str) -> bytes | None:
    try:
        fd = os.open(name, _READ_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_followed(path, name, error) from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise UserError(f"{path} is no regular file. Move it out of the wiki.")
        if found.st_size > MAX_PAGE_BYTES:
            raise TooLarge(f"{path} has {found.st_size} bytes; a page has at most {MAX_PAGE_BYTES}. Split it.")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    except OSError as error:
        raise _not_followed(path, name, error) from error
    finally:
        os.close(fd)


def _settled(path: str, folder: int, name: str) -> bytes | None:
    """The content of a file that has lost its name, once nobody has it open for writing; None if somebody keeps it so.

    Who opened it by its name may be about to save into it.
    """
    for _ in range(_WRITER_TRIES):
        if not has_writer(name, folder):
            try:
                return _read_at(path, folder, name)
            except UserError:  # a link or a folder was put in the page's place
                return None
        time.sleep(_WRITER_PAUSE_S)
    return None


def _version_of(content: bytes | None) -> Version | None:
    return None if content is None else page_version(content)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_followed(name, name, error) from error
    return True


def _not_followed(path: str, part: str, error: OSError) -> UserError | Unavailable:
    if error.errno in _NOT_OURS:
        return UserError(f"{path} is refused: {part!r} is a link or a file of another kind. Links are not followed.")
    if error.errno in _CLOSED:
        return Unavailable(f"{path} can't be read: {error.strerror}. Check owner and mode of {part!r}.")
    return Unavailable(f"{path} can't be read: {error.strerror}.")


def _unlink_if_there(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass  # it was renamed before the failure


def _may_be_there(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
