"""What a terminal shows of what a program sent to it."""

from __future__ import annotations

import re


class Screen:
    """What a terminal of one width shows: enough of one to understand what we send."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        self.rows = [""]
        column = 0
        position = 0
        while position < len(text):
            if text.startswith("\x1b[K", position):
                self.rows[-1] = self.rows[-1][:column]
                position += 3
                continue
            character = text[position]
            position += 1
            if character == "\r":
                column = 0
            elif character == "\n":
                self.rows.append("")
                column = 0
            else:
                row = self.rows[-1]
                self.rows[-1] = row[:column] + character + row[column + 1 :]
                column += 1
        self.rows = [row.rstrip() for row in self.rows]
