"""A workspace that is being watched: its newest run, followed as it grows, in the words of `watch` and dashboard."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core.formats import age, at_least, clip, cost, duration, moment, one_line
from claude_iterate.core.rules import breaker
from claude_iterate.core.rules.endings import with_words
from claude_iterate.core.rules.next_steps import KILLED, continue_command, rename_workspace
from claude_iterate.core.sanitize import sanitize_terminal
from claude_iterate.core.settings.modes import stop_settings
from claude_iterate.core.state.condition import condition, items_done, recorded_settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import Line, Tone, state_words, tone, tone_of_line
from claude_iterate.system import untrusted_files
from claude_iterate.text import local_times
from claude_iterate.text.run_lines import WAITS, describe_damage
from claude_iterate.views.settings_view import short_count
from claude_iterate.views.story import Story
from claude_iterate.views.workspace_view import COPIED, state_of
from claude_iterate.workspace import journal_reader
from claude_iterate.workspace.journal_reader import WHOLE, JournalFollower
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import notes, run_lock

_BAR = 20


class Seen(msgspec.Struct, frozen=True):
    """What was seen of a workspace. `story` is None when it never ran; `gone`: its folder was deleted; `stands` is the
    word of `list` for a workspace that does not run, and how it is known that its task is done."""

    name: str
    story: Story | None = None
    alive: bool = False
    notes: int = 0
    gone: bool = False
    stands: tuple[str, str | None] = ("", None)

    @property
    def condition(self) -> str:
        """What it is doing, in one word; of one that does not run, what `list` says. `unreadable`: the journals of
        all its runs have lost their beginning."""
        if self.gone:
            return "gone"
        if self.story is None or self.story.started is None:
            return "starting" if self.alive else "new" if self.story is None else "unreadable"
        return self.stands[0] or condition(self.story.state, alive=self.alive)

    @property
    def known_by(self) -> str | None:
        """How it is known that a completed task is done."""
        if self.stands[0]:
            return self.stands[1]
        finished = self.story.state.finished if self.story is not None and not self.alive else None
        return finished.known_by if finished is not None else None

    @property
    def tone(self) -> Tone:
        """How its condition looks."""
        return tone(self.condition, self.known_by)

    @property
    def words(self) -> str:
        """Its condition as `list` has it."""
        return state_words(self.condition, self.known_by)


class WatchedWorkspace:
    """Follows one workspace over all its runs, or with `run` that one."""

    def __init__(self, layout: Layout, run: str = "") -> None:
        self.layout = layout
        self._run = run
        self._journal: JournalFollower | None = None
        self._story = Story("")

    def look(self) -> Seen:
        """What is there now. Nothing that happens to the folder is an error."""
        layout = self.layout
        try:
            return self._look() if untrusted_files.is_folder(layout.folder) else Seen(layout.name, gone=True)
        except OSError:
            return Seen(layout.name, gone=not untrusted_files.is_folder(layout.folder))

    def _look(self) -> Seen:
        layout, holder = self.layout, run_lock.holder(self.layout.lock)
        held = holder.run if holder is not None else ""
        run = self._run or (held if held and untrusted_files.is_file(layout.journal(held)) else "")
        if not run:  # the newest with a beginning; the newest of all where none has one
            ids = layout.run_ids()
            run = next(journal_reader.newest_runs(layout), ids[-1] if ids else "")
        if run and run != self._story.run:
            self._journal, self._story = JournalFollower(layout.journal(run), WHOLE), Story(run)
        seen = Seen(layout.name, alive=holder is not None and self._run in {"", held}, notes=len(notes.names(layout)))
        if self._journal is None:
            return seen
        self._story.follow(self._journal)
        seen = replace(seen, story=self._story)
        if seen.alive or self._run or self._story.state.run.dry_run:
            return seen
        stands = state_of(layout)
        return replace(seen, stands=(stands.state, stands.known_by) if stands is not None else ("damaged", None))


COLUMNS = ("WORKSPACE", "STATE", "NOW", "ITEMS", "ITERATION", "TIME", "COST")


def row(seen: Seen, at: float) -> list[str]:
    """The workspace in a list: a cell for each of the columns."""
    story = seen.story
    if story is None or story.started is None:
        return [seen.name, seen.words, *[""] * (len(COLUMNS) - 2)]
    items = items_done(story.state) if seen.condition != "new_task" else None
    done = f"{items.completed}/{items.total}" if items is not None else ""
    number, took, paid = iteration(story.state), age(run_time(seen, at)), cost_so_far(story.state)
    return [seen.name, seen.words, "".join(activity(seen, at)), done, number.removeprefix("iteration "), took, paid]


def lines(seen: Seen, at: float, columns: int, most: int) -> list[Line]:
    """The whole picture of one workspace, at most this many lines, each fitted to the columns."""
    story = seen.story
    if story is None or story.started is None:
        shown = [without_story(seen)]
    else:
        head = [*_head(seen, story, at), *(Line(line, dim=True) for line in _figures(seen, story, at)), Line("")]
        recent = story.recent[-max(1, most - len(head)) :]
        shown = [*head, *(Line(f"{one.clock}  {one.text}", tone_of_line(one.text)) for one in recent)]
    return [replace(line, text=clip(sanitize_terminal(line.text), columns)) for line in shown[:most]]


def without_story(seen: Seen) -> Line:
    """What there is to say of a workspace without a run that can be shown."""
    match seen.condition:
        case "gone":
            return Line("The folder of this workspace is gone.")
        case "new":
            return Line(f"It never ran. Begin: claude-iterate run {seen.name}")
        case "unreadable":
            run = seen.story.run if seen.story is not None else ""
            log = f"claude-iterate logs {seen.name} --run {run}"
            return Line(f"The journal of run {run} has lost its beginning. Its log: {log}", "bad")
    return Line("It is about to begin.")


def _head(seen: Seen, story: Story, at: float) -> list[Line]:
    state, items = story.state, items_done(story.state)
    dry = " (dry run)" if state.run.dry_run else ""
    found = [Line(f"{seen.name}: {seen.words}{dry} · {iteration(state)} · {age(run_time(seen, at))}", seen.tone)]
    if items is not None and seen.condition != "new_task":
        done = min(items.completed, items.total)
        filled = _BAR * done // items.total
        left = f" · left: {time_left(story)}" if seen.alive else ""
        found.append(Line(f"{'█' * filled}{'░' * (_BAR - filled)} {done}/{items.total}{left}"))
    if seen.alive:
        found.append(Line(f"Now: {''.join(activity(seen, at))}"))
    else:
        cause, step = ending(seen)
        found += [Line(cause), *([Line(f"Next: {step}")] if step else [])]
    return [*found, *([Line(damage, "warning")] if (damage := describe_damage(state.damaged)) else [])]


def ending(seen: Seen) -> tuple[str, str]:
    """Why its last run ended, and the command that leads on; both are empty while it runs. Where the workspace stands
    otherwise since, it says whose cause it is."""
    story = seen.story
    if story is None or story.started is None or seen.alive:
        return "", ""
    if story.state.finished is None:
        if seen.condition == "copy":
            return COPIED, f"claude-iterate reset {seen.name}"
        step = rename_workspace(continue_command(story.state), story.started.workspace, seen.name)
        return f"{KILLED}.", step
    ended = with_words(story.state.finished, story.state)
    since = seen.condition not in (condition(story.state, alive=False), "planned")
    return f"Its last run: {ended.cause}" if since else ended.cause, "" if seen.condition == "new_task" else ended.next


def _figures(seen: Seen, story: Story, at: float) -> list[str]:
    """What it cost and did, how far its windows are used, and the breaker's counters."""
    found = [" · ".join(f"{name}: {text}" for name, text in figures(story, seen.notes))]
    found += [f"Window {name}: {used}" for name, used in windows(story, at)]
    counts = [f"{name} {now}/{most}" for name, now, most in breaker_counters(story)]
    return [*found, f"Breaker: {' · '.join(counts)}"] if counts else found


def figures(story: Story, notes_waiting: int) -> list[tuple[str, str]]:
    """What a run cost and did so far, and how many notes the next iteration finds; what there is none of is left
    out."""
    state, work, context = story.state, story.state.work, story.state.session.context
    tools, damaged = sum(row.tools for row in story.rows.every()), state.damaged is not None
    tokens = state.spent.tokens.total if not state.run.dry_run else 0
    found = {
        "Cost": "none: a dry run" if state.run.dry_run else cost_so_far(state),
        "Tokens": at_least(short_count(tokens), damaged) if tokens else "",
        "Iterations": at_least(str(state.iterations), damaged) if state.iterations else "",
        "Notes waiting": str(notes_waiting),
        "Files changed": str(work.files_changed),
        "Commits": str(work.commits),
        "Tool calls": str(tools),
        "Waits": f"{story.wait_count} ({duration(story.waited)})" if story.wait_count else "",
        "Context": f"{100 * context:.0f} %" if context else "",
    }
    return [(name, text) for name, text in found.items() if text not in {"", "0"}]


def breaker_counters(story: Story) -> list[tuple[str, int, int]]:
    """What the breaker counts, how far that is, and the limit that the run was started with."""
    if (started := story.started) is None:
        return []
    return breaker.counters(story.state.breaker, stop_settings(recorded_settings(started), started.mode))


def activity(seen: Seen, at: float) -> tuple[str, str]:
    """What it is busy with, and since when or for how long; both are empty when it does not run."""
    story = seen.story
    if story is None or not seen.alive:
        return "", ""
    state, now = story.state, story.now(at)
    if state.wait is not None:
        return WAITS.get(state.wait.why, state.wait.why), f": {age(state.wait.until - at)} left"
    if now.tool is not None:
        return one_line(now.tool), f" ({age(now.tool_duration or 0.0)})"
    if state.call is None:
        return "paused" if state.paused else seen.words, ""
    return "Claude thinks", f" ({age(now.silence)})"


def cost_so_far(state: RunState) -> str:
    """What the run has cost so far, the call under way included."""
    return cost(state.spent.cost_usd, state.spent.at_least)


def windows(story: Story, at: float) -> list[tuple[str, str]]:
    """How much of each usage window is used: `five hour`, `62 % used, resets 16:05`."""
    found = []
    for name, window in story.state.waiting.windows.items():
        used = f"{100 * window.utilization:.0f} % used" if window.utilization is not None else window.status
        resets_at = window.resets_at or 0.0
        resets = f", resets {local_times.day_and_time(moment(resets_at), at)}" if resets_at > at else ""
        found.append((name.replace("_", " "), used + resets))
    return found


def iteration(state: RunState) -> str:
    """`iteration 3 of 50`."""
    number, most = state.last_iteration, state.run.max_iterations
    return f"iteration {number} of {most}" if most else f"iteration {number}"


def run_time(seen: Seen, at: float) -> float:
    """How long the run has taken: up to now, or up to its end."""
    story = seen.story
    if story is None or story.last is None:
        return 0.0
    return story.elapsed(at if seen.alive else story.last.at)


def time_left(story: Story) -> str:
    """How long the rest may take, from the items that finished iterations of this run have done; `not known` when that
    says nothing. Waits and pauses do not count."""
    rows = [(row.progress, row.duration) for row in story.rows.ended if row.progress is not None]
    items = items_done(story.state)
    if items is None or not rows:
        return "not known"
    # How many were done before the first one is not known: it only says where the others began.
    done, left = rows[-1][0].completed - rows[0][0].completed, items.total - items.completed
    if done <= 0 or left < 0:
        return "not known"
    return f"about {duration(left * sum(took for _, took in rows[1:]) / done)}"
