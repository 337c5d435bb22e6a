"""What is said of archives in the same way everywhere: sizes, and what a new archive does not hold."""

from __future__ import annotations

from claude_iterate.cli import output
from claude_iterate.workspace.archive import Saved


def tell_of(saved: Saved) -> None:
    """Warnings that belong to a new archive."""
    if saved.outside_links:
        count = len(saved.outside_links)
        links = f"a link that leads outside ({saved.outside_links[0]})"
        if count > 1:
            links = f"{count} links that lead outside ({saved.outside_links[0]}, ...)"
        output.warn(f"The archive holds {links}. To restore it, add --outside-links.")
    if saved.left_out:
        output.warn(
            f"Not archived, because pipes, sockets and devices have no content: {', '.join(saved.left_out[:5])}"
        )


def size(count: int) -> str:
    """Bytes for people: `340 B`, `12.5 KB`, `3.1 MB`."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return ""
