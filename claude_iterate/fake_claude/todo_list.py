"""The fake's list of steps: found in the instructions, ticked off in its own section of TODO.md.

Text outside that section is the user's and is kept byte for byte.
"""

from __future__ import annotations

import re

HEADING = "## Steps of the built-in fake Claude"
MOST = 20
MADE_UP = ["Read the instructions", "Look at the project", "Make the change", "Check the change", "Tidy up"]
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*[^\W_].*)")
_RUN = re.compile(r"<!-- run (.*) -->")
_BOX = re.compile(r"- \[([ x])\] (.*)")


def items_in(instructions: str) -> list[str]:
    """The list items of a text, code blocks left out; made-up ones when it has none."""
    found: list[str] = []
    fence = ""
    for line in instructions.splitlines():
        opening = line.lstrip()[:3]
        if opening in ("```", "~~~"):
            fence = "" if opening == fence else fence or opening
        elif not fence and (item := _ITEM.fullmatch(line)):
            found.append(item[1].strip()[:100].strip())
    return found[:MOST] or list(MADE_UP)


class Todo:
    """The parts of TODO.md: the text before and after our section, our boxes, and the run that ticked last."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self.run = ""
        self.boxes: list[tuple[bool, str]] = []
        if HEADING not in lines:
            self.before = text.rstrip("\n") + "\n\n" if text.strip() else ""
            self.after = ""
            return
        begin = lines.index(HEADING)
        end = begin + 1
        while end < len(lines) and self._take(lines[end]):
            end += 1
        self.before = "".join(line + "\n" for line in lines[:begin])
        self.after = "\n".join(lines[end:])

    def _take(self, line: str) -> bool:
        if marker := _RUN.fullmatch(line):
            self.run = marker[1]
        elif box := _BOX.fullmatch(line):
            self.boxes.append((box[1] == "x", box[2]))
        else:
            return not line.strip()
        return True

    def follow(self, items: list[str], run: str, start_over: bool) -> None:
        """Make these the steps. What was ticked stays ticked, unless it is to start over."""
        ticked = [] if start_over else [item for done, item in self.boxes if done]
        self.boxes = []
        self.run = run
        for item in items:
            done = item in ticked
            if done:
                ticked.remove(item)
            self.boxes.append((done, item))

    @property
    def open(self) -> list[str]:
        """Steps still to do."""
        return [item for done, item in self.boxes if not done]

    def tick(self, item: str) -> None:
        """Mark the first open step of this name as done."""
        self.boxes[self.boxes.index((False, item))] = (True, item)

    def render(self) -> str:
        """The whole file."""
        boxes = "\n".join(f"- [{'x' if done else ' '}] {item}" for done, item in self.boxes)
        marker = f"<!-- run {self.run} -->\n" if self.run else ""
        return f"{self.before}{HEADING}\n{marker}\n{boxes}\n" + (f"\n{self.after}" if self.after else "")
