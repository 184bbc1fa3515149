"""examples/fine_tuning: a net that knows the digits from 0 to 4 learns the others in its library.

Usage: fine_tuning_test.py ROOT BUILD [unittest arguments].
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class FineTuning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        lines = gzip.open(ROOT / "examples/data/digits.csv.gz", "rt").read().splitlines(keepends=True)
        few = [line for line in lines if int(line.rsplit(",", 1)[1]) < 5]
        cls.few = len(few) / len(lines)
        (cls.folder / "few.csv").write_text("".join(few))
        (cls.folder / "digits.csv").write_text("".join(lines))
        model, program = ROOT / "examples/digits/digits.cpp", ROOT / "examples/fine_tuning/fine_tuning.c"
        cls.run_in(BUILD / "bin/mxc", "compile", model, "-o", "digits")
        cls.run_in("./digits", "train", "--data", "csv:few.csv?label=64&scale=16", "--epochs", "10", "--save", "digits.safetensors")
        cls.run_in(BUILD / "bin/mxc", "compile", model, "--params", "digits.safetensors", "--emit=lib", "--train=dense1", "-o", "libdigits.a")
        cls.run_in("cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", program, "libdigits.a", "-lm", "-o", "fine_tuning")

    @classmethod
    def run_in(cls, *command, code=0):
        done = subprocess.run([str(c) for c in command], cwd=cls.folder, capture_output=True, text=True)
        if done.returncode != code:
            raise AssertionError(f"exit code {done.returncode} instead of {code}: {command}\n{done.stdout}{done.stderr}")
        return done

    def test_a_layer_learns_what_it_had_not_seen(self):
        shown = self.run_in("./fine_tuning", "digits.csv", "digits.state").stdout
        numbers = [float(n) for n in re.findall(r"\d\.\d{3}", shown)]
        self.assertLess(numbers[0], self.few + 0.02, shown)
        after, another = numbers[-2:]
        self.assertGreater(after, 0.8, shown)
        self.assertEqual(after, another)
        self.assertTrue(shown.endswith("one more epoch: the same loss\n"), shown)
        state = int(re.search(r"DIGITS_STATE_BYTES (\d+)", (self.folder / "digits.h").read_text())[1])
        self.assertEqual((self.folder / "digits.state").stat().st_size, state)

    def test_wrong_use(self):
        self.assertEqual(self.run_in("./fine_tuning", code=2).stderr, "usage: fine_tuning DIGITS.csv STATE\n")
        (self.folder / "short.csv").write_text("1,2,3\n")
        self.assertEqual(self.run_in("./fine_tuning", "short.csv", "x", code=1).stderr, "short.csv:1: 64 numbers and a digit are expected\n")


if __name__ == "__main__":
    unittest.main()
