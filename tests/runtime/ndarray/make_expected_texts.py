#!/usr/bin/env python3
"""Writes expected_texts.npz: rows of numbers that are hard to print, and what NumPy prints. Run with Debian's python3-numpy; the tests read the file.

Of each type T: "values.T", rows of three; "rows.T", the text of each row as an array, a line each, as bytes; "scalars.T", of its first number alone.
"""
import pathlib

import numpy as np

random = np.random.default_rng(7)


def powers_of_two(low, high):
    return np.ldexp(1.0, random.integers(low, high, (30, 3)))


def any_bits(unsigned, floats):
    finite = random.integers(0, np.iinfo(unsigned).max, (60, 3), dtype=unsigned).view(floats)
    return np.where(np.isfinite(finite), finite, 0)


hard = {
    # Numbers below and above 2048 and 2^24, from which on not every integer is one; ties; neighbours at unequal distances.
    "f2": [any_bits("u2", "f2"), powers_of_two(-24, 16), random.integers(2**11, 65504, (60, 3)), [[0.015625, 0.015625, 0.015625], [0.015625, 1, 0]]],
    "f4": [any_bits("u4", "f4"), powers_of_two(-149, 128), random.integers(2**24, 99999999, (60, 3)), random.integers(0, 2**24, (20, 3)) / 1024,
           [[99087152, 99087152, 99087152], [61962808, 1, 0], [16777217, 16777217, 16777217], [9.9999999e7, 3, 1]]],
    "f8": [any_bits("u8", "f8"), powers_of_two(-1074, 1024), random.integers(2**53, 2**62, (20, 3)), random.integers(0, 10**8, (30, 3)) / 3,
           [[5e-324, 5e-324, 5e-324], [1.5, 1.50000000123, 1.5], [0.123456785, 0.123456775, 0.5]]],
}
out = {}
for name, blocks in hard.items():
    values = np.concatenate([np.asarray(block).astype(name) for block in blocks])
    out["values." + name] = values
    for label, texts in [("rows.", [str(row) for row in values]), ("scalars.", [str(row[0]) for row in values])]:
        out[label + name] = np.frombuffer("\n".join(texts).encode(), "u1")
np.savez_compressed(pathlib.Path(__file__).with_name("expected_texts.npz"), **out)
