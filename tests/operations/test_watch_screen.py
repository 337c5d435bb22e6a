"""The full screen of `watch`, driven by Textual's own pilot in terminals of several sizes."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from claude_iterate.core.events import IterationFinished, IterationStarted, Outcome, RunFinished, RunStarted
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.reports.status import Status
from claude_iterate.operations.watch_screen import WatchScreen
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes
from tests.cli.journals import write

RUN = "000001-20260101-000000-aaaaaa"
EVIL = "[bold red]no markup[/] \x1b[31mno colour"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return workspace(tmp_path, "w")


def workspace(root: Path, name: str) -> Layout:
    """A workspace whose only run has ended."""
    layout = Layout(root, root / name)
    layout.folder.mkdir()
    layout.metadata.write_text('{"mode": "loop"}')
    status = Status(complete=True, completed=2, total=2, summary="done")
    write(
        layout,
        RUN,
        [
            RunStarted(RUN, name, "loop", 50, 1, "h", "0", ("claude",)),
            IterationStarted(1),
            IterationFinished(1, Outcome(Kind.CRASH, EVIL), duration=1.0, cost_usd=0.1),
            IterationStarted(2),
            IterationFinished(2, Outcome(Kind.OK), status, duration=1.0, cost_usd=0.2),
            RunFinished("completed", iterations=2, cost_usd=0.3, duration=4.0, known_by="report"),
        ],
    )
    return layout


def play(app: WatchScreen, size: tuple[int, int], deed: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    """What a user does on a screen of this size."""

    async def played() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await deed(pilot)

    asyncio.run(played())


def picture(app: WatchScreen) -> str:
    return str(app.query_one("#picture", Static).content)


def answer(app: WatchScreen) -> str:
    return str(app.query_one("#answer", Static).content)


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 10), (20, 6)])
def test_every_size_shows_the_state_and_no_line_is_too_long(layout: Layout, size: tuple[int, int]) -> None:
    """And what Claude printed is text: neither markup nor colour."""
    app = WatchScreen(lambda: [layout], only=True)

    async def look(_pilot: Pilot[None]) -> None:
        shown = picture(app)
        assert "w: completed"[: size[0] - 2] in shown
        assert all(len(line) <= size[0] for line in shown.splitlines())
        assert "\x1b" not in shown
        if size[0] >= 80:
            assert "[bold red]no markup[/]" in shown
            assert "Cost: $0.30" in shown

    play(app, size, look)


def test_a_resize_draws_the_picture_for_the_new_size(layout: Layout) -> None:
    """In mid-run, as a terminal window is dragged."""
    app = WatchScreen(lambda: [layout], only=True)

    async def resize(pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(30, 12)
        while app.size.width != 30 or max(map(len, picture(app).splitlines())) > 30:  # the time-out of the test ends it
            await pilot.pause(0.01)

    play(app, (100, 30), resize)


def test_fifty_workspaces_and_one_that_disappears(tmp_path: Path) -> None:
    """The table has a row for each; a deleted one leaves it, and the screen goes on."""
    layouts = [workspace(tmp_path, f"w{number:02d}") for number in range(50)]
    app = WatchScreen(lambda: [layout for layout in layouts if layout.folder.is_dir()], only=False)

    async def look(pilot: Pilot[None]) -> None:
        table = app.query_one(DataTable)
        assert table.row_count == 50
        await pilot.press("down")
        assert "w01: completed" in picture(app)
        shutil.rmtree(layouts[1].folder)
        app.look()
        await pilot.pause()
        assert table.row_count == 49
        assert "w01" not in picture(app)

    play(app, (80, 24), look)


def test_a_workspace_that_is_deleted_while_it_alone_is_watched_is_told(layout: Layout) -> None:
    """No crash, and no picture of what is no longer there."""
    app = WatchScreen(lambda: [layout], only=True)

    async def delete(pilot: Pilot[None]) -> None:
        shutil.rmtree(layout.folder)
        app.look()
        await pilot.pause()
        assert "gone" in picture(app)

    play(app, (80, 24), delete)


@pytest.mark.parametrize("only", [True, False])
def test_a_look_before_the_screen_is_made_or_after_its_end_is_no_error(layout: Layout, only: bool) -> None:
    """A size can come before the parts of the screen, and the clock can strike once more after them."""
    app = WatchScreen(lambda: [layout], only=only)

    async def lose(pilot: Pilot[None]) -> None:
        await app.screen.query("*").remove()
        app.look()
        app.on_resize()

    play(app, (80, 24), lose)


def test_keys_ask_as_the_commands_do(layout: Layout) -> None:
    """Nothing runs here, so the answer is the command's own: what is wrong and what to type."""
    app = WatchScreen(lambda: [layout], only=True)

    async def press(pilot: Pilot[None]) -> None:
        for key in "pskr":
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert "Nothing runs in the workspace 'w'. Start it: claude-iterate run w" in answer(app)
        await pilot.press("question_mark")
        assert "leave; the run continues" in answer(app)

    play(app, (80, 24), press)


def test_a_note_is_typed_on_the_screen(layout: Layout) -> None:
    """Enter sends it; Escape does not; letters of the note are no keys."""
    app = WatchScreen(lambda: [layout], only=True)

    async def write_notes(pilot: Pilot[None]) -> None:
        await pilot.press("n", *"stop", "escape")
        assert notes.names(layout) == []
        await pilot.press("n", *"ask", "enter")
        await pilot.pause()
        assert [note.text for note in notes.pending_notes(layout)] == ["ask"]
        assert app.query_one(Input).value == ""

    play(app, (80, 24), write_notes)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving_leaves_everything_as_it_was(layout: Layout, key: str) -> None:
    """The screen asks for nothing on its way out."""
    before = sorted(layout.folder.rglob("*"))
    app = WatchScreen(lambda: [layout], only=True)

    async def leave(pilot: Pilot[None]) -> None:
        await pilot.press(key)

    play(app, (80, 24), leave)
    assert app.return_code == 0
    assert sorted(layout.folder.rglob("*")) == before
