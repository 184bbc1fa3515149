"""The examples as libraries: bit for bit what the trainer's predict gives, for one sample, an odd number, and the whole batch; and those that
train: the trainer's steps. The small ones run in memory between pages that nobody may touch: arena, weights, each input and each output.

Usage: libraries_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file
from guarded_memory import Guarded
TYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1", "i8": "i1", "boolean": "u1"}


class Library:
    """A shared library by its functions; what goes in and comes out is read from the Plan inside. `at_end`: on which side of its memory, all of
    which is guarded, pages are that nobody may touch; None: its memory is as it comes."""

    def __init__(self, path, name, at_end=None):
        plan = json.loads(subprocess.run([BUILD / "bin/mxc", "inspect", "--json", path], check=True, capture_output=True, text=True).stdout)
        buffers = plan["buffers"]

        def tensors(graph, key):
            return [(b["name"], buffers[b["buffer"]]) for b in graph[key] if buffers[b["buffer"]]["space"] == "io"]

        graph, training = plan["graphs"][0], plan["graphs"][-1]
        self.inputs, self.outputs, self.batch = tensors(graph, "inputs"), tensors(graph, "outputs"), graph["batch"]
        self.train_inputs, self.train_outputs = tensors(training, "inputs"), tensors(training, "outputs")
        library = ctypes.CDLL(str(path))
        build = getattr(library, name + "_build")
        build.restype = ctypes.c_uint64
        self.function, self.context, self.at_end = getattr(library, name + "_run"), ctypes.c_void_p(), at_end
        self.train_step = getattr(library, name + "_train_step", None)
        build, context = ctypes.c_uint64(build()), ctypes.byref(self.context)
        if at_end is None:
            self.expect_ok(getattr(library, name + "_allocate")(build, context))
            return
        size = int(re.search(rf"#define {name.upper()}_ARENA_BYTES (\d+) ", path.with_suffix(".h").read_text())[1])
        self.arena = Guarded(size, at_end)
        self.expect_ok(getattr(library, name + "_open")(ctypes.c_void_p(self.arena.address), ctypes.c_size_t(size), build, context))
        if path.with_suffix(".weights").exists():
            weights = path.with_suffix(".weights").read_bytes()
            self.weights = Guarded(len(weights), at_end, weights)
            self.expect_ok(getattr(library, name + "_set_weights")(self.context, ctypes.c_void_p(self.weights.address), ctypes.c_size_t(len(weights))))

    def expect_ok(self, status):
        if status != 0:
            raise AssertionError(f"status {status}")

    def call(self, function, inputs, shapes, count):
        """What a function gives, in arrays of the shapes and types."""
        sizes = [int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize for shape, dtype in shapes]
        if self.at_end is None:
            results = [numpy.empty(shape, dtype) for shape, dtype in shapes]
            pointers = [[a.ctypes.data for a in group] for group in (inputs, results)]
        else:
            read, written = [Guarded(a.nbytes, self.at_end, a.tobytes()) for a in inputs], [Guarded(size, self.at_end) for size in sizes]
            pointers = [[memory.address for memory in group] for group in (read, written)]
        pointers = [(ctypes.c_void_p * len(group))(*group) for group in pointers]
        self.expect_ok(function(self.context, *pointers, ctypes.c_int64(count)))
        return results if self.at_end is None else [memory.array(*shape) for memory, shape in zip(written, shapes)]

    def run(self, arrays, count):
        """The outputs by name, for the first `count` samples of arrays that are sample-major."""
        shapes = [((count, *b["dims"][1:]), TYPES[b["dtype"]]) for _, b in self.outputs]
        inputs = [numpy.ascontiguousarray(arrays[name][:count]) for name, _ in self.inputs]
        return {name: result for (name, _), result in zip(self.outputs, self.call(self.function, inputs, shapes, count))}

    def step(self, arrays):
        """Loss and reports of a step on one sample."""
        shapes = [((), TYPES[b["dtype"]]) for _, b in self.train_outputs]
        results = self.call(self.train_step, [arrays[name] for name, _ in self.train_inputs], shapes, 1)
        return {name: result for (name, _), result in zip(self.train_outputs, results)}


def samples(library, count, inputs=None):
    """Numbers that the model accepts."""
    generator, arrays = numpy.random.default_rng(3), {}
    for name, buffer in inputs or library.inputs:
        shape = (count, *buffer["dims"][1:])
        if buffer["dtype"] in ("f32", "f64"):
            arrays[name] = generator.normal(size=shape).astype(TYPES[buffer["dtype"]])
        else:
            arrays[name] = generator.integers(0, buffer.get("upper_bound", 2) or 2, size=shape).astype(TYPES[buffer["dtype"]])
    return arrays


class Examples(unittest.TestCase):
    def libraries(self, name, folder, data, flags, guarded, more=()):
        """The library of an example trained for a step, opened once, or if it is guarded on each side; and what runs commands in its folder. `more`:
        flags of the library alone."""

        def run(*command):
            done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

        source = ROOT / f"examples/{name}/{name}.cpp"
        run(BUILD / "bin/mxc", "compile", source, "-o", name, *flags)
        run(f"./{name}", "train", "--data", data, "--epochs", 1, "--steps", 1, "--save", "trained")
        run(BUILD / "bin/mxc", "compile", source, "--params", "trained", "--emit=shared", *more, "-o", "made.so", *flags)
        return [Library(folder / "made.so", name, at_end) for at_end in ((True, False) if guarded else (None,))], run

    def check(self, name, *flags, guarded=False):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            libraries, run = self.libraries(name, folder, "random:32", flags, guarded, ["--weights=file"] if guarded else [])
            library = libraries[0]
            arrays = samples(library, library.batch)
            numpy.savez(folder / "samples.npz", **arrays)
            for count in {1, 3, library.batch}:
                run(f"./{name}", "predict", "--data", "npz:samples.npz", "--load", "trained", "--count", count, "--batch", count,
                    "--output", "expected.npz")
                expected = numpy.load(folder / "expected.npz")
                for library in libraries:
                    results = library.run(arrays, count)
                    self.assertEqual(set(expected.files), set(results))
                    for output, result in results.items():
                        self.assertTrue(numpy.isfinite(result).all(), output)
                        self.assertEqual(result.tobytes(), expected[output].tobytes(), f"{output}, n = {count}")

    def check_training(self, name, *flags):
        """Three steps on one sample, which has no order, from a checkpoint at the beginning of a training; then predict."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            libraries, run = self.libraries(name, folder, "random:1", flags, True, ["--train"])
            library = libraries[0]
            tensors, metadata = safetensors_file.read(folder / "trained")
            tensors = {k: numpy.zeros_like(v) if "/" in k else v for k, v in tensors.items()}
            sums = " ".join("0" for _ in metadata["sums"].split())
            safetensors_file.write(folder / "fresh", tensors, {**metadata, "step": "0", "position": "0", "epoch": "0", "sums": sums})
            arrays = samples(library, 1, library.train_inputs)
            numpy.savez(folder / "samples.npz", **arrays)
            run(f"./{name}", "train", "--data", "npz:samples.npz", "--resume", "fresh", "--epochs", 3, "--steps", 3, "--log", "log", "--save", "after")
            steps = [json.loads(line) for line in (folder / "log").read_text().splitlines() if '"event":"step"' in line]
            self.assertEqual(len(steps), 3)
            for library, event in itertools.product(libraries, steps):
                for value, result in library.step(arrays).items():
                    if value in event and result.dtype == "f4":
                        self.assertEqual(result, numpy.float32(event[value]), f"{value}, step {event['step']}")
            numpy.savez(folder / "inputs.npz", **{k: arrays[k] for k, _ in library.inputs})
            run(f"./{name}", "predict", "--data", "npz:inputs.npz", "--load", "after", "--count", 1, "--output", "expected.npz")
            expected = numpy.load(folder / "expected.npz")
            for library in libraries:
                for output, result in library.run(arrays, 1).items():
                    self.assertEqual(result.tobytes(), expected[output].tobytes(), output)


for example in ("digits", "mlp", "autoencoder", "recommender", "transformer", "char_lstm", "resnet20"):
    setattr(Examples, "test_" + example, lambda self, name=example: self.check(name, guarded=True))
for example in ("alexnet", "googlenet", "inception_bn", "mobilenet_v2", "resnet18", "resnet50", "vgg11", "vgg16"):
    setattr(Examples, "test_" + example, lambda self, name=example: self.check(name, "--dim", "batch=4"))
for example in ("mlp", "autoencoder", "recommender", "transformer", "char_lstm", "resnet20"):
    setattr(Examples, "test_training_" + example, lambda self, name=example: self.check_training(name))
setattr(Examples, "test_training_digits_f64", lambda self: self.check_training("digits", "--dtype=f64"))
setattr(Examples, "test_digits_f64", lambda self: self.check("digits", "--dtype=f64", guarded=True))

if __name__ == "__main__":
    unittest.main()
