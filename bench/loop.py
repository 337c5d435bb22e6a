"""(a) What the runner adds to many short iterations, compared with a shell loop that makes the same calls."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from statistics import median

from project import NAME, Bench, call, timed
from table import Row

ANSWER = r"""printf '%s\n' \
'{"type":"system","subtype":"init","session_id":"s","model":"fake","tools":[],"mcp_servers":[]}' \
'{"type":"assistant","message":{"content":[{"type":"text","text":"One step done."}]},"session_id":"s"}' \
'{"type":"result","subtype":"success","is_error":false,"result":"One step done.","num_turns":1,"session_id":"s"}'
"""


def fake(answer: str, read: str = "cat >/dev/null") -> str:
    """The text of a Claude that reads its prompt and answers."""
    return f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '9.9.9 (Fake)'; exit; }}\n{read}\n{answer}\n"


FAKE = fake(ANSWER)


def measure(bench: Bench) -> list[Row]:
    many = 5 if bench.quick else 200
    program = bench.script("short-fake", FAKE)
    shell, env = _shell_loop(bench, program), bench.project([program]).env
    ours: list[float] = []
    ours_once: list[float] = []
    bare: list[float] = []
    bare_once: list[float] = []
    for _ in range(bench.rounds(5)):
        ours.append(_runner(bench, program, many))
        bare.append(timed(lambda: subprocess.run([shell, str(many)], env=env, check=True)))
        ours_once.append(_runner(bench, program, 1))
        bare_once.append(timed(lambda: subprocess.run([shell, "1"], env=env, check=True)))
    whole, once = median(ours), median(ours_once)
    rest, bare_rest = (whole - once) / (many - 1), (median(bare) - median(bare_once)) / (many - 1)
    call = median(bare) / many
    ratios = [mine / other for mine, other in zip(ours, bare, strict=True)]
    return [
        Row("a", f"{many} iterations, wall, against a shell loop", median(ratios), target=2.5),
        Row("a.spread", "its highest round against its lowest: noise", max(ratios) / min(ratios)),
        Row("a.start", "a run of one iteration, in calls of the fake", once / call),
        Row("a.share", "that start as a share of the whole", 100 * once / whole, "%"),
        Row("a.rest", "each further iteration, against the loop's", rest / bare_rest),
        Row("a.call", "one call in the shell loop", 1000 * call, "ms"),
    ]


def _runner(bench: Bench, program: Path, iterations: int) -> float:
    project = bench.project([program])
    try:
        took = timed(lambda: call(project, "run", NAME, "--no-delay", "-m", str(iterations), "-q"))
        kept = list(project.workspace.glob("runs/*/raw/*.ndjson"))
        if len(kept) != iterations:
            raise RuntimeError(f"{len(kept)} iterations instead of {iterations}")
        return took
    finally:
        shutil.rmtree(project.folder)


def _shell_loop(bench: Bench, program: Path) -> Path:
    """The simplest loop: the same arguments and prompt as the runner, output to a file."""
    argv, prompt = bench.folder / "argv", bench.folder / "prompt"
    note = f"for word; do printf '%s\\0' \"$word\"; done > {shlex.quote(str(argv))}\ncat > {shlex.quote(str(prompt))}"
    _runner(bench, bench.script("noting-fake", fake(ANSWER, note)), 1)
    words = [str(program), *argv.read_text().split("\0")[:-1]]
    call = f"{shlex.join(words)} < {shlex.quote(str(prompt))} >> {shlex.quote(str(bench.folder / 'loop.out'))}"
    return bench.script("shell-loop", f'#!/bin/sh\ni=0\nwhile [ $i -lt "$1" ]; do\n{call}\ni=$((i+1))\ndone\n')
