"""What is looked at: the project, for which workspace and run, and what in it is no work."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Place(msgspec.Struct, frozen=True):
    """The project, for which workspace and run. `own` are folders of ours, `kept` files of ours that are captured all
    the same; both relative to the project. `ignore` are patterns of the user's for what does not count;
    `notes` are the paths of files and folders in which Claude keeps notes for itself, which are no work either."""

    root: Path
    workspace: str
    run: str
    own: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
