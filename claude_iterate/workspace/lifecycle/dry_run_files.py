"""A dry run is a rehearsal: what it wrote is put back to how it was before the first real run.

The fake works in the workspace as Claude would; real work must not find its ticked boxes and its claim.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from claude_iterate.workspace.layout import Layout

_KEPT = ("TODO.md", ".status.json")
_LEFT = ".left"
_ENDED = "ended"


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _folder(layout: Layout) -> Path:
    return layout.runs / ".before-rehearsal"


def begin(layout: Layout) -> None:
    """Before a dry run: keep how things are, unless an earlier rehearsal did."""
    kept = _folder(layout)
    if kept.exists():
        (kept / _ENDED).unlink(missing_ok=True)
        return
    kept.mkdir(parents=True)
    for name in _KEPT:
        if (layout.folder / name).is_file():
            shutil.copy2(layout.folder / name, kept / name)


def end(layout: Layout) -> None:
    """After a dry run: remember what it left, to tell it from what a person writes later."""
    for name in _KEPT:
        if (layout.folder / name).is_file():
            shutil.copy2(layout.folder / name, _folder(layout) / (name + _LEFT))
    (_folder(layout) / _ENDED).touch()


def clear_away(layout: Layout) -> bool:
    """Before a real run: put back what the rehearsal found; True when there was one. A person's edits stay."""
    kept = _folder(layout)
    if not kept.is_dir():
        return False
    ended = (kept / _ENDED).exists()
    for name in _KEPT:
        # One that was killed could not say what it left; then all of it is the rehearsal's.
        if ended and _content(layout.folder / name) != _content(kept / (name + _LEFT)):
            continue
        if (kept / name).exists():
            shutil.copy2(kept / name, layout.folder / name)
        else:
            with contextlib.suppress(OSError):
                (layout.folder / name).unlink(missing_ok=True)
    shutil.rmtree(kept)
    return True
