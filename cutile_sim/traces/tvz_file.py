"""Writes the archive of TileLens (`.tvz`): a JSON manifest of nested objects beside the arrays that it names.

The zip holds `manifest.json` and `tensors.npz`, a zip of its own. In the manifest a number, a text or a list is itself;
anything else is an object with a `kind`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, Any

import numpy as np

FORMAT = "tilelens_trace"
VERSION = 1


def instance(name: str, **fields: Any) -> dict[str, Any]:
    """An object of one of the classes of TileLens's module `core.data`, or, with a module, of that one."""
    module, _, name = name.rpartition(":")
    return {"kind": "dataclass", "type": f"tilelens.{module or 'core.data'}:{name}", "fields": fields}


def tuple_of(items: Iterable[Any]) -> dict[str, Any]:
    """A tuple."""
    return {"kind": "tuple", "items": list(items)}


def dict_of(items: dict[str, Any]) -> dict[str, Any]:
    """A dict."""
    return {"kind": "dict", "items": [{"key": key, "value": value} for key, value in items.items()]}


class TvzFile:
    """One archive, to be written in a `with` block. Arrays go in as they come, each content once; the manifest last."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream, "w")
        self._member = self._zip.open("tensors.npz", "w", force_zip64=True)
        self._npz = zipfile.ZipFile(self._member, "w", zipfile.ZIP_DEFLATED)
        self._keys: dict[bytes, str] = {}

    def __enter__(self) -> TvzFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self._npz.close()
        self._member.close()
        self._zip.close()

    def _key(self, array: np.ndarray) -> str:
        array = np.ascontiguousarray(array)
        digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
        key = self._keys.get(digest.digest())
        if key is None:
            key = self._keys[digest.digest()] = f"arr_{len(self._keys)}"
            with self._npz.open(f"{key}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
        return key

    def array(self, array: np.ndarray) -> dict[str, Any]:
        """A NumPy array."""
        return {"kind": "array", "key": self._key(array)}

    def tensor(self, array: np.ndarray) -> dict[str, Any]:
        """A torch tensor of an array's values."""
        return {"kind": "tensor", "dtype": f"torch.{array.dtype.name}", "key": self._key(array)}

    def finish(self, launches: Sequence[tuple[dict[str, Any], Iterable[dict[str, Any]]]]) -> None:
        """Write the manifest: of each launch the fields of `Launch` without `records`, and these."""
        self._npz.close()
        self._member.close()
        with self._zip.open("manifest.json", "w", force_zip64=True) as stream:
            stream.write(f'{{"format": "{FORMAT}", "version": {VERSION}, "launches": ['.encode())
            for number, (fields, records) in enumerate(launches):
                head = json.dumps(instance("Launch", **fields, records=[]))
                assert head.endswith("[]}}")
                stream.write((", " if number else "").encode() + head[:-3].encode())
                for n, record in enumerate(records):
                    stream.write((", " if n else "").encode() + json.dumps(record).encode())
                stream.write(b"]}}")
            stream.write(b"]}")
