"""Every setting, declared once: name, kind, default, one sentence; and the table that is made of the declaration.

Validation, `config`, environment names and the reference page read that table; nothing repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec.structs import asdict

from claude_iterate.core.settings.kinds import (
    AMOUNT,
    COMMANDS,
    DURATION,
    FLAG,
    HEADERS,
    HOURS,
    IMAGE,
    MEMORY,
    PATTERNS,
    PLACES,
    PROCESSORS,
    PROGRAM,
    REPORT_ADDRESS,
    REPORT_NAME,
    SHARES,
    TABLE,
    TEXT,
    TEXTS,
    TIME_LIMIT,
    VARIABLES,
    WEB_ADDRESS,
    WEEKDAYS,
    WINDOW,
    Kind,
    choice,
    each,
    whole,
)

PERMISSION_MODES = ("default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")
NOTIFY_EVENTS = (
    "all",
    "setup_complete",
    "execution_start",
    "iteration",
    "iteration_milestone",
    "status_update",
    "completion",
    "error",
    "verification",
    "limit_wait",
    "limit_over",
    "blocked",
    "stopped",
)
NOTIFY_FORMATS = ("ntfy", "json", "slack", "discord")


class Group(msgspec.Struct, frozen=True):
    """A group of settings. Beside the type of each stand its kind, one sentence, and other names for it."""


class ClaudeSettings(Group, frozen=True):
    command: Annotated[tuple[str, ...], PROGRAM, "The program to call; a list puts arguments first."] = ("claude",)
    args: Annotated[tuple[str, ...], TEXTS, "Arguments added to every call."] = ()
    model: Annotated[str | None, TEXT, "Model, passed as `--model`."] = None
    max_turns: Annotated[int | None, whole(1), "Most model turns in one iteration, passed as `--max-turns`."] = None
    permission_mode: Annotated[
        str | None, choice(*PERMISSION_MODES), "What Claude may do without asking, passed as `--permission-mode`."
    ] = None
    allowed_tools: Annotated[
        tuple[str, ...],
        TEXTS,
        "Tools allowed without asking, passed as `--allowedTools`, for example `Bash(npm test:*)`.",
    ] = ()
    effort: Annotated[
        str | None, choice("low", "medium", "high", "xhigh", "max"), "How hard Claude thinks, passed as `--effort`."
    ] = None
    fallback_model: Annotated[
        str | None, TEXT, "Models to take while the model is overloaded, with commas, passed as `--fallback-model`."
    ] = None
    autocompact: Annotated[
        str | None, WINDOW, "How large the context may grow before Claude Code compacts it, passed as `--autocompact`."
    ] = None
    background: Annotated[
        bool, FLAG, "Let Claude start background work, monitors and wake-ups; a call then lasts until they are over."
    ] = False
    env: Annotated[Mapping[str, str], TABLE, "Environment variables added for Claude."] = {}
    agents_file: Annotated[
        str | None, TEXT, "A file whose text is added to the system prompt; relative to the project root."
    ] = None


class TimeoutSettings(Group, frozen=True):
    iteration: Annotated[float, TIME_LIMIT, "Longest time one iteration may take."] = 3600.0
    idle: Annotated[float, TIME_LIMIT, "Longest silence of Claude within an iteration."] = 900.0
    result_grace: Annotated[
        float, TIME_LIMIT, "How long Claude may linger after its last result before it is ended."
    ] = 15.0
    terminate_grace: Annotated[float, TIME_LIMIT, "Pause between SIGTERM and SIGKILL."] = 5.0


class LimitSettings(Group, frozen=True):
    max_duration: Annotated[float | None, TIME_LIMIT, "Longest time a run may take."] = None
    max_cost_usd: Annotated[
        float | None, AMOUNT, "Most US dollars the workspace may cost; all its earlier runs count."
    ] = None
    max_cost_per_iteration_usd: Annotated[float | None, AMOUNT, "Most money one iteration may cost."] = None
    on_usage_limit: Annotated[
        str, choice("wait", "stop"), "What to do at the provider's usage limit: wait for the reset, or stop."
    ] = "wait"
    max_wait: Annotated[float, TIME_LIMIT, "Longest time to wait for a limit or an overload before the run ends."] = (
        86400.0
    )
    reset_margin: Annotated[float, DURATION, "Time added to the announced reset of a limit."] = 60.0
    reserve: Annotated[
        Mapping[str, float], SHARES, "Percent of a usage window to leave unused, for example `five_hour = 20`."
    ] = {}
    on_reserve: Annotated[str, choice("stop", "wait"), "What to do when a window's reserve is reached."] = "stop"
    calls_per_hour: Annotated[
        int, whole(0, 1000), "Most calls of Claude that a run makes within an hour; 0 = no limit."
    ] = 0
    hours: Annotated[
        tuple[str, ...], HOURS, "Times of the day, by the local clock, at which iterations may begin; empty: always."
    ] = ()
    days: Annotated[tuple[str, ...], WEEKDAYS, "Days on which iterations may begin; empty: all."] = ()
    patterns: Annotated[
        tuple[str, ...], PATTERNS, "More regular expressions that mark an error message as a usage limit."
    ] = ()


class StopSettings(Group, frozen=True):
    no_progress: Annotated[
        int | None,
        whole(0),
        "End the run after this many iterations in a row without measured progress; 0 = never. Unset: 3; in iterative "
        "mode with `stagnation_threshold = 0` never.",
    ] = None
    same_error: Annotated[
        int,
        whole(0),
        "End the run after this many iterations in a row with the same error, even if files change; 0 = never.",
    ] = 5
    failures: Annotated[
        int, whole(0), "End the run after this many failed iterations without progress in between; 0 = never."
    ] = 3
    test_failures: Annotated[
        int,
        whole(0),
        "End the run when `commands.test`, run after each iteration, failed this many times in a row; 0 = never.",
    ] = 0
    patterns: Annotated[
        tuple[str, ...], PATTERNS, "Regular expressions that end the run when Claude's words or a tool's answer match."
    ] = ()
    scripts: Annotated[
        tuple[str, ...], COMMANDS, "Shell commands run after each iteration; one that ends with 0 ends the run."
    ] = ()
    cooldown: Annotated[
        float | None,
        DURATION,
        "After this time a run that was ended by `stop` may try one iteration without `--reset`.",
    ] = None


class ProgressSettings(Group, frozen=True):
    measure: Annotated[
        str,
        choice("auto", "git", "files", "off"),
        "How to see what an iteration changed: `git` compares snapshots, `files` scans the project, `auto` uses git"
        " where there is git, `off` measures nothing.",
    ] = "auto"
    ignore: Annotated[
        tuple[str, ...], TEXTS, "Files that do not count as work, as patterns of `.gitignore`, for example `build/`."
    ] = ()
    tests: Annotated[bool, FLAG, "Run `commands.test` after each iteration and count its tests."] = False


class HookSettings(Group, frozen=True):
    enabled: Annotated[bool, FLAG, "Run the executable files in the folders `hooks` at their points."] = True
    timeout: Annotated[float, TIME_LIMIT, "Longest time one hook may take."] = 30.0
    fail_on_error: Annotated[bool, FLAG, "A hook that fails or takes too long ends the run."] = False


class StatusWatchSettings(Group, frozen=True):
    enabled: Annotated[bool, FLAG, "Show changes of `.status.json` while Claude works."] = True
    debounce_ms: Annotated[int, whole(500, 10000), "Wait for this much quiet before reading a changed status."] = 2000
    notify_only_meaningful: Annotated[bool, FLAG, "Ignore changes of nothing but the timestamp."] = True


class NotificationSettings(Group, frozen=True):
    status_watch: StatusWatchSettings = StatusWatchSettings()


class NotifySettings(Group, frozen=True):
    url: Annotated[str | None, WEB_ADDRESS, "Where notifications are posted; empty: nowhere.", "notifyUrl"] = None
    events: Annotated[
        tuple[str, ...],
        each(choice(*NOTIFY_EVENTS)),
        "Which events are posted; `all` is two or three in each iteration.",
        "notifyEvents",
    ] = ("completion", "error", "blocked", "limit_wait")
    format: Annotated[str, choice(*NOTIFY_FORMATS), "The form of a notification: what its receiver understands."] = (
        "ntfy"
    )
    headers: Annotated[Mapping[str, str], HEADERS, "Headers added to every notification, for example a login."] = {}
    secret: Annotated[str | None, TEXT, "Signs every notification, so that the receiver can check its origin."] = None
    report_url: Annotated[
        str | None,
        REPORT_ADDRESS,
        "Where the report of a run can be read; the notification of its end has it as a link. `{project}`,"
        " `{workspace}` and `{run}` are filled in.",
    ] = None


class VerificationSettings(Group, frozen=True):
    checks: Annotated[
        tuple[str, ...],
        COMMANDS,
        "Shell commands that must succeed before a completion claim counts, for example `npm test`.",
    ] = ()
    check_timeout: Annotated[float, TIME_LIMIT, "Longest time one check or stop script may take."] = 600.0
    auto_verify: Annotated[bool, FLAG, "Let Claude review a completion claim in fresh context before it counts."] = (
        False
    )
    depth: Annotated[str, choice("quick", "standard", "deep"), "How thorough the review is."] = "standard"
    resume_on_fail: Annotated[bool, FLAG, "Continue when the proof fails; the findings go into the next prompt."] = True
    max_attempts: Annotated[int, whole(1, 10), "Completion claims allowed in one run before it gives up."] = 2
    on_tamper: Annotated[
        str,
        choice("warn", "refuse"),
        "What to do when something that defines the proof, such as a check's script, changed during the run: warn,"
        " or let the claim fail.",
    ] = "warn"
    report_filename: Annotated[str, REPORT_NAME, "Name of the review's report in the workspace."] = (
        "verification-report.md"
    )
    notify_on_verification: Annotated[bool, FLAG, "Post a notification of each verification."] = True


class CommandSettings(Group, frozen=True):
    test: Annotated[
        str | None,
        TEXT,
        "How the project is tested, for the prompts, `progress.tests` and `stop.test_failures`; it is not a check."
        " `init` proposes it.",
    ] = None
    build: Annotated[str | None, TEXT, "How the project is built, for the prompts. `init` proposes it."] = None
    lint: Annotated[str | None, TEXT, "How the project is linted, for the prompts. `init` proposes it."] = None


class PathSettings(Group, frozen=True):
    spec_dir: Annotated[str, TEXT, "Where the project's specifications are, for `plan` and `build`."] = "specs"
    src_dir: Annotated[str | None, TEXT, "Where the project's source code is, for `plan` and `build`."] = None
    workspaces_dir: Annotated[str, TEXT, "Where workspaces live.", "workspacesDir"] = "claude-iterate/workspaces"
    templates_dir: Annotated[str, TEXT, "Where templates live.", "templatesDir"] = "claude-iterate/templates"
    archive_dir: Annotated[str, TEXT, "Where archives live.", "archiveDir"] = "claude-iterate/archive"
    global_templates_dir: Annotated[str | None, TEXT, "Where the user's own templates live.", "globalTemplatesDir"] = (
        None
    )


class SandboxSettings(Group, frozen=True):
    kind: Annotated[
        str,
        choice("none", "bwrap", "docker", "podman"),
        "The sandbox of Claude, checks and other programs of a run.",
    ] = "none"
    image: Annotated[str | None, IMAGE, "With docker and podman: the image, which has Claude Code in it."] = None
    memory: Annotated[str, MEMORY, "With docker and podman: most memory of a program. bwrap limits none."] = "4g"
    cpus: Annotated[
        float, PROCESSORS, "With docker and podman: how many processors a program may use. bwrap limits none."
    ] = 2.0
    network: Annotated[
        bool, FLAG, "`false`: Claude reaches only its own service, and checks and other programs reach nothing."
    ] = True
    mounts: Annotated[
        tuple[str, ...],
        PLACES,
        "More files and folders to see inside, for example `~/.cargo`; `~/cache:rw` can be written.",
    ] = ()
    env: Annotated[tuple[str, ...], VARIABLES, "Names of more environment variables to let through."] = ()

    @property
    def is_container(self) -> bool:
        """A container has a Claude, a home and a file system of its own."""
        return self.kind in {"docker", "podman"}


class Settings(Group, frozen=True):
    max_iterations: Annotated[
        int | None,
        whole(0),
        "Iterations a run may take; 0 = no limit. Unset: loop 50, iterative 20, plan 5, build 50.",
        "defaultMaxIterations",
    ] = None
    delay: Annotated[float, DURATION, "Pause between iterations.", "defaultDelay"] = 2.0
    stagnation_threshold: Annotated[
        int,
        whole(0),
        "In iterative mode: end after this many iterations in a row that report `worked: false`; 0 = never.",
        "defaultStagnationThreshold",
    ] = 2
    output: Annotated[str, choice("quiet", "progress", "verbose"), "How much `run` shows.", "outputLevel"] = "progress"
    exit_codes: Annotated[
        str, choice("simple", "detailed"), "`detailed` gives each group of reasons for ending a code of its own."
    ] = "simple"
    colors: Annotated[bool, FLAG, "Colour on terminals that can show it."] = True
    session: Annotated[
        str, choice("fresh", "resume"), "Fresh context in every iteration, or the session of the last one."
    ] = "fresh"
    context_redline: Annotated[
        int, whole(1, 100), "With `session = resume`: a fresh session begins above this percentage of the context."
    ] = 85
    session_expiry: Annotated[
        float, DURATION, "With `session = resume`: a session not used for longer is not resumed; 0 = never expires."
    ] = 86400.0
    attended: Annotated[bool, FLAG, "Ask before every iteration."] = False
    worktree: Annotated[
        str | None,
        TEXT,
        "Work in a git worktree, on this branch, which begins at your last commit or, as `BRANCH:BASE`, at another;"
        " `auto`: on `claude-iterate/NAME`. Unset: in the project.",
    ] = None
    keep_awake: Annotated[bool, FLAG, "Keep the computer awake during a run, from its 15th second on."] = True
    keep_raw_runs: Annotated[int, whole(1), "How many runs keep Claude's raw output; dry runs are counted apart."] = 5
    claude: ClaudeSettings = ClaudeSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    limits: LimitSettings = LimitSettings()
    stop: StopSettings = StopSettings()
    progress: ProgressSettings = ProgressSettings()
    hooks: HookSettings = HookSettings()
    notification: NotificationSettings = NotificationSettings()
    notify: NotifySettings = NotifySettings()
    verification: VerificationSettings = VerificationSettings()
    commands: CommandSettings = CommandSettings()
    paths: PathSettings = PathSettings()
    sandbox: SandboxSettings = SandboxSettings()


class Setting(msgspec.Struct, frozen=True):
    """One declared setting, as the tables see it."""

    key: str
    kind: Kind
    default: Any
    sentence: str
    original: tuple[str, ...]

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "CLAUDE_ITERATE_" + self.key.upper().replace(".", "__")


def _walk(group: Group, prefix: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    types = get_type_hints(type(group), include_extras=True)
    for name, value in asdict(group).items():
        if isinstance(value, Group):
            found |= _walk(value, f"{prefix}{name}.")
        else:
            kind, sentence, *original = types[name].__metadata__
            found[prefix + name] = Setting(prefix + name, kind, value, sentence, tuple(original))
    return found


@cache
def catalogue() -> dict[str, Setting]:
    """All settings by dotted key, in the order of their declaration."""
    return _walk(Settings(), "")


def value_of(settings: Settings, key: str) -> Any:
    """The value of a dotted key."""
    return attrgetter(key)(settings)


def snake(key: str) -> str:
    """`statusWatch.debounceMs` as `status_watch.debounce_ms`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match.group(1).lower(), key)


def canonical(key: str) -> str | None:
    """The declared key behind any accepted spelling (snake_case, camelCase, the original's names), or None."""
    if key in catalogue():
        return key
    spellings = {name: setting.key for setting in catalogue().values() for name in (*setting.original, setting.key)}
    return spellings.get(key) or spellings.get(snake(key))


def is_group(key: str) -> bool:
    """True for `claude`, `timeouts`, `notification.status_watch` and the like."""
    return any(name.startswith(snake(key) + ".") for name in catalogue())


def build(values: dict[str, Any]) -> Settings:
    """Settings with these accepted values by dotted key, defaults elsewhere."""

    def fill(group: Any, prefix: str) -> Any:
        filled = {
            name: fill(value, f"{prefix}{name}.") if isinstance(value, Group) else values.get(prefix + name, value)
            for name, value in asdict(group).items()
        }
        return type(group)(**filled)

    settings: Settings = fill(Settings(), "")
    return settings
