"""The documentation tells the truth: pages match the code, links lead somewhere, transcripts are real."""

from __future__ import annotations

import contextlib
import doctest
import fcntl
import importlib.util
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, get_args

import pytest

from claude_iterate.cli.command_table import COMMANDS
from claude_iterate.core.events import Event
from claude_iterate.core.events.enums import ENDINGS
from claude_iterate.core.outcomes.classes import CLASSES
from claude_iterate.core.rules.between import BETWEEN_RULES
from claude_iterate.core.rules.during import RUNNING_RULES
from claude_iterate.core.settings.declared import catalogue
from claude_iterate.views.documents import FORMS
from tests.package_path import PACKAGES
from tests.screen import Screen

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TRANSCRIPTS = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
SHOWN_PROJECT = "/home/you/project"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """`docs/generate.py`, which is a script and no part of the package."""
    specification = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")  # as it is when the script is called
        specification.loader.exec_module(module)
    return module


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    """mkdocs makes it of docs/ without a warning and without the network; programs that are in docs/ are not in it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (answer.returncode, answer.stdout + answer.stderr) == (0, "")
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    made = {path.parent.relative_to(tmp_path) for path in tmp_path.rglob("index.html")}
    assert made == pages - {Path("index")} | {Path()}
    assert list(tmp_path.rglob("*.py")) == []


def test_reference_is_up_to_date(generate: ModuleType) -> None:
    """Every page in docs/reference is what docs/generate.py would write."""
    assert [path.name for path in generate.out_of_date()] == [], "run: python docs/generate.py"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("commands", [f"## {row.name}\n" for row in COMMANDS]),
        ("settings", [f"| `{key}` |" for key in catalogue()]),
        ("settings", [setting.variable for setting in catalogue().values()]),
        ("events", [f"### {kind.__name__}\n" for kind in get_args(Event)]),
        ("exit-codes", [f"| `{why}` | {end.simple} | {end.detailed} |" for why, end in ENDINGS.items()]),
        ("rules", [f"`{rule.__name__}`" for rule in (*BETWEEN_RULES, *RUNNING_RULES)]),
        ("outcomes", [f"| `{row.kind}` |" for row in CLASSES]),
        ("json", [f"## {command}\n" for command in FORMS]),
    ],
)
def test_reference_is_complete(page: str, words: list[str]) -> None:
    """Every command, setting, event, exit code, rule, outcome and JSON document has its place."""
    text = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    """Every relative link leads to a file, and its fragment to a heading in it."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, fragment = link.partition("#")
        target = page.parent / place if place else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be reached by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Step(NamedTuple):
    """One command of a transcript and what the page says that it prints."""

    command: str
    shown: str


def steps(text: str) -> list[Step]:
    """The commands in blocks marked `console`, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Step(command, shown))
    return found


def same_shape(text: str, project: Path) -> str:
    """The text with everything that differs from run to run made equal."""
    text = text.replace(str(project), SHOWN_PROJECT).replace(str(project.parent / "tmp"), "/tmp")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "MOMENT", text)
    text = re.sub(r"\b\d{8}-\d{6}(-[0-9a-f]{6})?", "RUN", text)
    text = re.sub(r"just now|\d+ min ago|today \d\d:\d\d", "RECENTLY", text)
    text = re.sub(r"\$\d+\.\d+", "COST", text)
    text = re.sub(r"(?m)^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d ", "", text)  # without a terminal lines have a clock
    return re.sub(r"\b(\d+m )?\d+(\.\d)?s\b", "TIME", text)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment from nothing, in which `claude-iterate` is the package under test."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "claude-iterate"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m claude_iterate "$@"\n')
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    return {
        "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(PACKAGES),
        "PYTHONUTF8": "1",
        "CLAUDE_ITERATE_MOCK_LOG": str(tmp_path / "mock.log"),
        "CLAUDE_ITERATE_FAKE_PACE": "0",
    }


def through_pipes(command: str, project: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Its exit code and what it printed."""
    answer = subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return answer.returncode, answer.stdout.decode("utf-8")


def on_terminal(command: str, project: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The same on a terminal, before which nobody answers anything; its exit code and what is seen at the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=project,
        env=environment | {"TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen: list[bytes] = []

    def watch() -> None:
        with contextlib.suppress(OSError):  # the terminal is closed
            while data := os.read(ours, 65536):
                seen.append(data)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        code = process.wait(timeout=300)
        watcher.join(timeout=300)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    text = "\n".join(Screen(b"".join(seen).decode("utf-8")).rows)
    return code, text.replace("Press ? for keys.\n", "")


@pytest.mark.parametrize("perform", [through_pipes, on_terminal])
@pytest.mark.parametrize("page", TRANSCRIPTS, ids=lambda path: path.name)
def test_transcripts_are_real(
    page: Path, tmp_path: Path, environment: dict[str, str], perform: Callable[..., tuple[int, str]]
) -> None:
    """Every command of a transcript exits with 0 and prints what the page shows; `...` stands for anything. On a
    terminal too, where no question may come that the page does not show."""
    text = page.read_text(encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    for name, content in re.findall(r"```\w+ (\S+)\n(.*?)```", text, flags=re.DOTALL):
        (project / name).write_text(content, encoding="utf-8")
    checker = doctest.OutputChecker()
    found = steps(text)
    assert found
    for step in found:
        # The script prepares an environment and then does just this.
        command = step.command.replace("scripts/demo", "claude-iterate demo")
        code, printed = perform(command, project, environment)
        assert code == 0, f"$ {command}\n{printed}"
        want, got = same_shape(step.shown, project), same_shape(printed, project)
        assert checker.check_output(want, got, doctest.ELLIPSIS), f"$ {command}\n{printed}\n--- shown ---\n{step.shown}"
