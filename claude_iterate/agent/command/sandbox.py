"""A command line inside a sandbox. Pure: what there is to show and hide was found before (`sandbox_host.py`).

Inside, the project and the workspace have the same paths as outside. What is not named here is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from claude_iterate.agent.command.command_line import CONTAINER_LABEL, RUN_VARIABLE, WORKSPACE_VARIABLE
from claude_iterate.core.settings.declared import SandboxSettings

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/sys")
EMPTY = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - the names of folders that are empty inside
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_OF_EVERY_PROGRAM = (
    *("USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
)
_OF_CLAUDE = (
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "CLAUDE_CONFIG_DIR"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS",
)
_PREFIXES = ("LC_", "CLAUDE_ITERATE_HOOK_")
_PREFIXES_OF_CLAUDE = ("ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_", "BASH_", "MCP_")
_HOST_ONLY = frozenset({"USER", "LOGNAME", "SHELL"})
"""What names something of this computer that an image does not have."""


class Sandbox(msgspec.Struct, frozen=True):
    """Where the programs of a run are closed in. All paths are absolute and exist."""

    asked: SandboxSettings
    program: str
    """bwrap, docker or podman."""
    home: str
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Parts of what is writable that can only be read: settings that a later run would act on."""
    hidden: tuple[str, ...] = ()
    """Folders of claude-iterate that are empty inside, but for what is writable in them: records, other workspaces."""
    masked: tuple[str, ...] = ()
    """Files of claude-iterate that cannot be opened inside."""
    placed: tuple[tuple[str, str, str], ...] = ()
    """What stands somewhere else inside: its path here, its path there, and `read` or `write`."""
    settled: Mapping[str, str] = {}
    """Where each path that is shown really lies, as it was before Claude could put a link there."""
    of_claude: tuple[str, ...] = ()
    """What only Claude gets, to read and to write: its login and its sessions."""
    kept_of_claude: tuple[str, ...] = ()
    author: tuple[tuple[str, str], ...] = ()
    """Settings of git that say who commits: the user's own file of them is not inside."""
    gate: str = ""
    """The socket on which Claude reaches its service when there is no network; empty: it does not."""
    relay: tuple[str, ...] = ()
    """What carries a network of its own to the gate and then becomes Claude: a Python and its file."""
    mirrored: int = 0
    """The port of a service on this computer, which the relay offers, if it may under the same number."""
    user: str = ""
    """Number of the user and of the group: what a container writes belongs to them."""
    run: str = ""

    @property
    def containers(self) -> str:
        """The program that knows the containers; empty where there are none."""
        return self.program if self.is_container else ""

    @property
    def sources(self) -> Iterator[str]:
        """All paths here that are shown inside, and those in what is placed that others are placed on."""
        yield from (*self.readable, *self.writable, *self.kept, *self.of_claude, *self.kept_of_claude)
        for here, there, _ in self.placed:
            yield here
            yield from (here + other[len(there) :] for _, other, _ in self.placed if other.startswith(f"{there}/"))

    def hides(self, path: str) -> bool:
        """Nothing is at this path inside, although there is something outside."""
        known = dict.fromkeys(self.writable, False) | dict.fromkeys((*self.hidden, *self.masked), True)
        around = [place for place in known if path == place or path.startswith(f"{place}/")]
        return bool(around) and known[max(around, key=len)]

    @property
    def folder(self) -> str:
        """The temporary folder that the gate is in."""
        return self.gate.rpartition("/")[0]

    @property
    def is_container(self) -> bool:
        """True for docker and podman: a service outside of our processes holds the programs."""
        return self.asked.is_container


class Command(msgspec.Struct, frozen=True):
    """What is started: the program with its arguments, and its whole environment."""

    argv: list[str]
    environment: dict[str, str]


def enclose(
    argv: Sequence[str],
    environment: Mapping[str, str],
    sandbox: Sandbox,
    root: str,
    *,
    for_claude: bool,
    terminal: bool = False,
    given: Sequence[str] = (),
) -> Command:
    """The command inside the sandbox, in the project root. `given` are names of variables that are passed on whatever
    the rules say; `terminal` is for a conversation, which needs the user's terminal."""
    inside = _inside(environment, sandbox, for_claude, (*sandbox.asked.env, *given))
    gated = for_claude and not sandbox.asked.network and bool(sandbox.gate)
    if gated:
        argv = [*sandbox.relay, sandbox.gate, str(sandbox.mirrored), *argv]
        inside |= {"NO_PROXY": "127.0.0.1,localhost"}  # the relay sets HTTPS_PROXY
        inside = {name: value for name, value in inside.items() if name not in {"HTTP_PROXY", "http_proxy", "no_proxy"}}
    mounts = _mounts(sandbox, for_claude, gated)
    if sandbox.is_container:
        words = _container(sandbox, mounts, inside, root, terminal)
        return Command([*words, *argv], {**environment, **inside, "PATH": environment.get("PATH", "")})
    return Command([*_bwrap(sandbox, mounts, root, terminal), *argv], inside)


def _inside(environment: Mapping[str, str], sandbox: Sandbox, for_claude: bool, names: Sequence[str]) -> dict[str, str]:
    """The environment that the program sees."""
    exact = {*_OF_EVERY_PROGRAM, *(_OF_CLAUDE if for_claude else ()), *names, RUN_VARIABLE, WORKSPACE_VARIABLE}
    prefixes = (*_PREFIXES, *(_PREFIXES_OF_CLAUDE if for_claude else ()))
    if sandbox.is_container:
        exact -= _HOST_ONLY - set(names)
    else:
        exact.add("PATH")
    kept = {name: value for name, value in environment.items() if name in exact or name.startswith(prefixes)}
    kept = kept if "GIT_CONFIG_COUNT" in kept else kept | _git_variables(sandbox.author)
    # Without IS_SANDBOX Claude Code refuses to skip permission checks as root.
    return kept | {"HOME": sandbox.home, "IS_SANDBOX": "1"}


def _git_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as git takes them from the environment; those of a command line still win."""
    if not settings:
        return {}
    words = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        words |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return words


def _mounts(sandbox: Sandbox, for_claude: bool, gated: bool) -> list[tuple[str, str, str]]:
    """What is where, and how: its path here, its path inside, and `empty`, `read` or `write`. Folders before what is in
    them; of the same path only the last counts."""
    how = {sandbox.home: "empty"}
    how |= dict.fromkeys(sandbox.readable, "read")
    how |= dict.fromkeys(sandbox.hidden, "empty")
    how |= dict.fromkeys(sandbox.of_claude if for_claude else (), "write")
    how |= dict.fromkeys(sandbox.writable, "write")
    how |= dict.fromkeys(sandbox.kept_of_claude if for_claude else (), "read")
    how |= dict.fromkeys(sandbox.kept, "read")
    if gated:
        how |= {sandbox.gate: "write", sandbox.relay[-1]: "read"}
    found = {path: (path, path, kind) for path, kind in how.items()}
    found |= {path: ("/dev/null", path, "read") for path in sandbox.masked}
    found |= {there: (here, there, kind) for here, there, kind in sandbox.placed}
    return sorted(found.values(), key=lambda mount: mount[1].count("/"))


def _bwrap(sandbox: Sandbox, mounts: Sequence[tuple[str, str, str]], root: str, terminal: bool) -> list[str]:
    words = [sandbox.program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-user-try", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    # A session of its own keeps signals for the group inside, and keeps programs from typing into the terminal.
    words += [] if terminal else ["--new-session"]
    words += [] if sandbox.asked.network else ["--unshare-net"]
    for path in SYSTEM:
        words += ["--ro-bind-try", path, path]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for path in _KERNEL:  # root could change it for the whole computer
        words += ["--ro-bind-try", path, path]
    for path in EMPTY:
        words += ["--tmpfs", path]
    if sandbox.asked.network:  # where /etc/resolv.conf often leads
        words += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    for here, there, how in mounts:
        words += ["--tmpfs", there] if how == "empty" else ["--bind" if how == "write" else "--ro-bind", here, there]
    return [*words, "--chdir", root, "--"]


def _container(
    sandbox: Sandbox, mounts: Sequence[tuple[str, str, str]], inside: Mapping[str, str], root: str, terminal: bool
) -> list[str]:
    words = [sandbox.program, "run", "--rm", "-i", "--init", "--pull=never"]
    words += ["--label", f"{CONTAINER_LABEL}={sandbox.run}"]
    words += ["-t"] if terminal else []
    words += ["--memory", sandbox.asked.memory, "--cpus", f"{sandbox.asked.cpus:g}", "--user", sandbox.user]
    words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    words += [] if sandbox.asked.network else ["--network", "none"]
    if sandbox.asked.kind == "podman" and not sandbox.user.startswith("0:"):
        words += ["--userns", "keep-id"]
    for here, there, how in mounts:
        if how == "empty":
            words += ["--tmpfs", f"{there}:mode=1777,exec"]
        else:
            words += ["-v", f"{here}:{there}" + ("" if how == "write" else ":ro")]
    words += ["-w", root]
    for name in sorted(inside):  # by name alone: the values stay out of the list of processes
        words += ["-e", name]
    return [*words, sandbox.asked.image or ""]
