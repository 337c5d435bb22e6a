"""Every recording of the real Claude Code, read as a run reads it: its class, what it cost, what was denied."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.agent.protocol.usage import Used
from claude_iterate.core import events
from claude_iterate.core.events import AgentExited, AgentNoted, Entry, IterationStarted, LimitReported
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.classes import classify
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.state.fold import fold_from, reduce
from claude_iterate.core.state.run_state import RunState

FIXTURES = Path(__file__).parents[1] / "fixtures"
VERSIONS = ("2.1.197", "2.1.327")
TABLE = """
    recording                           code  class            2.1.197     2.1.327  denied
    a1-argv-simple                         0  ok                 0.001      0.0008
    a2-stdin-simple                        0  ok                 0.001      0.0008
    a3-both                                0  ok                 0.001      0.0008
    a4-all-tools                           0  ok                 0.015       0.012
    a5-partial-messages                    0  ok                 0.002      0.0016
    a6-subagent                            0  ok                 0.004       0.004
    a7-subagent-task-alias                 0  ok                 0.003      0.0032
    a8-grep-glob-todowrite                 0  ok                 0.004      0.0032
    c01-max-turns                          1  max_turns          0.002      0.0016
    c02-max-budget                         1  budget               1.1        0.88
    c10-continue                           0  ok                 0.001      0.0008
    c11-resume-unknown                     1  config                 0           0
    c12-json-schema                        0  ok                 0.001      0.0008
    c13-json-schema-never                  0  ok                 0.002      0.0016
    c14-json-schema-invalid                1  crash              0.004       0.004
    c15-fallback-529                       0  ok                0.0006      0.0004
    c16-fallback-500                       0  ok                0.0006      0.0004
    d01-401-maxretries2                    1  auth                   0           0
    d02-403                                1  auth                   0           0
    d03-429-retry-after-2                  1  transient              0           0
    d04-429-retry-after-3600               1  transient              0           0
    d05-429-unified-headers                1  transient              0           0
    d06-500                                1  transient              0           0
    d07-529                                1  transient              0           0
    d08-529-no-sandbox-default-retries     1  transient              0           0
    d09-400                                1  refused                0           0
    d10-404-model                          1  config                 0           0
    d11-413                                1  refused                0           0
    d12-400-prompt-too-long                1  refused                0           0
    d13-400-credit-balance                 1  billing                0           0
    d14-500-then-ok                        0  ok                 0.001      0.0008
    d15-529-then-ok                        0  ok                 0.001      0.0008
    d20-conn-refused                       1  transient              0           0
    d21-close-before-headers               1  transient              0           0
    d22-close-after-headers                1  transient              0           0
    d23-close-mid-stream                   1  transient              0     0.00042
    d24-reset-mid-stream                   1  transient              0     0.00042
    d25-eof-mid-stream                     1  transient              0      0.0012
    d26-empty-stream                       1  transient              0           0
    d27-malformed-json                     1  transient              0      0.0006
    d28-malformed-sse                      1  transient              0           0
    d29-html-200                           1  transient              0           0
    d30-error-event-overloaded             0  ok              0.002575      0.0008
    d31-error-event-half                   0  ok                 0.001      0.0008
    d33-mid-stream-once-then-ok            0  ok                 0.001      0.0008
    d34-hang-api-timeout-3s                1  transient              0           0
    d40-401-default-retries                1  auth                   0           0
    d41-hang-default-timeouts              1  transient              0           0
    d42-hang-after-headers-default         1  transient              0           0
    d43-hang-mid-stream-default            1  transient              0      0.0006
    d44-hang-mid-stream-pings            0/1  crash/transient          ~0      0.0006
    d45-conn-refused-default               1  transient              0           0
    d46-529-sandbox-default                1  transient              0           0
    d50-oauth-allowed                      0  ok                0.0006      0.0004
    d51-oauth-allowed-warning              0  ok                0.0006      0.0004
    d52-oauth-429-usage-limit              1  usage_limit            0           0
    d54-oauth-429-no-headers               1  transient              0           0
    d55-oauth-401                          1  auth                   0           0
    d57-not-logged-in                      1  auth                   0           0
    d60-retry-watchdog                     0  ok                 0.001      0.0008
    e1-permission-denied-default           0  denied             0.003      0.0024  Bash Write Read
    e2-permission-acceptEdits              0  denied             0.003      0.0024  Read
    e3-permission-dontAsk                  0  denied             0.003      0.0024  Bash Write Read
    e5-permission-bypass                   0  ok                 0.003      0.0024
    e6-permission-auto                     0  ok                 0.003      0.0024
    e8-allowedTools                        0  denied             0.003      0.0024  Read
    f1-amp-inherit-stdout                  0  ok                 0.002      0.0016
    f10-background-agent                   0  ok                 0.004      0.0032
    f2-nohup-devnull                       0  ok                 0.002      0.0016
    f3-setsid                              0  ok                 0.002      0.0016
    f4-disown-loop                         0  ok                 0.002      0.0016
    f5-run-in-background                   0  ok                 0.002      0.0024
    f6-run-in-background-short             0  ok                 0.003      0.0024
    f7-bash-timeout                        0  ok                 0.002      0.0024
    g-sighup-bash                        129  crash          ~0.000525    ~0.00042
    g-sighup-stream                      129  crash                 ~0          ~0
    g-sigint-bash                          0  crash              0.001      0.0008
    g-sigint-retry                         0  crash                  0           0
    g-sigint-stream                        0  crash          ~0.000525     0.00294
    g-sigkill-bash                        -9  crash          ~0.000525    ~0.00042
    g-sigquit-bash                        -3  crash          ~0.000525    ~0.00042
    g-sigquit-stream                      -3  crash                 ~0          ~0
    g-sigterm-bash                       143  crash          ~0.000525    ~0.00042
    g-sigterm-stream                     143  crash                 ~0          ~0
    j1-loop-iteration                      0  ok                 0.006      0.0048
    j2-loop-iteration                      0  ok                 0.004      0.0032
    k1-hook-events                         0  ok                 0.002      0.0016
    k2-hooks-default                       0  ok                 0.002      0.0016
    k3-hook-block                          0  denied             0.002      0.0016  Bash
    m1-auto-compact                        0  ok                0.1929     0.09629
    m2-prompt-too-long-midway              0  ok                 0.004      0.0032
    m4-max-output-tokens                   1  crash              0.004      0.0032
    m5-refusal                             1  refused            0.001      0.0016
    m6-empty-content                       0  ok                 0.002      0.0016
    n1-bash-big-output                     0  ok                 0.002      0.0016
    n2-stream-json-input                   0  ok                 0.002      0.0016
    o1-slow-reader-truncated               0  crash           ~0.00105    ~0.00084
    q01-monitor-budget                     1  budget                 -      0.6076
    q02-schedule-wakeup                    0  ok                     -      0.0024
    q03-permission-prompts-none            0  denied                 -      0.0024  Bash Write Read
    q04-background-with-timeout            0  ok                     -      0.0024
    q05-resume-cost-first                  0  ok                     -        0.44
    q05-resume-cost-second                 0  ok                     -        0.44
    q06-subagent-foreground                0  ok                     -      0.0032
    q08-watchdog-usage-limit               0  ok                     -      0.0004
    q09-sigint-while-background            0  ok                     -      0.0016
    q09-sigterm-while-background         143  crash                  -      0.0016
    q10-oauth-429-two-windows              1  usage_limit            -           0
    q11-goal                               0  ok                     -      0.0016
    q12-orphan-and-timeouts                0  ok                     -      0.0064
    q13-dangerous-rm                       0  denied                 -       0.004  Bash Bash
    q14-restricted                         0  denied                 -      0.0024  Write Read
"""
"""`~`: at least. A class and a code that differ are those of the older and of the newer version; `-`: not recorded."""


def rows() -> list[tuple[str, str, int, str, str, list[str]]]:
    """Version, recording, exit code, class, dollars, denied tools."""
    found = []
    for line in TABLE.strip().splitlines()[1:]:
        name, codes, kinds, *costs = line.split()[:5]
        for position, version in enumerate(VERSIONS):
            if costs[position] != "-":
                code, kind = (words.split("/")[position if "/" in words else 0] for words in (codes, kinds))
                found.append((version, name, int(code), kind, costs[position], line.split()[5:]))
    return found


def printed(version: str, name: str, resumed: Used | None = None, without: bytes = b"") -> list[events.Event]:
    """The events of a recording, with the usage that its messages name."""
    translator = Translator(resumed)
    found: list[events.Event] = []
    for line in (FIXTURES / f"claude-{version}" / f"{name}.ndjson").read_bytes().split(b"\n"):
        found += translator.read("stdout", [line.replace(without, b"other") if without else line])
    return found


def call_of(said: list[events.Event], code: int, stderr: str = "") -> Call:
    """The call as the state knows it when it is over."""
    errors = [events.ErrorPrinted(line) for line in stderr.splitlines()]
    begun = reduce(RunState(), Entry(1, 0, 0, IterationStarted(1)))
    call = fold_from(begun, (Entry(1, 0, 0, event) for event in (*said, *errors, AgentExited(code)))).call
    assert call is not None
    return call


@pytest.mark.parametrize(("version", "name", "code", "kind", "cost", "denied"), rows())
def test_recordings_are_what_they_are(
    version: str, name: str, code: int, kind: str, cost: str, denied: list[str]
) -> None:
    """Its class, its dollars, its denials, the same whether they are taken from its result or as they came; nothing is
    left open, and nothing is a remark that an event of its own tells."""
    said = printed(version, name)
    stderr = FIXTURES / f"claude-{version}" / f"{name}.stderr.txt"
    call = call_of(said, code, stderr.read_text() if stderr.exists() else "")
    outcome = classify(Evidence(call))
    assert (outcome.kind, outcome.throttled) == (kind, kind == "transient" and "-429-" in name)
    assert f"{'~' if call.spending.at_least else ''}{call.spending.cost_usd:.6g}" == cost
    assert [denial.tool for denial in call.result.denials] == denied if call.result else not denied
    if call.denials:
        assert call.result is not None
        assert call.denials == call.result.denials
    assert call.open_tasks == ()
    remarks = {event.kind for event in said if isinstance(event, AgentNoted)}
    assert not remarks & {"background_tasks_changed", "permission_denied"}


def test_the_table_has_every_recording() -> None:
    """A new one needs a row."""
    there = {(path.parent.name.removeprefix("claude-"), path.stem) for path in FIXTURES.glob("claude-*/*.ndjson")}
    assert {row[:2] for row in rows()} == there


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limit_is_told_once(version: str) -> None:
    """The event before the error message says it, and the message repeats it."""
    told = [event for event in printed(version, "d52-oauth-429-usage-limit") if isinstance(event, LimitReported)]
    assert [(limit.status, limit.window) for limit in told] == [("rejected", "five_hour")]


FIRST = Used(0.44, events.Tokens(100_000, 2000))
"""What q05-resume-cost-first used."""


def test_a_resumed_call_costs_what_it_used_itself() -> None:
    """The second call of a session names 0.88 dollars as the total of both. Also without the newer field, because its
    messages fit into what is above the total of the session before."""
    for without in (b"", b"model_usage_since_last_result"):
        call = call_of(printed("2.1.327", "q05-resume-cost-second", FIRST, without), 0)
        assert call.result is not None
        assert call.spending.cost_usd == pytest.approx(0.44)
        assert call.spending.tokens == FIRST.tokens
        assert call.result.of_session == (0.88, events.Tokens(200_000, 4000))


def test_a_total_of_the_process_is_not_made_less() -> None:
    """As older versions name it: a resumed call begins at nothing, so what the session had is not in it."""
    call = call_of(printed("2.1.327", "q05-resume-cost-first", FIRST, b"model_usage_since_last_result"), 0)
    assert (call.spending.cost_usd, call.spending.tokens) == (0.44, FIRST.tokens)
