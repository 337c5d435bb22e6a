"""Which sandboxes work on this computer, and why not. Each is tried, because permissions do not show it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

import msgspec

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
        code, said = _call([found, *_BWRAP, *_TRY], environ)
        fix = (
            "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; Ubuntu: an AppArmor profile for bwrap)."
        )
        return Probe(found) if code == 0 else Probe(found, f"bwrap makes no sandbox here: {said}", fix)
    code, said = _call([found, "info"], environ)
    fix = f"Start its service, and see: {kind} info"
    return Probe(found) if code == 0 else Probe(found, f"{kind} does not answer: {said}", fix)


def missing_image(program: str, image: str, environ: Mapping[str, str]) -> bool:
    """True when the image is not on this computer. None is ever downloaded by us."""
    return _call([program, "image", "inspect", image], environ)[0] != 0


def _call(argv: list[str], environ: Mapping[str, str]) -> tuple[int, str]:
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
    return done.returncode, lines[-1][:200] if lines else f"exit code {done.returncode}"
