"""What an archive holds, judged as a whole before any of it is written.

An archive may come from anywhere. Only files, folders and links below one folder are taken out of it; a name that leads
elsewhere, a device or an absurd size makes us refuse all of it.

`tarfile.data_filter` is not used: it had five CVEs in 2025 (python/cpython#135034) and further bypasses since, and it
judges one member at a time while others are already on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from claude_iterate.errors import ArchiveProblem

MOST_ENTRIES = 200_000
MOST_BYTES = 1 << 40
DEEPEST = 200
"""Programs that recurse per folder cannot delete deeper trees."""

MANIFEST = ".archived.json"
NOT_OF_THE_WORK = frozenset({MANIFEST, ".lock"})
"""At the top of an archive: what describes the archive, or belongs to the old place of the workspace."""


class Entry(msgspec.Struct, frozen=True):
    """One thing in an archive. `path` is relative to the workspace, in parts; that of the workspace itself is empty."""

    path: tuple[str, ...]
    kind: str
    """file, folder, link (a symlink), or same (a hard link: the same file as `target`)."""
    size: int = 0
    mode: int = 0o644
    modified: float = 0.0
    target: str = ""
    source: Any = None
    """Where the content is; only the reader that made the entry uses it."""

    @property
    def name(self) -> str:
        """The path as one text."""
        return "/".join(self.path)


def parts(archive: str, name: str) -> tuple[str, ...]:
    """A name in an archive, in parts."""
    if name.startswith("/"):
        raise refused(archive, f"an absolute path: {name}")
    found = tuple(part for part in name.split("/") if part not in {"", "."})
    if ".." in found:
        raise refused(archive, f"a path that leads outside: {name}")
    if "\0" in name or len(found) > DEEPEST:
        raise refused(archive, f"an impossible path: {name[:60]}")
    return found


def judged(entries: Iterable[Entry], archive: str, room: int = MOST_BYTES, outside_links: bool = False) -> list[Entry]:
    """All entries, or an ArchiveProblem: nothing of a bad archive is used. `room` is how many bytes may come out."""
    found: list[Entry] = []
    size = 0
    for entry in entries:
        found.append(entry)
        size += entry.size
        if len(found) > MOST_ENTRIES:
            raise refused(archive, f"more than {MOST_ENTRIES:,} files")
        if entry.size < 0 or size > MOST_BYTES:
            raise refused(archive, f"an absurd size at {entry.name}")
        if size > room:
            raise ArchiveProblem(
                f"{archive} does not fit: it needs more than the {room / 1e6:,.0f} MB that are free.",
                "Nothing was written. Make room, then try again.",
            )
    _judge_places(found, archive)
    escaping = [] if outside_links else list(leading_outside(found))
    if escaping:
        link, more = escaping[0], f" and {len(escaping) - 1} more" if len(escaping) > 1 else ""
        raise ArchiveProblem(
            f"{archive} is refused: it holds a link that leads outside: {link.name} -> {link.target}{more}.",
            "Nothing was written. If the archive is your own and the link is meant, add --outside-links",
        )
    return found


def leading_outside(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The links that lead, or may lead, out of the workspace."""
    return (entry for entry in entries if entry.kind == "link" and not _stays_inside(entry))


def refused(archive: str, what: str) -> ArchiveProblem:
    """The error for an archive that holds what it must not hold."""
    return ArchiveProblem(
        f"{archive} is refused: it holds {what}.",
        "Nothing was written. claude-iterate does not make such archives; find out where it comes from.",
    )


def _stays_inside(link: Entry) -> bool:
    """It goes up through real folders first, then down; the links that it meets on the way down stay inside as well."""
    if not link.target or link.target.startswith("/") or "\0" in link.target:
        return False
    steps = [step for step in link.target.split("/") if step not in {"", "."}]
    up = 0
    while up < len(steps) and steps[up] == "..":
        up += 1
    return ".." not in steps[up:] and up < len(link.path)


def _judge_places(entries: list[Entry], archive: str) -> None:
    """Each path occurs once and only below folders; a hard link points to a file that came before it."""
    kinds: dict[tuple[str, ...], str] = {(): "folder"}
    for entry in entries:
        before = kinds.get(entry.path)
        if before is not None and not before == entry.kind == "folder":
            raise refused(archive, f"{entry.name or 'its top folder'} twice, or not as a folder")
        if entry.kind == "same" and kinds.get(tuple(entry.target.split("/"))) not in {"file", "same"}:
            raise refused(archive, f"a hard link to something that is not a file in it: {entry.name} -> {entry.target}")
        kinds[entry.path] = entry.kind
    folders: set[tuple[str, ...]] = {()}
    for entry in entries:
        above = entry.path[:-1]
        while above not in folders:
            if kinds.get(above, "folder") != "folder":
                raise refused(archive, f"{entry.name}, which lies below something that is not a folder")
            folders.add(above)
            above = above[:-1]
