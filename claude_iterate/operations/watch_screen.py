"""The full-screen view of `watch`, made with Textual. Nothing else imports Textual, and no run imports this module.

It only reads journals and asks runs as any other terminal does: leaving it changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from claude_iterate.core.formats import clip
from claude_iterate.core.tones import COLORS, Line
from claude_iterate.errors import ExpectedError
from claude_iterate.operations.steering import ask
from claude_iterate.views import watched_workspace
from claude_iterate.views.watched_workspace import COLUMNS, Seen, WatchedWorkspace
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes

_PAUSE = 0.5
_NOW = COLUMNS.index("NOW")
_LEAST = 12
"""Columns of the terminal that NOW gets at least."""
_HELP = """\
p  pause, or resume after a pause       s  stop after this iteration
k  skip: end this iteration             n  leave a note for the next iteration
r  retry: end a wait now                q  leave; the run continues
up, down: another workspace             ?  this help\
"""
_LEAVE_OR_STOP = """\
l  leave; the run continues
s  stop after this iteration
e  end it now
Escape: keep watching\
"""


class LeaveOrStop(ModalScreen[str]):
    """What Ctrl-C means for a run that was started from here."""

    CSS = """
    LeaveOrStop { align: center middle; }
    LeaveOrStop Static { width: auto; max-width: 100%; height: auto; padding: 1 2; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "dismiss('leave')"),
        Binding("q", "dismiss('leave')"),
        Binding("s", "dismiss('stop')"),
        Binding("e", "dismiss('now')"),
        Binding("escape", "dismiss('')"),
    ]

    def compose(self) -> ComposeResult:
        yield Static(_LEAVE_OR_STOP, markup=False)


class WatchScreen(App[None]):
    """One workspace, or all of a project with the chosen one below. `layouts` is asked again and again: workspaces come
    and go."""

    CSS = """
    Screen { layers: base; }
    DataTable { height: auto; max-height: 40%; }
    #picture { height: 1fr; }
    #answer { height: auto; max-height: 6; color: $text-accent; }
    Input { display: none; }
    Input.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "ask('pause')", "Pause"),
        Binding("s", "ask('stop')", "Stop"),
        Binding("k", "ask('skip')", "Skip"),
        Binding("n", "note", "Note"),
        Binding("r", "ask('retry')", "Retry"),
        Binding("q", "quit", "Leave"),
        Binding("ctrl+c", "interrupt", "Leave", show=False, priority=True),
        Binding("question_mark", "explain", "Help"),
        Binding("escape", "close_note", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "claude-iterate"

    def __init__(self, layouts: Callable[[], Sequence[Layout]], only: bool, asks: bool = False) -> None:
        """`asks`: Ctrl-C asks whether to leave, or to stop the run, which was started from here."""
        super().__init__()
        self._asks = asks
        self._layouts = layouts
        self._only = only
        self._watched: dict[str, WatchedWorkspace] = {}
        self._seen: dict[str, Seen] = {}
        self._chosen = ""

    def compose(self) -> ComposeResult:
        if not self._only:
            yield DataTable(cursor_type="row")
        with VerticalScroll(can_focus=self._only):
            yield Static("", id="picture", markup=False)
        yield Static("", id="answer", markup=False)
        yield Input(placeholder="A note for the next iteration; Enter sends it, Escape does not")
        yield Footer()

    def on_mount(self) -> None:
        if not self._only:
            table = self.query_one(DataTable)
            for name in COLUMNS:
                table.add_column(name, key=name)
            table.focus()
        self.look()
        self.set_interval(_PAUSE, self.look)

    def on_resize(self) -> None:
        self._draw(time.time())

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        self._chosen = str(event.row_key.value)
        self._draw(time.time())

    def look(self) -> None:
        """Take what the journals have new, and draw it."""
        at = time.time()
        layouts = {layout.name: layout for layout in self._layouts()}
        for name, layout in layouts.items():
            if name not in self._watched:
                self._watched[name] = WatchedWorkspace(layout)
        for name in [known for known in self._watched if known not in layouts and not self._only]:
            del self._watched[name]
            self._seen.pop(name, None)
        for name, watched in self._watched.items():
            self._seen[name] = watched.look()
        self._chosen = self._chosen if self._chosen in self._seen else next(iter(self._seen), "")
        if not self._only:
            self._fill(at)
        self._draw(at)

    def _fill(self, at: float) -> None:
        table = next(iter(self.query(DataTable)), None)
        if table is None:
            return
        known = {str(key.value) for key in table.rows}
        for name in known - set(self._seen):
            table.remove_row(name)
        rows = self._rows(at)
        for name in self._seen:
            cells = tuple(rows[name])
            if name not in known:
                table.add_row(*cells, key=name)
                continue
            for column, cell in zip(COLUMNS, cells, strict=True):
                if table.get_cell(name, column) != cell:
                    table.update_cell(name, column, cell, update_width=True)

    def _rows(self, at: float) -> dict[str, list[Text]]:
        """The cells of the table, which fits the screen: NOW takes what the others leave."""
        cells = {name: watched_workspace.row(seen, at) for name, seen in self._seen.items()}
        others = [at for at in range(len(COLUMNS)) if at != _NOW]
        taken = sum(max(len(COLUMNS[at]), *(cell_len(row[at]) for row in cells.values())) for at in others)
        room = max(_LEAST, self.size.width - taken - 2 * len(COLUMNS) - 1)
        rows = {}
        for name, row in cells.items():
            row[_NOW] = clip(row[_NOW], room)
            look = COLORS.get(self._seen[name].tone, "")
            rows[name] = [Text(cell, look if at == 1 else "") for at, cell in enumerate(row)]
        return rows

    def _draw(self, at: float) -> None:
        seen = self._seen.get(self._chosen)
        picture = next(iter(self.query("#picture").results(Static)), None)
        if picture is None:  # the first size comes before the screen is made, and the last look after its end
            return
        columns, rows = max(10, self.size.width - 2), max(3, self.size.height - 4)
        empty = "There is no workspace here yet. Make one: claude-iterate setup NAME"
        picture.update(_text(watched_workspace.lines(seen, at, columns, rows)) if seen is not None else empty)

    def action_ask(self, verb: str) -> None:
        """The same request as the command; `p` after a pause means resume."""
        seen = self._seen.get(self._chosen)
        if verb == "pause" and seen is not None and seen.story is not None and seen.story.state.paused:
            verb = "resume"
        self._request(verb)

    def _request(self, verb: str, now: bool = False) -> None:
        watched = self._watched.get(self._chosen)
        if watched is not None:
            layout = watched.layout
            self._answer(f"{verb}: asked ...")
            self.run_worker(lambda: self._send_request(layout, verb, now), thread=True, exclusive=False)

    def action_interrupt(self) -> None:
        """Ctrl-C; the second time it leaves."""
        if not self._asks or isinstance(self.screen, LeaveOrStop):
            self.exit()
            return
        self.push_screen(LeaveOrStop(), self._on_choice)

    def _on_choice(self, wanted: str | None) -> None:
        if wanted == "leave":
            self.exit()
        elif wanted:
            self._request("stop", now=wanted == "now")

    def _send_request(self, layout: Layout, verb: str, now: bool) -> None:
        try:
            said = ask(layout, verb, now).text
        except ExpectedError as problem:
            said = f"{problem.message} {problem.hint}".strip()
        self.call_from_thread(self._answer, said)

    def action_note(self) -> None:
        field = self.query_one(Input)
        field.add_class("asked")
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        watched = self._watched.get(self._chosen)
        if event.value.strip() and watched is not None:
            try:
                notes.add(watched.layout, event.value)
                self._answer("Noted for the next iteration.")
            except ExpectedError as problem:
                self._answer(f"{problem.message} {problem.hint}".strip())
        self.action_close_note()

    def action_close_note(self) -> None:
        field = self.query_one(Input)
        field.value = ""
        field.remove_class("asked")
        self.set_focus(None if self._only else self.query_one(DataTable))

    def action_explain(self) -> None:
        shown = str(self.query_one("#answer", Static).content)
        self._answer("" if shown == _HELP else _HELP)

    def _answer(self, text: str) -> None:
        self.query_one("#answer", Static).update(text)


def _text(lines: Sequence[Line]) -> Text:
    """The picture in the colours of its lines; the first one stands out."""
    shown = []
    for number, line in enumerate(lines):
        weight = "bold" if number == 0 else "dim" if line.dim else ""
        shown.append(Text(line.text, f"{weight} {COLORS.get(line.tone, '')}".strip()))
    return Text("\n").join(shown)
