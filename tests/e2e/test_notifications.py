"""Notifications arrive: at a real server, from the real program, each once; and a bad receiver does no harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import LIMITED, Loop
from tests.recording_receiver import Received, Receiver

DONE = {"complete": True, "progress": {"completed": 4, "total": 4}, "summary": "all done"}
FINISH: list[dict[str, Any]] = [{"init": {}}, {"status": DONE}, {"result": {}}]
BUSY: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": False, "worked": True}}, {"result": {}}]


SINK = "sinks.notifier"


def aim(loop: Loop, url: str, **settings: str) -> None:
    """Let the loop post to this address, in the form that is easiest to read. A busy machine gets the time it needs."""
    loop.patch(SINK, IN_ORDER=60.0, LAST=60.0)
    loop.env["CLAUDE_ITERATE_NOTIFY__URL"] = url
    loop.env["CLAUDE_ITERATE_NOTIFY__FORMAT"] = "json"
    loop.env["CLAUDE_ITERATE_NOTIFY__EVENTS"] = "all"
    loop.env["CLAUDE_ITERATE_NOTIFICATION__STATUS_WATCH__DEBOUNCE_MS"] = "500"
    loop.env |= {f"CLAUDE_ITERATE_{name}": value for name, value in settings.items()}


def report(done: int, summary: str, complete: bool = False) -> dict[str, Any]:
    return {"complete": complete, "progress": {"completed": done, "total": 4}, "summary": summary}


def in_place(status: dict[str, Any]) -> dict[str, Any]:
    return {"write": {"path": ".status.json", "text": json.dumps(status), "in_place": True}}


def reports(number: int) -> Callable[[list[Received]], bool]:
    """So many changes of the status have arrived."""
    return lambda received: len([one for one in received if one.event == "status_update"]) == number


def events(receiver: Receiver) -> list[str]:
    return [item.event for item in receiver.received]


def test_every_change_of_the_status_arrives_once(loop: Loop, receiver: Receiver) -> None:
    """In a first run, where there is no file yet: made, rewritten in place, replaced, and changed just before the
    end. Each with the difference to the one before."""
    loop.make()
    aim(loop, receiver.url)
    loop.script(
        [
            {"init": {}},
            {"status": report(1, "first")},
            {"wait_for": "go-1"},
            in_place(report(2, "second")),
            {"wait_for": "go-2"},
            {"status": report(3, "third")},
            {"wait_for": "go-3"},
            in_place(report(4, "fourth", complete=True)),
            {"result": {}},
        ]
    )
    process = loop.start("run", "my-task")
    for number in (1, 2, 3):
        receiver.wait(reports(number))
        (loop.workspace / f"go-{number}").touch()
    assert loop.finish(process).code == 0
    assert [item.document["message"] for item in receiver.named("status_update")] == [
        "STATUS UPDATE\n\n1/4 items (+1) - first",
        "STATUS UPDATE\n\n2/4 items (+1) - second",
        "STATUS UPDATE\n\n3/4 items (+1) - third",
        "STATUS UPDATE\n\n4/4 items (+1) - fourth - ✅ Complete!",
    ]
    assert events(receiver) == ["execution_start", *["status_update"] * 4, "iteration", "completion"]


def test_a_whole_run_in_the_original_form(loop: Loop, receiver: Receiver) -> None:
    """ntfy is the default form: title, priority, tags, text."""
    loop.make()
    aim(loop, receiver.url, NOTIFY__FORMAT="ntfy")
    loop.script(BUSY, FINISH)
    assert loop.run().code == 0
    titles = [item.headers["title"] for item in receiver.received]
    assert titles[0] == "[my-task] Execution Started"
    assert titles[-1] == "[my-task] Task Complete, Not Proven"
    assert "[my-task] Iteration 1" in titles
    last = receiver.received[-1]
    assert (last.headers["priority"], last.headers["tags"]) == ("high", "claude-iterate,completion")
    assert last.headers["content-type"].startswith("text/plain")
    assert last.text.startswith("TASK COMPLETE, NOT PROVEN ⚠\n\nWorkspace: my-task\nTotal iterations: 2\n")


@pytest.mark.setting("notify.report_url")
def test_the_end_has_a_link_to_the_report(loop: Loop, receiver: Receiver) -> None:
    """With the names of the run in it, and no other notification has one; in the form of ntfy a tap opens it."""
    loop.make()
    url = "https://example.org/{project}/{workspace}/report-{run}.html?a=b"
    aim(loop, receiver.url, NOTIFY__REPORT_URL=url)
    loop.script(FINISH)
    assert loop.run().code == 0
    (run,) = (event["run"] for event in loop.events("RunStarted"))
    link = f"https://example.org/project/my-task/report-{run}.html?a=b"
    told = {item.event: item.document["report"] for item in receiver.received}
    assert {event for event, report in told.items() if report} == {"completion"}
    (end,) = receiver.named("completion")
    assert end.document["report"] == link
    assert f"\nReport: {link}" in end.document["message"]
    loop.env["CLAUDE_ITERATE_NOTIFY__FORMAT"] = "ntfy"
    assert loop.run("--again").code == 0
    last = receiver.received[-1].headers
    assert last["click"].startswith("https://example.org/project/my-task/report-")


def test_a_milestone_every_ten_iterations(loop: Loop, receiver: Receiver) -> None:
    """Also when the tenth is the last; and the limit is said for what it is."""
    loop.make()
    aim(loop, receiver.url, NOTIFY__EVENTS="iteration_milestone,completion")
    loop.script(BUSY)
    assert loop.run("-m", "10").code == 0
    assert events(receiver) == ["iteration_milestone", "completion"]
    assert receiver.received[-1].document["reason"] == "max_iterations"
    assert receiver.received[-1].document["message"].startswith("⚠️ Reached maximum iterations (10)")


def test_a_proof_is_told(loop: Loop, receiver: Receiver) -> None:
    """A claim that fails its check, and one that holds; `verify` posts its own."""
    loop.make()
    aim(loop, receiver.url, VERIFICATION__CHECKS=json.dumps([f"test -e {loop.workspace}/fixed"]))
    loop.script(FINISH, [{"touch": "fixed"}, *FINISH])
    assert loop.run().code == 0
    proofs = receiver.named("verification")
    assert [item.document["title"] for item in proofs] == [
        "[my-task] Verification Failed",
        "[my-task] Verification Passed",
    ]
    assert events(receiver)[-1] == "completion"
    assert "iteration" in events(receiver)  # the first claim turned out to be one iteration of many


def test_waiting_for_a_limit_is_told(loop: Loop, receiver: Receiver) -> None:
    """That it waits, and that it goes on; the attempt is not an iteration."""
    loop.make()
    aim(loop, receiver.url, LIMITS__MAX_WAIT="1s")
    loop.script(LIMITED, FINISH)
    assert loop.run().code == 0
    assert events(receiver) == [
        *("execution_start", "limit_wait", "limit_over", "status_update", "iteration", "completion")
    ]
    assert "You've hit your session limit" in receiver.named("limit_wait")[0].document["message"]


def test_setup_is_told(loop: Loop, receiver: Receiver) -> None:
    """When the instructions are written; a dead receiver costs a warning and not the setup."""
    aim(loop, receiver.url)
    assert loop.call("init", "my-task").code == 0
    source = loop.root / "task.md"
    source.write_text("- one\n")
    assert loop.call("setup", "my-task", "--from", str(source)).code == 0
    (got,) = receiver.received
    assert (got.event, got.document["workspace"], got.document["run"]) == ("setup_complete", "my-task", None)
    loop.env["CLAUDE_ITERATE_NOTIFY__URL"] = "http://127.0.0.1:1/"
    done = loop.call("setup", "my-task", "--from", str(source), "--force", "--json")
    assert (done.code, json.loads(done.out)["name"]) == (0, "my-task")
    assert "Notifications to 127.0.0.1 fail" in done.err


@pytest.mark.parametrize("layer", ["user", "project", "original"])
def test_an_address_set_after_init_is_used(loop: Loop, receiver: Receiver, layer: str) -> None:
    """In the user's or the project's file, by its old name; and so is one in the original's metadata."""
    loop.make()
    loop.patch(SINK, IN_ORDER=60.0)
    loop.script(FINISH)
    if layer == "original":
        (loop.workspace / ".metadata.json").write_text(
            json.dumps(
                {"name": "my-task", "mode": "loop", "notifyUrl": receiver.url, "notifyEvents": ["completion", "error"]}
            )
        )
    else:
        folder = loop.home / "config" if layer == "user" else loop.root
        folder.mkdir(exist_ok=True)
        name = "config.json" if layer == "user" else ".claude-iterate.json"
        (folder / name).write_text(json.dumps({"notifyUrl": receiver.url, "notifyEvents": ["completion"]}))
    assert loop.run().code == 0
    assert [item.headers["title"] for item in receiver.received] == ["[my-task] Task Complete, Not Proven"]


def test_what_init_was_given_is_used(loop: Loop, receiver: Receiver) -> None:
    """--notify-url and --notify-events reach the run."""
    loop.patch(SINK, IN_ORDER=60.0)
    assert loop.call("init", "my-task", "--notify-url", receiver.url, "--notify-events", "completion").code == 0
    (loop.workspace / "INSTRUCTIONS.md").write_text("- one\n")
    loop.script(FINISH)
    loop.run()
    assert [item.headers["title"] for item in receiver.received] == ["[my-task] Task Complete, Not Proven"]
