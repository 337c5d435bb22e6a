"""Tells of a finished setup: the one notification that no run sends. It takes seconds at most and never fails."""

from __future__ import annotations

import time
from collections.abc import Callable

from claude_iterate.errors import ExpectedError
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.lifecycle.project import Project


def setup_complete(project: Project, layout: Layout, warn: Callable[[str], None]) -> None:
    """Post `setup_complete`, if the settings want it."""
    try:
        settings = project.settings_for(layout).settings
    except ExpectedError as problem:
        warn(f"No notification is sent: {problem.message}")
        return
    if not settings.notify.url:
        return
    from claude_iterate.sinks.notifications import notices
    from claude_iterate.sinks.notifications.notification_sink import Notifier

    notifier = Notifier(settings, project.environ, warn)
    notifier.post(notices.setup_complete(layout.name, str(layout.instructions), time.time()))
    notifier.close()
