"""The pictures of the README: the terminal and the dashboard after a real run of the demo, made by our own commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.chromium import MISSING, Browser

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
TERMINAL, DASHBOARD = "terminal.svg", "dashboard.png"
SIZE = 1080, 860
_COMMAND = [sys.executable, "-P", "-m", "claude_iterate"]
_PROGRAM = "#!/usr/bin/env python3\nfrom claude_iterate.cli import program\n\nprogram()\n"


def run_demo(environ: dict[str, str]) -> Path:
    """A real run of the demo; its folder. The program is in PATH by its name, as where it is installed: what the run
    says to type next has no path of this machine."""
    with tempfile.TemporaryDirectory() as installed:
        program = Path(installed, "claude-iterate")
        program.write_text(_PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        environ = environ | {"PATH": f"{installed}{os.pathsep}{environ['PATH']}"}
        command = [sys.executable, "-P", str(program), "demo"]
        done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    found = re.search(r"counts as done: (\S+)$", done.stdout + done.stderr, re.MULTILINE)
    assert found is not None, done.stdout + done.stderr
    return Path(found[1])


def draw_terminal(folder: Path, path: Path) -> None:
    """What the run showed, by `replay`."""
    subprocess.run([*_COMMAND, "replay", "demo", "--svg", str(path)], cwd=folder, check=True)


def draw_dashboard(folder: Path, path: Path) -> None:
    """The page of the run in a real browser."""
    program = Browser.found()
    if program is None:
        sys.exit(f"Error: {MISSING}")
    board = subprocess.Popen(
        [*_COMMAND, "-C", str(folder), "dashboard", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    browser = Browser(program)
    try:
        assert board.stdout is not None
        address = board.stdout.readline().strip()
        with browser.page(*SIZE) as page:
            page.colours("light")
            page.call("Emulation.setScrollbarsHidden", hidden=True)
            page.open(address)
            page.open(address.partition("?")[0] + "workspaces/demo")
            page.until("document.querySelectorAll('svg.chart rect').length > 3")
            page.picture(path, whole=False)
    finally:
        browser.close()
        board.terminate()
        board.wait()


def main() -> None:
    """Make them all again."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE_", "TMPDIR"))}
    PICTURES.mkdir(exist_ok=True)
    folder = run_demo(environ)
    try:
        draw_terminal(folder, PICTURES / TERMINAL)
        draw_dashboard(folder, PICTURES / DASHBOARD)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
