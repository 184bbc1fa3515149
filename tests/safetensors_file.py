"""Reads and writes safetensors files for tests, by the format's description alone. Importers put this folder on their path."""
import json
import struct

import numpy

KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1", "I8": "i1", "BOOL": "u1"}


def write(path, arrays, metadata=None):
    """Arrays by name."""
    kinds = {numpy.dtype(text): kind for kind, text in KINDS.items()}
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": kinds[array.dtype], "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """The arrays by name, and the metadata; None if there is none."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        arrays[name] = numpy.frombuffer(data[begin:end], KINDS[entry["dtype"]]).reshape(entry["shape"])
    return arrays, metadata


def read_bytes(path):
    """The same with each array's bytes: what equals another file's bit for bit."""
    arrays, metadata = read(path)
    return {name: array.tobytes() for name, array in arrays.items()}, metadata
