"""Our reading of patterns, against git's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from claude_iterate.project.ignored import Ignored
from tests.project.repository import clean_environment

PATTERNS = [
    "*.log", "/top", "build/", "a/b", "**/deep", "x/**", "a/**/z", "!keep.log", "# comment", "", "file?", "[ab].txt",
    "[!ab].md", "\\#hash", "trailing ", "*.log\n!keep.log", "dir/\n!dir/x", "*", "/*.c", "\\!x", "a/",
]  # fmt: skip
PATHS = [
    "x.log", "keep.log", "a/x.log", "top", "a/top", "build/x", "src/build/x", "a/b", "z/a/b", "deep", "q/deep", "x/1",
    "x/y/2", "a/z", "a/1/2/z", "file1", "file12", "a.txt", "c.txt", "a.md", "c.md", "#hash", "# comment", "trailing",
    "dir/x", "dir/y", "m.c", "s/m.c", "!x", "a",
]  # fmt: skip


@pytest.mark.needs_git
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_git_takes_them_for(pattern: str, tmp_path: Path) -> None:
    """The same paths are ignored, also by the folders that they are in."""
    environ = clean_environment(tmp_path)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, env=environ, check=True)
    (tmp_path / ".gitignore").write_text(pattern + "\n")
    words = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    given = "\0".join(PATHS).encode()
    said = subprocess.run(words, cwd=tmp_path, env=environ, input=given, capture_output=True, check=False).stdout
    ours = Ignored(pattern.split("\n"))
    assert [path for path in PATHS if ours.covers_any_part(path)] == said.decode().split("\0")[:-1]


def test_patterns_of_a_folder_count_below_it() -> None:
    """A `.gitignore` in a folder says nothing about what is beside it."""
    ignored = Ignored(["*.o"], "lib/")
    assert ignored.covers("lib/x.o")
    assert ignored.covers("lib/deep/x.o")
    assert not ignored.covers("x.o")
