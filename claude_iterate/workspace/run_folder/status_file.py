"""Reads `.status.json`, with a fingerprint by which the caller sees whether it was written since, and notices when it
may have changed.

A link of either kind is no report: what it leads to may have been written elsewhere. The folder is watched, not the
file: a file that does not exist yet, or is replaced, cannot be watched.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import msgspec

from claude_iterate.core.reports import status
from claude_iterate.core.reports.status import LARGEST, Reading
from claude_iterate.system import untrusted_files
from claude_iterate.system.processes import LINUX


class StatusSnapshot(msgspec.Struct, frozen=True):
    """One look at the file."""

    reading: Reading | None
    file: untrusted_files.Found | None
    """Says whether the file was written since."""


def look(path: Path) -> StatusSnapshot:
    """Read the file now. No file: no reading. Anything but a readable regular file: a reading with a problem."""
    try:
        # One byte more than a report may have: enough for the reader to see that it is too large.
        found = untrusted_files.look(path, LARGEST + 1)
    except FileNotFoundError:
        return StatusSnapshot(None, None)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return StatusSnapshot(Reading(None, (status.LINK,)), None)
        return StatusSnapshot(Reading(None, (f"it cannot be read: {error.strerror}",)), None)
    reading = status.parse(found.data)
    if found.names > 1 and not reading.identity:  # the id would say in which iteration it was written
        return StatusSnapshot(Reading(None, (status.SHARED,)), None)
    return StatusSnapshot(reading, found)


class StatusWatch:
    """Calls `touched` (from a thread of watchdog) whenever the file may have changed, or `failed` if it cannot be
    watched."""

    def __init__(self, path: Path, touched: Callable[[], None], failed: Callable[[str], None]) -> None:
        import logging

        from watchdog import events
        from watchdog.observers import Observer

        # watchdog complains when it is stopped while it reads, and without a handler Python prints that.
        logging.getLogger("watchdog").addHandler(logging.NullHandler())

        class Listener(events.FileSystemEventHandler):
            def on_any_event(self, event: events.FileSystemEvent) -> None:
                if str(path) in {event.src_path, event.dest_path}:
                    touched()

        # On Linux the end of a write is a separate event. Watching only that one avoids an event for every block of
        # the log, which is in the same folder.
        kinds: list[type[events.FileSystemEvent]] = [events.FileCreatedEvent, events.FileMovedEvent]
        kinds.append(events.FileClosedEvent if LINUX else events.FileModifiedEvent)
        self._observer = Observer()
        try:
            self._observer.schedule(Listener(), str(path.parent), recursive=False, event_filter=kinds)
            self._observer.start()
        except Exception as error:  # noqa: BLE001 - watchdog's backends raise what they like
            failed(str(error) or type(error).__name__)

    def close(self) -> None:
        """Stop watching."""
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(timeout=2)
