"""What tests of embedded libraries share: a trained LeNet with its library, C programs, safetensors files.

The tests' command line: TEST.py ROOT BUILD [unittest arguments].
"""
import functools
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MXC = BUILD / "bin/mxc"
INPUTS = pathlib.Path(__file__).resolve().parent / "Inputs/library"
LENET = ROOT / "examples/lenet/lenet.cpp"
SAMPLES = 71  # more than the batch of 64, and odd
STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def run(*command, cwd, code=0):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} instead of {code}: {command}\n{done.stdout}{done.stderr}")
    return done


def compile_c(folder, source, program, *flags, library="liblenet.a"):
    run("cc", *STRICT, *flags, f"-I{folder}", INPUTS / source, folder / library, "-lm", "-o", folder / program, cwd=folder)
    return folder / program


def write_safetensors(path, tensors, metadata=None):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"])
    return tensors, header.get("__metadata__")


scratch = tempfile.TemporaryDirectory()


@functools.cache
def lenet():
    """A folder with lenet, lenet.safetensors, liblenet.a and its headers, images.npz and, the same as raw numbers, images.f32."""
    folder = pathlib.Path(scratch.name) / "lenet"
    folder.mkdir()
    run(MXC, "compile", LENET, "-o", "lenet", cwd=folder)
    run("./lenet", "train", "--data", "random:128", "--epochs", 1, "--save", "lenet.safetensors", cwd=folder)
    run(MXC, "compile", LENET, "--params", "lenet.safetensors", "--emit=lib", "-o", "liblenet.a", cwd=folder)
    images = numpy.random.default_rng(1).normal(size=(SAMPLES, 1, 28, 28)).astype("f4")
    numpy.savez(folder / "images.npz", image=images)
    images.tofile(folder / "images.f32")
    return folder


def predict(folder, n):
    """What the trainer's predict gives for images.npz, n samples a run."""
    run("./lenet", "predict", "--data", "npz:images.npz", "--load", "lenet.safetensors", "--count", SAMPLES, "--batch", n,
        "--output", "expected.npz", cwd=folder)
    return numpy.load(folder / "expected.npz")["probability"]
