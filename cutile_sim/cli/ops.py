"""`cutile-sim ops`: every operation of Tile IR, and whether it runs here."""

from __future__ import annotations

import click

from cutile_sim.cli.output import json_option, nearest, print_json
from cutile_sim.errors import UsageError
from cutile_sim.optable import OPS
from cutile_sim.optable.page import FAMILIES, exactness, status


@click.command()
@click.option("--family", metavar="FAMILY", help="Only the operations of one family, such as integer or views.")
@json_option
def ops(family: str | None, as_json: bool) -> None:
    """List every operation of Tile IR.

    Columns: name, family, first bytecode version, exactness, status.
    Exactness: E the bits of a GPU, U within so many units in the last place, R within what the order of a sum explains.

    \b
    Example:
      cutile-sim ops --family math
    """
    if family is not None and family not in FAMILIES:
        possible = ", ".join(FAMILIES)
        raise UsageError(f"there is no family {family!r}{nearest(family, FAMILIES)}; possible are {possible}")
    rows = sorted(
        (spec for spec in OPS.values() if family in (None, spec.meaning.family)),
        key=lambda spec: (FAMILIES.index(spec.meaning.family), spec.mnemonic),
    )
    if as_json:
        print_json(
            {
                "operations": [
                    {
                        "name": spec.mnemonic,
                        "family": spec.meaning.family,
                        "since": f"{spec.encoding.since[0]}.{spec.encoding.since[1]}",
                        "exactness": spec.meaning.exactness,
                        "ulps": spec.meaning.ulps,
                        "status": status(spec),
                        "summary": spec.meaning.summary,
                    }
                    for spec in rows
                ]
            }
        )
        return
    for spec in rows:
        since = f"{spec.encoding.since[0]}.{spec.encoding.since[1]}"
        click.echo(f"{spec.mnemonic:<30}  {spec.meaning.family:<11}  {since:<4}  {exactness(spec):<3}  {status(spec)}")
    click.echo(f"{len(rows)} operations")
