"""`dashboard`: a local web page that shows and steers the runs of a project."""

from __future__ import annotations

import click

from claude_iterate.cli import options, output
from claude_iterate.cli.invocation import Invocation
from claude_iterate.operations.dashboard.web_server import Dashboard, is_loopback

_PORT = 8611


@options.command("dashboard", workspace=False, json="")
@click.option(
    "--port",
    type=options.whole(0, 65535),
    metavar="N",
    default=_PORT,
    show_default=True,
    help="Its port; 0 takes a free one.",
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="The address it listens on.")
@options.flag("--open", "opens", help="Open it in the browser.")
def command(invocation: Invocation, port: int, host: str, opens: bool) -> None:
    """Show the workspaces of this project on a local web page, live, with buttons that steer a run.

    The printed address has a token that lets you in; keep it to yourself. Ctrl-C ends the dashboard; runs continue.
    """
    project = invocation.project
    project.workspaces()  # a folder that cannot be read is reported now
    board = Dashboard(project, host, port)
    if not is_loopback(host):
        output.warn(
            f"{host} can be reached from other computers, and nothing on the way is encrypted. An ssh tunnel is safer: "
            f"ssh -L {board.port}:127.0.0.1:{board.port} THIS-COMPUTER"
        )
    output.note(f"The dashboard of {project.root}:")
    output.result(board.address)
    output.note("Ctrl-C ends the dashboard.")
    if opens:
        board.open(lambda: output.note("No browser was found. Open the address yourself."))
    board.serve()
    output.note("The dashboard has ended.")
