"""What people ask of a running loop, looked for every quarter of a second: files in `control/` and keys."""

from __future__ import annotations

from claude_iterate.core.events import Requested, Warned
from claude_iterate.core.state.answers import answer
from claude_iterate.engine.inbox import Inbox
from claude_iterate.engine.plan import Plan
from claude_iterate.engine.recorder import Recorder
from claude_iterate.workspace.running.control import Request, RequestFolder


class Steering:
    """Looks for requests and hands them to the inbox, which records them and acts."""

    def __init__(self, plan: Plan, recorder: Recorder, inbox: Inbox) -> None:
        self._plan = plan
        self._recorder = recorder
        self._inbox = inbox
        self._requests = RequestFolder(plan.layout, plan.run)

    def look(self) -> None:
        """Deal with everything that was asked for since the last look."""
        for request in self._plan.listen(self._recorder.state):
            self._inbox.steer(request)
        for found in self._requests.take(self._reply):
            if isinstance(found, Request):
                self._inbox.steer(Requested(found.verb, "command", found.now))
            else:
                self._recorder.record(Warned(found))

    def _reply(self, request: Request) -> str:
        """What the request means now: only the runner has the state at hand, however long its journal is."""
        return answer(request.verb, self._recorder.state, request.now, self._plan.settings.attended)
