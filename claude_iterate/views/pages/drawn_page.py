"""A page of the dashboard as it is drawn: its panels as HTML, the lines of its timeline, what can be asked for.

Whatever Claude, a check or the user wrote passes two gates here, for every value of every template: characters that
could steer or disguise are made visible, and what HTML would read as its own is escaped.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from claude_iterate.core.formats import duration, plural
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.text.proof_lines import check_result
from claude_iterate.views.story import Happening, verdict

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
_LONGEST = 4000
"""Characters of one text on a page; of a longer one its end is shown."""


class Drawn(msgspec.Struct, frozen=True):
    """What a page shows at one moment. `offers` are the requests that make sense now; `says` is for a screen reader,
    when it changes."""

    title: str
    panels: Mapping[str, str]
    lines: tuple[Happening, ...] = ()
    offers: tuple[str, ...] = ()
    says: str = ""
    run: str = ""

    def over(self, unread: Drawn) -> Drawn:
        """The page with every panel: what was not drawn yet is as on a page that was not read."""
        return replace(self, title=self.title or unread.title, panels={**unread.panels, **self.panels})


def page(name: str, /, **values: Any) -> str:
    """A whole page."""
    return _environment().get_template(f"{name}.html.jinja").render(values)


def markdown(name: str, /, **values: Any) -> str:
    """The same as Markdown, where fences take the place of escapes."""
    return _environment(escapes=False).get_template(f"{name}.md.jinja").render(values)


def panel(file: str, macro: str, /, **values: Any) -> str:
    """One part of a page: a macro of a template, called with these values."""
    made: str = getattr(_environment().get_template(f"{file}.html.jinja").module, macro)(**values)
    return made.strip()


@functools.cache
def _environment(escapes: bool = True) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only pages need it

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=escapes,  # noqa: S701 - Markdown has fences
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.globals.update(check_result=check_result, duration=duration, plural=plural, verdict=verdict)
    environment.filters["end"] = lambda text: text if len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"
    return environment


def _clean(value: object) -> object:
    """Every text that a template prints. What is HTML already was made from such texts."""
    return sanitize_terminal(value) if type(value) is str else value
