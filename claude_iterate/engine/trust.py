"""What decides about later runs, as it was before Claude worked in a sandbox.

Claude inside cannot change the settings that are there, but it can make new ones. So their text is kept before a run in
a sandbox, in the user's own folder, and compared when it ends. What is different then is acted on by no further run
until `trust` has shown it and the user has accepted it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from claude_iterate.agent.command.sandbox_host import KEPT_IN_PROJECT, KEPT_OF_CLAUDE, claude_folder
from claude_iterate.core.events import Warned
from claude_iterate.core.formats import join_names
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.project import inner_repositories
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import metadata, settings_reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project

_MOST = 1000
"""Files below one folder."""
_LONGEST = 64 * 1024
Texts = dict[str, str]
"""What is in each file, by its path; of a long one, or one that is no text, its checksum."""


class Record(msgspec.Struct, frozen=True):
    """`before` is what the user knows, `after` what the last run left. `running` are runs that have not ended: as long
    as there are any, nobody knows what they left."""

    before: Texts
    after: Texts | None = None
    running: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    """Those inside the project before the run."""


def begin(project: Project, layout: Layout, run: str) -> None:
    """A run in a sandbox begins."""
    known = _read(project)
    if known is None or not known.running:
        known = Record(_texts(project, layout), repositories=inner_repositories.find(project.root))
    _write(project, replace(known, after=None, running=(*known.running, run)))


def end(project: Project, layout: Layout, run: str) -> list[Warned]:
    """A run in a sandbox is over. What the user has to know of what Claude left."""
    known = _read(project)
    if known is None:
        return []
    after = _texts(project, layout)
    _write(project, replace(known, after=after, running=tuple(one for one in known.running if one != run)))
    renamed = inner_repositories.put_aside(project.root, known.repositories)
    warned = [_warn_of_repository(project, name, aside) for name, aside in renamed.items()]
    if changed := _differences(known.before, after):
        text = f"Claude changed what a later run acts on: {_join(project, changed)}."
        warned.append(Warned(text, f"No run starts before you accept it: claude-iterate trust {layout.name}"))
    return warned


def _warn_of_repository(project: Project, name: str, aside: str) -> Warned:
    there = shlex.join(["mv", str(project.root / aside), str(project.root / name)])
    text = f"Claude made the repository {name}. git would act on its settings, so it has another name now."
    return Warned(text, f"If it is wanted: {there}")


def changed_paths(project: Project, layout: Layout) -> list[str]:
    """What a run would act on, that nobody has accepted yet."""
    known = _read(project)
    if known is None:
        return []
    now = _texts(project, layout)
    changed = _differences(known.before, now)
    if known.running or known.after is None:
        return changed
    by_runs = set(_differences(known.before, known.after))
    return [path for path in changed if path in by_runs]


def require_trust(project: Project, layout: Layout) -> None:
    """A UsageProblem while there is anything to accept."""
    if changed := changed_paths(project, layout):
        raise UsageProblem(
            f"Since the last run in a sandbox began, what a run acts on has changed: {_join(project, changed)}.",
            f"Look at it, then accept or remove it: claude-iterate trust {layout.name}",
        )


def show_changes(project: Project, layout: Layout) -> Iterator[str]:
    """The changes, as lines of a unified diff."""
    import difflib

    known, now = _read(project), _texts(project, layout)
    before = known.before if known is not None else {}
    for path in changed_paths(project, layout):
        name = _short(project, path)
        there = (f"{name} (before)" if path in before else "/dev/null", name if path in now else "/dev/null")
        old, new = before.get(path, "").splitlines(), now.get(path, "").splitlines()
        yield from difflib.unified_diff(old, new, *there, lineterm="")


def accept(project: Project) -> None:
    """What is there now is what the user knows."""
    untrusted_files.unlink(_place(project), missing_ok=True)


def _differences(before: Texts, after: Texts) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _texts(project: Project, layout: Layout) -> Texts:
    places = [project.root / name for name in KEPT_IN_PROJECT]
    places += [layout.root / name for name in KEPT_IN_PROJECT] if layout.root != project.root else []
    places += [layout.status_instructions, layout.prompts, layout.folder / "hooks"]
    own = untrusted_files.settle(claude_folder(project.environ))
    places += [own / name for name in KEPT_OF_CLAUDE]
    found = {str(path): text for place in places for path in _files(place) if (text := _text(path)) is not None}
    with contextlib.suppress(ExpectedError):
        found[str(layout.metadata)] = json.dumps(metadata.read(layout.metadata).settings, indent=2)
    return found


def _files(place: Path) -> list[Path]:
    """The file itself; of a folder, what is below it and is no folder."""
    found: list[Path] = []
    waiting = [place]
    while waiting and len(found) < _MOST:
        path = waiting.pop()
        if not untrusted_files.is_folder(path):
            found.append(path)
            continue
        try:
            with untrusted_files.scan(path) as entries:
                waiting += [path / entry.name for entry in entries]
        except OSError:
            found.append(path)  # its text is that it cannot be read
    return found


def _text(path: Path) -> str | None:
    """None: there is nothing. What is not a regular file has its kind for a text."""
    try:
        found = untrusted_files.look(path, _LONGEST)
    except untrusted_files.LinkInTheWay:
        return f"a link to {untrusted_files.read_link(path)}"
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"unreadable: {error.strerror}"
    with contextlib.suppress(UnicodeDecodeError):
        if found.whole:
            return found.data.decode()
    return f"{found.modified} {hashlib.sha256(found.data).hexdigest()}"


def _join(project: Project, paths: list[str]) -> str:
    return join_names([_short(project, path) for path in paths])


def _short(project: Project, path: str) -> str:
    return os.path.relpath(path, project.root) if path.startswith(f"{project.root}/") else path


def _place(project: Project) -> Path:
    name = hashlib.sha256(os.fsencode(project.root)).hexdigest()[:16]
    return untrusted_files.settle(settings_reader.user_folder(project.environ)) / "trust" / f"{name}.json"


def _read(project: Project) -> Record | None:
    data = untrusted_files.read(_place(project), untrusted_files.LARGE)
    with contextlib.suppress(msgspec.MsgspecError):
        return msgspec.json.decode(data or b"", type=Record)
    return None


def _write(project: Project, record: Record) -> None:
    place = _place(project)
    untrusted_files.make_folder(place.parent, parents=True)
    untrusted_files.write_bytes(place, msgspec.json.encode(record))
