"""What this computer has for a sandbox: which kinds work, which folders are shown, the git repository of the project.

Looked at once, before a run. Nothing else of the user's is there inside.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command import sandbox_network
from claude_iterate.agent.command.command_line import claude_environment
from claude_iterate.agent.command.sandbox import EMPTY, SYSTEM, Sandbox
from claude_iterate.core.redact import Redactor
from claude_iterate.core.settings.declared import SandboxSettings, Settings
from claude_iterate.errors import UsageProblem

_ACTED_ON = ("settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "skills", "plugins", "hooks")
"""Of Claude's own folder: what a Claude outside would act on."""
_ACTED_ON_IN_PROJECT = (
    *(".claude-iterate.toml", ".claude-iterate.json", "claude-iterate/hooks", "claude-iterate/prompts"),
    *("claude-iterate/templates", "claude-iterate/archive", "claude-iterate/snapshots.git"),
    *(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".mcp.json"),
)
_MADE_BY_US = frozenset({"runs", ".metadata.json", "archive", "snapshots.git"})
_ACTED_ON_BY_GIT = ("config", "config.worktree", "hooks", "commondir")
"""What git acts on outside: settings, which can name programs, hooks, and a file that says where both are instead."""
_MOST_SUBMODULES = 100
_MOST_FOLDERS = 1000
"""The search for submodules stops after this many."""
KINDS = ("bwrap", "docker", "podman")
_PATIENCE = 30.0
_INSTALL = {
    "bwrap": "Install it: apt install bubblewrap (or: dnf install bubblewrap)",
    "docker": "Install Docker Engine: https://docs.docker.com/engine/install/",
    "podman": "Install it: apt install podman (or: dnf install podman)",
}
_BWRAP = ("--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--unshare-user-try")
_TRY = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "true")  # noqa: S108


class Probe(msgspec.Struct, frozen=True):
    """A kind of sandbox here: its program, and if it does not work, why and what to do."""

    program: str
    problem: str = ""
    fix: str = ""


def probe(kind: str, environ: Mapping[str, str]) -> Probe:
    """Try one kind."""
    found = shutil.which(kind, path=environ.get("PATH"))
    if found is None:
        here = "bwrap is for Linux only." if kind == "bwrap" and not sys.platform.startswith("linux") else ""
        return Probe("", f"{kind} is not installed", here or _INSTALL[kind])
    if kind == "bwrap":
        code, said = _run([found, *_BWRAP, *_TRY], environ)
        fix = (
            "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; Ubuntu: an AppArmor profile for bwrap)."
        )
        return Probe(found) if code == 0 else Probe(found, f"bwrap makes no sandbox here: {said}", fix)
    code, said = _run([found, "info"], environ)
    fix = f"Start its service, and see: {kind} info"
    return Probe(found) if code == 0 else Probe(found, f"{kind} does not answer: {said}", fix)


def missing_image(program: str, image: str, environ: Mapping[str, str]) -> bool:
    """True when the image is not on this computer. None is ever downloaded by us."""
    return _run([program, "image", "inspect", image], environ)[0] != 0


def _run(argv: list[str], environ: Mapping[str, str]) -> tuple[int, str]:
    """The exit code, and the last line of what was said."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=dict(environ),
            timeout=_PATIENCE,
            check=False,
            cwd=os.sep,
        )
    except OSError as error:
        return 1, error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return 1, f"no answer within {_PATIENCE:.0f} seconds"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return done.returncode, Redactor(environ).clean(lines[-1])[:200] if lines else f"exit code {done.returncode}"


def make_sandbox(
    settings: Settings,
    environ: Mapping[str, str],
    root: Path,
    program: str,
    folders: Sequence[Path],
    own: Sequence[Path],
) -> Sandbox:
    """The sandbox of a run in this project. `folders` can be written; `own` are parts of them that are ours alone."""
    home, environ = _home(environ), claude_environment(environ, settings.claude)
    _refuse_open_house(root, home)
    asked, container = settings.sandbox, settings.sandbox.is_container
    repository = _find_repository(root, home)
    acted_on = [*own, *(root / name for name in _ACTED_ON_IN_PROJECT), *repository.acted_on]
    writable, kept, absent = _write_access([*folders, *repository.folders], acted_on)
    writable += _configured_mounts(asked, home, ":rw")
    config, login = _config_of_claude(environ, home)
    readable = [] if container else list(_program_folders(settings.claude.command[0], environ, root, home, writable))
    python = "python3" if container else sys.executable
    return Sandbox(
        asked=asked,
        program=program,
        home=home,
        writable=tuple(writable),
        readable=(*_existing([*repository.around, root]), *readable, *_configured_mounts(asked, home, "")),
        kept=tuple(kept),
        absent=tuple(absent),
        of_claude=tuple(_existing([config, *login])),
        kept_of_claude=tuple(_existing(config / name for name in _ACTED_ON)),
        relay=(python, "-I", "-S", str(Path(sandbox_network.__file__).resolve())),
        user=f"{os.getuid()}:{os.getgid()}",
    )


def with_folder(sandbox: Sandbox, place: Path) -> Sandbox:
    """The same with one more folder that can be written, a project like the other."""
    writable, kept, absent = _write_access([place], [place / name for name in _ACTED_ON_IN_PROJECT])
    return replace(
        sandbox,
        writable=(*sandbox.writable, *writable),
        kept=(*sandbox.kept, *kept),
        absent=(*sandbox.absent, *absent),
    )


def _write_access(folders: Sequence[Path], acted_on: Sequence[Path]) -> tuple[list[str], list[str], list[str]]:
    """What can be written of these folders; what of `acted_on` is kept from that; and what would be, if it were there.
    A link is not kept: Claude may have made it, so that the next run shows what it leads to."""
    kept = _existing(path for path in acted_on if path.exists() and not path.is_symlink())
    absent = [str(path) for path in acted_on if path.name not in _MADE_BY_US and not os.path.lexists(path)]
    return _existing([*folders, *_between(folders, acted_on)]), kept, absent


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or str(Path("~").expanduser())
    return os.path.normpath(home) if home.startswith("/") else "/nonexistent"


def _refuse_open_house(root: Path, home: str) -> None:
    """A project around the home folder would show all that a sandbox is to hide."""
    real, lived_in = root.resolve(), Path(home).resolve()
    if lived_in.is_relative_to(real):
        raise UsageProblem(
            f"The project {root} contains your home folder, so a sandbox around it would hide nothing.",
            "Put the project into a folder of its own, or use --sandbox none.",
        )


def _existing(paths: Iterable[Path]) -> list[str]:
    """Each path as it is spelled and as it really is, because programs use both; without those that are not there."""
    found: list[str] = []
    for path in paths:
        if path.exists():
            real = os.path.realpath(path)
            found += [spelled for spelled in (str(path), real) if spelled == real or not _of_system(spelled)]
    return list(dict.fromkeys(found))


def _configured_mounts(asked: SandboxSettings, home: str, mark: str) -> list[str]:
    """What `sandbox.mounts` names: with `:rw` to write, without to read."""
    found = []
    for place in asked.mounts:
        path, marked = place.removesuffix(":rw"), ":rw" if place.endswith(":rw") else ""
        if marked != mark:
            continue
        full = Path(home, path[2:]) if path.startswith("~/") else Path(path)
        if not full.exists():
            raise UsageProblem(
                f"`sandbox.mounts` names {place}, and there is no {full}.",
                "Make it, or see: claude-iterate config --origin sandbox.mounts",
            )
        found.append(full)
    return _existing(found)


def _config_of_claude(environ: Mapping[str, str], home: str) -> tuple[Path, list[Path]]:
    """Claude's own folder, made as Claude would make it: sessions in a folder that is not there would be lost. And the
    file beside the usual one that has the login."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(named) if named else Path(home, ".claude")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=bool(named), exist_ok=True)
    return folder, [] if named else [Path(home, ".claude.json")]


def _between(folders: Sequence[Path], kept: Iterable[Path]) -> Iterator[Path]:
    """The folders that lie between one that can be written and what is kept in it. What is mounted cannot be renamed:
    else Claude could put another folder in its place."""
    for path in kept:
        for folder in folders:
            between = [parent for parent in path.parents if parent != folder and parent.is_relative_to(folder)]
            yield from (parent for parent in between if parent.is_dir() and not parent.is_symlink())


def _program_folders(
    command: str, environ: Mapping[str, str], root: Path, home: str, writable: Sequence[str]
) -> Iterator[str]:
    """The folders of programs: those in PATH, and what Claude and our relay are made of."""
    path = environ.get("PATH", os.defpath)
    claude = shutil.which(str(root / command) if os.path.sep in command else command, path=path)
    found = [Path(folder) for folder in path.split(os.pathsep) if folder.startswith("/")]
    for program in (claude, sys.executable):
        if program is not None:
            found += [_surroundings(Path(program)), _surroundings(Path(os.path.realpath(program)))]
    found.append(Path(sys.base_prefix))
    for place in _existing(folder for folder in found if folder.is_dir()):
        hides_nothing = Path(home).is_relative_to(place)
        covered = any(Path(place).is_relative_to(folder) for folder in writable)
        if not (_of_system(place) or hides_nothing or covered):
            yield place


def _surroundings(program: Path) -> Path:
    """The folder without which a program does not start: its own, its packages, or its Python environment."""
    before, found, _ = str(program).partition("/node_modules/")
    if found:
        return Path(before, "node_modules")
    return program.parent.parent if (program.parent.parent / "pyvenv.cfg").exists() else program.parent


def _of_system(path: str) -> bool:
    return path.startswith(tuple(f"{folder}/" for folder in SYSTEM)) or path in SYSTEM


class _Repository(msgspec.Struct, frozen=True):
    """`folders` are those of git, which a commit has to reach; `acted_on` are parts of them that git acts on outside;
    `around` is the work tree, if the project is only a part of it: else git would take the rest for deleted."""

    folders: tuple[Path, ...] = ()
    acted_on: tuple[Path, ...] = ()
    around: tuple[Path, ...] = ()


def _find_repository(root: Path, home: str) -> _Repository:
    """The repository of the project. One around the home folder or all temporary files is not shown."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is None:
        return _Repository()
    is_too_large = Path(home).resolve().is_relative_to(top.resolve()) or str(top.resolve()) in EMPTY
    if top != root and is_too_large:
        return _Repository()
    folders = _git_folders(top)
    modules = [path for folder in folders for path in _submodules(folder / "modules")]
    acted_on = [folder / name for folder in (*folders, *modules) for name in _ACTED_ON_BY_GIT]
    return _Repository(folders, tuple(acted_on), () if top == root else (top,))


def _submodules(folder: Path) -> list[Path]:
    """The folders of git of all submodules, also of those in submodules; the name of one can have slashes."""
    found: list[Path] = []
    waiting = [folder]
    for place in waiting:  # grows while it is read
        inside = [path for path in sorted(place.glob("*")) if path.is_dir() and not path.is_symlink()]
        own = [path for path in inside if (path / "HEAD").exists()]
        found += own
        waiting += [path / "modules" if path in own else path for path in inside][: _MOST_FOLDERS - len(waiting)]
    return found[:_MOST_SUBMODULES]


def _git_folders(top: Path) -> tuple[Path, ...]:
    """The folder of git; in a linked work tree that of the repository, which lies elsewhere."""
    own = top / ".git"
    if own.is_symlink():  # Claude could have made it, to reach another repository in the next run
        return ()
    if own.is_dir():
        return (own,)
    words = _read_text(own)
    if not words.startswith("gitdir: "):
        return ()
    folder = Path(top, words.removeprefix("gitdir: ").strip())
    common = folder.parent.parent if folder.parent.name == "worktrees" else folder
    return (common.resolve(),) if (common / "HEAD").exists() and _names_work_tree(folder, top) else ()


def _names_work_tree(folder: Path, top: Path) -> bool:
    """This folder of git names the work tree in turn: a file that Claude wrote into the work tree is not enough."""
    if folder.parent.name == "worktrees":
        named = _read_text(folder / "gitdir").strip()
        return bool(named) and Path(folder, named).resolve() == (top / ".git").resolve()
    lines = (line.partition("=") for line in _read_text(folder / "config").splitlines())
    trees = [value.strip().strip('"') for key, _, value in lines if key.strip().lower() == "worktree"]
    return any(Path(folder, path).resolve() == top.resolve() for path in trees)


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
