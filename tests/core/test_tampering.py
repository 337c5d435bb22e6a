"""What counts as a change of that which defines the proof, and what does not."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import astuple

from claude_iterate.core.events import ProofChange
from claude_iterate.core.formats import plural
from claude_iterate.core.tampering import marks_of_tests
from claude_iterate.core.tampering.comparison import (
    EMPTY,
    compare,
    still_open,
    with_changes,
)
from claude_iterate.core.tampering.descriptions import describe, describe_all, describe_changes
from claude_iterate.core.tampering.normal_forms import changed_settings, proving_part

PYTHON = "def test_a():\n    assert one() == 1\n    assert two() == 2\n\n\ndef test_b():\n    assert three()\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("test_a.py", PYTHON, (2, 3, 0)),
        ("test_a.py", "", (0, 0, 0)),
        ("test_a.py", "class TestX:\n    async def test_a(self):\n        self.assertEqual(1, 1)\n", (1, 1, 0)),
        ("test_a.py", "# def test_a():\n#     assert x\n", (0, 0, 0)),
        ("test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert x\n", (1, 1, 1)),
        ("test_a.py", "def test_a():\n    pytest.skip('later')\n    assert x\n", (1, 1, 1)),
        ("test_a.py", "def test_skip_empty_lines():\n    assert skip(1)\n", (1, 1, 0)),
        ("a.test.ts", "it('adds', () => { expect(1).toBe(1) })\ntest.each([1])('x', () => {})\n", (2, 1, 0)),
        ("a.test.ts", "  // it('adds', () => { expect(1).toBe(1) })\n", (0, 0, 0)),
        ("a.test.ts", "it.only('a', f); xit('b', g); describe.skip('c', h)\n", (1, 0, 3)),
        ("a_spec.rb", "  it 'adds' do\n    expect(1).to eq 1\n  end\n", (1, 1, 0)),
        ("a_test.go", 'func TestA(t *testing.T) {\n\tt.Skip()\n\tt.Errorf("x")\n}\n', (1, 1, 1)),
        ("a.rs", "#[test]\n#[ignore]\nfn a() { assert_eq!(1, 1); }\n", (1, 1, 1)),
        ("ATest.java", "@Test @Disabled void a() { assertTrue(x); }\n", (1, 1, 1)),
        ("a.bats", '@test "a" {\n  skip\n  [ 1 = 1 ]\n}\n', (1, 1, 1)),
        ("a_test.cc", "TEST(A, B) { EXPECT_EQ(1, 1); }\nTEST(A, DISABLED_C) {}\n", (2, 1, 1)),
    ],
)
def test_tests_assertions_and_skips_are_counted(path: str, text: str, expected: tuple[int, int, int]) -> None:
    """In any of the usual languages; not in comments, and not where a name only sounds so."""
    found = marks_of_tests.counts(path, text)
    assert astuple(found)[:3] == expected
    assert marks_of_tests.read(marks_of_tests.written(found)) == found


@pytest.mark.parametrize(
    ("path", "text", "hollow"),
    [
        ("test_a.py", "def test_a():\n    check(1)\n", 0),
        ("test_a.py", "def test_a():\n    pass\n", 1),
        ("test_a.py", "def test_a(x: int) -> None: ...\n", 1),
        ("test_a.py", 'def test_a():\n    """Says much."""\n\n\ndef test_b():\n    return\n', 2),
        ("test_a.py", 'def test_a():\n    """Says much."""\n    assert x\n', 0),
        ("test_a.py", "def test_a():\n    assert True\n    assert True_value\n", 1),
        ("a.test.ts", "it('adds', () => {})\ntest('x', async () => { run() })\n", 1),
        ("a.test.ts", "it('adds', () => { expect(true).toBe(true) })\n", 1),
    ],
)
def test_tests_that_do_nothing_are_counted(path: str, text: str, hollow: int) -> None:
    """An emptied body, and an assertion that always holds."""
    assert marks_of_tests.counts(path, text).hollow == hollow


def test_a_new_file_around_tests_is_told_if_it_can_change_them() -> None:
    """A `conftest.py` that skips is; one with fixtures, an empty `__init__.py` and a new test are not."""
    was = {"tests/test_a.py": "1 1 0 0"}
    assert marks_of_tests.counts("tests/__init__.py", "def load_tests(*_): return TestSuite()").skips == 1
    assert marks_of_tests.counts("tests/test_a.py", "def test_a(): assert sys.exit").skips == 0
    new = {"tests/conftest.py": "0 0 1 0", "tests/__init__.py": "0 0 0 0", "tests/test_b.py": "1 1 1 0"}
    (change,) = compare({"test": was}, {"test": was | new})
    assert (change.path, change.how) == ("tests/conftest.py", "created")


def test_a_new_script_of_a_check_is_told() -> None:
    """A new file that a check only reads is work; one that it runs is a check that Claude wrote."""
    now = {"check": {"out.txt": "1", "check.sh": "1"}, "script": {"check.sh": "1"}}
    (change,) = compare({}, now)
    assert (change.kind, change.path, change.how) == ("script", "check.sh", "created")
    (change,) = compare(now, {"check": {"out.txt": "1", "check.sh": "2"}, "script": {"check.sh": "2"}})
    assert (change.kind, change.how) == ("check", "changed")


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("tests/test_a.py", True),
        ("a_test.go", True),
        ("src/a.test.tsx", True),
        ("spec/models/a_spec.rb", True),
        ("src/FooTest.java", True),
        ("test/check.sh", True),
        ("src/lib.rs", True),
        ("src/main.py", False),
        ("tests/data.json", False),
        ("contest.py", False),
        ("latest.js", False),
    ],
)
def test_which_files_may_hold_tests(path: str, holds: bool) -> None:
    """By name or folder."""
    assert marks_of_tests.may_hold_tests(path) is holds


def test_ticked_boxes_are_no_change_of_the_instructions() -> None:
    """Claude may tick them off; a word that changes is a change."""
    before, ticked = "- [ ] one\n* [ ] two\n", "- [x] one\n* [X] two\n"
    assert proving_part("instructions", "INSTRUCTIONS.md", ticked) == before
    assert proving_part("instructions", "INSTRUCTIONS.md", "- [ ] one\n") != before


@pytest.mark.parametrize(
    ("name", "before", "same", "other"),
    [
        (
            "package.json",
            '{"scripts": {"test": "jest"}, "version": "1"}',
            '{"version": "2", "dependencies": {"a": "1"}, "scripts": {"test": "jest"}}',
            '{"scripts": {"test": "true"}, "version": "1"}',
        ),
        (
            "pyproject.toml",
            '[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
            '[project]\ndependencies = ["b"]\n[tool.uv]\nx = 1\n[tool.pytest.ini_options]\naddopts = "-q"\n',
            '[tool.pytest.ini_options]\naddopts = "--co"\n',
        ),
        (
            "Cargo.toml",
            '[package]\nname = "a"\n',
            '[package]\nname = "a"\nversion = "2"\n[dependencies]\nb = "1"\n',
            '[package]\nname = "a"\nautotests = false\n',
        ),
        ("Cargo.toml", '[package]\nname = "a"\n', '[package]\nname = "b"\n', "[lib]\ntest = false\n"),
        (
            "conftest.py",
            "import pytest\n",
            "import pytest\n\n@pytest.fixture\ndef client():\n    return 1\n",
            "collect_ignore = ['tests/test_a.py']\n",
        ),
        (
            "go.mod",
            "module a\n\ngo 1.21\n\nrequire (\n\tb v1\n)\n",
            "module a\n\ngo 1.22\n\nrequire (\n\tb v2\n\tc v1\n)\n",
            "module a\n\nreplace testing => ./fake\n",
        ),
        ("pytest.ini", "[pytest]\n", "[pytest]\n", "[pytest]\naddopts = --co\n"),
    ],
)
def test_only_the_part_of_a_file_that_defines_the_proof_counts(name: str, before: str, same: str, other: str) -> None:
    """A dependency or a fixture is work; the test script, a hook or an option of the tool is not."""
    assert proving_part("config", name, same) == proving_part("config", name, before)
    assert proving_part("config", name, other) != proving_part("config", name, before)


def test_a_damaged_file_counts_as_a_whole() -> None:
    """What cannot be read as what it should be may mean anything."""
    assert proving_part("config", "package.json", "{broken") == "{broken"
    assert proving_part("config", "pyproject.toml", "= 1") == "= 1"
    assert proving_part("config", "package.json", "[1]") == "[1]"
    assert proving_part("settings", ".claude-iterate.toml", "= 1").startswith("unreadable=")


def test_settings_are_named_and_their_values_are_not_kept() -> None:
    """Which setting changed is told; of `.metadata.json` only the settings count, not what runs write there."""
    toml = proving_part("settings", ".claude-iterate.toml", '[verification]\nchecks = ["secret-word"]\n')
    assert "verification.checks=" in toml
    assert "secret-word" not in toml
    gone = proving_part("settings", ".claude-iterate.toml", "delay = 1\n")
    assert changed_settings(toml, gone) == ("delay", "verification.checks")
    one, two, other = (
        proving_part("settings", ".metadata.json", json.dumps({"run": run, "mode": "loop", "config": config}))
        for run, config in ((1, {"delay": 1}), (2, {"delay": 1}), (1, {"delay": 2}))
    )
    assert one == two
    assert changed_settings(one, other) == ("delay",)


def files(**kinds: dict[str, str]) -> dict[str, dict[str, str]]:
    return kinds


def found(before: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(change.path, change.how) for change in compare(before, now)]


def test_changes_by_kind() -> None:
    """Changed, emptied, deleted; created only where a new file counts. The same is no change."""
    before = files(check={"a": "1", "b": "2", "c": "3", "d": "4"}, settings={"s": "x=1 y=2"})
    now = files(check={"a": "1", "b": "9", "c": EMPTY, "new": "5"}, settings={"s": "x=1 y=3"}, prompt={"p": "1"})
    assert found(before, now) == [
        ("s", "changed: y"),
        ("b", "changed"),
        ("c", "emptied"),
        ("d", "deleted"),
        ("p", "created"),
    ]
    assert found(before, before) == found(files(), files()) == []


@pytest.mark.parametrize(
    ("before", "now", "how"),
    [
        ("3 5 0", "3 5 0", ""),
        ("3 5 0", "4 7 0", ""),
        ("3 5 1", "3 5 0", ""),
        ("3 5 0", "2 3 0", "1 test fewer, 2 assertions fewer"),
        ("3 5 0", "3 5 2", "2 skip marks more"),
        ("3 5 0", "0 0 0", "emptied"),
        ("0 5 0", "0 4 0", "1 assertion fewer"),
    ],
)
def test_tests_may_grow_and_must_not_shrink(before: str, now: str, how: str) -> None:
    """Fewer tests or assertions and more skip marks are told; new ones are not."""
    expected = [("t.py", how)] if how else []
    assert found(files(test={"t.py": before}), files(test={"t.py": now, "new.py": "1 1 0"})) == expected


def test_tests_that_moved_are_not_deleted() -> None:
    """A new file of the same name that tests as much, or one with the same counts, takes the place of the old one."""
    before = files(test={"test_a.py": "3 5 0", "test_b.py": "1 1 0"})
    assert found(before, files(test={"test_b.py": "1 1 0"})) == [("test_a.py", "deleted")]
    assert found(before, files(test={"test_b.py": "1 1 0", "unit/test_a.py": "3 6 0"})) == []
    assert found(before, files(test={"test_b.py": "1 1 0", "unit/test_a.py": "2 6 0"})) == [("test_a.py", "deleted")]
    assert found(before, files(test={"test_b.py": "1 1 0", "test_c.py": "3 5 0"})) == []


def test_a_file_of_two_kinds_is_told_once() -> None:
    """Under the first of them."""
    (change,) = compare(files(check={"x": "1"}, memory={"x": "1"}), files(check={"x": "2"}, memory={"x": "2"}))
    assert change.kind == "check"


def test_a_change_stands_until_it_is_undone_or_the_file_is_another() -> None:
    """The next run compares with what was before the change, unless a person changed the file since."""
    change = ProofChange("check", "check.sh", "changed", "old", "new")
    left, undone, edited = (files(check={"check.sh": it}) for it in ("new", "old", "mine"))
    (open_change,) = still_open([change], left)
    assert (open_change.earlier, open_change.was) == (True, "old")
    assert still_open([change], undone) == still_open([change], edited) == ()
    assert with_changes(left, [open_change]) == undone
    deleted = ProofChange("check", "check.sh", "deleted", "old", "")
    assert still_open([deleted], files()) != ()
    assert with_changes(files(), [deleted]) == undone
    created = ProofChange("prompt", "p.md", "created", "", "new")
    assert with_changes(files(prompt={"p.md": "new"}), [created]) == files(prompt={})


def test_changes_in_words() -> None:
    """What, how, and what it is to the proof; a long list is cut."""
    change = ProofChange("check", "check.sh", "changed")
    assert describe(change) == "check.sh (changed; a check uses it)"
    earlier = ProofChange("check", "check.sh", "changed", earlier=True)
    assert describe(earlier) == "check.sh (changed in an earlier run; a check uses it)"
    assert describe_all([change] * 10).endswith("and 2 more")


@pytest.mark.parametrize(
    ("now", "gone"),
    [
        ("- [x] one\n- [x] two\n- [x] three\n", 0),
        ("- [x] one\n- [x] Two ✅\n- [~] **three**\n", 0),
        ("- [x] two\n- [x] three\n", 0),  # a ticked task may go
        ("- [x] one\n- [x] two\n", 1),
        ("- [x] one\n", 2),
        ("", 2),
        ("- [x] one\n- [x] two, and three with it\n- [x] three\n", 0),  # other words
        ("- [x] one\n- [x] two a\n- [x] two b\n- [x] three\n", 0),  # split
        ("- [x] one\n- [x] two and three\n", 1),
        ("- [x] one\n- [x] two\n```\n- [ ] three\n```\n", 1),
    ],
)
def test_an_open_task_that_is_taken_out_of_the_plan_is_told(now: str, gone: int) -> None:
    """Ticks, other words, new tasks and ticked tasks that go are work; an open one that is gone is not done."""
    before = {"plan": {"PLAN.md": proving_part("plan", "PLAN.md", "- [x] one\n- [ ] two\n- [ ] three\n")}}
    changes = compare(before, {"plan": {"PLAN.md": proving_part("plan", "PLAN.md", now) or EMPTY}})
    told = [describe(change) for change in changes]
    assert told == ([f"PLAN.md ({plural(gone, 'open task')} removed; the plan)"] if gone else [])


def test_tasks_may_move_between_the_files_of_a_plan() -> None:
    """From one to another, or into a new one."""
    was = {"a": proving_part("plan", "a", "- [ ] one\n- [ ] two\n")}
    now = {"a": EMPTY, "b": proving_part("plan", "b", "- [x] one\n- [ ] two\n")}
    assert compare({"plan": was}, {"plan": now}) == ()
    assert [change.how for change in compare({"plan": was}, {"plan": {}})] == ["2 open tasks removed"]


def test_in_which_run_it_was_changed_is_said_once() -> None:
    """At the end of a run: in this one, in an earlier one; where both, each change says it for itself."""
    change = ProofChange("check", "check.sh", "changed")
    earlier = ProofChange("check", "other.sh", "deleted", earlier=True)
    start, now = "Part of the proof was changed", "check.sh (changed; a check uses it)"
    assert describe_changes([change]) == f"{start} during the run: {now}"
    assert describe_changes([earlier]) == f"{start} in an earlier run: other.sh (deleted; a check uses it)"
    assert (
        describe_changes([change, earlier]) == f"{start}: {now}, other.sh (deleted in an earlier run; a check uses it)"
    )
