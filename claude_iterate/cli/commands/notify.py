"""`notify test`: send one notification now, and show what came back."""

from __future__ import annotations

import time

from claude_iterate.cli import options, output
from claude_iterate.cli.command_table import group
from claude_iterate.cli.invocation import Invocation
from claude_iterate.errors import SettingsProblem
from claude_iterate.sinks.notices import trial
from claude_iterate.sinks.notifier import Delivery


@options.command("test", workspace=False)
@options.workspace_option(help="With the settings of this workspace.")
def test(invocation: Invocation, workspace: str | None) -> int:
    """Send one notification and show the answer. Exit code 0 if it was delivered, 1 if not."""
    project = invocation.project
    resolved = project.resolved if workspace is None else project.settings_for(project.layout(workspace))
    settings = resolved.settings.notify
    if not settings.url:
        other = "" if workspace else ", or name a workspace that has one: --workspace NAME"
        raise SettingsProblem(
            "No address for notifications is set.",
            f"Set one: claude-iterate config notify.url https://ntfy.sh/my-topic{other}",
        )
    delivery = Delivery(settings)
    answer = delivery.send(trial(workspace, project.root.name, time.time()), lambda _seconds: False, tries=1)
    if output.wants_json():
        about = {"delivered": answer.delivered, "host": delivery.host, "format": settings.format}
        output.document(about | {"status": answer.status, "answer": answer.text, "problem": answer.problem or None})
        return 0 if answer.delivered else 1
    if answer.delivered:
        output.success(f"Delivered to {delivery.host} ({answer.status})")
    else:
        failed = f"Not delivered to {delivery.host}: {answer.problem}"
        output.note(output.add_sign("bad", failed))
    if answer.text.strip():
        output.result(output.sanitize(answer.text.rstrip()))
    return 0 if answer.delivered else 1


command = group("notify", "Test your notifications.", [test])
