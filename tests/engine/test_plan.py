"""What the rules are told of a run."""

from __future__ import annotations

from pathlib import Path

from claude_iterate.core.events.vocabulary import Purpose
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.settings.declared import build
from claude_iterate.core.settings.modes import MODES
from claude_iterate.engine.plan import Plan, Texts
from claude_iterate.workspace.layout import Layout


def test_the_rules_know_all_that_was_planned(tmp_path: Path) -> None:
    """Nothing that a decision hangs on has its default by mistake."""
    texts, settings = Texts("", "", "", ""), build({"delay": 7.0})
    plan = Plan(
        run="r",
        layout=Layout(tmp_path, tmp_path),
        mode=MODES["iterative"],
        settings=settings,
        max_iterations=9,
        environ={},
        texts=lambda number, failure: texts,
        review_texts=lambda depth, note, identity, report: texts,
        report=tmp_path / "report.md",
        log=tmp_path / "log",
        purpose=Purpose.VERIFY,
    )
    assert plan.facts(1.0, 2.0) == Facts(1.0, 2.0, settings, 9, True, Purpose.VERIFY)
