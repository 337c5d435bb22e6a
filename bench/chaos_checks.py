"""What must hold after a run was killed and resumed to its end. Each check yields what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from claude_iterate.selftest import checks
from claude_iterate.selftest.scene import Done, Scene

NOTHING_SAID = Done(0, "", "")


def broken(scene: Scene, iterations: int, costs: Sequence[float], kills: int) -> list[str]:
    """Every promise that was not kept."""
    found = [check(scene, NOTHING_SAID) for check in checks.ALWAYS]
    found += _torn(scene)
    found += _iterations(scene, iterations)
    found += _money(scene, costs, kills)
    found += _told(scene)
    found += _metadata(scene, iterations)
    return [problem for problem in found if problem]


def last_event(scene: Scene) -> str:
    """The last thing that the newest run wrote down."""
    journals = scene.journals()
    return str(journals[-1][-1]["event"]["event"]) if journals and journals[-1] else "nothing yet"


def _torn(scene: Scene) -> Iterator[str]:
    """Only a killed run may leave half a line."""
    for run in scene.layout.run_ids():
        path = scene.layout.journal(run)
        data = path.read_bytes() if path.exists() else b""
        if b'"RunFinished"' in data and not data.endswith(b"\n"):
            yield f"the journal of {run} is finished and torn"


def _iterations(scene: Scene, iterations: int) -> Iterator[str]:
    """Each number once, in order, over all runs."""
    numbers = [event["number"] for event in scene.events("IterationFinished")]
    if numbers != list(range(1, iterations + 1)):
        yield f"iterations {numbers} instead of 1 to {iterations}"
    ends = scene.events("RunFinished")
    if [event["reason"] for event in ends] != ["max_iterations"]:
        yield f"it ended {len(ends)} times: {[event['reason'] for event in ends]}"
    elif ends[0]["iterations"] != iterations:
        yield f"the last word counts {ends[0]['iterations']} iterations instead of {iterations}"


def _money(scene: Scene, costs: Sequence[float], kills: int) -> Iterator[str]:
    """The total is the sum over the calls whose result was heard; only a kill makes one go unheard."""
    heard = [int(event["text"].removeprefix("call ")) for event in scene.events("ResultReported")]
    if len(set(heard)) != len(heard):
        yield f"a result is in the journal twice: {heard}"
    paid = sum(costs[number - 1] for number in heard)
    told = sum(event.get("cost_usd", 0.0) for event in scene.events("RunFinished"))
    if not math.isclose(paid, told, abs_tol=1e-6):
        yield f"the calls cost ${paid:.6f}, the run says ${told:.6f}"
    made = {int(path.stem.removeprefix("call-")) for path in scene.state.glob("call-*.json")}
    script = json.loads((scene.folder / "script.json").read_text())["calls"]
    silent = {number for number in made if any("exit" in step for step in script[number - 1])}
    unheard = made - set(heard) - silent
    if len(unheard) > kills:
        yield f"{len(unheard)} calls are unaccounted for after {kills} kills: {sorted(unheard)}"
    if not set(heard) <= made:
        yield f"results of calls that nobody made: {sorted(set(heard) - made)}"


def _told(scene: Scene) -> Iterator[str]:
    """What the console called complete is in the journal as well."""
    lines = "".join(path.read_text("utf-8", "replace") for path in scene.folder.glob("err-*"))
    for number in range(1, 100):
        told = lines.count(f"✓ Iteration {number} complete")
        kept = sum(event["number"] == number for event in scene.events("IterationFinished"))
        if told > kept:
            yield f"iteration {number} was called complete {told} times and is in the journal {kept} times"


def _metadata(scene: Scene, iterations: int) -> Iterator[str]:
    """It can be read; unless the runner died between its last word and the summary, it tells the total."""
    document = json.loads(scene.layout.metadata.read_text())
    if document.get("status") != "running" and document.get("executionIterations") != iterations:
        yield f"the metadata counts {document.get('executionIterations')} of {iterations} iterations"
