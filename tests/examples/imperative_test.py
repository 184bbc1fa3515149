"""Mains of their own, against the standard trainer and against NumPy.

Usage: imperative_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file  # noqa: E402


def run(*command, cwd):
    result = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def write_digits(folder, count):
    """Pictures and labels in MNIST's format; the label is the picture's brightest row."""
    random = numpy.random.default_rng(5)
    labels = random.integers(0, 10, count).astype(numpy.uint8)
    images = random.integers(0, 120, (count, 28, 28)).astype(numpy.uint8)
    for image, label in zip(images, labels):
        image[2 * label + 4] = 255
    for prefix in ("train", "t10k"):
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + images.tobytes())
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels.tobytes())


class Imperative(unittest.TestCase):
    def test_a_loop_of_ones_own_has_the_bits_of_the_trainer(self):
        """The last batch has 32 samples."""
        source = ROOT / "examples/imperative_lenet/imperative_lenet.cpp"
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "mnist").mkdir()
            write_digits(folder / "mnist", 5 * 64 + 32)
            run(BUILD / "bin/mxc", "compile", source, "-o", "own", cwd=folder)
            run(BUILD / "bin/mxc", "compile", source, "-Dmain=unused", "-o", "trainer", cwd=folder)
            shown = run("./own", "mnist", 2, "own.safetensors", cwd=folder)
            self.assertRegex(shown, r"epoch 1: loss [0-9.]+, accuracy [0-9.]+ in the last batch")
            run("./trainer", "train", "--data", "mnist:mnist", "--epochs", 2, "--seed", 7, "--save", "trainer.safetensors", cwd=folder)
            own, trained = safetensors_file.read_bytes(folder / "own.safetensors")[0], safetensors_file.read_bytes(folder / "trainer.safetensors")[0]
            self.assertIn("conv2d0.weight", own)
            self.assertEqual(set(own), set(trained))
            for name in trained:
                self.assertEqual(own[name], trained[name], name)
            # Neither threads nor a pause change a byte.
            whole = (folder / "own.safetensors").read_bytes()
            for threads in (1, 2, 4):
                run("./own", "mnist", 2, f"by{threads}", "-", threads, cwd=folder)
                self.assertTrue((folder / f"by{threads}").read_bytes() == whole, f"{threads} threads")
            run("./own", "mnist", 1, "half", cwd=folder)
            self.assertTrue((folder / "half").read_bytes() != whole)
            run("./own", "mnist", 2, "rest", "half", 2, cwd=folder)
            self.assertTrue((folder / "rest").read_bytes() == whole, "after a pause")

    def test_imperative_code_alone(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            run(BUILD / "bin/mxc", "compile", ROOT / "examples/regression/regression.cpp", "-o", "regression", cwd=folder)
            shown = run("./regression", cwd=folder)
            slope, offset, rest = (float(n) for n in re.fullmatch(r"slope (\S+), offset (\S+), mean square (\S+)\n", shown).groups())
            self.assertAlmostEqual(slope, 3, delta=0.05)
            self.assertAlmostEqual(offset, -0.5, delta=0.05)
            self.assertAlmostEqual(rest, 0.01, delta=0.004)  # the noise's variance
            for threads in (1, 2, 4):
                self.assertEqual(run("./regression", threads, cwd=folder), shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
