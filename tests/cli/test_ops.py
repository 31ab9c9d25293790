from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

from cutile_sim.optable import OPS
from cutile_sim.optable.page import FAMILIES

Program = Callable[..., Result]


def test_every_operation_has_its_line(program: Program) -> None:
    result = program("ops")
    assert result.exit_code == 0
    *lines, last = result.output.splitlines()
    rows = [line.split(None, 4) for line in lines]
    assert sorted(row[0] for row in rows) == sorted(OPS) and last == f"{len(OPS)} operations"
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["addf"] == ["floating", "13.1", "E", "evaluated"]
    assert by_name["exp"] == ["math", "13.1", "U2", "evaluated"]
    assert by_name["for"] == ["control", "13.1", "E", "evaluated"]
    assert by_name["module"][2:] == ["-", "structural"]
    assert by_name["multimem_store_view_tko"][3].startswith("unsupported: it needs memory shared by several GPUs")


def test_only_what_several_gpus_or_foreign_code_need_is_unsupported(program: Program) -> None:
    operations = json.loads(program("ops", "--json").stdout)["operations"]
    refused = {o["name"] for o in operations if o["status"] not in ("evaluated", "structural")}
    assert refused == {
        "multimem_load_reduce_view_tko", "multimem_reduce_view_tko", "multimem_store_view_tko", "preview_call",
    }  # fmt: skip


def test_family(program: Program) -> None:
    result = program("ops", "--family", "views")
    assert {line.split()[1] for line in result.output.splitlines()[:-1]} == {"views"}
    for family in FAMILIES:
        assert program("ops", "--family", family).exit_code == 0


def test_unknown_family(program: Program) -> None:
    result = program("ops", "--family", "view")
    assert result.exit_code == 2 and "no family 'view'; did you mean views?" in result.output
