"""The typed configuration and the one place, beside `hookclient` and `stdio`, that reads the environment.

Which value wins: a flag, then `AIMEMORY_<SECTION>_<KEY>`, then the file, then the default of the row below.
"""

import os
import pwd
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import platformdirs

from aimemory.datadir import DataDir, default_root
from aimemory.errors import UserError


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: section, key, type, default, unit and help. Docs, validation and errors come from this row."""

    section: str
    key: str
    type: type
    default: Any
    help: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def env(self) -> str:
        return f"AIMEMORY_{self.section}_{self.key}".upper()


OPTIONS: tuple[Option, ...] = (
    Option("server", "port", int, 7377, "TCP port on loopback; 0 takes any free one. A taken port moves to the next free one.", 0, 65535),
    Option("server", "host", str, "127.0.0.1", "Address to bind. Anything but loopback also needs server.allow_remote."),
    Option("server", "allow_remote", bool, False, "Allow a non-loopback address: everyone who reaches it needs the token."),
    Option("server", "tcp", bool, True, "Listen on TCP at all; hooks, command line and the MCP shim use the Unix socket."),
    Option("user", "name", str, "", "Name recorded on everything; empty takes the login name at first start and keeps it."),
    Option("capture", "mode", str, "full", "full, metadata (names, times and outcomes only) or off.", choices=("full", "metadata", "off")),
    Option("capture", "prompt_bytes", int, 16384, "Cap of a prompt or answer, in bytes, after scrubbing.", 256, 1048576),
    Option("capture", "tool_bytes", int, 4096, "Cap of a tool's input and of its output, in bytes each, after scrubbing.", 256, 1048576),
    Option("privacy", "pii", list, [], "Personal data to redact too: any of email, phone, iban, card, ip."),
    Option("privacy", "allow", list, [], "Texts that are no secrets, whatever they look like; compared as a whole."),
    Option("privacy", "patterns", dict, {}, "Own patterns, a name for each; see privacy.md."),
    Option("session", "idle_minutes", int, 30, "Silence after which a session is closed, in minutes.", 1, 10080),
    Option("brief", "chars", int, 6000, "Largest brief, in characters.", 500, 10000),
    Option("brief", "git_ms", int, 350, "Time for git probes in a brief, in milliseconds; later ones read as not checked.", 0, 10000),
    Option("handoff", "offer", str, "content", "content, notice (a line that names the handoff) or off.", choices=("content", "notice", "off")),
    Option("handoff", "quiet_seconds", int, 20, "Quiet after which an unclosed session's work is offered, in seconds.", 1, 86400),
    Option("handoff", "expire_days", int, 14, "Age at which a handoff that nobody took expires, in days.", 1, 3650),
    Option("backup", "every_hours", int, 0, "Hours between automatic backups; 0 makes none.", 0, 8760),
    Option("backup", "keep", int, 7, "How many automatic backups are kept.", 1, 10000),
    Option("backup", "folder", str, "", "Absolute path of the folder for automatic backups; empty is backups/ of the data directory."),
    Option("wiki", "listing_seconds", int, 60, "Quiet after which the index.md of a project whose pages changed is written anew, in seconds; 0 writes none.", 0, 86400),
    Option("recall", "vectors", str, "auto", "What vectors are made with: static, endpoint or off; auto is static where the extra is installed. See search.md.", choices=("auto", "static", "endpoint", "off")),
    Option("recall", "endpoint", str, "", "URL of an `embeddings` route as OpenAI's; texts of pages and queries are sent there, and nowhere without it."),
    Option("recall", "model", str, "", "Name of the model that the endpoint is asked for."),
    Option("recall", "query_ms", int, 800, "Time that a search gives the endpoint, in milliseconds; without an answer it ranks by words.", 10, 60000),
    Option("storage", "budget", int, 5 << 30, "Room that the memory may take, in bytes; at 80 % status and doctor warn. Nothing is deleted. 0 is no budget.", 0, None),
    Option("storage", "git_loose", int, 2000, "Loose git objects of the wiki at which they are packed.", 50, 1000000),
    Option("storage", "verify_hours", int, 24, "Hours between checks of everything that is stored; also after a crash. 0 makes none.", 0, None),
    Option("storage", "spool_bytes", int, 1 << 30, "Largest spool of undelivered events, in bytes.", 1 << 20, None),
    Option("storage", "segment_bytes", int, 64 << 20, "Size at which a journal segment is sealed, in bytes.", 1 << 16, 1 << 30),
    Option("storage", "log_bytes", int, 50 << 20, "Largest total of log files, in bytes.", 1 << 16, None),
    Option("retention", "observations_days", int, 0, "Age at which events of closed sessions lose their texts, in days; names, times and outcomes stay. 0 keeps them.", 0, 36500),
    Option("retention", "sessions_days", int, 0, "Days since its last event after which a closed session goes, with events, page and settled handoffs. 0 keeps them.", 0, 36500),
    Option("retention", "handoffs_days", int, 0, "Days after which a handoff that is done, cancelled or expired goes, with its page. 0 keeps them.", 0, 36500),
    Option("retention", "conflicts_days", int, 0, "Age at which a conflict copy of an agent's text goes, in days. 0 keeps them.", 0, 36500),
    Option("retention", "history", bool, False, "Take the pages that go out of the wiki's git history too, which rewrites it."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    host: str
    allow_remote: bool
    tcp: bool


@dataclass(frozen=True, slots=True)
class User:
    name: str


@dataclass(frozen=True, slots=True)
class Capture:
    mode: Literal["full", "metadata", "off"]
    prompt_bytes: int
    tool_bytes: int


@dataclass(frozen=True, slots=True)
class Privacy:
    """As it was given; `privacy.settings` checks what it means."""

    pii: tuple[str, ...]
    allow: tuple[str, ...]
    patterns: Mapping[str, str]

    def table(self) -> dict[str, object]:
        """Plain values, empty where nothing is set."""
        table: dict[str, object] = {"pii": list(self.pii), "allow": list(self.allow), "patterns": dict(self.patterns)}
        return table if any(table.values()) else {}


@dataclass(frozen=True, slots=True)
class Session:
    idle_minutes: int


@dataclass(frozen=True, slots=True)
class Brief:
    chars: int
    git_ms: int


@dataclass(frozen=True, slots=True)
class Handoff:
    offer: Literal["content", "notice", "off"]
    quiet_seconds: int
    expire_days: int


@dataclass(frozen=True, slots=True)
class Backup:
    every_hours: int
    keep: int
    folder: str


@dataclass(frozen=True, slots=True)
class Wiki:
    listing_seconds: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Days that each kind is kept; 0 for ever."""

    observations_days: int
    sessions_days: int
    handoffs_days: int
    conflicts_days: int
    history: bool

    @property
    def days(self) -> dict[str, int]:
        """By kind, those that have a limit."""
        known = {
            "observations": self.observations_days, "sessions": self.sessions_days, "handoffs": self.handoffs_days,
            "conflicts": self.conflicts_days,
        }  # fmt: skip
        return {kind: days for kind, days in known.items() if days}


@dataclass(frozen=True, slots=True)
class Recall:
    """vectors, endpoint, model: where vectors come from; `load_config` has checked that they fit each other."""

    vectors: Literal["auto", "static", "endpoint", "off"]
    endpoint: str
    model: str
    query_ms: int


@dataclass(frozen=True, slots=True)
class Storage:
    budget: int
    git_loose: int
    verify_hours: int
    spool_bytes: int
    segment_bytes: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; passed down as an argument, never fetched.

    activated: systemd listens on the Unix socket and hands it over as file descriptor 3. child_env: the environment of
    a daemon that is started in the background. harness_env: variables that move a harness's own folder, where set.
    editor: the person's own, as a command line; `$VISUAL`, else `$EDITOR`. pager: `$PAGER`; without that and an
    editor `less`.
    """

    data: DataDir
    server: Server
    user: User
    capture: Capture
    privacy: Privacy
    session: Session
    brief: Brief
    handoff: Handoff
    backup: Backup
    wiki: Wiki
    recall: Recall
    storage: Storage
    retention: Retention
    login: str
    home: str
    source: Path | None = None
    config_home: str = ""
    activated: bool = False
    child_env: Mapping[str, str] = field(default_factory=dict)
    temp_dirs: tuple[str, ...] = ("/tmp", "/var/tmp")
    harness_env: Mapping[str, str] = field(default_factory=dict)
    editor: str = "vi"
    pager: str = ""


HARNESS_VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""The `home_variable`s of the harnesses' data files, which lie above this layer; a test compares them."""


def no_color() -> bool:
    """Does the user want plain text, as https://no-color.org has it?"""
    return bool(os.environ.get("NO_COLOR"))


def load_place(env: Mapping[str, str] | None = None) -> Config:
    """The configuration with defaults only, for what needs no more than the data directory: asking and stopping must
    work when the settings are broken."""
    env = os.environ if env is None else env
    kept = {n: v for n, v in env.items() if n == "AIMEMORY_DATA_DIR" or not n.startswith("AIMEMORY_")}
    return load_config(kept, read_file=False)


def load_config(
    env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None, *, read_file: bool = True
) -> Config:
    """Build the configuration. `flags` maps option names (`server.port`) to values.

    Raises UserError that lists every problem of the file and the environment at once.
    """
    env = os.environ if env is None else env
    root = default_root(env, platformdirs.user_data_dir("aimemory", appauthor=False))
    data = DataDir(root, env.get("XDG_RUNTIME_DIR"))
    file = Path(env["AIMEMORY_CONFIG"]).expanduser() if env.get("AIMEMORY_CONFIG") else data.config
    table = _read_toml(file, required=bool(env.get("AIMEMORY_CONFIG"))) if read_file else {}
    problems = _unknown(table, file) + _unknown_variables(env)
    values: dict[str, dict[str, Any]] = {}
    for option in OPTIONS:
        value, where = option.default, "default"
        section = table.get(option.section)
        if isinstance(section, dict) and option.key in section:
            value, where = section[option.key], f"{file}: [{option.section}] {option.key}"
        if option.env in env:
            value, where = env[option.env], option.env
        if flags and option.name in flags:
            value, where = flags[option.name], f"--{option.key}"
        section_values = values.setdefault(option.section, {})
        try:
            section_values[option.key] = _typed(option, value)
        except ValueError as error:
            problems.append(f"{where}: {error}")
    if (folder := values["backup"].get("folder")) and not Path(folder).is_absolute():
        problems.append(f"backup.folder is {folder!r}, which is relative; give an absolute path")
    problems += _recall_problems(values["recall"])
    if problems:
        raise UserError("The configuration has problems:\n" + "\n".join(f"  {p}" for p in problems))
    return Config(
        data=data,
        server=Server(**values["server"]),
        user=User(**values["user"]),
        capture=Capture(**values["capture"]),
        privacy=Privacy(**values["privacy"]),
        session=Session(**values["session"]),
        brief=Brief(**values["brief"]),
        handoff=Handoff(**values["handoff"]),
        backup=Backup(**values["backup"]),
        wiki=Wiki(**values["wiki"]),
        recall=Recall(**values["recall"]),
        storage=Storage(**values["storage"]),
        retention=Retention(**values["retention"]),
        login=env.get("USER") or env.get("LOGNAME") or _login(),
        home=env.get("HOME") or str(Path.home()),
        source=file if table else None,
        config_home=env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME") or Path.home()) / ".config"),
        activated=env.get("LISTEN_PID") == str(os.getpid()) and env.get("LISTEN_FDS", "0") != "0",
        child_env=_child_env(env, root),
        harness_env={name: env[name] for name in HARNESS_VARIABLES if env.get(name)},
        editor=env.get("VISUAL") or env.get("EDITOR") or "vi",
        pager=env.get("PAGER") or ("" if env.get("VISUAL") or env.get("EDITOR") else "less"),
        temp_dirs=tuple(dict.fromkeys(filter(None, ("/tmp", "/var/tmp", env.get("TMPDIR"))))),
    )


def _recall_problems(values: Mapping[str, Any]) -> list[str]:
    """What an endpoint needs. A URL with a password would stand in messages and in the file of vectors."""
    vectors, url = values.get("vectors"), str(values.get("endpoint", ""))
    problems = []
    if vectors == "endpoint" and not (url and values.get("model")):
        problems.append("recall.vectors is endpoint, which needs recall.endpoint and recall.model")
    if url and vectors not in ("endpoint", "off", None):
        problems.append("recall.endpoint is given; it is asked only with recall.vectors = endpoint")
    if url and not re.fullmatch(r"https?://[^/?#@\s\\]+(?:[/?][^\s#]*)?", url):
        problems.append("recall.endpoint is no http or https URL, or holds a name or password; the key has a file")
    return problems


def vendor_variables(names: Iterable[str], env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of agents' own that their data files name, as far as they are set and not empty."""
    env = os.environ if env is None else env
    return {name: env[name] for name in names if env.get(name)}


def _child_env(env: Mapping[str, str], root: Path) -> dict[str, str]:
    """The clean environment of a daemon started in the background: nothing of an agent's or a virtual environment's."""
    kept = ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "TMPDIR", "TZ")
    ours = {
        name: value
        for name, value in env.items()
        if name in (*kept, *HARNESS_VARIABLES) or name.startswith("AIMEMORY_")
    }
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"} | ours | {"AIMEMORY_DATA_DIR": str(root)}


def _login() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's bare uid
        return f"uid{os.getuid()}"


def _read_toml(file: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except NotADirectoryError:
        raise UserError(f"{file.parent} is not a directory. Choose another data directory.") from None
    except FileNotFoundError:
        if required:
            raise UserError(f"AIMEMORY_CONFIG names {file}, which does not exist.") from None
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {error}. The file was left as it is.") from error


def _unknown(table: dict[str, Any], file: Path) -> list[str]:
    known = {(o.section, o.key) for o in OPTIONS}
    sections = {o.section for o in OPTIONS}
    problems = []
    for section, content in table.items():
        if section not in sections or not isinstance(content, dict):
            problems.append(f"{file}: [{section}] is not a known section ({', '.join(sorted(sections))})")
            continue
        problems += [
            f"{file}: [{section}] {key} is not a known setting" for key in content if (section, key) not in known
        ]
    return problems


NOT_SETTINGS = {"AIMEMORY_DATA_DIR", "AIMEMORY_CONFIG"}


def _unknown_variables(env: Mapping[str, str]) -> list[str]:
    known = {o.env for o in OPTIONS} | NOT_SETTINGS
    return [
        f"{name} is not a known variable" for name in sorted(env) if name.startswith("AIMEMORY_") and name not in known
    ]


def _collection(option: Option, value: Any) -> Any:
    """A list of texts or a table of them; from a variable as TOML writes it (`["email", "iban"]`)."""
    if isinstance(value, str):
        try:
            value = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            raise ValueError(f"{value!r} is not written as in TOML") from None
    if option.type is list and isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return tuple(value)
    if option.type is dict and isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        return dict(value)
    raise ValueError(f"{value!r} is not a {'list' if option.type is list else 'table'} of texts in quotes")


def _typed(option: Option, value: Any) -> Any:
    if option.type in (list, dict):
        return _collection(option, value)
    if option.type is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "yes", "on"):
            return True
        if str(value).lower() in ("0", "false", "no", "off", ""):
            return False
        raise ValueError(f"{value!r} is not true or false")
    if option.type is int:
        if isinstance(value, bool) or (not isinstance(value, int) and not str(value).strip().lstrip("-").isdigit()):
            raise ValueError(f"{value!r} is not a whole number")
        number = int(value)
        if (option.least is not None and number < option.least) or (option.most is not None and number > option.most):
            raise ValueError(f"{number} is outside {option.least} to {option.most}")
        return number
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    if option.choices and value not in option.choices:
        raise ValueError(f"{value!r} is not one of {', '.join(option.choices)}")
    return value
