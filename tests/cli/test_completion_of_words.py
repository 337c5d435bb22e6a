"""What a shell offers when Tab is pressed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from claude_iterate.core.settings.declared import PERMISSION_MODES, catalogue
from claude_iterate.workspace.project import Project
from tests.package_path import PACKAGES


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A project with workspaces, a run, a template and archives."""
    project = Project(tmp_path, {"HOME": f"{tmp_path}-home"})
    for name in ("alpha", "beta"):
        project.create(name, instructions=b"- one\n")
    for run in ("000001-20260131-170500-abcdef", "000002-20260131-180500-abcdef"):
        (project.layout("alpha").folder / "runs" / run).mkdir(parents=True)
    (project.templates_folder / "mine").mkdir(parents=True)
    project.archive_folder.mkdir(parents=True)
    (project.archive_folder / "gamma-2026-01-31T17-05-00.tar.gz").touch()
    (tmp_path / "sub").mkdir()
    return tmp_path


def pressed(folder: Path, line: str, code: str = "from claude_iterate.cli import main; main()") -> list[str]:
    """What is offered at the end of the line, as bash gets it: kind and word."""
    words = line.split()
    count = len(words) if line.endswith(" ") else len(words) - 1
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(PACKAGES),
            "COMP_WORDS": line,
            "COMP_CWORD": str(count),
            "_CLAUDE_ITERATE_COMPLETE": "bash_complete",
        },
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("run ", ["alpha", "beta"]),
        ("run al", ["alpha"]),
        ("status ", ["alpha", "beta"]),
        ("start ", ["alpha", "beta"]),
        ("note b", ["beta"]),
        ("config -w ", ["alpha", "beta"]),
        ("-C sub run ", ["alpha", "beta"]),
        ("--workspaces-dir elsewhere run ", []),
        ("config ", list(catalogue())),
        ("config claude.perm", ["claude.permission_mode"]),
        ("config claude.permission_mode ", list(PERMISSION_MODES)),
        ("config permission_mode ", []),
        ("config colors ", ["true", "false"]),
        ("config delay ", []),
        ("config notify.events --add ver", ["verification"]),
        ("run alpha --permission-mode b", ["bypassPermissions"]),
        ("run alpha --output ", ["quiet", "progress", "verbose"]),
        ("verify alpha --depth ", ["quick", "standard", "deep"]),
        ("setup new --mode ", ["loop", "iterative", "plan", "build"]),
        ("history alpha --run ", ["000002-20260131-180500-abcdef", "000001-20260131-170500-abcdef"]),
        ("template use ", ["mine"]),
        ("tpl show m", ["mine"]),
        ("archive restore ", ["gamma", "gamma-2026-01-31T17-05-00"]),
        ("li", ["list"]),
        ("run alpha --aga", ["--again"]),
        ("run alpha ", ["beta"]),
        ("nonsense nonsense --", None),
    ],
)
def test_words_are_offered(filled: Path, line: str, offered: list[str] | None) -> None:
    """Names, keys and values that fit; nothing is printed besides, whatever was typed."""
    found = pressed(filled, f"claude-iterate {line}")
    assert offered is None or found == [f"plain,{word}" for word in offered]


@pytest.mark.parametrize(
    ("line", "kind"), [("setup x --from t", "file,t"), ("verify alpha --report-path ", "file,"), ("-C s", "dir,s")]
)
def test_files_are_left_to_the_shell(filled: Path, line: str, kind: str) -> None:
    """It knows its own files better."""
    assert pressed(filled, f"claude-iterate {line}") == [kind]


def test_bad_settings_are_no_message_at_the_prompt(filled: Path) -> None:
    """The next command tells of them."""
    (filled / ".claude-iterate.toml").write_text("nonsense = = 1")
    assert pressed(filled, "claude-iterate run ") == []
