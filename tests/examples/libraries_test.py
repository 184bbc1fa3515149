"""The examples as libraries: bit for bit what the trainer's predict gives, for one sample, an odd number, and the whole batch; and those that
train: the trainer's steps.

Usage: libraries_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file
TYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1", "i8": "i1", "boolean": "u1"}


class Library:
    """A shared library by its functions; what goes in and comes out is read from the Plan inside."""

    def __init__(self, path, name):
        plan = json.loads(subprocess.run([BUILD / "bin/mxc", "inspect", "--json", path], check=True, capture_output=True, text=True).stdout)
        buffers = plan["buffers"]

        def tensors(graph, key):
            return [(b["name"], buffers[b["buffer"]]) for b in graph[key] if buffers[b["buffer"]]["space"] == "io"]

        graph, training = plan["graphs"][0], plan["graphs"][-1]
        self.inputs, self.outputs, self.batch = tensors(graph, "inputs"), tensors(graph, "outputs"), graph["batch"]
        self.train_inputs, self.train_outputs = tensors(training, "inputs"), tensors(training, "outputs")
        library = ctypes.CDLL(str(path))
        build, allocate = getattr(library, name + "_build"), getattr(library, name + "_allocate")
        self.function, self.context = getattr(library, name + "_run"), ctypes.c_void_p()
        self.train_step = getattr(library, name + "_train_step", None)
        build.restype = ctypes.c_uint64
        if allocate(ctypes.c_uint64(build()), ctypes.byref(self.context)) != 0:
            raise AssertionError("no context")

    def run(self, arrays, count):
        """The outputs by name, for the first `count` samples of arrays that are sample-major."""
        results = [numpy.empty((count, *b["dims"][1:]), TYPES[b["dtype"]]) for _, b in self.outputs]
        inputs = [numpy.ascontiguousarray(arrays[name][:count]) for name, _ in self.inputs]
        pointers = [(ctypes.c_void_p * len(group))(*(a.ctypes.data for a in group)) for group in (inputs, results)]
        status = self.function(self.context, *pointers, ctypes.c_int64(count))
        if status != 0:
            raise AssertionError(f"status {status}")
        return {name: result for (name, _), result in zip(self.outputs, results)}

    def step(self, arrays):
        """Loss and reports of a step on one sample."""
        results = [numpy.zeros((), TYPES[b["dtype"]]) for _, b in self.train_outputs]
        pointers = [(ctypes.c_void_p * len(group))(*(a.ctypes.data for a in group))
                    for group in ([arrays[name] for name, _ in self.train_inputs], results)]
        status = self.train_step(self.context, *pointers, ctypes.c_int64(1))
        if status != 0:
            raise AssertionError(f"status {status}")
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
    def library(self, name, folder, data, flags, more=()):
        """The library of an example trained for a step, and what runs commands in its folder. `more`: flags of the library alone."""

        def run(*command):
            done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

        source = ROOT / f"examples/{name}/{name}.cpp"
        run(BUILD / "bin/mxc", "compile", source, "-o", name, *flags)
        run(f"./{name}", "train", "--data", data, "--epochs", 1, "--steps", 1, "--save", "trained")
        run(BUILD / "bin/mxc", "compile", source, "--params", "trained", "--emit=shared", *more, "-o", "library.so", *flags)
        return Library(folder / "library.so", name), run

    def check(self, name, *flags):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            library, run = self.library(name, folder, "random:32", flags)
            arrays = samples(library, library.batch)
            numpy.savez(folder / "samples.npz", **arrays)
            for count in {1, 3, library.batch}:
                run(f"./{name}", "predict", "--data", "npz:samples.npz", "--load", "trained", "--count", count, "--batch", count,
                    "--output", "expected.npz")
                expected = numpy.load(folder / "expected.npz")
                results = library.run(arrays, count)
                self.assertEqual(set(expected.files), set(results))
                for output, result in results.items():
                    self.assertTrue(numpy.isfinite(result).all(), output)
                    self.assertEqual(result.tobytes(), expected[output].tobytes(), f"{output}, n = {count}")

    def check_training(self, name, *flags):
        """Three steps on one sample, which has no order, from a checkpoint at the beginning of a training; then predict."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            library, run = self.library(name, folder, "random:1", flags, ["--train"])
            tensors, metadata = safetensors_file.read(folder / "trained")
            tensors = {k: numpy.zeros_like(v) if "/" in k else v for k, v in tensors.items()}
            sums = " ".join("0" for _ in metadata["sums"].split())
            safetensors_file.write(folder / "fresh", tensors, {**metadata, "step": "0", "position": "0", "epoch": "0", "sums": sums})
            arrays = samples(library, 1, library.train_inputs)
            numpy.savez(folder / "samples.npz", **arrays)
            run(f"./{name}", "train", "--data", "npz:samples.npz", "--resume", "fresh", "--epochs", 3, "--steps", 3, "--log", "log", "--save", "after")
            steps = [json.loads(line) for line in (folder / "log").read_text().splitlines() if '"event":"step"' in line]
            self.assertEqual(len(steps), 3)
            for event in steps:
                for value, result in library.step(arrays).items():
                    if value in event and result.dtype == "f4":
                        self.assertEqual(result, numpy.float32(event[value]), f"{value}, step {event['step']}")
            numpy.savez(folder / "inputs.npz", **{k: arrays[k] for k, _ in library.inputs})
            run(f"./{name}", "predict", "--data", "npz:inputs.npz", "--load", "after", "--count", 1, "--output", "expected.npz")
            expected = numpy.load(folder / "expected.npz")
            for output, result in library.run(arrays, 1).items():
                self.assertEqual(result.tobytes(), expected[output].tobytes(), output)


for example in ("digits", "mlp", "autoencoder", "recommender", "transformer", "char_lstm", "resnet20"):
    setattr(Examples, "test_" + example, lambda self, name=example: self.check(name))
for example in ("alexnet", "googlenet", "inception_bn", "mobilenet_v2", "resnet18", "resnet50", "vgg11", "vgg16"):
    setattr(Examples, "test_" + example, lambda self, name=example: self.check(name, "--dim", "batch=4"))
for example in ("mlp", "autoencoder", "recommender", "transformer", "char_lstm", "resnet20"):
    setattr(Examples, "test_training_" + example, lambda self, name=example: self.check_training(name))
setattr(Examples, "test_training_digits_f64", lambda self: self.check_training("digits", "--dtype=f64"))
setattr(Examples, "test_digits_f64", lambda self: self.check("digits", "--dtype=f64"))

if __name__ == "__main__":
    unittest.main()
