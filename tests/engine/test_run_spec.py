"""What the rules are told of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.core.events import Carried, ProofDefined
from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.settings.declared import build
from claude_iterate.core.settings.modes import MODES
from tests.engine.building import plan_in


def test_the_rules_know_all_that_was_planned(tmp_path: Path) -> None:
    """Nothing that a decision hangs on has its default by mistake."""
    settings = build({"delay": 7.0})
    mode, line = MODES["iterative"], CommandLine(options=(("--max-cost", "2"),))
    plan = plan_in(tmp_path, mode=mode, settings=settings, purpose=Purpose.VERIFY, command_line=line, checks_only=True)
    facts = plan.facts(1.0, 2.0)
    known = Facts(
        1.0,
        2.0,
        settings,
        9,
        Purpose.VERIFY,
        command_line=line.of("verify", plan.layout.name),
        mode=mode,
        checks_only=True,
    )
    assert facts == replace(known, zone=None)


@pytest.mark.parametrize(
    "known", [{"carried": Carried(refuses=True)}, {"defined": ProofDefined(refuses=True)}], ids=["before", "now"]
)
def test_the_rules_know_that_a_changed_proof_is_refused(tmp_path: Path, known: dict[str, Any]) -> None:
    """By an earlier run, or by this one."""
    assert plan_in(tmp_path, **known).facts(1.0, 2.0).refuses
    assert not plan_in(tmp_path).facts(1.0, 2.0).refuses
