"""What the rules are told of a run."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events.vocabulary import Purpose
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.settings.catalogue import build
from claude_iterate.core.settings.modes import MODES
from claude_iterate.engine.time_zones import LocalZone
from tests.engine.building import plan_in


def test_the_rules_know_all_that_was_planned(tmp_path: Path) -> None:
    """Nothing that a decision hangs on has its default by mistake."""
    settings = build({"delay": 7.0})
    plan = plan_in(tmp_path, mode=MODES["iterative"], settings=settings, purpose=Purpose.VERIFY)
    facts = plan.facts(1.0, 2.0)
    known = Facts(1.0, 2.0, settings, 9, True, Purpose.VERIFY, mode=MODES["iterative"])
    assert facts == known._replace(zone=facts.zone)
    assert isinstance(facts.zone, LocalZone)
