"""Records what users see: consoles, logs, prompts and JSON of scripted runs, of recorded streams, and the help pages.

It knows the command line, the steps of a script for the fake Claude and the names of settings, and nothing of the code,
so it records any commit. Times, ids and places are replaced by their names: two recordings of a commit are equal.
"""

from __future__ import annotations

import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
[FAKE] = [
    ".".join(path.relative_to(ROOT).parts[:-1]) for path in ROOT.glob("claude_iterate/**/fake_claude/__main__.py")
]
NAME = "my-task"
PATIENCE = 120.0
Step = dict[str, Any]
TOOK = {"duration_ms": 1000, "duration_api_ms": 900}
RESULT: Step = {"result": {**TOOK, "total_cost_usd": 0.01}}
SILENT: list[Step] = [{"init": {}}, RESULT]

SETTINGS = {
    "claude.command": [sys.executable, "-P", "-m", FAKE],
    "claude.permission_mode": "acceptEdits",
    "delay": 0,
    "keep_awake": False,
    "limits.max_wait": "1s",
    "limits.reset_margin": 0,
    "stop.no_progress": 0,
    "timeouts.terminate_grace": "0.3s",
}
FIGURES = (
    "pid|birth|age|elapsed|duration|longest|mean|waited|seconds|bytes|took|at|until|host|spent|cpu|memory|size|wait"
)
RULES = [
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\b\d{6}-\d{8}-\d{6}-[0-9a-f]{6}\b", "<run>"),
    (r"\b(\d+)-[0-9a-f]{8}\b", r"\1-<hash>"),
    (r"\d{4}-\d\d-\d\d(?:[T ]\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"\b\d\d?:\d\d(?::\d\d)?\b", "<clock>"),
    (r"(pid|process) \d+", r"\1 <pid>"),
    (rf'"((?:\w*_)?(?:{FIGURES})(?:_\w+)?)": (?:-?\d[\d.e+-]*|"[^"]*")', r'"\1": <figure>'),
    (r"\b\d{4}-?\d\d-?\d\d[T-]?\d\d-?\d\d-?\d\d+(?:\.\d+)?Z?(?:-[0-9a-f]{6,}(?:\.md)?)?\b", "<id>"),
    (r"\b(toolu|msg|req)_[0-9a-f]{16,}", r"\1_<id>"),
    (r"\b\d+(?:\.\d+)? ?(?:ms|s|m|min|h|d)\b(?: \d+ ?(?:s|m|min|h)\b)*", "<span>"),
    (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", "<hash>"),
    (r"claude-iterate \d+\.\d+\.\d+[\w.+]*", "claude-iterate <version>"),
    (r"printed [\d,]+ bytes", "printed <figure> bytes"),
    (r"Python \d+\.\d+\.\d+\S*", "Python <version>"),
    (r"Linux \d+\.\d+\S*", "Linux <version>"),
]


@dataclass
class Scene:
    """Runs of one script. `during`: commands as from another terminal, while Claude waits for the file `go`."""

    calls: list[list[Step]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    during: list[list[str]] = field(default_factory=list)
    then: list[list[str]] = field(default_factory=list)
    mode: str = "loop"
    command: str = "run"


def done(*between: Step, **report: Any) -> list[Step]:
    """A call that reports completion. It rests for a moment: a run reads a report when it has settled."""
    return [{"init": {}}, *between, {"status": {"complete": True, **report}}, {"sleep": 0.4}, RESULT]


def more(*between: Step, **report: Any) -> list[Step]:
    """A call that leaves more to do."""
    return done(*between, complete=False, **report)


def said(text: str, **fields: Any) -> Step:
    """A message of the model, or with `error` one of Claude Code."""
    return {"event": {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **fields}}


def tool(name: str, result: str, is_error: bool = False, **given: Any) -> Step:
    """A tool that the model calls."""
    return {"tool": {"name": name, "input": given, "result": result, "is_error": is_error}}


def failed(text: str, status: int | None, error: str) -> list[Step]:
    """A call that the API refused."""
    result = {"is_error": True, "api_error_status": status, "result": text, "total_cost_usd": 0, **TOOK}
    return [{"init": {}}, said(text, error=error), {"result": result}]


def limited(**info: Any) -> list[Step]:
    """A call that met a usage limit."""
    event = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour", **info},
    }
    first, *others = failed("You've hit your session limit", 429, "rate_limit")
    return [first, {"event": event}, *others]


def denied(*report: Step) -> list[Step]:
    """A call in which a tool was not allowed."""
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}
    return [
        {"init": {}},
        said("Denied."),
        *report,
        {"result": {"permission_denials": [denial], "total_cost_usd": 0.01, **TOOK}},
    ]


def ended(subtype: str) -> list[Step]:
    """A call that reached a limit of its own."""
    return [{"init": {}}, {"result": {"subtype": subtype, "is_error": True, "total_cost_usd": 0.01, **TOOK}}]


PROGRESS = {"progress": {"completed": 1, "total": 2}, "summary": "One of two is done"}
CRASH: list[Step] = [{"init": {}}, {"stderr": "Segmentation fault\n"}, {"exit": 139}]
WAITS: list[Step] = [{"touch": "ready"}, {"wait_for": "go"}]
TOOLS = [
    said("I look at the code first.\n\nThen I write.", id="m1"),
    tool("Read", "1\tone\n2\ttwo", file_path="/etc/hosts"),
    tool("Grep", "a.py:1:def f", pattern="def f", path="src"),
    tool("Glob", "a.py\nb.py", pattern="**/*.py"),
    tool("Bash", "2 passed in 0.1s", command="pytest -q", description="Run the tests"),
    tool("Bash", "E assert 1 == 2\nexit code 1", is_error=True, command="pytest tests/very/long/" + "x" * 200),
    tool("Write", "written", file_path="out.txt", content="a\nb\n"),
    tool("Edit", "edited", file_path="out.txt", old_string="a", new_string="c"),
    tool("TodoWrite", "ok", todos=[{"content": "one", "status": "in_progress", "activeForm": "Doing one"}]),
    tool("WebFetch", "page", url="https://example.com", prompt="what"),
    tool("Task", "the answer", description="Look", prompt="look", subagent_type="Explore"),
    tool("mcp__server__do", "done", key="value"),
    tool("Bash", "sk-ant-api03-" + "A" * 90, command="env"),
]
REVIEW = {
    "requirements": [{"number": number, "status": "met", "evidence": "src/a.py:1 has it"} for number in (1, 2)],
    "findings": [{"text": "A remark", "missing": False}],
    "summary": "It holds.",
}
CHECK_FIXED = {"verification.checks": [f"test -e claude-iterate/workspaces/{NAME}/fixed"]}
TORN: Step = {"write": {"path": ".status.json", "text": '{"complete": tr'}}
CENT = {"limits.max_cost_per_iteration_usd": 0.01}
CHECK_TRUE = {"verification.checks": ["true", "echo fine"]}

SCENES = {
    "completed": Scene([more(*TOOLS, **PROGRESS), done(summary="All is done")]),
    "proven": Scene([more(**PROGRESS), done()], settings=CHECK_TRUE),
    "reviewed": Scene([done(), [{"init": {}}, {"structured": REVIEW}, RESULT]], ["--verify"], CHECK_TRUE),
    "proven-late": Scene([done(), done({"touch": "fixed"})], settings=CHECK_FIXED),
    "unproven": Scene([done()], settings={"verification.checks": ["echo no; false"]}),
    "check-missing": Scene([done()], ["-m", "2"], {"verification.checks": ["no-such-program --x"]}),
    "dry-run": Scene(flags=["--dry-run"]),
    "dry-iterative": Scene(flags=["--dry-run"], mode="iterative"),
    "dry-plan": Scene(flags=["--dry-run"], mode="plan", command="plan", then=[["plan", NAME, "--show"]]),
    "dry-build": Scene(flags=["--dry-run"], mode="build", command="build"),
    "dry-quiet-proof": Scene(flags=["--dry-run", "--verify", "--check", "true"]),
    "iterative": Scene([more(worked=True), more(worked=False)], mode="iterative"),
    "max-iterations": Scene([more(**PROGRESS)], ["-m", "2"], then=[["run", NAME, "-m", "1"]]),
    "blocked": Scene([more(blocked="I need a password from the admin")]),
    "no-progress": Scene([SILENT], settings={"stop.no_progress": 2}, then=[["run", NAME], ["run", NAME, "--reset"]]),
    "failures": Scene([CRASH]),
    "crash-once": Scene([CRASH, done()]),
    "result-missing": Scene([[{"init": {}}], done()]),
    "junk": Scene([[{"raw": "no event\n{\n[1]\n"}, *done({"event": {"type": "future", "x": 1}})]]),
    "login": Scene([failed("Invalid API key · Fix external API key", 401, "authentication_failed")]),
    "forbidden": Scene([failed("Failed to authenticate. API Error: 403 no", 403, "authentication_failed")]),
    "overloaded": Scene([failed("API Error: 529 Overloaded.", 529, "overloaded"), done()]),
    "overloaded-for-good": Scene([failed("API Error: 529 Overloaded.", 529, "overloaded")]),
    "prompt-too-long": Scene([failed("API Error: 400 prompt is too long", 400, "invalid_request"), done()]),
    "limit-stop": Scene([limited()], ["--detailed-exit-code"], {"limits.on_usage_limit": "stop"}),
    "limit-known": Scene(
        [limited(resetsAt=4102444800)], settings={"limits.max_wait": "8h", "limits.on_usage_limit": "stop"}
    ),
    "limit-wait": Scene([limited(), done()]),
    "reserve": Scene(
        [
            more({"event": {"type": "rate_limit_event", "rate_limit_info": info}})
            for info in [{"status": "allowed", "unifiedWindows": {"five_hour": {"utilization": 0.9}}}]
        ],
        settings={"limits.reserve": {"five_hour": 20}},
    ),
    "denied": Scene([denied()]),
    "denied-reported": Scene([denied({"status": {"complete": False}})]),
    "money-iteration": Scene([ended("error_max_budget_usd"), done()], settings=CENT),
    "money": Scene([more()], ["--max-cost", "0.02"]),
    "turns": Scene([ended("error_max_turns"), done()]),
    "report-torn": Scene([[{"init": {}}, TORN, RESULT], done()]),
    "report-odd": Scene([done(progress="9 of 9", worked="yes", summary=5)]),
    "hang": Scene([[{"init": {}}, {"hang": True}], done()], settings={"timeouts.idle": "1s"}),
    "after-result": Scene([[*done(), {"hang": True}]], settings={"timeouts.result_grace": "0.5s"}),
    "instructions-gone": Scene([more({"remove": "INSTRUCTIONS.md"}), done()]),
    "hooks": Scene([more(), done()], settings={"hooks.after_iteration": ["echo hooked", "false"]}),
    "stop-pattern": Scene([more(said("NOTHING LEFT"))], settings={"stop.patterns": ["NOTHING LEFT"]}),
    "stopped": Scene([more(*WAITS)], during=[["stop", NAME], ["show", NAME], ["list"]]),
    "stopped-now": Scene([[{"init": {}}, *WAITS[:1], {"hang": True}]], during=[["stop", NAME, "--now"]]),
    "skipped": Scene([[{"init": {}}, *WAITS[:1], {"hang": True}], done()], during=[["skip", NAME]]),
    "rebooted": Scene([[{"init": {}}, *WAITS[:1], {"hang": True}], done()], during=[["reboot", NAME]]),
    "noted": Scene([more(*WAITS), done()], during=[["note", NAME, "Use tabs", "--json"], ["run", NAME]]),
    "paused": Scene([more(*WAITS), done()], during=[["pause", NAME], ["resume", NAME]]),
    "settled": Scene(
        [more(), done()],
        ["-m", "1"],
        then=[
            ["note", NAME, "a note"],
            ["run", NAME],
            ["run", NAME],
            ["run", NAME, "--again", "-m", "1"],
            ["logs", NAME, "--list"],
            ["logs", NAME, "--list", "--json"],
            ["edit", NAME, "--goal", "x", "--dry-run", "--json"],
            ["validate", NAME, "--dry-run"],
            ["validate", NAME, "--dry-run", "--json"],
            ["verify", NAME, "--dry-run"],
            ["verify", NAME, "--dry-run", "--json"],
            ["config", "--json"],
            ["config", "--origin"],
            ["config", "delay", "--json"],
            ["config", "--workspace", NAME, "delay", "5s", "--json"],
            ["hook", "list", "--json"],
            ["notify", "test", "--json"],
            ["template", "save", NAME, "mine", "--json"],
            ["template", "list", "--json"],
            ["template", "show", "mine", "--json"],
            ["template", "use", "mine", "other", "--json"],
            ["init", "third", "--json"],
            ["setup", "fourth", "--goal", "x", "--dry-run", "--json"],
            ["list", "--json"],
            ["list"],
            ["reset", NAME, "--json"],
            ["archive", "save", "other", "--json"],
            ["archive", "list", "--json"],
            ["archive", "show", "other", "--json"],
            ["archive", "restore", "other", "--json"],
            ["clean", "other", "--force", "--json"],
            ["doctor", "--json"],
            ["doctor"],
            ["show", "nobody"],
            ["run", "nobody"],
            ["run", NAME, "--no-such"],
            ["config", "no.such", "1"],
        ],
    ),
}
VIEWS = [
    ["show", NAME],
    ["show", NAME, "--json"],
    ["history", NAME],
    ["history", NAME, "--json"],
    ["list", "--json"],
    ["report", NAME, "--json"],
    ["report", NAME, "--to", "-"],
    ["logs", NAME],
    ["logs", NAME, "--json"],
    ["replay", NAME, "--output", "verbose", "--speed", "max"],
]


class Project:
    """A project in a folder that is thrown away, and the commands in it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.folder = Path(tempfile.mkdtemp(prefix="goldens-")).resolve()
        self.root = self.folder / "project"
        self.workspace = self.root / "claude-iterate" / "workspaces" / NAME
        self.workspace.mkdir(parents=True)
        (self.folder / "home").mkdir()
        (self.workspace / "INSTRUCTIONS.md").write_text("# Task\n\nDo both:\n\n- one {{ x }}\n- two\n")
        (self.workspace / ".metadata.json").write_text(json.dumps({"format": 3, "name": NAME, "mode": scene.mode}))
        (self.workspace / "IMPLEMENTATION_PLAN.md").write_text(
            "- [ ] one\n- [ ] two\n"
        ) if scene.mode == "build" else None
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "100",
            "PYTHONPATH": str(ROOT),
            "PYTHONSAFEPATH": "1",
            "CLAUDE_ITERATE_CONFIG_DIR": str(self.folder / "home" / "config"),
            "CLAUDE_ITERATE_MOCK_LOG": str(self.folder / "mock.log"),
            "CLAUDE_ITERATE_FAKE_PACE": "0",
            "CLAUDE_ITERATE_FAKE_STATE": str(self.folder / "state"),
        }
        for key, value in {**SETTINGS, **scene.settings}.items():
            name = "CLAUDE_ITERATE_" + key.upper().replace(".", "__")
            self.environment[name] = value if isinstance(value, str) else json.dumps(value)
        if scene.calls:
            script = self.folder / "script.json"
            script.write_text(json.dumps({"calls": scene.calls, "after": "repeat"}))
            self.environment["CLAUDE_ITERATE_FAKE_SCRIPT"] = str(script)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command of the program."""
        return subprocess.Popen(
            [sys.executable, "-m", "claude_iterate", *words],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, process: subprocess.Popen[str], *words: str) -> str:
        """What a command printed, under its name."""
        out, err = process.communicate(timeout=PATIENCE)
        err = err.replace("InotifyEmitter.queue_events() called when the thread is inactive\n", "")  # now and then
        parts = [("out", out), ("err", err)]
        told = "".join(f"--- {name}\n{text}{'' if text.endswith(chr(10)) else chr(10)}" for name, text in parts if text)
        return f"$ claude-iterate {' '.join(words)}\n{told}--- exit code {process.returncode}\n"

    def run(self, *flags: str) -> str:
        """The run, and what is typed meanwhile."""
        words = (self.scene.command, NAME, *self.scene.flags, *flags)
        process, others = self.start(*words), []
        if self.scene.during:
            deadline = time.monotonic() + PATIENCE
            while not (self.workspace / "ready").exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.3)
            others = [self.tell(self.start(*other), *other) for other in self.scene.during]
            (self.workspace / "go").touch()
        return self.tell(process, *words) + "".join(others)

    def call(self, *words: str) -> str:
        """Another command, from start to end."""
        return self.tell(self.start(*words), *words)

    def prompts(self) -> Iterable[str]:
        """What Claude was called with."""
        for path in sorted((self.folder / "state").glob("call-*.json")):
            call = json.loads(path.read_text())
            yield "$ " + "\n  ".join(["claude", *call["argv"]]) + "\n" + path.with_suffix(".stdin").read_text() + "\n"

    def normal(self, text: str) -> str:
        """Without what differs from run to run."""
        for place, name in [(self.folder, "<folder>"), (ROOT, "<root>"), (Path(sys.prefix), "<python>")]:
            text = text.replace(str(place), name)
        for pattern, name in RULES:
            text = re.sub(pattern, name, text)
        return text

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def record_scene(name: str, target: Path) -> None:
    """A run in each output, then each view of it, then what more is typed."""
    scene = SCENES[name]
    for output in ("quiet", "progress", "json", "verbose"):
        project = Project(scene)
        target.mkdir(parents=True, exist_ok=True)
        flags = ["--json"] if output == "json" else ["--output", output]
        write(target / f"run-{output}.txt", project.normal(project.run(*flags)))
        if output == "verbose":
            for words in VIEWS:
                flat = "-".join(word.strip("-") for word in words if word not in (NAME, "--to", "-"))
                write(target / f"{flat}.txt", project.normal(project.call(*words)))
            write(target / "prompts.txt", project.normal("".join(project.prompts())))
            if scene.then:
                write(target / "then.txt", project.normal("\n".join(project.call(*words) for words in scene.then)))
        project.close()


def record_stream(name: str, target: Path) -> None:
    """A recorded stream of the real Claude Code: on the console in verbose and progress, and in the log."""
    path = FIXTURES / f"{name}.ndjson"
    code = 0 if '"is_error":false' in path.read_text(errors="replace").replace(" ", "") else 1
    status: Step = {"status": {"complete": True}}
    calls = [[status, {"sleep": 0.4}, {"fixture": str(path)}, {"exit": code}]]
    project = Project(Scene(calls, ["-m", "1"], {"limits.on_usage_limit": "stop", "limits.max_wait": "0s"}))
    told = [project.run("--output", "verbose"), *(log.read_text() for log in project.workspace.glob("iterate-*.log"))]
    told.append(project.call("replay", NAME, "--output", "progress", "--speed", "max"))
    write(target.with_name(f"{target.name}.txt"), project.normal("\n".join(told)))
    project.close()


def commands() -> list[str]:
    """Every command that the first page of the help names."""
    page = subprocess.run(
        [sys.executable, "-m", "claude_iterate", "--help"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    return [
        name
        for row in re.findall(r"^.{8}([a-z, ]+?)  ", page.stdout.decode(), re.MULTILINE)
        for name in row.split(", ")
    ]


def record_help(name: str, target: Path) -> None:
    """A page of the help."""
    project = Project(Scene())
    write(target.with_name(f"{target.name}.txt"), project.normal(project.call("help", name)))
    project.close()


def write(path: Path, text: str) -> None:
    """A file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main() -> None:
    """`goldens.py FOLDER [PATTERN ...]`."""
    target, patterns = Path(sys.argv[1]), sys.argv[2:] or ["*"]
    streams = sorted(
        path.relative_to(FIXTURES).with_suffix("").as_posix() for path in FIXTURES.glob("claude-*/*.ndjson")
    )
    things = [("scenes", name, record_scene) for name in SCENES]
    things += [("recordings", name, record_stream) for name in streams]
    things += [("help", name, record_help) for name in commands()]
    chosen = [
        (f"{kind}/{name}", name, record)
        for kind, name, record in things
        if any(fnmatch.fnmatch(f"{kind}/{name}", pattern) for pattern in patterns)
    ]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "3"))) as pool:
        running = {pool.submit(record, name, target / place): place for place, name, record in chosen}
        for finished in concurrent.futures.as_completed(running):
            if problem := finished.exception():
                print(f"{running[finished]}: {problem!r}", file=sys.stderr)
    print(f"{len(chosen)} recorded in {target}")


if __name__ == "__main__":
    main()
