"""The Python source of kernels: functions and their statements, by line."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

FunctionNode = ast.FunctionDef | ast.Lambda
Point = tuple[int, int]
"""A line, from 1, and a column in UTF-8 bytes, from 1."""


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement of a function; of a compound one its header alone.

    Attributes:
        node: What the parser made of it; the body's expression in a lambda; None where the source cannot be read.
        line, end_line: Its first and last line, of a compound statement those of its header.
        loops: The loops around it, outermost first.
    """

    node: ast.stmt | ast.expr | None
    line: int
    end_line: int
    end: Point
    loops: tuple[ast.For | ast.While, ...] = ()


class FunctionSource:
    """One function's statements, in the order of the source."""

    def __init__(self, node: FunctionNode) -> None:
        self.node = node
        body: list[ast.stmt] | list[ast.expr] = node.body if isinstance(node, ast.FunctionDef) else [node.body]
        self.statements = list(_statements(body, ()))
        self.numbers = {statement: number for number, statement in enumerate(self.statements)}
        self.by_node: dict[ast.AST, Statement] = {s.node: s for s in self.statements if s.node is not None}

    @property
    def parameters(self) -> list[str]:
        """The names of all its parameters."""
        given = self.node.args
        extra = [a.arg for a in (given.vararg, given.kwarg) if a is not None]
        return [*(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)), *extra]

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"

    def statement_at(self, line: int, column: int) -> Statement | None:
        """The statement that holds a place; None outside of all, such as in the line of `def`."""
        point = (line, column or 1)
        found = None
        for statement in self.statements:
            assert statement.node is not None
            if start_of(statement.node) <= point < statement.end:
                found = statement
        return found


def start_of(node: ast.stmt | ast.expr) -> Point:
    """Where a node begins."""
    return node.lineno, node.col_offset + 1


def _end_of(node: ast.AST) -> Point:
    return getattr(node, "end_lineno", 0) or 0, (getattr(node, "end_col_offset", 0) or 0) + 1


def _statements(body: list[ast.stmt] | list[ast.expr], loops: tuple[ast.For | ast.While, ...]) -> Iterator[Statement]:
    for node in body:
        inner = [part for name in ("body", "orelse", "finalbody") for part in [getattr(node, name, None)] if part]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield Statement(node, node.lineno, node.lineno, (node.lineno + 1, 1), loops)
            continue
        if isinstance(node, ast.expr) or not inner:
            yield Statement(node, node.lineno, node.end_lineno or node.lineno, _end_of(node), loops)
            continue
        end = start_of(inner[0][0])
        last = max(node.lineno, end[0] - 1) if end[0] > node.lineno else node.lineno
        yield Statement(node, node.lineno, last, end, loops)
        within = (*loops, node) if isinstance(node, (ast.For, ast.While)) else loops
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, name, None) or [], within if name == "body" else loops)


@lru_cache(maxsize=64)
def _functions(text: str) -> tuple[FunctionSource, ...]:
    """All functions of a file."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(FunctionSource(n) for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda)))


def find_function(file: str, name: str, line: int) -> FunctionSource | None:
    """The innermost function of that name that holds a line; None where the source cannot be read or has none."""
    text = "".join(linecache.getlines(file))
    found = [
        f for f in _functions(text) if f.name == name and f.node.lineno <= line <= (f.node.end_lineno or f.node.lineno)
    ]
    return min(found, key=lambda f: (f.node.end_lineno or 0) - f.node.lineno, default=None)


def names_assigned(body: list[ast.stmt]) -> list[str]:
    """The variables that statements assign, nested functions left out, in the order of the source."""
    found: dict[str, None] = {}
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = None
            continue
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        pending.extend(reversed(list(ast.iter_child_nodes(node))))
    return list(found)
