"""The names under which a run is known in the environment of everything that it starts."""

from __future__ import annotations

RUN_VARIABLE = "CLAUDE_ITERATE_RUN"
WORKSPACE_VARIABLE = "CLAUDE_ITERATE_WORKSPACE"
