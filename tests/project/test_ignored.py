"""Patterns mean what git takes them for, and a look without git heeds them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from claude_iterate.project.ignored import ignore_rules, ignores
from claude_iterate.project.scan import scan
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
    ours = ignore_rules(pattern.split("\n"))
    assert [path for path in PATHS if ignores(ours, path)] == said.decode().split("\0")[:-1]


def test_patterns_of_a_folder_count_below_it(tmp_path: Path) -> None:
    """A `.gitignore` in a folder says nothing about what is beside it, and more than those above it about its own."""
    (tmp_path / ".gitignore").write_text("*.o\n")
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    (tmp_path / "lib" / ".gitignore").write_text("*.a\n!keep.o\n")
    for name in ("x.o", "x.a", "lib/x.a", "lib/keep.o", "lib/deep/x.a", "lib/deep/x.o"):
        (tmp_path / name).touch()
    found = scan(tmp_path, lambda _path: True, ())
    assert sorted(found.files) == [".gitignore", "lib/.gitignore", "lib/keep.o", "x.a"]


@pytest.mark.parametrize("line", ["!", "\\", "[z-a]", "[[:alpha:]]x", "\0"])
def test_what_is_no_pattern_is_passed_over(line: str) -> None:
    """An agent may write anything into a `.gitignore`; the other lines count."""
    rules = ignore_rules([line, "*.o"])
    assert (ignores(rules, "a.o"), ignores(rules, "a.c")) == (True, False)
