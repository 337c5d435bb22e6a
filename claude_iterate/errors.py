"""Expected errors: what happened, what to do next, and the exit code. Rendered in one place, `cli.main`."""


class ExpectedError(Exception):
    """Something a user can mend. Shown as one line of what and one line of what to do, never a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageProblem(ExpectedError):
    """The command line or an argument in it makes no sense."""

    exit_code = 2


class SettingsProblem(ExpectedError):
    """A settings file, variable or flag holds what it must not hold."""


class WorkspaceProblem(ExpectedError):
    """A workspace is missing, busy, damaged, or cannot be written."""


class ArchiveProblem(ExpectedError):
    """An archive is missing, damaged, not to be trusted, or cannot be written."""


class TemplateProblem(ExpectedError):
    """A template is missing, damaged, in the way, or cannot be written."""


class AgentProblem(ExpectedError):
    """Claude cannot be started."""
