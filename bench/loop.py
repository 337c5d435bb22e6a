"""(a) What the runner adds to many short iterations, compared with a shell loop that makes the same calls: in a folder
without git, and in a repository, in which each iteration is measured."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from project import NAME, Bench, Spent, Tool, spent
from table import Row

ANSWER = r"""printf '%s\n' \
'{"type":"system","subtype":"init","session_id":"s","model":"fake","tools":[],"mcp_servers":[]}' \
'{"type":"assistant","message":{"content":[{"type":"text","text":"One step done."}]},"session_id":"s"}' \
'{"type":"result","subtype":"success","is_error":false,"result":"One step done.","num_turns":1,"session_id":"s"}'
"""


WRITTEN = """echo '{"complete": false}' > "${CLAUDE_ITERATE_WORKSPACE:-$TMPDIR}/.status.json\""""
"""Without a report the runner would look for changes, and end the run when there are none."""


def fake(answer: str, read: str = "cat >/dev/null") -> str:
    """The text of a Claude that reads its prompt, reports and answers."""
    version = "[ \"$1\" = --version ] && { echo '9.9.9 (Fake)'; exit; }"
    return f"#!/bin/sh\n{version}\n{read}\n{WRITTEN}\n{answer}\n"


FAKE = fake(ANSWER)
REPORT = "speaker.json"
"""What `speaker.py` leaves in the folder of the bench."""


def speaking(bench: Bench, stream: Path, gap: float) -> Path:
    """A Claude that prints these lines so many seconds apart."""
    speaker = Path(__file__).resolve().with_name("speaker.py")
    words = (sys.executable, speaker, stream, gap, bench.folder / REPORT)
    return bench.script("speaking-fake", fake("exec " + shlex.join(map(str, words))))


def measure(bench: Bench) -> list[Row]:
    many = 5 if bench.quick else 200
    program = bench.script("short-fake", FAKE)
    shell, env = shell_loop(bench, program), bench.project([program]).env
    tools: list[dict[int, list[Spent]]] = [{many: [], 1: []} for _ in bench.tools]
    bare: dict[int, list[Spent]] = {many: [], 1: []}
    git: dict[int, list[Spent]] = {many: [], 1: []}
    for _ in range(bench.rounds(5)):
        for count in (many, 1):
            for tool, runs in zip(bench.tools, tools, strict=True):
                runs[count].append(run(bench, tool, program, count))
            if shutil.which("git"):
                git[count].append(run(bench, bench.tools[0], program, count, inside=repository))
            command = [shell, str(count)]
            bare[count].append(spent(partial(subprocess.run, command, env=env, check=True)))
    ratios = [[mine.wall / other.wall for mine, other in zip(runs[many], bare[many], strict=True)] for runs in tools]
    starts = [median(each.wall for each in runs[1]) for runs in tools]
    wholes = [median(each.wall for each in runs[many]) for runs in tools]
    one_call = median(each.wall for each in bare[many]) / many
    return [
        Row("a", f"{many} iterations, wall, against a shell loop", *map(median, ratios), target=2.5),
        Row("a.spread", "its highest round against its lowest: noise", *(max(each) / min(each) for each in ratios)),
        Row("a.start", "a run of one iteration, in calls of the fake", *(start / one_call for start in starts)),
        Row("a.share", "that start as a share of the whole", 100 * starts[0] / wholes[0], unit="%"),
        Row("a.rest", "each further iteration, against the loop's", *_rest(tools, bare, 0), target=2),
        Row("a.cpu", "the same in CPU", *_rest(tools, bare, 1)),
        *([Row("a.git", "the same in a repository, wall", *_rest([git], bare, 0), target=2)] if git[1] else []),
        Row("a.call", "one call in the shell loop", 1000 * one_call, unit="ms"),
    ]


def _rest(tools: list[dict[int, list[Spent]]], bare: dict[int, list[Spent]], figure: int) -> list[float]:
    """What the iterations after the first take, against the loop's. The quickest of each: noise only adds."""

    def further(runs: dict[int, list[Spent]]) -> float:
        return min(each[figure] for each in runs[max(runs)]) - min(each[figure] for each in runs[1])

    return [further(runs) / further(bare) for runs in tools]


def run(
    bench: Bench,
    tool: Tool,
    program: Path,
    iterations: int,
    *flags: str,
    inside: Callable[[Path], None] = lambda _root: None,
    large: bool = False,
) -> Spent:
    """A run of so many iterations, from start to end, in a project of its own; `inside` prepares it. The project stays
    until the end of the bench, unless it is `large`: a disk that has just removed files is slow to make new ones."""
    project = bench.project([program], tool)
    inside(project.root)
    words = ("run", NAME, "--no-delay", "-m", str(iterations), *(flags or ("-q",)))
    took = spent(lambda: project.start(*words, program=tool.command).wait())
    if (made := tool.iterations(project)) != iterations:
        raise RuntimeError(f"{' '.join(words)}: {made} iterations instead of {iterations}")
    if large:
        shutil.rmtree(project.folder)
    return took


def repository(root: Path) -> None:
    """Make the project a small repository."""
    for number in range(20):
        (root / f"file-{number}").write_text(f"{number}\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "files"]):
        subprocess.run(["git", *who, *words], cwd=root, check=True)


def shell_loop(bench: Bench, program: Path) -> Path:
    """The simplest loop: the same arguments and prompt as the runner, output to a file."""
    argv, prompt = bench.folder / "argv", bench.folder / "prompt"
    note = f"for word; do printf '%s\\0' \"$word\"; done > {shlex.quote(str(argv))}\ncat > {shlex.quote(str(prompt))}"
    run(bench, bench.tools[0], bench.script("noting-fake", fake(ANSWER, note)), 1)
    words = [str(program), *argv.read_text().split("\0")[:-1]]
    call = f"{shlex.join(words)} < {shlex.quote(str(prompt))} >> {shlex.quote(str(bench.folder / 'loop.out'))}"
    return bench.script("shell-loop", f'#!/bin/sh\ni=0\nwhile [ $i -lt "$1" ]; do\n{call}\ni=$((i+1))\ndone\n')
