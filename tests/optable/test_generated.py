"""encoding.py is what the generator makes of the installed cuda-tile, and the generator refuses what it
does not know.
"""

from __future__ import annotations

import pytest

from cutile_sim.optable import generate


@pytest.mark.cutile
def test_encoding_is_up_to_date():
    pytest.importorskip("cuda.tile")
    assert generate.render(generate.encoder_path().read_text()) == generate.TARGET.read_text()
    assert generate.main(["--check"]) == 0


@pytest.mark.cutile
def test_check_finds_a_difference(monkeypatch, tmp_path, capsys):
    pytest.importorskip("cuda.tile")
    monkeypatch.setattr(generate, "TARGET", tmp_path / "encoding.py")
    assert generate.main(["--check"]) == 1
    assert "python -m cutile_sim.optable.generate" in capsys.readouterr().err
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("lowerBound", "lower_bound"),
        ("blockId_x", "block_id_x"),
        ("str", "format"),
        ("global_", "is_global"),
        ("from_", "source"),
    ],
)
def test_plain_name(name, plain):
    assert generate.plain_name(name) == plain


def _encoder(*lines: str) -> str:
    return "def encode_NewOp(code_builder, a):  # since 13.9\n" + "".join(f"    {line}\n" for line in lines)


def test_since_is_read_from_the_source_line():
    rows, _ = generate.read_encoder(_encoder("encode_varint(7, _buf)"))
    assert (rows[0].class_name, rows[0].opcode, rows[0].since) == ("NewOp", 7, (13, 9))


@pytest.mark.parametrize(
    "lines",
    [
        ("encode_varint(7, _buf)", "encode_something_new(a, _buf)"),
        ("encode_varint(7, _buf)", "encode_varint((a is not None) | ((b is not None) << 2), _buf)"),
        ("encode_operand(a, _buf)",),
        ("encode_varint(7, _buf)", "if a > 3:", "    encode_operand(a, _buf)"),
    ],
    ids=["statement", "flag order", "no opcode", "condition"],
)
def test_unknown_form_is_refused(lines):
    with pytest.raises(generate.UnknownForm):
        generate.read_encoder(_encoder(*lines))
