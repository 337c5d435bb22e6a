"""Find and render prompts: Jinja2 templates, the nearest folder first, the shipped ones last.

The text of a user is a value, never template source, so it arrives byte for byte. Only shipped prompts are rendered by
our own process; one from anywhere else is rendered by a process that it can keep neither busy nor growing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from jinja2 import FunctionLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from claude_iterate.errors import ExpectedError
from claude_iterate.system import untrusted_files

_EXPRESSION_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What an expression in a template can raise, besides Jinja2's own errors."""
_NEEDED = {"instructions": "<instructions>\n{}\n</instructions>", "status_instructions": "{}"}
"""What every iteration has to say, and the form in which it is appended."""
_SECONDS, _MEMORY, _LONGEST = 5, 512 << 20, 10_000_000
"""Most that a prompt which was not shipped may take, in time and bytes, and characters that it may give."""
_FIX = "Fix it, or remove it to use the shipped one."


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


class _NotShippedError(Exception):
    """This prompt is not rendered by our own process."""


class Prompts:
    """The prompts of one mode. Those of the user are read for each rendering, so an edit is seen at the next one.
    Shipped ones are read once: an upgrade of the package during a run must not mix two versions. `shipped`: what our
    parent has read of them; then we render any prompt."""

    def __init__(self, folders: Sequence[Path], mode: str, shipped: Mapping[str, str] | None = None) -> None:
        self._folders = [*folders, shipped_folder()]
        self._renders_any = shipped is not None
        found = self._folders[-1].rglob("*.md")
        self._shipped = shipped or {str(path): path.read_text("utf-8") for path in found}
        self._mode = mode
        self.asked_for: set[str] = set()
        """The variables that templates have asked for."""
        # Sandboxed because a prompt can come with a workspace from someone else, and a template must not be able to
        # call Python. A prompt is not a web page: escaping would change the user's text.
        self._environment = ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._load),
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.context_class = _noting_context(self.asked_for)

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """The prompt `name` with these values; an ExpectedError names file and line of what is wrong with it."""
        values = {**values, "mode": self._mode}
        try:
            return self._environment.get_template(name).render(values)
        except _NotShippedError as found:
            return self._render_apart(str(found), name, values)
        except (TemplateSyntaxError, SyntaxError) as problem:  # the other: blocks that are nested too deeply for Python
            raise _complaint(problem.filename or name, problem.lineno or 1, problem, values) from problem
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            file, line = _place(error.__traceback__) or (str(self.find(name) or name), 1)
            raise _complaint(file, line, error, values) from error

    def iteration_prompts(self, values: Mapping[str, object]) -> Texts:
        """The prompts of an iteration. The user prompt never begins with `/` or `-`: Claude Code would take it
        for a command or an option."""
        status = str(values.get("status_instructions") or "") or self.render("status-instructions", values)
        known = {**values, "status_instructions": status}
        self.asked_for.clear()
        user, system = self.render("iteration", known), self.render("iteration-system", known)
        needed = {name: form.format(known[name]) for name, form in _NEEDED.items()}
        # What a prompt includes by its file, such as `status-instructions.md`, is there without being asked for.
        missing = [name for name, text in needed.items() if name not in self.asked_for and text.strip() not in user]
        for name in missing:
            user = f"{user.rstrip()}\n\n{needed[name]}"
        if user.lstrip().startswith(("/", "-")):
            user = "The task:\n\n" + user
        return Texts(system, user, status_instructions=status, appended=tuple(missing))

    def find(self, name: str) -> Path | None:
        """The file that `render` uses for this name."""
        *own, shipped = [(folder / self._mode / f"{name}.md", folder / f"{name}.md") for folder in self._folders]
        found = [path for paths in own for path in paths if _is_there(path)]
        return next((path for path in (*found, *shipped) if path in found or str(path) in self._shipped), None)

    def _render_apart(self, own: str, name: str, values: Mapping[str, object]) -> str:
        """The same, by a process of its own. `own` is why."""
        packages, folders = str(Path(__file__).parents[1]), [str(folder) for folder in self._folders[:-1]]
        code = f"import sys; sys.path.insert(0, {packages!r}); from {__name__} import main; main({_SECONDS})"
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            input=json.dumps([own, folders, self._mode, self._shipped, name, values]).encode(),
            capture_output=True,
            start_new_session=True,  # a Ctrl-C is for the runner
            check=False,
        )
        if done.returncode == -signal.SIGALRM:
            raise ExpectedError(f"The prompt {own} took longer than {_SECONDS} s to render.", _FIX)
        if done.returncode:
            raise ExpectedError(f"The prompt {own} cannot be rendered: exit code {done.returncode}.", _FIX)
        text, asked_for, *problem = json.loads(done.stdout)
        if problem:
            raise ExpectedError(*problem)
        self.asked_for.update(asked_for)
        return str(text)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        """For Jinja2. A template cannot leave the folders of prompts; it may be found by its name or by its file's."""
        name = name.removesuffix(".md")
        if Path(name).is_absolute() or ".." in Path(name).parts:
            return None
        path = self.find(name)
        if path is None:
            return None
        source = self._shipped.get(str(path))
        if source is not None:
            return source, str(path), lambda: self.find(name) == path
        if not self._renders_any:
            raise _NotShippedError(path)
        try:
            data = untrusted_files.look(path, untrusted_files.LARGE).data
            return data.decode("utf-8-sig"), str(path), lambda: False
        except untrusted_files.NotAFile as other:
            raise ExpectedError(f"{other.said}.", other.hint) from None
        except (OSError, UnicodeDecodeError) as problem:
            raise ExpectedError(f"Cannot read the prompt {path}: {problem}.", _FIX) from problem


def main(seconds: int) -> None:
    """Render one prompt for our parent, or die: nothing in it can lift the limits, and they hold without the parent."""
    own, folders, mode, shipped, name, values = json.load(sys.stdin)
    prompts = Prompts([Path(folder) for folder in folders], mode, shipped)
    signal.alarm(seconds)
    with contextlib.suppress(OSError, ValueError):  # macOS has no such limit; a lower one stays
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answer: list[object]
    try:
        text = prompts.render(name, values)
        if len(text) > _LONGEST:
            raise ExpectedError(f"The prompt {own} is longer than {_LONGEST:,} characters.", _FIX)
        answer = [text, sorted(prompts.asked_for)]
    except ExpectedError as problem:
        answer = ["", [], problem.message, problem.hint]
    json.dump(answer, sys.stdout)


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
    causes = {RecursionError: "it includes itself", MemoryError: "it needs too much memory"}
    said = causes.get(type(problem), str(problem)).rstrip(".")
    return ExpectedError(
        f"The prompt {file}, line {line}, cannot be rendered: {said or type(problem).__name__}.",
        f"{_FIX} Variables it can use: {known}.",
    )
