"""What people ask of a running loop, looked for every quarter of a second: files in `control/` and keys."""

from __future__ import annotations

from claude_iterate.core.events import Requested, Warned
from claude_iterate.engine.inbox import Inbox
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.workspace.control import Letterbox


class Steering:
    """Looks for requests and hands them to the inbox, which records them and acts."""

    def __init__(self, plan: Plan, recorder: Recorder, inbox: Inbox) -> None:
        self._plan = plan
        self._recorder = recorder
        self._inbox = inbox
        self._letterbox = Letterbox(plan.layout, plan.run)

    def look(self) -> None:
        """Deal with everything that was asked for since the last look."""
        for request in self._plan.listen(self._recorder.state):
            self._inbox.steer(request)
        taken = self._letterbox.take()
        for wanted in taken.requests:
            self._inbox.steer(Requested(wanted.verb, "command", wanted.now))
        for warning in taken.warnings:
            self._recorder.record(Warned(warning))
