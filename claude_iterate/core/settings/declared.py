"""Every setting, declared once: name, kind, default, one sentence. All else is derived from here, by `catalogue.py`.

Validation, `config`, environment names and the reference page read this declaration; nothing repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claude_iterate.core.records import Record
from claude_iterate.core.settings.kinds import (
    AMOUNT,
    COMMANDS,
    DURATION,
    FLAG,
    HEADERS,
    HOURS,
    PATTERNS,
    PROGRAM,
    REPORT_ADDRESS,
    REPORT_NAME,
    SHARES,
    TABLE,
    TEXT,
    TEXTS,
    TIME_LIMIT,
    WEB_ADDRESS,
    WEEKDAYS,
    WINDOW,
    Kind,
    choice,
    each,
    whole,
)
from claude_iterate.core.settings.sandbox_kinds import IMAGE, MEMORY, PLACES, PROCESSORS, VARIABLES

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


class Declared:
    """What is declared about a setting, besides its name."""

    __slots__ = ("default", "kind", "original", "sentence")

    def __init__(self, kind: Kind, default: Any, sentence: str, original: tuple[str, ...]) -> None:
        self.kind = kind
        self.default = default
        self.sentence = sentence
        self.original = original


def _set(kind: Kind, default: Any, sentence: str, *original: str) -> Any:
    """Declare a setting. `original` are other names for it."""
    return Declared(kind, default, sentence, original)


class Group(Record):
    """A group of settings."""

    @classmethod
    def _default(cls, given: Any) -> Any:
        return given.default if isinstance(given, Declared) else given


class ClaudeSettings(Group):
    command: tuple[str, ...] = _set(PROGRAM, ("claude",), "The program to call; a list puts arguments first.")
    args: tuple[str, ...] = _set(TEXTS, (), "Arguments added to every call.")
    model: str | None = _set(TEXT, None, "Model, passed as `--model`.")
    max_turns: int | None = _set(whole(1), None, "Most model turns in one iteration, passed as `--max-turns`.")
    permission_mode: str | None = _set(
        choice(*PERMISSION_MODES), None, "What Claude may do without asking, passed as `--permission-mode`."
    )
    allowed_tools: tuple[str, ...] = _set(
        TEXTS, (), "Tools allowed without asking, passed as `--allowedTools`, for example `Bash(npm test:*)`."
    )
    effort: str | None = _set(
        choice("low", "medium", "high", "xhigh", "max"), None, "How hard Claude thinks, passed as `--effort`."
    )
    fallback_model: str | None = _set(
        TEXT, None, "Models to take while the model is overloaded, with commas, passed as `--fallback-model`."
    )
    autocompact: str | None = _set(
        WINDOW, None, "How large the context may grow before Claude Code sums it up, passed as `--autocompact`."
    )
    background: bool = _set(
        FLAG,
        False,
        "Let Claude start background work, monitors and wake-ups; a call then lasts until they are over.",
    )
    env: Mapping[str, str] = _set(TABLE, {}, "Environment variables added for Claude.")
    agents_file: str | None = _set(
        TEXT, None, "A file whose text is added to the system prompt; relative to the project root."
    )


class TimeoutSettings(Group):
    iteration: float = _set(TIME_LIMIT, 3600.0, "Longest time one iteration may take.")
    idle: float = _set(TIME_LIMIT, 900.0, "Longest silence of Claude within an iteration.")
    result_grace: float = _set(TIME_LIMIT, 15.0, "How long Claude may linger after its last result before it is ended.")
    terminate_grace: float = _set(TIME_LIMIT, 5.0, "Pause between SIGTERM and SIGKILL.")


class LimitSettings(Group):
    max_duration: float | None = _set(TIME_LIMIT, None, "Longest time a run may take.")
    max_cost_usd: float | None = _set(
        AMOUNT, None, "Most US dollars the workspace may cost; all its earlier runs count."
    )
    max_cost_per_iteration_usd: float | None = _set(AMOUNT, None, "Most money one iteration may cost.")
    on_usage_limit: str = _set(
        choice("wait", "stop"), "wait", "What to do at the provider's usage limit: wait for the reset, or stop."
    )
    max_wait: float = _set(TIME_LIMIT, 86400.0, "Longest time to wait for a limit or an overload before the run ends.")
    reset_margin: float = _set(DURATION, 60.0, "Time added to the announced reset of a limit.")
    reserve: Mapping[str, float] = _set(
        SHARES, {}, "Percent of a usage window to leave unused, for example `five_hour = 20`."
    )
    on_reserve: str = _set(choice("stop", "wait"), "stop", "What to do when a window's reserve is reached.")
    calls_per_hour: int = _set(whole(0, 1000), 0, "Most calls of Claude that a run makes within an hour; 0 = no limit.")
    hours: tuple[str, ...] = _set(
        HOURS, (), "Times of the day, by the local clock, at which iterations may begin; empty: always."
    )
    days: tuple[str, ...] = _set(WEEKDAYS, (), "Days on which iterations may begin; empty: all.")
    patterns: tuple[str, ...] = _set(
        PATTERNS, (), "More regular expressions that mark an error message as a usage limit."
    )


class StopSettings(Group):
    no_progress: int | None = _set(
        whole(0),
        None,
        "End the run after this many iterations in a row without measured progress; 0 = never. Unset: 3; in iterative "
        "mode with `stagnation_threshold = 0` never.",
    )
    same_error: int = _set(
        whole(0),
        5,
        "End the run after this many iterations in a row with the same error, even if files change; 0 = never.",
    )
    failures: int = _set(
        whole(0), 3, "End the run after this many failed iterations without progress in between; 0 = never."
    )
    test_failures: int = _set(
        whole(0),
        0,
        "End the run when `commands.test`, run after each iteration, was red this many times in a row; 0 = never.",
    )
    patterns: tuple[str, ...] = _set(
        PATTERNS, (), "Regular expressions that end the run when Claude's words or a tool's answer match."
    )
    scripts: tuple[str, ...] = _set(
        COMMANDS, (), "Shell commands run after each iteration; one that ends with 0 ends the run."
    )
    cooldown: float | None = _set(
        DURATION, None, "After this time a run that was ended by `stop` may try one iteration without `--reset`."
    )


class ProgressSettings(Group):
    measure: str = _set(
        choice("auto", "git", "files", "off"),
        "auto",
        "How to see what an iteration changed: `git` compares snapshots, `files` scans the project, `auto` uses git"
        " where there is git, `off` measures nothing.",
    )
    ignore: tuple[str, ...] = _set(
        TEXTS, (), "Files that are no work, as patterns of `.gitignore`, for example `build/`."
    )
    tests: bool = _set(FLAG, False, "Run `commands.test` after each iteration and count its tests.")


class HookSettings(Group):
    enabled: bool = _set(FLAG, True, "Run the executable files in the folders `hooks` at their points.")
    timeout: float = _set(TIME_LIMIT, 30.0, "Longest time one hook may take.")
    fail_on_error: bool = _set(FLAG, False, "A hook that fails or takes too long ends the run.")


class StatusWatchSettings(Group):
    enabled: bool = _set(FLAG, True, "Show changes of `.status.json` while Claude works.")
    debounce_ms: int = _set(whole(500, 10000), 2000, "Wait for this much quiet before reading a changed status.")
    notify_only_meaningful: bool = _set(FLAG, True, "Ignore changes of nothing but the timestamp.")


class NotificationSettings(Group):
    status_watch: StatusWatchSettings = StatusWatchSettings()


class NotifySettings(Group):
    url: str | None = _set(WEB_ADDRESS, None, "Where notifications are posted; empty: nowhere.", "notifyUrl")
    events: tuple[str, ...] = _set(
        each(choice(*NOTIFY_EVENTS)),
        ("completion", "error", "blocked", "limit_wait"),
        "Which events are posted; `all` is two or three in each iteration.",
        "notifyEvents",
    )
    format: str = _set(choice(*NOTIFY_FORMATS), "ntfy", "The form of a notification: what its receiver understands.")
    headers: Mapping[str, str] = _set(HEADERS, {}, "Headers added to every notification, for example a login.")
    secret: str | None = _set(TEXT, None, "Signs every notification, so that the receiver can check its origin.")
    report_url: str | None = _set(
        REPORT_ADDRESS,
        None,
        "Where the report of a run can be read; the notification of its end has it as a link. `{project}`,"
        " `{workspace}` and `{run}` are filled in.",
    )


class VerificationSettings(Group):
    checks: tuple[str, ...] = _set(
        COMMANDS, (), "Shell commands that must succeed before a completion claim counts, for example `npm test`."
    )
    check_timeout: float = _set(TIME_LIMIT, 600.0, "Longest time one check or stop script may take.")
    auto_verify: bool = _set(FLAG, False, "Let Claude review a completion claim in fresh context before it counts.")
    depth: str = _set(choice("quick", "standard", "deep"), "standard", "How thorough the review is.")
    resume_on_fail: bool = _set(FLAG, True, "Continue when the proof fails; the findings go into the next prompt.")
    max_attempts: int = _set(whole(1, 10), 2, "Completion claims allowed in one run before it gives up.")
    on_tamper: str = _set(
        choice("warn", "refuse"),
        "warn",
        "What to do when something that defines the proof, such as a check's script, changed during the run: tell it,"
        " or let the claim fail.",
    )
    report_filename: str = _set(REPORT_NAME, "verification-report.md", "Name of the review's report in the workspace.")
    notify_on_verification: bool = _set(FLAG, True, "Post a notification of each verification.")


class CommandSettings(Group):
    test: str | None = _set(
        TEXT,
        None,
        "How the project is tested, for the prompts, `progress.tests` and `stop.test_failures`; it is no check. `init`"
        " proposes it.",
    )
    build: str | None = _set(TEXT, None, "How the project is built, for the prompts. `init` proposes it.")
    lint: str | None = _set(TEXT, None, "How the project is linted, for the prompts. `init` proposes it.")


class PathSettings(Group):
    spec_dir: str = _set(TEXT, "specs", "Where the project's specifications are, for `plan` and `build`.")
    src_dir: str | None = _set(TEXT, None, "Where the project's source code is, for `plan` and `build`.")
    workspaces_dir: str = _set(TEXT, "claude-iterate/workspaces", "Where workspaces live.", "workspacesDir")
    templates_dir: str = _set(TEXT, "claude-iterate/templates", "Where templates live.", "templatesDir")
    archive_dir: str = _set(TEXT, "claude-iterate/archive", "Where archives live.", "archiveDir")
    global_templates_dir: str | None = _set(TEXT, None, "Where the user's own templates live.", "globalTemplatesDir")


class SandboxSettings(Group):
    kind: str = _set(
        choice("none", "bwrap", "docker", "podman"),
        "none",
        "Where Claude, checks and other programs of a run are closed in.",
    )
    image: str | None = _set(IMAGE, None, "With docker and podman: the image, which has Claude Code in it.")
    memory: str = _set(MEMORY, "4g", "With docker and podman: most memory of a program. bwrap limits none.")
    cpus: float = _set(
        PROCESSORS, 2.0, "With docker and podman: how many processors a program may use. bwrap limits none."
    )
    network: bool = _set(
        FLAG, True, "`false`: Claude reaches only its own service, and checks and other programs reach nothing."
    )
    mounts: tuple[str, ...] = _set(
        PLACES, (), "More files and folders to see inside, for example `~/.cargo`; `~/cache:rw` can be written."
    )
    env: tuple[str, ...] = _set(VARIABLES, (), "Names of more environment variables to let through.")


class Settings(Group):
    max_iterations: int | None = _set(
        whole(0),
        None,
        "Iterations a run may take; 0 = no limit. Unset: loop 50, iterative 20, plan 5, build 50.",
        "defaultMaxIterations",
    )
    delay: float = _set(DURATION, 2.0, "Pause between iterations.", "defaultDelay")
    stagnation_threshold: int = _set(
        whole(0),
        2,
        "In iterative mode: end after this many iterations in a row that report `worked: false`; 0 = never.",
        "defaultStagnationThreshold",
    )
    output: str = _set(choice("quiet", "progress", "verbose"), "progress", "How much `run` shows.", "outputLevel")
    exit_codes: str = _set(
        choice("simple", "detailed"), "simple", "`detailed` gives each group of reasons for ending a code of its own."
    )
    colors: bool = _set(FLAG, True, "Colour on terminals that can show it.")
    session: str = _set(
        choice("fresh", "resume"), "fresh", "Fresh context in every iteration, or the session of the last one."
    )
    context_redline: int = _set(
        whole(1, 100), 85, "With `session = resume`: a fresh session begins above this percentage of the context."
    )
    session_expiry: float = _set(
        DURATION, 86400.0, "With `session = resume`: a session not used for longer is not resumed; 0 = never expires."
    )
    attended: bool = _set(FLAG, False, "Ask before every iteration.")
    worktree: str | None = _set(
        TEXT,
        None,
        "Work in a git worktree, on this branch, which begins at your last commit or, as `BRANCH:BASE`, at another;"
        " `auto`: on `claude-iterate/NAME`. Unset: in the project.",
    )
    keep_awake: bool = _set(FLAG, True, "Keep the computer awake during a run, from its 15th second on.")
    keep_raw_runs: int = _set(whole(1), 5, "How many runs keep Claude's raw output; dry runs are counted apart.")
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
