"""`replay NAME`: a recorded run, shown again as it was seen."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.core.redact import redactor_for
from claude_iterate.operations.replay import LONGEST, load_replay
from claude_iterate.text.run_lines import describe_damage
from claude_iterate.views import run_view
from claude_iterate.workspace import journal_reader
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
@options.run_option(help="A certain run, by its id or number. Default: the last one.")
@click.option("--iteration", "number", type=options.whole(1), metavar="N", help="Only this iteration.")
@click.option(
    "--speed",
    callback=_speed,
    metavar="X",
    help="X times as fast as it was; `max`: all at once. Default: fast enough to take about a minute, with no pause "
    "longer than a second; without a terminal, all at once.",
)
@click.option(
    "--output",
    "level",
    type=click.Choice(_LEVELS),
    help="How much to show. Default: as much as the run did.",
)
@click.option("--svg", metavar="FILE", help="Write it as a picture instead.")
@click.option("--cast", metavar="FILE", help="Write it as a recording for asciinema instead.")
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
    """Show a recorded run of NAME again, as it looked on the terminal.

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
    chosen = run_view.find_run(layout, run) if run is not None else run_view.last_run(layout)
    if chosen is None:
        raise run_view.nothing_to_show(layout)
    settings = project.settings_for(layout).settings
    shown = load_replay(layout, chosen, number, level or "", redactor_for(project.environ, settings))
    if damage := describe_damage(journal_reader.fold_journal(layout, chosen).damaged):
        output.warn(f"Run {chosen} is {damage}")
    if missing := shown.missing:
        output.note(missing)
    if speed is not None:
        pace = speed, float("inf")
    elif cast is not None or output.is_terminal(sys.stdout):
        pace = shown.usual_speed(), LONGEST
    else:
        pace = 0.0, 0.0
    if svg is not None:
        with output.output_file(Path(svg), "--svg", invocation.project.root) as file:
            file.write(shown.draw().encode("utf-8", "replace"))
    elif cast is not None:
        with output.output_file(Path(cast), "--cast", invocation.project.root) as file:
            shown.record(file, *pace)
    else:
        shown.play(sys.stdout, *pace, invocation.color)
    if svg or cast:
        output.success(f"Wrote {svg or cast}")
    holder = run_lock.holder(layout.lock)
    if holder is not None and holder.run == shown.run:
        output.note(f"The run is still going. To watch it: claude-iterate attach {name}")
