"""Fingerprints of what defines a proof: what is found, what is left out, and that only what changed is read again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.tampering.check_words import named_by
from claude_iterate.project import files_with_tests, proof_files
from claude_iterate.project.proof_files import ProofFiles, Watched

TEST = "def test_a():\n    assert True\n"


def watched(root: Path, *commands: str, path: tuple[str, ...] = (), **more: Any) -> Watched:
    values: dict[str, Any] = {"files": {}, "folders": {}, "counts": lambda name: not name.startswith("ours")}
    return Watched(root=root, named=[named_by(command) for command in commands], path=path, **values | more)


def test_words_configuration_and_programs_are_found(tmp_path: Path) -> None:
    """Files that a check names, also by a pattern; what its tool reads; a program of the project in PATH."""
    for name in ("check.sh", "a.txt", "b.txt", "Makefile", "bin/make", "bin/other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "bin" / "make").chmod(0o755)
    looked = ProofFiles(watched(tmp_path, "sh check.sh *.txt", "make", path=("/usr/bin", "bin"))).look()
    assert sorted(looked["check"]) == ["a.txt", "b.txt", "check.sh"]
    assert list(looked["config"]) == ["Makefile"]
    assert list(looked["program"]) == ["bin/make"]


def test_what_a_script_takes_in_is_found(tmp_path: Path) -> None:
    """Sourced files, included makefiles and modules beside a script, in turn too; not modules of the project's root,
    which may be the very work."""
    texts = {
        "ci/check.sh": '. "$(dirname "$0")/lib.sh"\nsource ci/more.sh\n',
        "ci/lib.sh": ". ci/deep.sh\n",
        "ci/more.sh": "",
        "ci/deep.sh": "",
        "Makefile": "include rules/*.mk\n-include none.mk\n",
        "rules/a.mk": "",
        "tools/check.py": "import json, helper\nfrom package import part\n",
        "tools/helper.py": "",
        "tools/package/part.py": "",
        "check.py": "import app\n",
        "app.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text or name)
    looked = ProofFiles(
        watched(tmp_path, "sh ci/check.sh", "make test", "python tools/check.py", "python check.py")
    ).look()
    assert set(looked["check"]) == set(texts) - {"app.py", "Makefile"}


def test_scripts_for_checks_that_a_script_runs_are_found(tmp_path: Path) -> None:
    """In recipes and npm scripts for checks all of them, elsewhere those with such a name: others may be the work.
    Makefiles are found behind variables and patterns."""
    texts = {
        "Makefile": "D := rules\ninclude $(D)/a.mk $(wildcard more/*.mk)\n"
        "test: unit\nunit:\n\t@./t.sh\nbuild:\n\tsh b.sh\n",
        "rules/a.mk": "",
        "more/b.mk": "lint:\n\tpython tools/style.py\n",
        "t.sh": "",
        "tools/style.py": "",
        "package.json": '{"scripts": {"test": "sh n.sh", "start": "node app.js"}}',
        "n.sh": "",
        "all.sh": '# don\'t\ncd "$(dirname "$0")"\n./run-tests.sh\nbash ci/lint\n./backup.sh\n',
        "run-tests.sh": "",
        "ci/lint": "",
    }
    work = {"b.sh", "app.js", "backup.sh"}
    for name in (*texts, *work):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(texts.get(name) or name)
    looked = ProofFiles(watched(tmp_path, "make test", "npm test", "sh all.sh")).look()
    assert set(looked["check"]) == set(texts) - {"Makefile", "package.json"}


def test_a_module_with_a_name_of_pythons_own_is_a_program(tmp_path: Path) -> None:
    """Where Python looks for modules first: beside the script, in the folder, in PYTHONPATH. A folder without
    `__init__.py` hides nothing, and other modules are work."""
    commands = ("python tools/check.py", "python -m unittest", "PYTHONPATH=lib python -c 1", "cd sub && pytest")
    files = ProofFiles(watched(tmp_path, *commands))
    names = ("tools/json.py", "unittest.py", "lib/sitecustomize.py", "sub/_pytest/__init__.py")
    for name in (*names, "app.py", "code/readme.md", "lib/json.txt", "elsewhere/json.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    assert set(files.look()["program"]) == set(names)


def test_a_program_in_a_folder_that_the_command_names(tmp_path: Path) -> None:
    """`PATH=bin:$PATH tool`: one that appears there takes the place of the installed one."""
    files = ProofFiles(watched(tmp_path, "PATH=bin:$PATH tool"))
    assert files.look() == {}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "tool").chmod(0o755)
    assert list(files.look()["program"]) == ["bin/tool"]


def test_a_new_conftest_beside_tests_is_seen(tmp_path: Path) -> None:
    """In their folder and in those above; what tools install is no script of a check."""
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_a.py").write_text(TEST)
    files = ProofFiles(watched(tmp_path, "pytest", "node_modules/.bin/jest", ".venv/bin/pytest"))
    files.find_tests()
    before = files.count_tests(lambda: True)
    assert before is not None
    (tmp_path / "tests" / "conftest.py").write_text("collect_ignore = ['unit']\n")
    for name in ("node_modules/.bin", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "node_modules/.bin/jest").write_text("")
    (tmp_path / ".venv/bin/pytest").write_text("")
    assert set(files.look_at_tests(before)) == {"tests/unit/test_a.py", "tests/conftest.py"}
    assert "script" not in files.look()


def test_a_module_that_stands_in_the_way_is_a_program(tmp_path: Path) -> None:
    """`python -m pytest` runs `pytest.py` of the folder; of a module of the project only its existence counts."""
    files = ProofFiles(watched(tmp_path, "python -m pytest", "python -m app"))
    assert files.look() == {}
    (tmp_path / "pytest.py").write_text("")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("1")
    before = files.look()
    assert sorted(before["program"]) == ["app/__main__.py", "pytest.py"]
    (tmp_path / "app" / "__main__.py").write_text("22")
    assert files.look() == before


def test_the_content_counts_not_the_times(tmp_path: Path) -> None:
    """A file that is written again with the same text is the same; one with the old times and another text is not."""
    script = tmp_path / "check.sh"
    script.write_text("one")
    files = ProofFiles(watched(tmp_path, "sh check.sh"))
    before, about = files.look(), script.stat()
    script.unlink()
    script.write_text("one")
    assert files.look() == before
    script.write_text("another")
    os.utime(script, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert files.look() != before
    script.write_text("")
    assert files.look()["check"] == {"check.sh": "empty"}


def test_what_is_no_file_does_not_hang_and_is_not_there(tmp_path: Path) -> None:
    """A pipe, a folder, a link that leads nowhere, an impossible name."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "test_pipe.py")
    files = ProofFiles(watched(tmp_path, "sh pipe folder link " + "x" * 900))
    assert files.look() == {}
    files.find_tests()
    assert (files.count_tests(lambda: True), files.left_out) == ({}, 1)


def test_a_large_file_is_told_by_size_and_time(tmp_path: Path) -> None:
    """It is not read."""
    (tmp_path / "data.bin").write_bytes(b"x" * (proof_files._LARGEST + 1))
    files = ProofFiles(watched(tmp_path, "diff data.bin -"))
    assert files.look()["check"]["data.bin"].startswith(f"{proof_files._LARGEST + 1} ")


def found_tests(files: ProofFiles) -> dict[str, str]:
    files.find_tests()
    counted = files.count_tests(lambda: True)
    assert counted is not None
    return counted


def test_tests_are_found_and_counted(tmp_path: Path) -> None:
    """By name, or in a folder of tests if there are some in it; not in what tools fetched, not in our own folders."""
    kept = ("test_a.py", "deep/er/b.test.js", "tests/check.py")
    for name in (*kept, "node_modules/x/test_c.py", ".venv/test_d.py", "ours/test_e.py", "src/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TEST)
    (tmp_path / "tests" / "data.py").write_text("x = 1\n")
    assert sorted(found_tests(ProofFiles(watched(tmp_path)))) == sorted(kept)


def test_counting_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A little at a time; what was read first counts, whatever became of the file since."""
    for number in range(3):
        (tmp_path / f"test_{number}.py").write_text(TEST)
    files = ProofFiles(watched(tmp_path))
    files.find_tests()
    (tmp_path / "test_0.py").write_text("")
    steps = iter([True, False, True, True])
    assert files.count_tests(lambda: next(steps)) is None
    assert files.count_tests(lambda: next(steps)) == {f"test_{number}.py": "1 1 0 1" for number in range(3)}
    assert files.tests_touched() == {"test_0.py": "1 1 0 1"}


def test_touched_tests_are_known_before_all_are_counted(tmp_path: Path) -> None:
    """The end of a short run needs no count of those that are the same."""
    for name in ("test_a.py", "test_b.py", "test_c.py"):
        (tmp_path / name).write_text(TEST)
    files = ProofFiles(watched(tmp_path))
    files.find_tests()
    (tmp_path / "test_a.py").unlink()
    (tmp_path / "test_b.py").write_text("")
    before = files.tests_touched()
    assert before == {"test_a.py": "1 1 0 1", "test_b.py": "1 1 0 1"}
    assert files.look_at_tests(before) == {"test_b.py": "0 0 0 0"}
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit" / "test_a.py").write_text(TEST)
    assert files.look_at_tests(before)["unit/test_a.py"] == "1 1 0 1"


@pytest.mark.parametrize(("bound", "value"), [("_MOST_FILES", 2), ("_MOST_ENTRIES", 2)])
def test_a_large_project_is_looked_at_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    """Those near the root first, and it is known that something is missing."""
    monkeypatch.setattr(files_with_tests, bound, value)
    for name in ("test_a.py", "test_b.py", "a/test_c.py", "a/b/test_d.py", "a/b/test_e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TEST)
    files = ProofFiles(watched(tmp_path))
    assert list(found_tests(files)) == ["test_a.py", "test_b.py"]
    assert files.left_out >= 1


def test_too_many_bytes_of_tests_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And counted as left out."""
    monkeypatch.setattr(proof_files, "_MOST_BYTES", len(TEST))
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(TEST)
    files = ProofFiles(watched(tmp_path))
    assert (list(found_tests(files)), files.left_out) == (["test_a.py"], 1)
