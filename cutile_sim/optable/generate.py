"""Developer tool: writes encoding.py from the encoder of the installed cuda-tile.

    python -m cutile_sim.optable.generate            rewrite encoding.py
    python -m cutile_sim.optable.generate --check    only say whether it is up to date

Each `encode_<Op>` function of cuda-tile is one straight list of statements. Every statement must fit one of
the few forms known here: one that does not is an error, never a guess. The syntax tree is read, nothing of
it is run. When a cuda-tile release brings a new operation, run this, then add the operation's line to
meaning.py.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

TARGET = Path(__file__).with_name("encoding.py")

# Names that are camelCase follow one rule; these clash with Python, or differ between operations that mean
# the same.
RENAMES = {"str": "format", "global_": "is_global", "from_": "source"}
RESULT_SUFFIX = re.compile(r"_types?$")


def plain_name(name: str) -> str:
    """The name in snake_case: `lowerBound` is `lower_bound`, `blockId_x` is `block_id_x`."""
    return RENAMES.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def result_name(parameter: str) -> str:
    stem = RESULT_SUFFIX.sub("", parameter)
    if parameter.endswith("_types"):
        return "results"
    return "result" if stem == "to" else plain_name(stem)


class UnknownForm(Exception):
    """A statement of the encoder that no form fits: the generator must be taught."""


@dataclass
class Row:
    """What was read of one operation; names are still the encoder's own."""

    class_name: str
    since: tuple[int, int]
    preview: bool
    parameters: tuple[str, ...]
    opcode: int | None = None
    results: list[str] = field(default_factory=list)
    results_counted: bool = False
    results_since: tuple[int, int] | None = None
    flags: list[str] = field(default_factory=list)
    flags_since: tuple[int, int] | None = None
    attributes: list[dict[str, object]] = field(default_factory=list)
    operands: list[tuple[str, str]] = field(default_factory=list)
    total_count: bool = False
    regions: int = 0


def encoder_path() -> Path:
    """Where the installed cuda-tile keeps its encoder. Raises ModuleNotFoundError where it is not
    installed.
    """
    package = find_spec("cuda.tile")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("cuda.tile is not installed: pip install cuda-tile")
    return Path(package.origin).with_name("_bytecode") / "encodings.py"


def version_test(test: ast.expr) -> tuple[int, int] | None:
    found = re.fullmatch(r"code_builder\.version >= BytecodeVersion\.V_(\d+)_(\d+)", ast.unparse(test))
    return (int(found[1]), int(found[2])) if found else None


def flag_names(expression: ast.expr) -> list[str] | None:
    """Names of the bits of a flag word, lowest first, or None where the expression is no flag word."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
        left, right = flag_names(expression.left), flag_names(expression.right)
        if left is None or right is None:
            return None
        return left + right
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.LShift):
        # The place of each bit is its place in the list; `read_flags` checks that the shifts agree.
        return flag_names(expression.left)
    found = re.fullmatch(r"bool\((\w+)\)|\(?(\w+) is not None\)?", ast.unparse(expression))
    return [found[1] or found[2]] if found else None


def read_flags(expression: ast.expr) -> list[str] | None:
    names = flag_names(expression)
    shifts = sorted(int(shift) for shift in re.findall(r"<< (\d+)", ast.unparse(expression)))
    if names is not None and shifts != list(range(1, len(names))):
        raise UnknownForm(f"flag bits out of order: {ast.unparse(expression)}")
    return names


def read_attribute(text: str) -> dict[str, object] | None:
    found = re.fullmatch(r"code_builder\.encode_opattr_(\w+)\((?:(\w+), )?(\w+)\)", text)
    if not found:
        return None
    kind, class_name, name = found[1], found[2], found[3]
    enum_name = class_name if kind == "enum" else None
    return {"name": name, "kind": kind, "enum": enum_name, "flag": None, "since": None, "default": None}


def read_default(attribute: dict[str, object], orelse: list[ast.stmt]) -> str:
    """The value that an attribute has in files too old to hold it, as source text."""
    text = "\n".join(ast.unparse(s) for s in orelse)
    name = attribute["name"]
    if found := re.fullmatch(rf"assert {name} == (\w+)\.(\w+)", text):
        return f"{found[1]}.{member_name(found[2])}"
    if re.match(rf"if any\({name}\):\n    raise ValueError", text):
        return "()"
    raise UnknownForm(f"default of {name}: {text}")


def member_name(name: str) -> str:
    return name if name.isupper() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


OPERAND_FORMS = {
    "encode_operand": "one",
    "encode_optional_operand": "optional",
    "encode_sized_variadic_operands": "counted",
    "encode_unsized_variadic_operands": "rest",
}


class Reader:
    """Reads one encoder function, statement by statement, into a Row."""

    def __init__(self, function: ast.FunctionDef, def_line: str) -> None:
        since = re.search(r"# since (\d+)\.(\d+)", def_line)
        self.row = Row(
            class_name=function.name.removeprefix("encode_"),
            since=(int(since[1]), int(since[2])) if since else (13, 1),
            preview="# preview" in def_line,
            parameters=tuple(a.arg for a in function.args.args),
        )
        self.pending_flags: list[str] | None = None
        for statement in function.body:
            if not self.statement(statement):
                raise UnknownForm(f"{function.name}: {ast.unparse(statement)}")
        if self.row.opcode is None:
            raise UnknownForm(f"{function.name} writes no opcode")

    def statement(self, statement: ast.stmt) -> bool:
        text = ast.unparse(statement)
        if isinstance(statement, ast.If):
            return self.conditional(statement)
        if isinstance(statement, ast.Assign) and text.startswith("_flag_bits = "):
            self.pending_flags = read_flags(statement.value)
            return self.pending_flags is not None
        if isinstance(statement, ast.Return):
            if found := re.search(r"new_op_with_nested_blocks\(.*, (\d)\)", text):
                self.row.regions = int(found[1])
            return True
        if re.match(
            r"_buf = code_builder\.buf$|assert _flag_bits|result_types = \[\]$|results = code_builder\.new_op",
            text,
        ):
            return True
        return self.write(text)

    def conditional(self, statement: ast.If) -> bool:
        since = version_test(statement.test)
        body = [ast.unparse(s) for s in statement.body]
        if since is not None and body == ["encode_varint(_flag_bits, _buf)"]:
            self.row.flags, self.row.flags_since = self.pending_flags or [], since
            return True
        if since is not None and len(body) == 1 and (attribute := read_attribute(body[0])):
            attribute |= {"since": since, "default": read_default(attribute, statement.orelse)}
            self.row.attributes.append(attribute)
            return True
        if since is not None and (found := re.search(r"result_types\.append\((\w+)\)", "\n".join(body))):
            self.row.results.append(found[1])
            self.row.results_since = since
            return True
        present = re.fullmatch(r"(\w+) is not None", ast.unparse(statement.test))
        if present and len(body) == 1 and not statement.orelse and (attribute := read_attribute(body[0])):
            self.row.attributes.append(attribute | {"flag": present[1]})
            return True
        return False

    def write(self, text: str) -> bool:
        row = self.row
        if row.opcode is None and (found := re.fullmatch(r"encode_varint\((\d+), _buf\)", text)):
            row.opcode = int(found[1])
        elif found := re.fullmatch(r"encode_typeid\((\w+), _buf\)", text):
            row.results.append(found[1])
        elif found := re.fullmatch(r"encode_sized_typeid_seq\((.*), _buf\)", text):
            row.results_counted = True
            if row.results_since is None:
                row.results = re.findall(r"\w+", found[1])
        elif text == "encode_varint(_flag_bits, _buf)":
            row.flags = self.pending_flags or []
        elif attribute := read_attribute(text):
            row.attributes.append(attribute)
        elif (found := re.fullmatch(r"(encode_\w*operands?)\((\w+), _buf\)", text)) and found[1] in OPERAND_FORMS:
            row.operands.append((OPERAND_FORMS[found[1]], found[2]))
        elif re.fullmatch(r"encode_varint\((?:\d+ \+ )?len\(\w+\), _buf\)", text) or re.fullmatch(
            r"encode_varint\(int\(\w+ is not None\), _buf\)", text
        ):
            row.total_count = True
        else:
            found = re.fullmatch(r"encode_varint\((.*), _buf\)", text)
            flags = read_flags(ast.parse(found[1], mode="eval").body) if found else None
            if flags is None:
                return False
            row.flags = flags
        return True


def read_encoder(source: str) -> tuple[list[Row], dict[str, list[tuple[str, int]]]]:
    """Rows of all operations, and all enumerations, of cuda-tile's encoder."""
    lines = source.splitlines()
    rows: list[Row] = []
    enums: dict[str, list[tuple[str, int]]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("encode_"):
            rows.append(Reader(node, lines[node.lineno - 1]).row)
        elif isinstance(node, ast.ClassDef):
            members = [(s.targets[0].id, s.value.value) for s in node.body
                       if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
                       and isinstance(s.value, ast.Constant) and isinstance(s.value.value, bytes)]  # fmt: skip
            enums[node.name] = [(member_name(name), int.from_bytes(raw, "little")) for name, raw in members]
    return rows, enums


def render_row(row: Row) -> Iterator[str]:
    """The row as source text of an `Encoding`, without what is a default of its parts."""
    attributes = []
    for a in row.attributes:
        parts = [repr(plain_name(str(a["name"]))), repr(a["kind"])]
        parts += [f"{key}={a[key]!r}" for key in ("enum", "since") if a[key] is not None]
        if a["flag"] is not None:
            parts.append(f"flag={plain_name(str(a['flag']))!r}")
        if a["default"] is not None:
            parts.append(f"default={a['default']}")
        attributes.append(f"AttributeSpec({', '.join(parts)})")
    operands = []
    for kind, name in row.operands:
        parts = [repr(plain_name(name))] + ([repr(kind)] if kind != "one" else [])
        if kind == "optional" and name in row.flags:
            parts.append(f"flag={plain_name(name)!r}")
        operands.append(f"OperandSpec({', '.join(parts)})")
    variadic = any(name.endswith("_types") for name in row.results)
    yield f"    Encoding({row.class_name!r}, {row.opcode:#04x}, since={row.since},"
    yield (f"        results={tuple(map(result_name, row.results))!r}, results_counted={row.results_counted},"
           f" results_variadic={variadic}, results_since={row.results_since},")  # fmt: skip
    yield f"        flags={tuple(map(plain_name, row.flags))!r}, flags_since={row.flags_since},"
    yield f"        attributes=({''.join(a + ', ' for a in attributes)}),"
    yield f"        operands=({''.join(o + ', ' for o in operands)}),"
    yield f"        total_count={row.total_count}, regions={row.regions}, preview={row.preview}),"


def render(source: str) -> str:
    """The whole text of encoding.py for the text of cuda-tile's encoder."""
    rows, enums = read_encoder(source)
    used = sorted({str(a["enum"]) for row in rows for a in row.attributes if a["enum"]})
    out = [
        '"""GENERATED by `python -m cutile_sim.optable.generate` from the encoder of cuda-tile. Never edit by hand."""',
        "",
        "from enum import Enum",
        "",
        "from cutile_sim.optable.spec import AttributeSpec, Encoding, OperandSpec",
        "",
    ]
    for name in used:
        out += ["", f"class {name}(Enum):", *(f"    {m} = {value}" for m, value in enums[name]), ""]
    out += ["", "ENUMS: dict[str, type[Enum]] = {", *(f"    {name!r}: {name}," for name in used), "}", ""]
    out += ["_ROWS = ("]
    for row in rows:
        out += render_row(row)
    out += [")", "", "ENCODINGS: dict[str, Encoding] = {row.class_name: row for row in _ROWS}", ""]
    return "\n".join(out)


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when encoding.py is (now) up to date, 1 when --check finds that it is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where encoding.py is out of date")
    options = parser.parse_args(arguments)
    text = render(encoder_path().read_text())
    if not options.check:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print(f"{TARGET.name} is out of date: run python -m cutile_sim.optable.generate", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
