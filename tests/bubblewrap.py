"""Whether tests can make a sandbox here; asked of bwrap itself, not of the code under test."""

from __future__ import annotations

import shutil
import subprocess

import pytest

_TRY = ("--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true")


def works() -> bool:
    """True where bwrap is installed and may make namespaces."""
    if shutil.which("bwrap") is None:
        return False
    return subprocess.run(["bwrap", *_TRY], capture_output=True, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(not works(), reason="bwrap makes no sandbox here; get it: apt install bubblewrap")
