"""Events about the git worktree in which a run works."""

from __future__ import annotations

import msgspec


class WorktreeMade(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """The run works in the git worktree `path` on `branch`, which began at the commit `base`; `again`: an earlier run
    made the branch. The workspace stays in the project,
    `main`."""

    path: str
    branch: str
    base: str
    main: str = ""
    again: bool = False


class WorktreeLeft(msgspec.Struct, frozen=True, tag=True, tag_field="event", omit_defaults=True):
    """What the run leaves in its worktree: `commits` of its branch that the main checkout does not have, and whether it
    is `clean`: then it is removed after the run. `trouble` says why that is not known."""

    commits: int = 0
    clean: bool = False
    trouble: str = ""
