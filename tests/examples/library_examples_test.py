"""examples/library as its reader builds it: a project that trains two models, makes libraries of them, and links them into programs of five
languages; each gives what the trainer's predict gives, bit for bit.

Usage: library_examples_test.py ROOT BUILD [unittest arguments]. Languages that are not installed are skipped, and said.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = ROOT / "examples/library"
PICTURES = 101  # odd: no multiple of what is run at once
AT_ONCE = 8


def run(*command, cwd):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def skip(language, program):
    print(f"SKIPPED: {program} is not installed: the {language} example does not run", file=sys.stderr)
    raise unittest.SkipTest(f"{program} is not installed")


class Project(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.scratch.name)
        strict = "-Wall -Wextra -Wpedantic -Werror"
        run("cmake", "-S", SOURCE, "-B", cls.out, f"-Dmxc_DIR={BUILD}/lib/cmake/mxc", "-DEPOCHS=1", f"-DCMAKE_C_FLAGS={strict}",
            f"-DCMAKE_CXX_FLAGS={strict}", cwd=cls.out)
        table = numpy.loadtxt(ROOT / "examples/data/digits.csv.gz", delimiter=",", max_rows=PICTURES)
        cls.pictures = (table[:, :64] / 16).astype("f4")
        cls.pictures.tofile(cls.out / "pictures.f32")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def build(self, target):
        run("cmake", "--build", self.out, "--target", target, cwd=self.out)

    def expected(self, model, shape, n):
        """What the trainer's predict gives for the pictures, n at once; the model has been built."""
        numpy.savez(self.out / "pictures.npz", image=self.pictures.reshape(shape))
        run(f"./train_{model}", "predict", "--data", "npz:pictures.npz", "--load", f"{model}.safetensors", "--count", PICTURES, "--batch", n,
            "--output", "expected.npz", cwd=self.out)
        return numpy.load(self.out / "expected.npz")

    def probabilities(self, n):
        probability = self.expected("digits", (PICTURES, 1, 8, 8), n)["probability"]
        self.assertEqual(probability.shape, (PICTURES, 10))
        return probability.tobytes()

    def check(self, target, *command):
        """A program that reads pictures and writes probabilities, so many at once."""
        self.build(target)
        for n in (1, AT_ONCE):
            run(*command, "pictures.f32", "probabilities.f32", n, cwd=self.out)
            self.assertEqual((self.out / "probabilities.f32").read_bytes(), self.probabilities(n), f"n = {n}")


class Library(Project):
    def test_c(self):
        self.check("recognize_c", "./recognize_c")

    def test_cpp(self):
        self.check("recognize_cpp", "./recognize_cpp")

    def test_python(self):
        self.check("digits_shared_mxc", sys.executable, SOURCE / "recognize.py", "mxc/digits_shared/libdigits_shared.so")

    def test_two_models_on_two_threads(self):
        self.build("frames")
        shown = run("./frames", "pictures.f32", "probabilities.f32", "restored.f32", 500, cwd=self.out)
        number = r"\d+\.\d{3}"
        for line, name in zip(shown.splitlines(), ("digits", "autoencoder"), strict=True):
            self.assertRegex(line, rf"^{name} +{PICTURES} frames, latency in ms: median {number}, 99 % {number}, worst {number}$")
            median, _, worst = (float(found) for found in re.findall(number, line))
            self.assertTrue(0 < median <= worst < 10_000, line)
        self.assertEqual((self.out / "probabilities.f32").read_bytes(), self.probabilities(1))
        restored = self.expected("autoencoder", (PICTURES, 64), 1)["restored"]
        self.assertEqual(restored.shape, (PICTURES, 64))
        self.assertEqual((self.out / "restored.f32").read_bytes(), restored.tobytes())


class OtherLanguages(Project):
    """Those that a machine may lack."""

    def test_rust(self):
        if not shutil.which("rustc"):
            skip("Rust", "rustc")
        self.check("rust", "./recognize_rust")

    def test_javascript(self):
        for program in ("node", "/usr/lib/llvm-19/bin/wasm-ld"):
            if not shutil.which(program):
                skip("JavaScript", program)
        self.check("wasm", "node", SOURCE / "recognize.mjs", "digits.wasm", "mxc/digits_wasm/digits_wasm.h")


if __name__ == "__main__":
    unittest.main()
