"""What changed of that which defines the proof. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from claude_iterate.core.events.proof import ProofChange
from claude_iterate.core.formats import plural
from claude_iterate.core.tampering import marks_of_plans, marks_of_tests
from claude_iterate.core.tampering.descriptions import KINDS, LISTED
from claude_iterate.core.tampering.normal_forms import changed_settings

Files = Mapping[str, Mapping[str, str]]
"""Fingerprints by kind and path; what is not there has none."""

_MAY_BE_NEW = frozenset({"check", "test", "plan"})
"""Kinds of which a new file changes nothing that was there, but for files around tests that can change them."""
EMPTY = "empty"
"""The fingerprint of a file with nothing in it."""


def compare(before: Files, now: Files) -> tuple[ProofChange, ...]:
    """All that differs, in the order of the kinds. A file of several kinds is told once."""
    found = {change.path: change for change in reversed(list(_differences(before, now)))}
    return tuple(reversed(found.values()))


def _differences(before: Files, now: Files) -> Iterator[ProofChange]:
    for kind in KINDS:
        was, is_now = before.get(kind, {}), now.get(kind, {})
        told = {
            path for path in is_now if kind not in _MAY_BE_NEW or (kind == "test" and _changes_others(path, is_now))
        }
        paths = was.keys() | told
        for path in sorted(paths):
            old, new = was.get(path, ""), is_now.get(path, "")
            if old != new and (how := _how(kind, path, old, new, was, is_now)):
                yield ProofChange(kind, path, how, old, new)


def _how(kind: str, path: str, old: str, new: str, was: Mapping[str, str], is_now: Mapping[str, str]) -> str:
    """Empty when it is no change of the proof."""
    if kind == "plan":
        gone = marks_of_plans.removed(old, was.values(), is_now.values())
        return f"{plural(gone, 'open task')} removed" if gone else ""
    if not new:
        return "" if kind == "test" and _moved(path, old, was, is_now) else "deleted"
    if not old:
        return "created"
    if new == EMPTY:
        return "emptied"
    if kind == "test":
        return _weaker(marks_of_tests.read(old), marks_of_tests.read(new))
    if kind == "settings":
        return f"changed: {', '.join(changed_settings(old, new)[:LISTED])}"
    return "changed"


def _changes_others(path: str, is_now: Mapping[str, str]) -> bool:
    """A file that has no tests of its own, and words in it that decide which tests run, or how they end."""
    return marks_of_tests.surrounds_tests(path) and marks_of_tests.read(is_now[path]).skips > 0


def _weaker(old: marks_of_tests.Counts, new: marks_of_tests.Counts) -> str:
    if old.tests and not new.tests:
        return "emptied"
    lost = [(old.tests - new.tests, "test", "fewer"), (old.assertions - new.assertions, "assertion", "fewer")]
    parts = [f"{plural(count, what)} {more}" for count, what, more in lost if count > 0]
    if (gained := new.skips - old.skips) > 0:
        parts.append(f"{plural(gained, 'skip mark')} more")
    if (gained := new.hollow - old.hollow) > 0:
        parts.append(f"{plural(gained, 'empty test')} more")
    return ", ".join(parts)


def _moved(path: str, old: str, was: Mapping[str, str], is_now: Mapping[str, str]) -> bool:
    """The tests are in a file that is new: of the same name, or with the same counts."""
    name, counts = path.rpartition("/")[2], marks_of_tests.read(old)
    return any(
        (other.rpartition("/")[2] == name and not _weaker(counts, marks_of_tests.read(found)))
        or (counts.tests > 0 and found == old)
        for other, found in is_now.items()
        if other not in was
    )


def still_open(carried: Sequence[ProofChange], now: Files) -> tuple[ProofChange, ...]:
    """Changes of earlier runs that still stand: the file is what that run left. One that was put back, or that a person
    changed since, is no longer told."""
    return tuple(
        replace(change, earlier=True)
        for change in carried
        if now.get(change.kind, {}).get(change.path, "") == change.now
    )


def with_changes(now: Files, changes: Sequence[ProofChange]) -> dict[str, dict[str, str]]:
    """These fingerprints as they were before the changes: a new run does not begin with what an earlier one changed."""
    found = {kind: dict(paths) for kind, paths in now.items()}
    for change in changes:
        paths = found.setdefault(change.kind, {})
        if change.was:
            paths[change.path] = change.was
        else:
            paths.pop(change.path, None)
    return found
