#!/usr/bin/env python
"""Writes claude_iterate/shipped_prompts.py from templates/prompts, so that a run with these needs no Jinja2.

Run it after a change of a shipped prompt. Until then the changed prompt goes through Jinja2, and a test fails.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import nodes
from jinja2.nodes import Node

from claude_iterate.prompts import environment, shipped_folder

TARGET = Path(__file__).parents[1] / "claude_iterate" / "shipped_prompts.py"
HEAD = '''"""The shipped prompts as Python. Made from templates/prompts by scripts/compile_prompts.py; do not edit.

Each function takes the text of its template, which it cuts into pieces, and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Pieces = Iterator[str]
Values = Mapping[str, Any]
'''
TAIL = '''
SHIPPED: dict[str, tuple[int, Callable[[str, Values], Pieces]]] = {{
{rows}
}}
"""By file name, with its folder if it is for one mode: the checksum of the template that the function was made from,
and the function."""
'''


_ROOM = 90
"""Characters of the pieces in one line."""


class Template:
    """One template on its way to Python. What a shipped prompt does not use is not known here: an error names it."""

    def __init__(self, path: Path) -> None:
        self.source = path.read_text("utf-8")
        self.name = path.relative_to(shipped_folder()).as_posix()
        self.function = "_" + self.name.removesuffix(".md").replace("-", "_").replace("/", "_")
        self.checksum = binascii.crc32(path.read_bytes())
        self._cursor = 0
        self._local: set[str] = set()

    def lines(self) -> Iterator[str]:
        """The function."""
        yield f"def {self.function}(text: str, values: Values) -> Pieces:"
        yield from self._body(environment().parse(self.source).body)

    def _body(self, statements: list[Node]) -> Iterator[str]:
        for statement in statements:
            match statement:
                case nodes.Output():
                    for line in self._packed(statement.nodes):
                        yield f'    yield f"{line}"'
                case nodes.If(test=test, body=body, elif_=[], else_=otherwise):
                    yield f"    if {self._value(test)}:"
                    yield from self._indented(body)
                    if otherwise:
                        yield "    else:"
                        yield from self._indented(otherwise)
                case nodes.For(target=target, iter=source, test=test, body=body, else_=[], recursive=False):
                    found = self._value(source)
                    names = (
                        [target.name]
                        if isinstance(target, nodes.Name)
                        else [n.name for n in target.find_all(nodes.Name)]
                    )
                    self._local.update(names)
                    yield f"    for {', '.join(names)} in {found}:"
                    inner = self._indented(body)
                    if test is None:
                        yield from inner
                    else:
                        yield f"        if {self._value(test)}:"
                        yield from (f"    {line}" for line in inner)
                    self._local.difference_update(names)
                case _:
                    raise NotImplementedError(f"{self.function}: {statement}")

    def _indented(self, statements: list[Node]) -> Iterator[str]:
        return (f"    {line}" for line in self._body(statements))

    def _packed(self, pieces: Sequence[Node]) -> list[str]:
        """The pieces as the insides of f-strings, as many in each as a line has room for."""
        lines = [""]
        for node in pieces:
            piece = self._piece(node)
            lines = [*lines, piece] if len(lines[-1]) + len(piece) > _ROOM else [*lines[:-1], lines[-1] + piece]
        return [line for line in lines if line]

    def _piece(self, node: Node) -> str:
        if not isinstance(node, nodes.TemplateData):
            return "{" + self._value(node).replace('"', "'") + "}"
        start = self.source.index(node.data, self._cursor)
        self._cursor = start + len(node.data)
        return f"{{text[{start}:{self._cursor}]}}"

    def _value(self, node: Node) -> str:
        value = self._value
        match node:
            case nodes.Name(name=name):
                return str(name) if name in self._local else f'values["{name}"]'
            case nodes.Const(value=constant):
                return f'"{constant}"' if isinstance(constant, str) else repr(constant)
            case nodes.Compare(expr=left, ops=[nodes.Operand(op="eq", expr=right)]):
                return f"{value(left)} == {value(right)}"
            case nodes.CondExpr(test=test, expr1=then, expr2=otherwise) if otherwise is not None:
                return f"{value(then)} if {value(test)} else {value(otherwise)}"
            case nodes.Call(node=nodes.Getattr(node=table, attr="items" | "values" as method), args=[], kwargs=[]):
                return f"{value(table)}.{method}()"
            case nodes.Filter(node=nodes.Expr() as inner, name="select", args=[], kwargs=[]):
                return f"filter(None, {value(inner)})"
            case nodes.Filter(node=nodes.Expr() as inner, name="list", args=[], kwargs=[]):
                return f"list({value(inner)})"
            case nodes.Test(node=inner, name="string"):
                return f"isinstance({value(inner)}, str)"
        raise NotImplementedError(f"{self.function}: {node}")


def compiled() -> str:
    """The text of the module."""
    templates = [Template(path) for path in sorted(shipped_folder().rglob("*.md"))]
    functions = ["\n".join(["", "", *template.lines(), ""]) for template in templates]
    rows = [f'    "{it.name}": (0x{it.checksum:08X}, {it.function}),' for it in templates]
    return HEAD + "".join(functions) + "\n" + TAIL.format(rows="\n".join(rows))


if __name__ == "__main__":
    TARGET.write_text(compiled(), "utf-8")
