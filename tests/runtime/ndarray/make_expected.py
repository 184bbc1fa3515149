#!/usr/bin/env python3
"""Writes expected.npz: operands, and what NumPy makes of them. Run with Debian's python3-numpy; the tests read the file.

Names: operands "a", "b", ...; results "CASE". Texts are arrays of bytes, "text.CASE", beside their operands "shown.CASE".
"""
import pathlib

import numpy as np

random = np.random.default_rng(2024)
out = {}


def normal(*shape, dtype="f4"):
    return random.normal(size=shape).astype(dtype)


a, b, row, column = normal(3, 4), normal(3, 4), normal(4), normal(3, 1)
big = normal(5, 6, 7)
whole, other = random.integers(-9, 9, (3, 4)).astype("i4"), random.integers(1, 9, (3, 4)).astype("i4")
out.update(a=a, b=b, row=row, column=column, big=big, whole=whole, other=other)

# Arithmetic and broadcasting.
out["add"], out["sub"], out["mul"], out["div"] = a + b, a - b, a * b, a / b
out["add_row"], out["mul_column"], out["outer"] = a + row, a * column, column + row
out["number"], out["from_number"] = a * np.float32(1.5) + np.float32(2), np.float32(1) / (a * a + np.float32(1))
out["pow"] = np.power(np.abs(a), b)
out["maximum"], out["minimum"] = np.maximum(a, b), np.minimum(a, row)
out["whole_add"], out["whole_mul"] = whole + other, whole * other
out["f64"] = a.astype("f8") * b.astype("f8")
out["strided"] = big[::2, :, 1:6:2] - big.transpose(0, 1, 2)[1::2, :, 0:5:2][0]
out["transposed"] = a.T + b.T * np.float32(2)

# Functions.
positive = np.abs(a) + np.float32(0.1)
out["positive"] = positive
for name, function, operand in [("exp", np.exp, a), ("log", np.log, positive), ("log1p", np.log1p, positive), ("sqrt", np.sqrt, positive),
                                ("tanh", np.tanh, a), ("sin", np.sin, a), ("cos", np.cos, a), ("abs", np.abs, a), ("square", np.square, a), ("neg", np.negative, a)]:
    out[name] = function(operand)
out["sigmoid"] = 1 / (1 + np.exp(-a.astype("f8")))
out["relu"], out["clip"] = np.maximum(a, 0), np.clip(a, -0.5, 0.5)
out["leaky_relu"] = np.where(a > 0, a, a * np.float32(0.1))
out["elu"] = np.where(a > 0, a, np.exp(a) - 1)
out["where"] = np.where(a > b, a, b)
out["less"], out["equal"], out["greater_equal"] = a < b, whole == other, a >= row
out["and"], out["xor"], out["not"] = np.logical_and(a > 0, b > 0), np.logical_xor(a > 0, b > 0), np.logical_not(a > 0)
out["cast_i32"], out["cast_f16"], out["cast_bool"] = (a * 10).astype("i4"), a.astype("f2"), whole.astype(bool)

# Reductions.
for name, function in [("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min), ("prod", np.prod)]:
    for axes in [None, (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        label = "all" if axes is None else "".join(map(str, axes))
        out[f"{name}.{label}"] = np.asarray(function(big.astype("f8"), axis=axes))
    out[f"{name}.keep"] = function(big.astype("f8"), axis=1, keepdims=True)
out["norm.1"] = np.sqrt(np.sum(big.astype("f8") ** 2, axis=1))
out["norm.2"] = np.sqrt(np.sum(big.astype("f8") ** 2, axis=2))
out["whole_sum"] = np.sum(whole, axis=1)
out["f16_sum"] = np.sum(a.astype("f2").astype("f8"), axis=0)
out["all"], out["any"] = np.all(whole > -8, axis=1), np.any(whole > 5, axis=0)

# Along an axis.
for axis in range(3):
    e = np.exp(big.astype("f8") - np.max(big, axis=axis, keepdims=True))
    out[f"softmax.{axis}"] = e / np.sum(e, axis=axis, keepdims=True)
    out[f"log_softmax.{axis}"] = np.log(out[f"softmax.{axis}"])
    out[f"argmax.{axis}"], out[f"argmin.{axis}"] = np.argmax(big, axis=axis), np.argmin(big, axis=axis)
    out[f"sort.{axis}"], out[f"argsort.{axis}"] = np.sort(big, axis=axis), np.argsort(big, axis=axis, kind="stable")
out["argsort.whole"] = np.argsort(whole, axis=1, kind="stable")
out["topk"] = -np.sort(-big, axis=2)[:, :, :3]

# By index.
indices = np.array([[2, 0], [-1, 1]], "i8")
out["indices"] = indices
out["take.0"], out["take.1"], out["take.2"] = np.take(big, indices, 0), np.take(big, indices, 1), np.take(big, indices, 2)
along = random.integers(0, 6, (5, 2, 7)).astype("i4")
out["along"] = along
out["gather"] = np.take_along_axis(big, along.astype("i8"), 1)
scattered = big.copy()
unique = np.stack([random.permutation(6)[:2] for _ in range(35)]).reshape(5, 7, 2).transpose(0, 2, 1).astype("i4")
out["unique"] = unique
np.put_along_axis(scattered, unique.astype("i8"), np.float32(9), 1)
out["scatter"] = scattered
out["one_hot"] = np.eye(4, dtype="f4")[np.array([3, 0, 1])]

# Joining.
out["concat.0"], out["concat.1"] = np.concatenate([a, b]), np.concatenate([a, b], 1)
out["stack.0"], out["stack.1"], out["stack.2"] = np.stack([a, b]), np.stack([a, b], 1), np.stack([a, b], 2)
out["tile"], out["tile.more"] = np.tile(a, (2, 3)), np.tile(row, (2, 1, 2))
out["pad"] = np.pad(a, ((1, 0), (2, 3)), constant_values=7)

# Products.
m, n, batch, vector = normal(5, 8), normal(8, 6), normal(3, 1, 4, 5), normal(8)
wide = normal(2, 5, 3)
out.update(m=m, n=n, batch=batch, vector=vector, wide=wide)
out["matmul"], out["matmul.t"] = m.astype("f8") @ n.astype("f8"), n.T.astype("f8") @ m.T.astype("f8")
out["matmul.batch"] = batch.astype("f8") @ wide.astype("f8")
out["matmul.row"], out["matmul.column"] = vector.astype("f8") @ n.astype("f8"), m.astype("f8") @ vector.astype("f8")
out["matmul.dot"] = np.asarray(vector.astype("f8") @ vector.astype("f8"))
out["matmul.whole"] = whole @ other.T

# Texts.
shown = {
    "floats": np.array([[1, 2.5], [-3, 4]], "f4"),
    "thirds": np.array([1 / 3, 2 / 3, 100], "f4"),
    "thirds64": np.array([1 / 3, -2 / 3, 100], "f8"),
    "spread": np.array([1e-3, 12345.678], "f4"),
    "large": np.array([1e10, 1], "f8"),
    "huge": np.array([1e100, 1e-5], "f8"),
    "special": np.array([np.nan, np.inf, -np.inf, 1.5], "f4"),
    "nans": np.array([np.nan, np.nan], "f4"),
    "zeros": np.zeros((2, 3), "f4"),
    "negative_zero": np.array([-0.0, 1], "f4"),
    "whole": whole,
    "bools": whole > 0,
    "bytes": np.array([0, 7, 255], "u1"),
    "cube": np.arange(24, dtype="f4").reshape(2, 3, 4),
    "long": np.arange(40, dtype="i4"),
    "long_floats": np.linspace(0, 1, 23).astype("f4"),
    "summary": np.arange(2000, dtype="i4"),
    "summary_matrix": np.arange(10000, dtype="f4").reshape(100, 100),
    "half": np.array([0.1, 1 / 3, 1000], "f2"),
    "scalar": np.array(2.5, "f4"),
    "scalar_small": np.array(1e-5, "f8"),
    "scalar_whole": np.array(3, "i8"),
    "scalar_even": np.array(3, "f4"),
    "empty": np.zeros((0,), "f4"),
}
for name, value in shown.items():
    out["shown." + name] = value
    out["text." + name] = np.frombuffer(str(value).encode(), "u1")

np.savez_compressed(pathlib.Path(__file__).with_name("expected.npz"), **{k: np.ascontiguousarray(v).reshape(np.shape(v)) for k, v in out.items()})
