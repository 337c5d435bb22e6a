"""Events about work: what an iteration changed in the project, measured by us. What Claude claims is in its report."""

from __future__ import annotations

import msgspec


class SnapshotTaken(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """All that is in the project has one id: `tree`, held by `ref`. Number 0 is from before the first iteration; any
    other is what this iteration left, or what the next one begins with if we ran checks or tests meanwhile. `how` is
    git, or store for a repository of our own; `head` and `branch` are the repository's, empty where there is none."""

    number: int
    tree: str
    ref: str = ""
    head: str = ""
    branch: str = ""
    how: str = ""


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What differs between two looks at the project: counts of files, the commits made in between, and the first
    names. `how` is git, store or files (a scan)."""

    created: int = 0
    modified: int = 0
    deleted: int = 0
    commits: int = 0
    head: str = ""
    how: str = ""
    files: tuple[str, ...] = ()

    @property
    def number_of_files(self) -> int:
        """How many files differ."""
        return self.created + self.modified + self.deleted


class TestCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the test command came to; `errors` are tests or files that could not run. `how` names what it was read
    from; `red` are the first names of tests that failed or could not run."""

    __test__ = False  # or pytest takes it for a class of tests

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    how: str = ""
    red: tuple[str, ...] = ()

    @property
    def is_red(self) -> bool:
        """A test failed or could not run."""
        return self.failed + self.errors > 0


class WorkMeasured(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What iteration `number` did. `changes` and `tests` are None where they are not known. `progress` is what moved:
    commits, files, tests, in plan mode plan. `notes`: TODO.md or what Claude keeps in its folder changed, which is no
    work, but does not contradict a report of work either."""

    number: int
    changes: Changes | None = None
    tests: TestCounts | None = None
    progress: tuple[str, ...] = ()
    notes: bool = False
