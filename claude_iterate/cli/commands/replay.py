"""`replay NAME`: a recorded run, shown again as it was seen."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.redact import redactor_for
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.operations.playback import LONGEST
from claude_iterate.operations.replay import ReplayedRun, load_replay
from claude_iterate.views import run_view
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder import run_lock

_LEVELS = ("quiet", "progress", "verbose")


def _speed(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """How many times as fast as it was; 0 means: all at once."""
    if value is None or value == "max":
        return None if value is None else 0.0
    try:
        speed = float(value)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= 1e6:
        raise click.BadParameter(f"{value!r} is not a number from 0 on, and not `max`.", context, parameter)
    return speed


@options.command("replay", json="")
@options.run_option(help="A certain run, by its id or its number. Default: the last one.")
@click.option("--iteration", "number", type=options.whole(1), metavar="N", help="Only this iteration.")
@click.option(
    "--speed",
    callback=_speed,
    metavar="X",
    help="So many times as fast as it was; `max`: all at once. Default: so that it takes about a minute, and no pause "
    "lasts longer than a second; where there is no terminal, all at once.",
)
@click.option(
    "--output",
    "level",
    type=click.Choice(_LEVELS),
    help="How much is shown. Default: as it was shown then.",
)
@click.option("--svg", metavar="FILE", help="Write what was shown as a picture.")
@click.option("--cast", metavar="FILE", help="Write what was shown, and when, as a recording for asciinema.")
def command(
    invocation: Invocation,
    name: str,
    run: str | None,
    number: int | None,
    speed: float | None,
    level: str | None,
    svg: str | None,
    cast: str | None,
) -> None:
    """Show a recorded run of the workspace again, as it was seen on the terminal.

    \b
    Examples:
      claude-iterate replay my-task                            the last run, in about a minute
      claude-iterate replay my-task --iteration 3 --output verbose --speed max
      claude-iterate replay my-task --svg night.svg            a picture for a README
      claude-iterate replay my-task --cast night.cast          play it: asciinema play night.cast
    """
    options.choose_one({"--svg": svg is not None, "--cast": cast is not None})
    project = invocation.project
    layout = project.layout(name)
    settings = project.settings_for(layout).settings
    shown = load_replay(layout, _run(layout, run), number, level or "", redactor_for(project.environ, settings))
    if shown.missing:
        output.note(shown.missing)
    if svg is not None:
        _draw(shown, Path(svg))
    elif cast is not None:
        _record(shown, Path(cast), speed)
    else:
        _play(shown, speed, invocation.color)
    if _is_live(layout, shown.run):
        output.note(f"The run goes on. To be there: claude-iterate attach {name}")


def _run(layout: Layout, wanted: str | None) -> str:
    if wanted is not None:
        return run_view.find_run(layout, wanted)
    found = run_view.last(layout)
    if found is None:
        raise WorkspaceProblem(f"{layout.name} has no run yet.", f"Begin one: claude-iterate run {layout.name}")
    return found


def _is_live(layout: Layout, run: str) -> bool:
    holder = run_lock.holder(layout.lock)
    return holder is not None and holder.get("run") == run


def _play(shown: ReplayedRun, speed: float | None, color: bool) -> None:
    if speed is not None:
        shown.play(sys.stdout, speed, float("inf"), color)
    elif output.is_terminal(sys.stdout):
        shown.play(sys.stdout, shown.usual_speed(), LONGEST, color)
    else:
        shown.play(sys.stdout, 0.0, 0.0, color)


def _draw(shown: ReplayedRun, path: Path) -> None:
    with output.output_file(path, "--svg") as file:
        file.write(shown.draw().encode("utf-8", "replace"))
    output.success(f"Wrote {path}")


def _record(shown: ReplayedRun, path: Path, speed: float | None) -> None:
    with output.output_file(path, "--cast") as file:
        if speed is None:
            shown.record(file, shown.usual_speed(), LONGEST)
        else:
            shown.record(file, speed, float("inf"))
    output.success(f"Wrote {path}")
