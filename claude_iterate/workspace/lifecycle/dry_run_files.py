"""What a dry run wrote is undone before the next real run.

The fake Claude works in the workspace as Claude would; a real run must not find its ticked boxes and its claim.
"""

from __future__ import annotations

import contextlib
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
    return layout.runs / ".before-rehearsal"  # the name that earlier versions wrote


def begin(layout: Layout) -> None:
    """Before a dry run: keep the files as they are, unless an earlier dry run did."""
    import shutil

    kept = _folder(layout)
    if kept.exists():
        (kept / _ENDED).unlink(missing_ok=True)
        return
    kept.mkdir(parents=True)
    for name in _KEPT:
        if (layout.folder / name).is_file():
            shutil.copy2(layout.folder / name, kept / name)


def end(layout: Layout) -> None:
    """After a dry run: remember what it left, to distinguish that from what the user writes later."""
    import shutil

    for name in _KEPT:
        if (layout.folder / name).is_file():
            shutil.copy2(layout.folder / name, _folder(layout) / (name + _LEFT))
    (_folder(layout) / _ENDED).touch()


def clear_away(layout: Layout) -> bool:
    """Before a real run: restore what the dry run found; True when there was one. The user's edits stay."""
    kept = _folder(layout)
    if not kept.is_dir():
        return False
    import shutil

    ended = (kept / _ENDED).exists()
    for name in _KEPT:
        # A dry run that was killed could not record what it left; then everything counts as its work.
        if ended and _content(layout.folder / name) != _content(kept / (name + _LEFT)):
            continue
        if (kept / name).exists():
            shutil.copy2(kept / name, layout.folder / name)
        else:
            with contextlib.suppress(OSError):
                (layout.folder / name).unlink(missing_ok=True)
    shutil.rmtree(kept)
    return True
