"""Small changes that should make a test fail: how they are found in a source, and what they make of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BOUNDARIES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_OPAQUE = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign)
"""Python 3.11 does not know where the parts of an f-string are; of an annotated assignment only the value counts."""


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a source are replaced by `after`."""

    module: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {_short(self.before)} -> {_short(self.after)}"


def mutants(module: str, source: str) -> list[Mutant]:
    """Every change that we know of in this source, in the order of its lines."""
    offsets = [0]
    for text in source.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(text))
    found = []
    for node, after in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = offsets[node.lineno - 1] + node.col_offset, offsets[node.end_lineno - 1] + node.end_col_offset
        found.append(Mutant(module, node.lineno, start, end, source.encode()[start:end].decode(), after))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.after))


def _changes(node: ast.AST) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Each node that can be changed, with the text that takes its place."""
    for child in _children(node):
        if isinstance(child, ast.stmt):
            yield from ((child, text) for text in _statements(child))
        elif isinstance(child, ast.expr) and not _is_covered(node, child):
            yield from ((child, f"({ast.unparse(changed)})") for changed in _expressions(child))
        yield from _changes(child)


def _is_covered(parent: ast.AST, node: ast.expr) -> bool:
    """The opposite of a condition tells nothing more where the condition as a whole is left out."""
    if not (isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.IfExp) and node is parent.test)):
        return False
    if isinstance(node, ast.Compare):
        return not isinstance(node.ops[0], _BOUNDARIES)
    return isinstance(node, ast.UnaryOp)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AnnAssign):
        yield from [node.value] if node.value is not None else []
        return
    if isinstance(node, ast.FunctionDef):
        yield from [value for value in (*node.args.defaults, *node.args.kw_defaults) if value is not None]
        yield from node.body
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.AnnAssign) or not isinstance(child, _OPAQUE):
            yield child


def _statements(node: ast.stmt) -> Iterator[str]:
    """A statement that is left out; a result that is not returned."""
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Break | ast.Continue) and not is_docstring:
        yield "pass"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        yield "pass"
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return None"


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                operators = [*node.ops[:place], COMPARISONS[type(operator)](), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, operators, node.comparators)
        case ast.BoolOp():
            for place in range(len(node.values)):
                rest = node.values[:place] + node.values[place + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Call():
            yield from _calls(node)
        case ast.Set() | ast.Tuple(ctx=ast.Load()) if len(node.elts) > 1:
            for place in range(len(node.elts)):
                rest = node.elts[:place] + node.elts[place + 1 :]
                yield ast.Set(rest) if isinstance(node, ast.Set) else ast.Tuple(rest, ast.Load())


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    """The opposite function, or a keyword that was forgotten."""
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        yield ast.Call(ast.Name(OPPOSITES[node.func.id], ast.Load()), node.args, node.keywords)
    for place, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield ast.Call(node.func, node.args, node.keywords[:place] + node.keywords[place + 1 :])


def _short(text: str) -> str:
    return " ".join(text.split())
