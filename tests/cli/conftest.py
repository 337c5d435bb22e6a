"""A person at the keyboard: commands typed in a fresh project, with an environment made from nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.cli.boundary import main
from claude_iterate.workspace.project import Project
from tests.package_path import PACKAGES


class Answer:
    """What a command answered."""

    def __init__(self, words: Sequence[str], code: int, out: str, err: str) -> None:
        self.words = words
        self.code = code
        self.out = out
        self._err = err
        self._mentioned = False

    @property
    def err(self) -> str:
        self._mentioned = True
        return self._err

    @property
    def document(self) -> Any:
        """Standard output as exactly one JSON document."""
        return json.loads(self.out)

    def __iter__(self) -> Iterator[int | str]:
        return iter((self.code, self.out, self.err))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def surprises(self) -> list[str]:
        """What a command that looks or sets says on standard error beside the next step, unless the test read it."""
        if self._mentioned or self.code != 0 or self.words[:1] not in (("list",), ("show",), ("config",), ("setup",)):
            return []
        return [line for line in self._err.splitlines() if not line.startswith("Next: ")]


Type = Callable[..., Answer]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The project's folder."""
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing of the developer's own: no login, no settings."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": str(home),
        "CLAUDE_ITERATE_MOCK_LOG": str(home / "mock.log"),
    }


@pytest.fixture
def claude(environ: dict[str, str], tmp_path: Path) -> Path:
    """A program called claude that knows its version."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text("#!/bin/sh\necho 9.9.9 '(Claude Code)'\n")
    program.chmod(0o755)
    environ["PATH"] = f"{folder}:{environ['PATH']}"
    return program


@pytest.fixture
def typed(
    folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Type]:
    """Type a command line, within this process. What it prints unasked, such as a warning, must be mentioned."""
    answers: list[Answer] = []
    for name in list(os.environ):
        if not name.startswith(("PYTEST", "PYTHON", "COV")):
            monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)

    def run(*words: str) -> Answer:
        code = main(words)
        out, err = capfd.readouterr()
        answers.append(Answer(words, code, out, err))
        return answers[-1]

    yield run
    assert [line for answer in answers for line in answer.surprises] == []


@pytest.fixture
def called(folder: Path, environ: dict[str, str]) -> Type:
    """Call the program as a process of its own."""

    def run(*words: str, stdin: bytes = b"", **more: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "claude_iterate", *words],
            cwd=folder,
            env=environ | {"PYTHONPATH": str(PACKAGES)} | more,
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Answer(words, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def project(folder: Path, environ: dict[str, str]) -> Project:
    """The project as the commands see it."""
    return Project(folder, environ)
