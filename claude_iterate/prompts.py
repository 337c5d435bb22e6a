"""Find and render prompts: Jinja2 templates, the nearest folder first, the shipped ones last.

The text of a user is a value, never template source, so it arrives byte for byte.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from jinja2 import FunctionLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from claude_iterate.errors import ExpectedError
from claude_iterate.system import untrusted_files

_EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What an expression in a template can raise, besides Jinja2's own errors."""
_NEEDED = {"instructions": "<instructions>\n{}\n</instructions>", "status_instructions": "{}"}
"""What every iteration has to say, and the form in which it is appended."""


class Texts(msgspec.Struct, frozen=True):
    """The texts of one call: what is appended to the system prompt, and what goes in on stdin. Of an iteration also the
    parts of it that the log shows once, and the names of the notes in it. `appended`: variables without which an
    iteration makes no sense, and which no prompt of the user asks for; their texts are at the end."""

    system: str
    user: str
    instructions: str = ""
    status_instructions: str = ""
    notes: tuple[str, ...] = ()
    appended: tuple[str, ...] = ()


class Prompts:
    """The prompts of one mode. Those of the user are read for each rendering, so an edit is seen at the next one.
    Shipped ones are read once: an upgrade of the package during a run must not mix two versions."""

    def __init__(self, folders: Sequence[Path], mode: str) -> None:
        self._folders = [*folders, shipped_folder()]
        self._shipped = {path: path.read_bytes() for path in self._folders[-1].rglob("*.md")}
        self._mode = mode
        self._asked_for: set[str] = set()
        """The variables that templates have asked for."""
        # Sandboxed because a prompt can come with a workspace from someone else, and a template must not be able to
        # call Python. A prompt is not a web page: escaping would change the user's text.
        self._environment = SandboxedEnvironment(
            loader=FunctionLoader(self._load),
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.context_class = _noting_context(self._asked_for)

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The prompt `name` with these values; an ExpectedError names file and line of what is wrong with it."""
        values = {**values, "mode": self._mode}
        try:
            return self._environment.get_template(name).render(values)
        except TemplateSyntaxError as problem:
            raise _complaint(problem.filename or name, problem.lineno, problem, values) from problem
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            file, line = _place(error.__traceback__) or (str(self.find(name) or name), 1)
            raise _complaint(file, line, error, values) from error

    def iteration_prompts(self, values: Mapping[str, object]) -> Texts:
        """The prompts of an iteration. The user prompt never begins with `/` or `-`: Claude Code would take it
        for a command or an option."""
        status = str(values.get("status_instructions") or "") or self.render("status-instructions", values)
        known = {**values, "status_instructions": status}
        self._asked_for.clear()
        user, system = self.render("iteration", known), self.render("iteration-system", known)
        needed = {name: form.format(known[name]) for name, form in _NEEDED.items()}
        # What a prompt includes by its file, such as `status-instructions.md`, is there without being asked for.
        missing = [name for name, text in needed.items() if name not in self._asked_for and text.strip() not in user]
        for name in missing:
            user = f"{user.rstrip()}\n\n{needed[name]}"
        if user.lstrip().startswith(("/", "-")):
            user = "The task:\n\n" + user
        return Texts(system, user, status_instructions=status, appended=tuple(missing))

    def find(self, name: str) -> Path | None:
        """The file that `render` uses for this name."""
        *own, shipped = [(folder / self._mode / f"{name}.md", folder / f"{name}.md") for folder in self._folders]
        found = [path for paths in own for path in paths if _is_there(path)]
        return next((path for path in (*found, *shipped) if path in found or path in self._shipped), None)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        """For Jinja2. A template cannot leave the folders of prompts; it may be found by its name or by its file's."""
        name = name.removesuffix(".md")
        if Path(name).is_absolute() or ".." in Path(name).parts:
            return None
        path = self.find(name)
        if path is None:
            return None
        try:
            data = self._shipped.get(path) or untrusted_files.look(path, untrusted_files.LARGE).data
            source = data.decode("utf-8-sig")
        except untrusted_files.NotAFile as other:
            raise ExpectedError(f"{other.said}.", other.hint) from None
        except (OSError, UnicodeDecodeError) as problem:
            hint = "Fix it, or remove it to use the shipped one."
            raise ExpectedError(f"Cannot read the prompt {path}: {problem}.", hint) from problem
        return source, str(path), lambda: path in self._shipped and self.find(name) == path


def _is_there(path: Path) -> bool:
    """Also what cannot be read: then the reading says why."""
    try:
        return bool(untrusted_files.look(path, 0))
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.ENOTDIR}


def shipped_folder() -> Path:
    """The prompts that came with the package: inside it when installed, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "templates" / "prompts"
    return inside if inside.is_dir() else package.parent / "templates" / "prompts"


def _noting_context(asked_for: set[str]) -> type[Context]:
    """Notes the variables that templates ask for."""

    class NotingContext(Context):
        def resolve_or_missing(self, key: str) -> Any:
            asked_for.add(key)
            return super().resolve_or_missing(key)

    return NotingContext


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
