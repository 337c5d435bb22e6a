"""One line per call in `/tmp/mock-claude.log`, to see what a dry run did.

Of a prompt, and of every value that is not known to be harmless, only the size is shown. Failures are ignored.
"""

from __future__ import annotations

import os

from claude_iterate.fake_claude.printer import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = "/tmp/mock-claude.log"  # noqa: S108 - the seed promises this name; a link in its place is not followed
HARMLESS = frozenset(
    {
        "--output-format",
        "--model",
        "--max-turns",
        "--max-budget-usd",
        "--permission-mode",
        "--session-id",
        "--resume",
        "--append-system-prompt-file",
    }
)
LONGEST = 80


class CallLog:
    """The line of this call, written when its exit code is known."""

    def __init__(self, argv: list[str], environ: Mapping[str, str]) -> None:
        self.prompt_bytes = 0
        self._argv = argv
        self._place = environ.get("CLAUDE_ITERATE_MOCK_LOG") or PLACE

    def write(self, code: int) -> None:
        """Append the line in one write, so that lines of simultaneous calls do not mix."""
        line = (
            f"{timestamp()} pid={os.getpid()} cwd={os.getcwd()} argv={' '.join(shortened(self._argv))} "
            f"prompt={self.prompt_bytes} bytes exit={code}\n"
        )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            descriptor = os.open(self._place, flags, 0o600)
            os.write(descriptor, line.encode("utf-8", "replace"))
            os.close(descriptor)
        except OSError:
            return


def shortened(argv: list[str]) -> list[str]:
    """The arguments as they may be shown: names of options, harmless values, and the length of everything else."""
    shown = []
    before = ""
    for word in argv:
        harmless = before in HARMLESS and len(word) <= LONGEST
        option = word.startswith("-") and "=" not in word and " " not in word and len(word) <= LONGEST
        shown.append(word if harmless or option else f"<{len(word)} characters>")
        before = word
    return shown
