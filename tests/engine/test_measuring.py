"""What is recorded of an iteration's work: the looks of a run at its project, without Claude and without a loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core.events import (
    IterationFinished,
    IterationStarted,
    Outcome,
    Resumed,
    SnapshotTaken,
    Warned,
    WorkMeasured,
)
from claude_iterate.core.events.enums import Kind, Purpose
from claude_iterate.core.events.run import Work
from claude_iterate.core.reports.status import Status
from claude_iterate.core.rules.verdicts import Ask, Begin, Verify, Wait
from claude_iterate.core.settings.declared import build
from claude_iterate.engine.measuring import Measuring, start_measuring
from claude_iterate.workspace.layout import Layout
from tests.engine.building import Listener, made, plan_in, supervisor_of
from tests.project.repository import Repository, clean_environment

WORKSPACE = Path("claude-iterate", "workspaces", "w")


class Run:
    """A run of the workspace `w` in a project, with its measuring and nothing else."""

    def __init__(self, root: Path, resumed: Resumed | None = None, **more: Any) -> None:
        self.root = root
        self.folder = root / WORKSPACE
        self.folder.mkdir(parents=True, exist_ok=True)
        listener = Listener()
        dispatcher, self.recorder = made(root, sinks=listener)
        settings = {key.replace("__", "."): value for key, value in more.items() if "__" in key}
        other = {key: value for key, value in more.items() if "__" not in key}
        values = {"run": "000001-x", "environ": clean_environment(root.parent), "resumed": resumed, **other}
        self.plan = plan_in(root, layout=Layout(root, self.folder), settings=build(settings), **values)
        self.supervisor = supervisor_of(self.plan, dispatcher, self.recorder)
        self.recorded = listener.events
        self._measuring = start_measuring(self.supervisor)

    @property
    def measuring(self) -> Measuring:
        assert self._measuring is not None
        return self._measuring

    @property
    def is_measured(self) -> bool:
        return self._measuring is not None

    def iteration(self, number: int, work: Callable[[], object], kind: Kind = Kind.OK, **more: Any) -> WorkMeasured:
        """The measure of an iteration that does this work."""
        self.measuring.prepares(Begin(number))
        self.recorder.record(IterationStarted(number))
        work()
        self.recorder.record(IterationFinished(number, Outcome(kind), **more))
        return self.measure(number)

    def measure(self, number: int) -> WorkMeasured:
        self.measuring.measure(number)
        found = self.recorder.state.work.last_measure
        assert found is not None
        assert found.number == number
        return found

    def write(self, name: str, text: str) -> Callable[[], object]:
        return lambda: (self.root / name).write_text(text)

    def warnings(self) -> list[str]:
        return [event.text for event in self.recorded if isinstance(event, Warned)]


def nothing() -> None: ...


def test_files_are_counted_by_what_happened_to_them(tmp_path: Path) -> None:
    """And named; the next iteration is compared with what this one left."""
    (tmp_path / "a").write_text("1")
    run = Run(tmp_path)
    first = run.iteration(1, run.write("b", "2"))
    assert first.changes is not None
    assert (first.changes.created, first.changes.files, first.progress) == (1, ("b",), ("files",))
    second = run.iteration(2, (tmp_path / "a").unlink)
    assert second.changes is not None
    assert (second.changes.deleted, second.changes.created, second.changes.files) == (1, 0, ("a",))
    assert run.recorder.state.work.files_changed == 2
    third = run.iteration(3, nothing)
    assert third.changes is not None
    assert (third.changes.number_of_files, third.progress) == (0, ())


def test_own_files_are_no_work(tmp_path: Path) -> None:
    """Neither of this workspace nor of another one."""
    run = Run(tmp_path)
    other = tmp_path / WORKSPACE.parent / "other"
    other.mkdir()
    assert not run.iteration(1, lambda: (other / "TODO.md").write_text("x")).progress
    assert not run.iteration(2, lambda: (run.folder / "TODO.md").write_text("x")).progress


@pytest.mark.needs_git
def test_in_a_repository_each_iteration_has_a_snapshot(tmp_path: Path) -> None:
    """The first one from before it; commits count, though the tree is clean afterwards."""
    repository = Repository(tmp_path / "project")
    repository.write(a="1")
    repository.commit()
    run = Run(repository.root)

    def work() -> None:
        repository.write(a="2")
        repository.commit()

    measured = run.iteration(1, work)
    assert measured.changes is not None
    assert measured.changes.commits == 1
    assert measured.progress == ("commits", "files")
    taken = [event for event in run.recorded if isinstance(event, SnapshotTaken)]
    assert [(event.number, event.ref.rpartition("/")[2]) for event in taken] == [(0, "0000"), (1, "0001")]
    assert repository.files(taken[1].tree)["a"] == "2"


@pytest.mark.needs_git
def test_what_checks_and_users_change_is_not_the_next_iterations_work(tmp_path: Path) -> None:
    """After a proof, a question to the user and a pause the project is looked at again."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    run = Run(repository.root)
    run.iteration(1, run.write("a", "1"))
    meanwhile: list[Verify | Ask] = [Verify(1), Ask(2)]
    for number, verdict in enumerate(meanwhile, 2):
        run.measuring.prepares(verdict)
        run.write("report", str(number))()
        assert run.iteration(number, nothing).progress == ()
    refs = repository.git("for-each-ref", "--format=%(refname)", "refs/claude-iterate").split("\n")
    assert [ref.rpartition("/")[2] for ref in refs] == ["0000", "0001", "0001-next", "0002-next"]


def test_a_second_try_goes_on_with_what_the_first_left(tmp_path: Path) -> None:
    """A limit in the middle of an iteration: what was done before it is work of the iteration."""
    run = Run(tmp_path)
    run.measuring.prepares(Begin(1))
    run.recorder.record(IterationStarted(1))
    run.write("a", "1")()
    run.recorder.record(IterationFinished(1, Outcome(Kind.USAGE_LIMIT)))
    run.measuring.prepares(Ask(1))
    assert run.iteration(1, nothing).progress == ("files",)


def test_the_look_before_an_iteration_is_told(tmp_path: Path) -> None:
    """The engine asks the rules once more, because the user may have said something meanwhile."""
    run = Run(tmp_path)
    assert not run.measuring.prepares(Wait(5.0))
    assert run.measuring.prepares(Begin(1))
    assert not run.measuring.prepares(Begin(1))


@pytest.mark.needs_git
def test_a_run_that_goes_on_measures_what_the_killed_one_could_not(tmp_path: Path) -> None:
    """From its last snapshot, so what a killed iteration did is not lost either."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    killed = Run(repository.root)
    killed.iteration(1, nothing)
    left = killed.recorder.state.work.snapshot
    repository.write(a="1")
    run = Run(repository.root, Resumed("000001-x", iterations=2, work=Work(measured=1, snapshot=left)), run="000002-x")
    measured = run.measure(2)
    assert measured.changes is not None
    assert (measured.changes.files, measured.progress) == (("a",), ("files",))


def test_without_a_snapshot_that_work_is_not_known(tmp_path: Path) -> None:
    """It is not nothing."""
    run = Run(tmp_path, Resumed("000001-x", iterations=2, work=Work(measured=1)))
    assert run.measure(2).changes is None
    assert run.iteration(3, run.write("a", "1")).progress == ("files",)


@pytest.mark.setting("progress.measure")
@pytest.mark.needs_git
@pytest.mark.parametrize(("measure", "how"), [("auto", "git"), ("git", "git"), ("files", "files")])
def test_the_way_to_measure_can_be_chosen(tmp_path: Path, measure: str, how: str) -> None:
    """By git, or by a scan that leaves nothing in the repository."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    run = Run(repository.root, progress__measure=measure)
    measured = run.iteration(1, run.write("a", "1"))
    assert measured.changes is not None
    assert (measured.changes.how, measured.changes.created) == (how, 1)
    assert bool(repository.git("for-each-ref", "refs/claude-iterate")) == (how == "git")


@pytest.mark.parametrize(
    "other", [{"progress__measure": "off"}, {"dry_run": True}, {"purpose": Purpose.VERIFY}, {"purpose": Purpose.SETUP}]
)
def test_where_nothing_is_measured(tmp_path: Path, other: dict[str, Any]) -> None:
    """If the user does not want it, and where no iteration works on the project."""
    assert not Run(tmp_path, **other).is_measured
    assert sorted(tmp_path.iterdir()) == [tmp_path / "claude-iterate"]


@pytest.mark.setting("progress.ignore")
def test_files_that_the_user_does_not_count(tmp_path: Path) -> None:
    """Patterns as in .gitignore."""
    run = Run(tmp_path, progress__ignore=("*.log",))
    assert run.iteration(1, run.write("a.log", "1")).progress == ()


@pytest.mark.needs_git
def test_what_is_left_out_is_told_once(tmp_path: Path) -> None:
    """By name and reason; its change counts all the same."""
    repository = Repository(tmp_path / "project")
    repository.commit()
    run = Run(repository.root)
    assert run.iteration(1, run.write(".env", "KEY=1")).progress == ("files",)
    assert run.iteration(2, run.write(".env", "KEY=22")).progress == ("files",)
    assert run.warnings() == ["Not in the snapshots of the project: .env (looks secret)"]


@pytest.mark.needs_git
def test_a_repository_that_cannot_be_asked_is_told_once(tmp_path: Path) -> None:
    """What changed is then not known, and the run goes on."""
    repository = Repository(tmp_path / "project")
    (repository.git_folder / "claude-iterate").write_text("in the way")
    run = Run(repository.root)
    assert run.iteration(1, run.write("a", "1")).changes is None
    assert run.iteration(2, run.write("a", "2")).changes is None
    assert len(run.warnings()) == 1
    assert run.recorder.state.breaker.unmoved == 0


@pytest.mark.needs_git
def test_any_file_name_can_be_recorded(tmp_path: Path) -> None:
    """Also one that is no UTF-8."""
    repository = Repository(tmp_path / "project")
    run = Run(repository.root)
    name = os.path.join(os.fsencode(repository.root), b"a\xff\nb")
    measured = run.iteration(1, lambda: os.close(os.open(name, os.O_CREAT)))
    assert measured.changes is not None
    assert measured.changes.files == ("a\ufffd\nb",)


@pytest.mark.parametrize(
    ("status", "file", "words"),
    [
        (Status(False, worked=True), "", "the report says that work was done, but nothing in the project changed."),
        (Status(False, worked=False), "a", "the report says that there was no work to do, but the project changed."),
        (Status(False, worked=True), "a", ""),
        (Status(False, worked=False), "", ""),
        (Status(True), "", ""),
    ],
)
def test_a_report_that_disagrees_is_told_once(tmp_path: Path, status: Status, file: str, words: str) -> None:
    """Whichever way; a claim of completion without a change may be about earlier work."""
    run = Run(tmp_path)
    for number in (1, 2):
        run.iteration(number, run.write(file, str(number)) if file else nothing, status=status)
    assert run.warnings() == ([f"Iteration 1: {words}"] if words else [])
