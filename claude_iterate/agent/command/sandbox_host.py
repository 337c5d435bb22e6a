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
from claude_iterate.agent.command.sandbox import SYSTEM, Sandbox
from claude_iterate.core.redact import Redactor
from claude_iterate.core.settings.declared import SandboxSettings, Settings
from claude_iterate.errors import UsageProblem

KEPT_OF_CLAUDE = (
    *("settings.json", "settings.local.json", "CLAUDE.md"),
    *("agents", "commands", "skills", "plugins", "hooks"),
)
"""Of Claude's own folder: what a Claude outside would act on."""
KEPT_IN_PROJECT = (".claude-iterate.toml", ".claude-iterate.json", ".claude", ".mcp.json")
"""What decides how the next run, or a Claude outside, works in this project."""
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


class Shown(msgspec.Struct, frozen=True):
    """What of the project is inside: folders to write, folders to read, parts of those to write that can only be read,
    folders of ours that are empty but for all these, and files of ours that cannot be opened."""

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    masked: tuple[Path, ...] = ()


def make_sandbox(settings: Settings, environ: Mapping[str, str], root: Path, program: str, shown: Shown) -> Sandbox:
    """The sandbox of a run in this project."""
    home, environ = _home(environ), claude_environment(environ, settings.claude)
    _refuse_open_house(root, home)
    asked, container = settings.sandbox, settings.sandbox.is_container
    config, login = _config_of_claude(environ, home)
    writable = _configured_mounts(asked, home, ":rw")
    readable = [] if container else list(_program_folders(settings.claude.command[0], environ, root, home, writable))
    sandbox = Sandbox(
        asked=asked,
        program=program,
        home=home,
        writable=tuple(writable),
        readable=(*_existing([*shown.readable, root]), *readable, *_configured_mounts(asked, home, "")),
        of_claude=tuple(_existing([config, *login])),
        kept_of_claude=tuple(_existing(config / name for name in KEPT_OF_CLAUDE)),
        relay=("python3" if container else sys.executable, "-I", "-S", str(Path(sandbox_network.__file__).resolve())),
        user=f"{os.getuid()}:{os.getgid()}",
    )
    return show(sandbox, shown)


def show(sandbox: Sandbox, shown: Shown) -> Sandbox:
    """The same with more of the project. In each folder to write, what decides about later runs can only be read."""
    kept = [*shown.kept, *(folder / name for folder in shown.writable for name in KEPT_IN_PROJECT)]
    return replace(
        sandbox,
        writable=(*sandbox.writable, *_existing(shown.writable)),
        # A link is not kept: Claude may have made it, so that the next run shows what it leads to.
        kept=(*sandbox.kept, *_existing(path for path in kept if not path.is_symlink())),
        hidden=(*sandbox.hidden, *_existing(shown.hidden)),
        masked=(*sandbox.masked, *_existing(shown.masked)),
    )


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


def writable_mounts(asked: SandboxSettings, environ: Mapping[str, str]) -> list[str]:
    """Folders of the user that `sandbox.mounts` lets be written."""
    return _configured_mounts(asked, _home(environ), ":rw")


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


def claude_folder(environ: Mapping[str, str]) -> Path:
    """Where Claude Code has its settings, its login and its sessions."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path(_home(environ), ".claude"))


def _config_of_claude(environ: Mapping[str, str], home: str) -> tuple[Path, list[Path]]:
    """Claude's own folder, made as Claude would make it: sessions in a folder that is not there would be lost. And the
    file beside the usual one that has the login."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    folder = claude_folder({**environ, "HOME": home})
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=bool(named), exist_ok=True)
    return folder, [] if named else [Path(home, ".claude.json")]


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
