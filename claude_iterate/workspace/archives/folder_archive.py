"""Reads an archive as the original made it: the workspace copied into a folder, with a manifest beside its files."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from claude_iterate.workspace.archives.archive_entries import Entry, refused
from claude_iterate.workspace.archives.archive_list import Archive

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class FolderReader:
    """One such archive. It offers what a compressed one offers."""

    def __init__(self, archive: Archive) -> None:
        self._name = archive.name
        self._top = archive.path

    def entries(self) -> Iterator[Entry]:
        """Itself, and everything below it; links are not followed."""
        yield Entry((), "folder", mode=self._top.stat().st_mode & 0o777)
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            above = waiting.pop()
            with os.scandir(self._top.joinpath(*above)) as found:
                for item in found:
                    entry = self._entry((*above, item.name), item)
                    if entry.kind == "folder":
                        waiting.append(entry.path)
                    yield entry

    def content(self, entry: Entry) -> IO[bytes]:
        """The bytes of a file."""
        path: Path = entry.source
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")

    def document(self, entry: Entry) -> dict[str, Any]:
        """A file in it that should be a JSON object; empty when it is none."""
        with contextlib.suppress(ValueError, RecursionError), self.content(entry) as content:
            found = json.load(content)
            if isinstance(found, dict):
                return found
        return {}

    def _entry(self, path: tuple[str, ...], item: os.DirEntry[str]) -> Entry:
        about = item.stat(follow_symlinks=False)
        kind = _KINDS.get(stat.S_IFMT(about.st_mode))
        if kind is None:
            raise refused(self._name, f"something that is neither file, folder nor link: {'/'.join(path)}")
        return Entry(
            path,
            kind,
            about.st_size if kind == "file" else 0,
            about.st_mode & 0o777,
            about.st_mtime,
            str(Path(item.path).readlink()) if kind == "link" else "",
            Path(item.path),
        )
