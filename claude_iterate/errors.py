"""Expected errors: what happened, what to do next, and the exit code. Shown in one place, `cli.boundary`."""

from __future__ import annotations

import errno

RAISE_FILE_LIMIT = "Raise the limit where it is set, for example: ulimit -f unlimited"


class ExpectedError(Exception):
    """Something a user can fix. Shown as one line of what happened and one line of what to do, never a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageProblem(ExpectedError):
    """The command line or an argument in it makes no sense."""

    exit_code = 2


class SettingsProblem(ExpectedError):
    """A settings file, a variable or a call of `config` has a value that is not allowed."""


class WorkspaceProblem(ExpectedError):
    """A workspace is missing, busy, damaged, or cannot be written."""


class NewerFormat(ExpectedError):
    """A later version wrote this file. It is not damaged, so it is neither repaired nor written."""


class ArchiveProblem(ExpectedError):
    """An archive is missing, damaged, not to be trusted, or cannot be written."""


class TemplateProblem(ExpectedError):
    """A template is missing, damaged, in the way, or cannot be written."""


class AgentProblem(ExpectedError):
    """Claude cannot be started."""


def advice(error: OSError, of: str) -> str:
    """What to do when something cannot be written; `of` says where, or is empty."""
    return RAISE_FILE_LIMIT if error.errno == errno.EFBIG else f"Check the permissions and free space{of}"
