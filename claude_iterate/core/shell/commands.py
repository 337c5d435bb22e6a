"""The simple commands in a line of shell: what is between pipes, separators, keywords, redirections and here-documents.

Tolerant: any text has an answer, because what Claude was denied is cut after some hundred characters. It only has to
find programs and their arguments; nothing is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(
    r"""(?P<nothing>(?:[ \t\r]|\\\n)+ | (?<![^\s;&|()])\#[^\n]* | \(\(.*?(?:\)\)|$) | \[\[\s.*?(?:\]\]|$))
      | (?P<redirect>(?:\d+|&)?(?:<<<|<<-?|>>|<>|>\||[<>]&|[<>](?!\()))
      | (?P<operator>\n|&&|\|\||;;&?|;&|\|&|[;&|()])""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(
    r"""(?P<bracket>[$<>]\() | \\[^\n] | \$?'[^']*(?:'|$) | "(?:\\.|[^"\\])*(?:"|$) | `[^`]*(?:`|$)
      | [^\s;&|()<>'"`\\$]+ | \$ | \\$""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=.*", re.DOTALL)
_QUOTES = re.compile(r"\\(.)|['\"]", re.DOTALL)
_HEADS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc"})
"""Keywords that a command may follow."""
_TAILS = frozenset({"fi", "done", "esac", "}"})
_SKIPPED = frozenset({"for", "select", "case", "function"})
"""Keywords whose words are no commands, up to the next separator."""


class SimpleCommand(msgspec.Struct, frozen=True):
    """One program with its arguments, each as it was typed; `assignments` stand before it. `feeds` says that its
    output is piped into the command after it."""

    words: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    feeds: bool = False

    @property
    def source(self) -> str:
        """As it was typed, without redirections."""
        return " ".join([*self.assignments, *self.words])


def simple_commands(text: str) -> list[SimpleCommand]:
    """Every simple command, in the order in which they stand."""
    found: list[SimpleCommand] = []
    reader = _Reader()
    for kind, token in _tokens(text):
        if kind == "operator":
            found += reader.end(token)
        elif kind == "redirect":
            reader.target = True
        else:
            reader.take(token)
    return found + reader.end("")


def unquote(word: str) -> str:
    """The word as the program gets it, as far as that can be said without expanding it."""
    return _QUOTES.sub(lambda match: match.group(1) or "", word)


class _Reader:
    """Collects the words of one command after the other."""

    def __init__(self) -> None:
        self.target = False
        """The next word is the file of a redirection."""
        self._words: list[str] = []
        self._assignments: list[str] = []
        self._skips = False
        self._in_case = False

    def take(self, word: str) -> None:
        if self.target:
            self.target = False
        elif self._skips:
            self._in_case = self._in_case and word != "esac"
        elif self._words:
            self._words.append(word)
        elif word in _HEADS and not self._assignments:
            pass
        elif word in _SKIPPED or word in _TAILS:
            self._skips, self._in_case = True, (self._in_case or word == "case") and word != "esac"
        elif _ASSIGNMENT.fullmatch(word):
            self._assignments.append(word)
        else:
            self._words.append(word)

    def end(self, operator: str) -> list[SimpleCommand]:
        """What was collected, now that the command is over. A `(` after one word makes it the name of a function."""
        words, assignments = tuple(self._words), tuple(self._assignments)
        self._words, self._assignments, self.target = [], [], False
        # Between `case x in` or `;;` and the `)` stand patterns.
        self._skips = self._in_case and (operator == ";;" or (self._skips and operator != ")"))
        if not words or (operator == "(" and len(words) == 1):
            return []
        return [SimpleCommand(words, assignments, operator in {"|", "|&"})]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Words, operators and redirections; comments, tests in brackets and the bodies of here-documents are left out."""
    position, bodies, awaited = 0, list[str](), False
    while position < len(text):
        match = _TOKEN.match(text, position)
        kind = (match.lastgroup or "") if match else "word"
        end = match.end() if match else _end_of_word(text, position)
        token, position = text[position:end], end
        if kind == "nothing":
            continue
        yield kind, token
        if awaited:
            bodies.append(unquote(token))
        awaited = kind == "redirect" and token.lstrip("0123456789") in {"<<", "<<-"}
        if token == "\n":  # noqa: S105 - a token of the shell
            for delimiter in bodies:
                position = _after_body(text, position, delimiter)
            bodies = []


def _end_of_word(text: str, position: int) -> int:
    """Quotations and brackets with a substitution belong to the word. At least one character does."""
    begin = position
    while match := _PIECE.match(text, position):
        position = _closing(text, match.end()) if match.lastgroup else match.end()
    return max(position, begin + 1)


def _closing(text: str, position: int) -> int:
    """Behind the bracket that closes the one just before this position; the end of the text when there is none."""
    depth = 1
    while position < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position


def _after_body(text: str, position: int, delimiter: str) -> int:
    """Behind the words that end a here-document; the end of the text when it is cut. The line break after them counts:
    what follows is a new command."""
    end = re.compile(rf"^[\t ]*{re.escape(delimiter)}[\t ]*$", re.MULTILINE).search(text, position)
    return end.end() if end else len(text)
