"""The words that the glossary of ARCHITECTURE.md replaces stay out of messages, docstrings, comments and documents."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BANNED = {
    "somebody": "the user, Claude, another process",
    "whoever": "the user, the caller",
    "mend(s|ed|ing)?": "fix",
    "anew": "again",
    r"errand\w*": "one-off call",
    r"rehears\w*": "dry run",
    "for ever": "forever, without end, permanently",
    "flocks": "many at a time",
    "(is|was|are|were) told of": "gets, learns of",
    "he|him|his": "the user, they",
}
ALLOWED = {
    "ErrandStarted": "the name of an event in journals that are on disk already",
    "ErrandFinished": "the same",
    ".before-rehearsal": "a folder of workspaces that are on disk already",
    "--mend": "the old name of `doctor --fix`, kept as a hidden alias",
}
SOURCES = sorted((ROOT / "claude_iterate").rglob("*.py"))
DOCUMENTS = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")]
    + [*(ROOT / "docs").rglob("*.md"), *(ROOT / "templates").rglob("*.md")]
)
_PATTERN = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
_EXCUSED = re.compile("|".join(rf"{re.escape(text)}\b" for text in ALLOWED))


def banned_words(text: str) -> list[str]:
    """Every banned word of a text, in order."""
    return [found[0] for found in _PATTERN.finditer(_EXCUSED.sub("", text))]


def found_in(texts: Iterator[tuple[int, str]]) -> list[str]:
    """`line: word` for each banned word."""
    return [f"{line}: {word}" for line, text in texts for word in banned_words(text)]


def is_docstring(statement: ast.stmt) -> bool:
    """True for a text that stands alone: a docstring, or the description of an attribute."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Every text of a module that is not a docstring, with its line."""
    tree = ast.parse(source)
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_docstring(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value


def explanations(source: str) -> Iterator[tuple[int, str]]:
    """Every docstring and comment of a module, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and is_docstring(node):
            yield node.lineno, str(ast.literal_eval(node.value))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def lines(document: str) -> Iterator[tuple[int, str]]:
    """Every line of a document with its number, except those of its glossary, which names the words it replaces."""
    glossary = False
    for number, line in enumerate(document.splitlines(), 1):
        if line.startswith("## "):
            glossary = line == "## Glossary"
        if not glossary:
            yield number, line


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def found_by_file(paths: list[Path], texts: Callable[[str], Iterator[tuple[int, str]]]) -> list[str]:
    """`file:line: word` for each banned word in the texts of these files. Few have one at all, so few are parsed."""
    suspects = [(path, text) for path in paths if banned_words(text := path.read_text())]
    return [f"{name(path)}:{found}" for path, text in suspects for found in found_in(texts(text))]


def test_messages_use_the_words_of_the_glossary() -> None:
    """No text in the code contains a banned word."""
    assert found_by_file(SOURCES, messages) == []


def test_docstrings_and_comments_use_the_words_of_the_glossary() -> None:
    """No docstring and no comment contains a banned word."""
    assert found_by_file(SOURCES, explanations) == []


def test_documents_use_the_words_of_the_glossary() -> None:
    """No document and no prompt contains a banned word outside a section `## Glossary`."""
    assert found_by_file(DOCUMENTS, lines) == []


def test_the_search_finds_what_it_looks_for() -> None:
    """A banned word is found in every form and case; a word that only contains one, and an allowed name, are not."""
    assert banned_words("Somebody MENDED it; the errands are rehearsed for ever.") == [
        "Somebody",
        "MENDED",
        "errands",
        "rehearsed",
        "for ever",
    ]
    assert banned_words("Amendments recommend `--mend`; see `ErrandFinished`. The theme is this.") == []


def test_messages_and_explanations_are_told_apart() -> None:
    """Docstrings, descriptions of attributes and comments are explanations; f-strings are messages."""
    source = '"""doc"""\nx = 1  # why\n"""about x"""\ny = f"message {x} end"\n'
    assert [text for _, text in messages(source)] == ["message ", " end"]
    assert sorted(text for _, text in explanations(source)) == ["# why", "about x", "doc"]


def test_a_glossary_may_name_the_words_that_it_replaces() -> None:
    """Its section ends with the next heading of the same level."""
    document = "before\n## Glossary\nfix (not mend)\n### More\nanew\n## Decisions\nafter\n"
    assert [line for _, line in lines(document)] == ["before", "## Decisions", "after"]
