"""What the user asks of a run, looked for every quarter of a second: files in `control/` and keys; and signals."""

from __future__ import annotations

from collections.abc import Callable

from claude_iterate.core.events import HeldBack, Requested, Warned
from claude_iterate.core.events.enums import Verb
from claude_iterate.core.rules.signals_and_requests import effect_of, signal_came
from claude_iterate.core.state.requests import answer
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.workspace.run_folder.control import HOLD, Request, RequestFolder


class Steering:
    """Records requests and signals, and what the rules make of them. `flush` is called after each."""

    def __init__(self, plan: RunSpec, recorder: Recorder, flush: Callable[[], None]) -> None:
        self._plan = plan
        self._recorder = recorder
        self._flush = flush
        self._requests = RequestFolder(plan.layout, plan.run)

    def look(self) -> None:
        """Deal with everything that was asked for since the last look."""
        for request in self._plan.listen(self._recorder.state):
            self.steer(request)
        for found in self._requests.take(self._reply):
            if isinstance(found, Request) and found.verb == HOLD:
                self._recorder.record(HeldBack(found.by, found.until, found.detail))
            elif isinstance(found, Request):
                self.steer(Requested(Verb(found.verb), "command", found.now))
            else:
                self._recorder.record(Warned(found))

    def steer(self, request: Requested) -> None:
        """Do what the user asks for, by whatever means."""
        effect = effect_of(self._recorder.state, request)
        self._recorder.record(request)
        if effect is not None:
            self._recorder.record(effect)
        self._flush()

    def signal(self, name: str) -> None:
        """Heed a signal."""
        self._recorder.record(signal_came(self._recorder.state, name))
        self._flush()

    def _reply(self, request: Request) -> str:
        """What the request means now: only the runner has the state at hand, however long its journal is."""
        if request.verb == HOLD:
            return ""
        return answer(Verb(request.verb), self._recorder.state, request.now, self._plan.settings.attended)
