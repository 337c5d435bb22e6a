"""Find and render prompts: Jinja2 templates, the nearest folder first, the shipped ones last.

The text of a user is a value, never template source, so it arrives byte for byte. A shipped prompt that no one changed
is rendered by what was made from it, because Jinja2 would take a quarter of the start of a run.
"""

from __future__ import annotations

import binascii
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from claude_iterate.core.records import Record
from claude_iterate.errors import ExpectedError

if TYPE_CHECKING:
    from jinja2 import BaseLoader
    from jinja2.sandbox import SandboxedEnvironment

_EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What an expression in a template can raise, besides Jinja2's own errors."""


_NEEDED = {"instructions": "<instructions>\n{}\n</instructions>", "status_instructions": "{}"}
"""What every iteration has to say, and the form in which it is appended."""
_Made = tuple[str | None, Callable[[str, Mapping[str, object]], Iterable[str]]]
"""The text of a shipped prompt, if it is as it was shipped, and what renders it."""


class IterationPrompts(Record):
    """The texts of one iteration: what is appended to the system prompt, what goes in on stdin, and the part
    of it that says how to report. `appended`: variables without which an iteration makes no sense, and which no prompt
    of the user asks for; their texts are at the end."""

    system: str
    user: str
    status_instructions: str
    appended: tuple[str, ...] = ()


class Prompts:
    """The prompts of one mode. An edited file of the user is seen at the next rendering; a shipped one is read once."""

    def __init__(self, folders: Sequence[Path], mode: str) -> None:
        self._shipped = shipped_folder()
        self._folders = [*folders, self._shipped]
        self._mode = mode
        self._places: dict[str, list[tuple[str, list[tuple[str, Path]]]]] = {}
        self._kept: dict[str, _Made] = {}
        self._asked_for: set[str] = set()
        """The variables that templates have asked for."""

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The prompt `name` with these values; an ExpectedError names file and line of what is wrong with it."""
        values = {**values, "mode": self._mode}
        rendered = self._render_shipped(name, values)
        return self._render_template(name, values) if rendered is None else rendered

    def _render_shipped(self, name: str, values: Mapping[str, object]) -> str | None:
        """The prompt if it is a shipped one as it was shipped. None: Jinja2 renders it, or says what is wrong."""
        if self._locate(name, shipped=False) is not None:
            return None
        found = self._kept.get(name) or self._keep(name)
        try:
            return None if found is None or found[0] is None else "".join(found[1](found[0], values))
        except _EXPRESSION_ERRORS:
            return None

    def _keep(self, name: str) -> _Made | None:
        """Kept for the whole run: an upgrade of the package in between must not mix two versions."""
        from claude_iterate.shipped_prompts import SHIPPED

        path = self._locate(name)
        shipped = path.relative_to(self._shipped).as_posix() if path is not None else ""
        if path is None or shipped not in SHIPPED:
            return None
        checksum, pieces = SHIPPED[shipped]
        self._kept[name] = found = _text_with(checksum, path), pieces
        return found

    def _render_template(self, name: str, values: Mapping[str, object]) -> str:
        """By Jinja2. A template cannot leave the folders of prompts; it may be found by its name or by its file's."""
        from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

        try:
            return self._environment.get_template(name).render(values)
        except TemplateSyntaxError as problem:
            raise _complaint(problem.filename or name, problem.lineno, problem, values) from problem
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            if isinstance(error, TemplateNotFound) and error.name == name:
                self.find(name)
            file, line = _place(error.__traceback__) or (str(self.find(name)), 1)
            raise _complaint(file, line, error, values) from error

    def iteration_prompts(self, values: Mapping[str, object]) -> IterationPrompts:
        """The prompts of an iteration. The user prompt never begins with `/` or `-`: Claude Code would take it
        for a command or an option."""
        status = str(values.get("status_instructions") or "") or self.render("status-instructions", values)
        known = {**values, "status_instructions": status}
        self._asked_for.clear()
        user, system = self.render("iteration", known), self.render("iteration-system", known)
        own = self._locate("iteration", shipped=False) is not None  # the shipped one asks for all it needs
        needed = {name: form.format(known[name]) for name, form in _NEEDED.items() if own}
        # What a prompt includes by its file, such as `status-instructions.md`, is there without being asked for.
        missing = [name for name, text in needed.items() if name not in self._asked_for and text.strip() not in user]
        for name in missing:
            user = f"{user.rstrip()}\n\n{needed[name]}"
        if user.lstrip().startswith(("/", "-")):
            user = "The task:\n\n" + user
        return IterationPrompts(system, user, status, tuple(missing))

    def find(self, name: str) -> Path:
        """The file that `render` uses for this name."""
        path = self._locate(name)
        if path is None:
            raise ExpectedError(
                f"There is no prompt '{name}' for the mode '{self._mode}'.",
                f"Write {name}.md in one of: {', '.join(str(folder) for folder in self._folders)}.",
            )
        return path

    def _locate(self, name: str, shipped: bool = True) -> Path | None:
        places = self._places.get(name)
        if places is None:
            # Put together once: this is asked for several times in every iteration.
            places = self._places[name] = [(str(folder), self._files(folder, name)) for folder in self._folders]
        for folder, files in places if shipped else places[:-1]:
            if os.path.isdir(folder):  # noqa: PTH112 - most users have none: then no file is looked for in it
                for text, path in files:
                    if os.path.isfile(text):  # noqa: PTH113
                        return path
        return None

    def _files(self, folder: Path, name: str) -> list[tuple[str, Path]]:
        return [(str(path), path) for path in (folder / self._mode / f"{name}.md", folder / f"{name}.md")]

    @functools.cached_property
    def _environment(self) -> SandboxedEnvironment:
        from jinja2 import FunctionLoader
        from jinja2.runtime import Context

        asked_for = self._asked_for

        class Asked(Context):
            def resolve_or_missing(self, key: str) -> Any:
                asked_for.add(key)
                return super().resolve_or_missing(key)

        found = environment(FunctionLoader(self._load))
        found.context_class = Asked
        return found

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        name = name.removesuffix(".md")
        if Path(name).is_absolute() or ".." in Path(name).parts:
            return None
        path = self._locate(name)
        if path is None:
            return None
        try:
            stamp = _stamp(path)  # before reading: an edit in between is seen next time
            source = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            hint = "Fix it, or remove it to use the shipped one."
            raise ExpectedError(f"Cannot read the prompt {path}: {problem}.", hint) from problem
        return source, str(path), lambda: self._locate(name) == path and _stamp(path) == stamp


def environment(loader: BaseLoader | None = None) -> SandboxedEnvironment:
    """What prompts are written in. Sandboxed because a prompt can come with a workspace from someone else, and a
    template must not be able to call Python."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is not a web page: escaping would change the user's text
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=True,
    )


def shipped_folder() -> Path:
    """The prompts that came with the package: inside it when installed, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "templates" / "prompts"
    return inside if inside.is_dir() else package.parent / "templates" / "prompts"


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _text_with(checksum: int, path: Path) -> str | None:
    """The text of a file that has this checksum."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data.decode() if binascii.crc32(data) == checksum else None


def _place(traceback: TracebackType | None) -> tuple[str, int] | None:
    """File and line of a failing template: Jinja2 rewrites tracebacks so that a template looks like a module."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.endswith(".md"):
            place = file, traceback.tb_lineno
        traceback = traceback.tb_next
    return place


def _complaint(file: str, line: int, problem: Exception, values: Mapping[str, object]) -> ExpectedError:
    known = ", ".join(sorted(values)) or "none"
    said = "it includes itself" if isinstance(problem, RecursionError) else str(problem).rstrip(".")
    return ExpectedError(
        f"The prompt {file}, line {line}, cannot be rendered: {said or type(problem).__name__}.",
        f"Fix it, or remove it to use the shipped one. Variables it can use: {known}.",
    )
