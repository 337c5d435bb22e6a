"""The fake's list of steps: found in the instructions, ticked off in its own section of TODO.md.

Text outside that section is the user's and is kept byte for byte.
"""

from __future__ import annotations

import re

HEADING = "## Steps of the built-in fake Claude"
MOST = 20
MADE_UP = ["Read the instructions", "Look at the project", "Make the change", "Check the change", "Tidy up"]
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*[^\W_].*)")
_BOX = re.compile(r"^- \[([ x])\] (.*)$", re.MULTILINE)
_SECTION = re.compile(
    rf"^{re.escape(HEADING)}\n(?:<!-- run (.*) -->\n)?((?:[^\S\n]*\n|- \[[ x]\] .*(?:\n|\Z))*)", re.MULTILINE
)


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
        found = _SECTION.search(text)
        if found is None:
            self.before, self.after = (text.rstrip("\n") + "\n\n" if text.strip() else ""), ""
        else:
            self.before, self.after = text[: found.start()], text[found.end() :]
        self.run = (found[1] or "") if found else ""
        self.boxes = [(mark == "x", item) for mark, item in _BOX.findall(found[2] if found else "")]

    def follow(self, items: list[str], run: str, start_over: bool) -> None:
        """Make these the steps. What was ticked stays ticked, unless it is to start over."""
        ticked = [] if start_over else [item for done, item in self.boxes if done]
        self.run, self.boxes = run, []
        for item in items:
            self.boxes.append((item in ticked, item))
            if item in ticked:
                ticked.remove(item)

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
