"""The pictures of the README: the terminal and the dashboard after a real run of the demo, made by our own commands.

`made-from.json` keeps a checksum of what the dashboard drew, without figures, times and names that differ each time.
The picture of the terminal is text, so it is compared itself. `tests/scripts/test_pictures.py` does both.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from claude_iterate.views.pages.drawn_page import FOLDER
from claude_iterate.views.pages.run_page import WatchedRun
from claude_iterate.workspace.project import Project
from tests.chromium import MISSING, Browser

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
TERMINAL, DASHBOARD, MADE_FROM = "terminal.svg", "dashboard.png", "made-from.json"
SIZE = 1080, 860
_COMMAND = [sys.executable, "-P", "-m", "claude_iterate"]
_PROGRAM = "#!/usr/bin/env python3\nfrom claude_iterate.cli import program\n\nprogram()\n"
_RUN = re.compile(r"\d{6}-\d{8}-\d{6}-[0-9a-f]{6}")
_FIGURE = re.compile(r"\d[\d.,:]*")
_TAG, _COMMENT = re.compile(r"<[^>]*>"), re.compile(r"/\*.*?\*/", re.DOTALL)
_UNSEEN = frozenset({"log", "runs", "tools"})
"""Panels that are closed in the picture, or tell of this machine."""


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


def same_words(text: str) -> str:
    """The text without what differs from run to run."""
    return _FIGURE.sub("0", _RUN.sub("ID", text))


def words_of(picture: Path) -> list[str]:
    """What a picture of the terminal says, down to the place of the log."""
    texts = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
    words = [same_words(text.text or "") for text in texts]
    return words[: next(number for number, text in enumerate(words) if text.strip().startswith("Log:"))]


def checksum(folder: Path) -> str:
    """Of the words that the dashboard shows of the demo, and of its style sheet. What cannot be seen, such as labels
    for a screen reader, does not count; its script draws nothing of its own."""
    project = Project(folder, {"PATH": os.environ.get("PATH", "")})
    drawn = WatchedRun(project.layout("demo")).draw()
    assert drawn is not None
    panels = [_TAG.sub(" ", html) for name, html in drawn.panels.items() if name not in _UNSEEN]
    words = same_words(" ".join(panels).replace(str(folder), "FOLDER")).split()
    looks = _COMMENT.sub(" ", (FOLDER / "static" / "dashboard.css").read_text(encoding="utf-8")).split()
    return hashlib.sha256(" ".join([*words, *looks]).encode()).hexdigest()


def main() -> None:
    """Make them all again."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE_", "TMPDIR"))}
    PICTURES.mkdir(exist_ok=True)
    folder = run_demo(environ)
    try:
        draw_terminal(folder, PICTURES / TERMINAL)
        draw_dashboard(folder, PICTURES / DASHBOARD)
        text = json.dumps({DASHBOARD: checksum(folder)}, indent=2) + "\n"
        (PICTURES / MADE_FROM).write_text(text, encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
