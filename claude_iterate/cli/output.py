"""The one place where commands print: results to stdout, notes to stderr, JSON as exactly one document."""

from __future__ import annotations

import contextlib
import json
import shlex
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click
from msgspec import Struct, to_builtins

from claude_iterate.core.sanitize import sanitize_json, sanitize_terminal
from claude_iterate.core.tones import COLORS, Line, Tone
from claude_iterate.errors import ExpectedError, UsageProblem
from claude_iterate.system import terminals, untrusted_files

VIEW_FORMAT = 1
JSON = "claude_iterate.json"
"""Where the context of click keeps that `--json` was given."""
_SYMBOLS = {"good": ("✓", "green", "[ok]"), "warning": ("⚠", "yellow", "[!]"), "bad": ("❌", "red", "[x]")}


sanitize = sanitize_terminal
"""Text from outside, for a result: without what would control a terminal, now or when a file is read later."""


def paint(text: str, tone: Tone, bold: bool = False) -> str:
    """Text in the colour of its tone."""
    return click.style(text, fg=COLORS.get(tone), bold=bold or None)


def dim(text: str) -> str:
    """Text that is there when one looks for it, such as a path."""
    return click.style(text, dim=True)


def result(text: str = "") -> None:
    """A line of what the user asked for."""
    click.echo(text)


def lines(of_result: Iterable[Line]) -> None:
    """Lines of what the user asked for, as they look on a terminal; they may hold text from outside."""
    for line in of_result:
        text = sanitize(line.text)
        if line.sign:
            text = f"  {symbol(line.sign)} {text}"
        if line.dim:
            text = dim(text)
        elif line.bold or line.tone != "plain":
            text = paint(text, line.tone, line.bold)
        result(f"{text} {dim(sanitize(line.aside))}" if line.aside else text)


def part(text: str) -> None:
    """A piece of a result that brings its own line breaks."""
    click.echo(text, nl=False)


def note(text: str) -> None:
    """A line beside the result: progress, advice. When it cannot be printed, the command goes on."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(make_pasteable(text), err=True)


def make_pasteable(advice: str) -> str:
    """Advice whose commands work from the current folder, also where the project is in another one."""
    context = click.get_current_context(silent=True)
    return context.obj.make_pasteable(advice) if context is not None and context.obj is not None else advice


def try_note(text: str) -> None:
    """A note that is left out when the terminal takes nothing: a run must not wait for it."""
    with contextlib.suppress(OSError, ValueError):
        if not terminals.accepts_output(sys.stderr.fileno()):
            return
    note(text)


def warn(text: str) -> None:
    """A note that should be noticed."""
    note(add_sign("warning", text))


def success(text: str) -> None:
    """A line that says that something worked."""
    click.echo(add_sign("good", text))


def add_sign(kind: str, text: str) -> str:
    """A line of its own that begins with a sign, all in one colour, as the lines of a run are."""
    first, *rest = f"{_sign(kind)} {sanitize(text)}".split("\n")
    return "\n".join([click.style(first, fg=_SYMBOLS[kind][1]), *rest])


def document(value: Any) -> None:
    """The whole answer as one JSON document."""
    click.echo(sanitize_json(json.dumps(value, indent=2, ensure_ascii=False)))


def wants_json() -> bool:
    """The user asked for one JSON document."""
    return bool(click.get_current_context().meta.get(JSON))


def answer(value: Any, text: str, then: str = "") -> None:
    """What a command did: as one document, or for people, with what can be done then."""
    if wants_json():
        document(value)
        return
    success(text)
    if then:
        note(then)


def view(form: Struct) -> None:
    """A view as one JSON document."""
    document(view_document(form))


def view_document(form: Struct) -> dict[str, Any]:
    """The JSON form of a view: its fields under the number of the format."""
    return {"format": VIEW_FORMAT, **_round_money(to_builtins(form))}


def _round_money(value: Any) -> Any:
    """Sums of money without the noise of binary fractions."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        # Entries of a journal are printed as they are.
        return {key: item if key == "entries" else _round_money(item) for key, item in value.items()}
    return [_round_money(item) for item in value] if isinstance(value, list | tuple) else value


def symbol(kind: str) -> str:
    """good, warning or bad as one character, for a list; click removes colour where there is no terminal."""
    return click.style(_sign(kind), fg=_SYMBOLS[kind][1])


def _sign(kind: str) -> str:
    """As the encoding allows, which both streams share."""
    sign, _, plain = _SYMBOLS[kind]
    try:
        sign.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return sign


def printable(text: object) -> str:
    """Text from a file, without characters that would control the terminal."""
    return "".join(character if character.isprintable() else "�" for character in str(text))


def is_terminal(stream: IO[str] | None) -> bool:
    """True when the user may be watching."""
    return stream is not None and stream.isatty()


def heading(text: str) -> str:
    """A title within a result."""
    return click.style(text, bold=True)


def table(
    rows: Sequence[tuple[str, ...]],
    head: tuple[str, ...],
    column: int = -1,
    tones: Sequence[Tone] = (),
    right: Collection[str] = (),
) -> None:
    """Columns as wide as they need to be; the last one is left ragged. With `tones`, one for each row, that `column`
    shows them. `right`: the columns that stand at the right of their width."""
    lines = [tuple(map(sanitize, line)) for line in (head, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [
            cell.rjust(width) if title in right else cell.ljust(width)
            for title, cell, width in zip(head, line, widths, strict=True)
        ]
        if number and tones:
            text = line[column]
            cells[column] = paint(text, tones[number - 1]) + cells[column][len(text) :]
        shown = "  ".join(cells).rstrip()
        click.echo(shown if number else heading(shown))


@contextlib.contextmanager
def output_file(path: Path, option: str, root: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` at the end. What is no regular file is refused: a link, a
    folder, a device. `option` is what the user types to name another place, `root` the project."""
    another = f"Name another file: {option} FILE"
    path = untrusted_files.settle(path.parent, root) / path.name
    about = untrusted_files.status(path)
    if about is not None and not stat.S_ISREG(about.st_mode):
        is_link, is_folder = stat.S_ISLNK(about.st_mode), stat.S_ISDIR(about.st_mode)
        kind = "a symbolic link" if is_link else "a folder" if is_folder else "not a regular file"
        raise UsageProblem(f"{path} is {kind}.", another)
    if not path.parent.is_dir():
        raise ExpectedError(f"There is no folder {path.parent}.", f"Make it: mkdir -p {shlex.quote(str(path.parent))}")
    try:
        with untrusted_files.open_replacement(path) as file:
            yield file
    except OSError as error:
        raise ExpectedError(f"{path} cannot be written: {error.strerror}.", another) from None
