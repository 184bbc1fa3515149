"""What tests of embedded libraries share: a trained LeNet with its library, C programs.

The tests' command line: TEST.py ROOT BUILD [unittest arguments].
"""
import ctypes
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))  # safetensors_file
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


class SharedLibrary:
    """A model's shared library, its header and a context, by the names of its functions and constants without the model's."""

    def __init__(self, path, name):
        self.name, self.library, self.context = name, ctypes.CDLL(str(path)), ctypes.c_void_p()
        self.header = (path.parent / (path.stem.removeprefix("lib") + ".h")).read_text()
        build = self.function("build")
        build.restype = ctypes.c_uint64
        assert self.function("allocate")(ctypes.c_uint64(build()), ctypes.byref(self.context)) == 0

    def function(self, verb):
        return getattr(self.library, f"{self.name}_{verb}")

    def constant(self, name):
        return int(re.search(rf"#define {self.name.upper()}_{name} (\d+) ", self.header)[1])


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
