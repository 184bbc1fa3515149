#!/usr/bin/env python3
"""Writes expected_dtypes.npz: for each element type that NumPy has, operands and what NumPy makes of them. Run with Debian's python3-numpy;
dtypes_test.cc reads the file.

Names: "TYPE.x", "TYPE.y" (operands), "TYPE.CASE" (results); "cast.FROM.TO". Results have the type that NDArray's have, which is NumPy's but for
sums and products of u8: there is no unsigned type of 64 bits, so they count in i64.
"""
import pathlib

import numpy as np

np.seterr(all="ignore")
out = {}
TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i32": "i4", "i64": "i8"}
FLOATS = ("f16", "f32", "f64")


def operands(name):
    t = np.dtype(TYPES[name])
    if name in FLOATS:
        x = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.49, -0.49, 7.25, -7.75, 1023.5, -6.1, np.inf, -np.inf, np.nan]
        y = [3.0, -3.0, 0.75, 2.0, -0.5, 2.25, -1.25, 0.0, -0.0, 1.0, 5.0, np.inf, -np.inf, -0.3, 1e-3, 2.0, 2.0, 1.0]
        return np.array(x, t), np.array(y, t)
    low, high = np.iinfo(t).min, np.iinfo(t).max
    x = [low, low + 1, 0, 1, 2, 3, 7, 100, high - 1, high, 5, 6, low, high, 9, 64]
    y = [1, 2, 3, 0, 2, 5, 3, 7, high, 2, 0, high, high, low, 4, 3]
    if low < 0:
        x += [-1, -2, -7, -8, low, 7, -7]
        y += [2, -3, 3, -3, -1, -3, -2]
    return np.array(x).astype(t), np.array(y).astype(t)


for name in TYPES:
    t = np.dtype(TYPES[name])
    x, y = operands(name)
    record = lambda case, value: out.__setitem__(f"{name}.{case}", np.asarray(value))
    record("x", x), record("y", y)
    record("add", x + y), record("sub", x - y), record("mul", x * y)
    record("maximum", np.maximum(x, y)), record("minimum", np.minimum(x, y))
    record("neg", np.negative(x)), record("abs", np.abs(x)), record("square", np.square(x)), record("sign", np.sign(x))
    record("floor", np.floor(x).astype(t) if name in FLOATS else x), record("ceil", np.ceil(x).astype(t) if name in FLOATS else x)
    record("round", np.round(x))
    record("modulo", np.remainder(x, y)), record("modulo_number", np.remainder(x, t.type(3)))
    record("less", x < y), record("equal", x == y), record("greater_equal", x >= y)
    record("where", np.where(x < y, x, y)), record("clip", np.clip(x, t.type(1), t.type(5)))
    record("sort", np.sort(x, kind="stable")), record("argsort", np.argsort(x, kind="stable"))
    record("argmax", np.argmax(x)), record("argmin", np.argmin(x)), record("max", np.max(x)), record("min", np.min(x))
    record("table", np.add.outer(x[:4], y[:5])), record("take", x[[3, -1, 0]]), record("concat", np.concatenate([x, y]))
    if name in FLOATS:
        record("div", x / y), record("power", np.power(np.abs(x[:15]), y[:15]))
        finite = x[np.isfinite(x)]
        record("finite", finite), record("sum", np.sum(finite.astype("f8"))), record("mean", np.mean(finite.astype("f8")))
    else:
        exponents = (np.arange(len(x)) % 10).astype(t)
        record("exponents", exponents), record("power", np.power(x, exponents)), record("cube", np.power(x, 3))
        record("sum", np.sum(x, dtype="i8")), record("prod", np.prod(x[3:7], dtype="i8")), record("mean", np.mean(x))
        record("matmul", (x[:12].reshape(3, 4) @ y[:12].reshape(4, 3)).astype(t))
    for to in list(TYPES) + ["bool"]:
        # Floats that an integer does not hold become an unspecified one.
        fits = x if name not in FLOATS or to in FLOATS + ("bool",) else x[np.isfinite(x) & (x >= 0) & (x < 100)]
        out[f"cast.{name}.{to}"] = fits.astype(TYPES.get(to, "?"))

flags = np.array([[True, False, True], [True, True, True]])
out["bool.x"] = flags
out["bool.sum"], out["bool.sum.0"], out["bool.mean"], out["bool.mean.1"] = flags.sum(), flags.sum(0), flags.mean(), flags.mean(1)
out["bytes"] = np.arange(512, dtype="u1")
out["bytes.mean"] = out["bytes"].mean()
out["large"] = np.full(3, 2**62, "i8")
out["large.mean"] = out["large"].mean()
out["ends.low"], out["ends.high"] = np.arange(-(2**63), -(2**63) + 3), np.arange(2**63 - 4, 2**63 - 1)
out["ends.steps"] = np.array([-(2**63), -1, 2**63 - 2])

np.savez_compressed(pathlib.Path(__file__).with_name("expected_dtypes.npz"), **out)
