"""The morning report of a task, or of one of its runs, as a typed document. It counts with the sums of `history`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from claude_iterate.core.events.enums import ENDINGS
from claude_iterate.core.fingerprints import checksum, open_boxes
from claude_iterate.core.formats import moment
from claude_iterate.core.redact import Redactor
from claude_iterate.core.tones import Tone, state_words, tone
from claude_iterate.project.git import Git, GitProblem
from claude_iterate.project.ignored import ignore_rules, ignores
from claude_iterate.system import untrusted_files
from claude_iterate.views import history_view
from claude_iterate.views.history_view import RunHistory, Total, total
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.run_view import RunView, nothing_to_show, run_view
from claude_iterate.views.story import EvidenceView, RunRecords, Story, WaitView
from claude_iterate.workspace.layout import Layout


class RunOfTask(msgspec.Struct, frozen=True, rename="camel"):
    """One run of the task: when it began, what it took, how it ended. A killed run has no reason."""

    id: str
    purpose: str
    started: str | None
    duration: float
    iterations: int
    cost_usd: float
    cost_is_lower_bound: bool
    reason: str | None
    known_by: str | None
    words: str
    """How it ended, or what it does now."""
    tone: Tone


class NightReport(msgspec.Struct, frozen=True, rename="camel"):
    """A task in the morning: how it ended, the proof, the work, money and time. `run` is the last of its `runs`."""

    workspace: str
    path: str
    mode: str
    run: RunView
    runs: tuple[str, ...]
    sentence: str
    """How it ended, or what it does now, in one sentence."""
    good: bool
    """It ended well, or is still running."""
    tone: Tone
    """How the sentence looks: good only for what is proven."""
    instructions: str
    instructions_missing: str
    """Why there are none; empty when there are."""
    iterations: tuple[Row, ...]
    total: Total
    waits: tuple[WaitView, ...]
    waited: float
    proofs: tuple[EvidenceView, ...]
    warnings: tuple[str, ...]
    diffstat: Diffstat | None
    """What the run changed in the project, from its first iteration to its last; null: not known."""
    diffstats: tuple[Diffstat | None, ...]
    """The same for each iteration."""
    written: str
    """When this report was made."""
    parts: tuple[RunOfTask, ...] = ()
    """The runs, oldest first."""


def night_report(layout: Layout, run: str | None, at: float) -> NightReport:
    """The report of a run; without one that of the task, over all of its runs."""
    records = RunRecords(layout)
    if run is not None:
        chosen = history_view.run(records, run)
        histories = [chosen] if chosen is not None else []
    else:
        histories = history_view.task_runs(records)
    if not histories:
        raise nothing_to_show(layout, run)
    stories = [records.story(history.id) for history in histories]
    views = [run_view(layout, story, at if records.is_under_way(story.run) else None) for story in stories]
    parts = tuple(map(_part, views, histories))
    last, started = views[-1], stories[-1].state.run
    rows = tuple(row for history in histories for row in history.iterations)
    text, missing = _instructions(layout.instructions, next((row.instructions_hash for row in reversed(rows)), ""))
    whole, each = diffstats(layout, rows, started.settings.get("progress.ignore", ()))
    report = NightReport(
        workspace=layout.name,
        path=str(layout.folder),
        mode=started.mode,
        run=last,
        runs=tuple(history.id for history in histories),
        sentence=_sentence(last),
        good=last.state == "running" or (last.reason is not None and ENDINGS[last.reason].good),
        tone=parts[-1].tone,
        instructions=text,
        instructions_missing=missing,
        iterations=rows,
        total=total(histories),
        waits=tuple(wait for story in stories for wait in _waits(story, at)),
        waited=round(sum(history.waited for history in histories), 3),
        proofs=tuple(proof for story in stories for proof in story.proofs),
        warnings=tuple(what.text for story in stories for what in story.recent if what.event == "Warned"),
        diffstat=whole,
        diffstats=each,
        written=moment(at),
        parts=parts,
    )
    return Redactor(os.environ).clean_struct(report)  # instructions and names of files come as they are


def _part(view: RunView, history: RunHistory) -> RunOfTask:
    alone, how = total([history]), (view.condition, view.known_by)
    money = (alone.cost_usd, alone.cost_is_lower_bound)
    about = (view.id, view.purpose, view.started, view.duration, alone.iterations)
    return RunOfTask(*about, *money, view.reason, view.known_by, state_words(*how), tone(*how))


def _sentence(view: RunView) -> str:
    if view.state == "running":
        number = f", iteration {view.iteration}" if view.iteration else ""
        return f"The run is under way: {view.condition}{number}."
    return view.cause if view.cause.endswith((".", "!", "?")) else f"{view.cause}."


def _waits(story: Story, at: float) -> list[WaitView]:
    so_far = round(story.waited_by(at) - story.waited, 3)
    return [wait if wait.ended is not None else replace(wait, duration=so_far) for wait in story.waits]


def _instructions(path: Path, given: str) -> tuple[str, str]:
    """The text, or why there is none. `given` is the checksum of what the last iteration was given: another text, but
    for ticked boxes, was not asked of this run."""
    data = untrusted_files.read(path)
    if data is None:
        return "", f"{path} is missing, unreadable, or larger than {untrusted_files.MOST // 1024} KB."
    text = data.decode("utf-8", "replace")
    if given and given not in {checksum(each.encode("utf-8", "replace")) for each in (text, open_boxes(text))}:
        return "", f"{path} has another text now than this run was given, which is in its log."
    return text, ""


_MOST_FILES = 100
_MOST_ITERATIONS = 500
"""Each costs a call of git; those before are not looked at."""


class FileView(msgspec.Struct, frozen=True, rename="camel"):
    """A file that differs: lines that came and went; null for one that is no text."""

    path: str
    added: int | None
    removed: int | None


class Diffstat(msgspec.Struct, frozen=True, rename="camel"):
    """What differs between two snapshots: how many files and lines, and the files, those with most lines first."""

    changed: int
    added: int
    removed: int
    files: tuple[FileView, ...]


def diffstats(
    layout: Layout, rows: Sequence[Row], ignore: Sequence[str]
) -> tuple[Diffstat | None, tuple[Diffstat | None, ...]]:
    """From before the first of these iterations to after the last, and of each; None: not known. What the user does not
    want to count as work is left out here, too."""
    if not any(row.tree_after for row in rows):
        return None, (None,) * len(rows)
    root = layout.root
    store = root / "claude-iterate" / "snapshots.git"
    places = [path for path in (*layout.own_folders(), store) if path != root and path.is_relative_to(root)]
    own, ignored = tuple(f"{path.relative_to(root)}/" for path in places), ignore_rules(ignore)
    trees = KeptTrees(root, store, lambda path: path.startswith(own) or ignores(ignored, path))
    late = len(rows) - _MOST_ITERATIONS
    each = [trees.compare(row.tree_before, row.tree_after) if at >= late else None for at, row in enumerate(rows)]
    first = next((row.tree_before for row in rows if row.tree_before), "")
    last = next((row.tree_after for row in reversed(rows) if row.tree_after), "")
    return trees.compare(first, last), tuple(each)


class KeptTrees:
    """The snapshots of a project: in its repository, or in a store of our own. Files that are ours do not count."""

    def __init__(self, root: Path, store: Path, is_ours: Callable[[str], bool]) -> None:
        self._is_ours = is_ours
        self._places: list[tuple[Git, str]] = []
        repository = Git(str(root), os.environ, filters=False)
        with contextlib.suppress(GitProblem):
            self._places.append((repository, repository.line("rev-parse", "--show-prefix")))
        if untrusted_files.is_file(store / "HEAD"):
            self._places.append((Git(str(root), os.environ, str(store), filters=False), ""))

    def compare(self, before: str, after: str) -> Diffstat | None:
        """What differs in the project. None when one of the two was never made, or is not there any more."""
        if before and before == after:
            return Diffstat(0, 0, 0, ())
        for git, prefix in self._places if before and after else ():
            with contextlib.suppress(GitProblem):
                found = self._diff(git, prefix, before, after)
                added, removed = sum(file.added or 0 for file in found), sum(file.removed or 0 for file in found)
                found.sort(key=lambda file: -(file.added or 0) - (file.removed or 0))
                return Diffstat(len(found), added, removed, tuple(found[:_MOST_FILES]))
        return None

    def _diff(self, git: Git, prefix: str, before: str, after: str) -> list[FileView]:
        plain = ("--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
        said = git.names("diff-tree", "-r", "-z", *plain, before, after, *(["--", prefix] if prefix else []))
        found = []
        for line in said:
            *counts, path = line.split("\t", 2)
            inside = path[len(prefix) :]
            if not self._is_ours(inside):
                shown = os.fsencode(inside).decode("utf-8", "replace")
                found.append(FileView(shown, *(int(word) if word.isdigit() else None for word in counts)))
        return found
