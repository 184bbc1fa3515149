"""Examples with a main of their own, compiled and run: each prints what it has learned, and that is looked at. Neither the number of threads nor a
pause changes a byte of what they keep.

Usage: executors_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class Executors(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_here(self, *command):
        done = subprocess.run([str(c) for c in command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def example(self, name, *arguments):
        self.run_here(BUILD / "bin/mxc", "compile", ROOT / f"examples/{name}/{name}.cpp", "-o", name)
        return self.run_here(f"./{name}", *arguments)

    def numbers(self, pattern, text):
        return [float(number) for number in re.findall(pattern, text)]

    def kept(self, name):
        """What a program has kept in a file or in a folder."""
        path = self.folder / name
        return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else {"": path.read_bytes()}

    def check_bits(self, name, rounds, *before, suffix=""):
        """`rounds` rounds by one thread, by two, by four, and with a pause. `before`: what stands in front of their number."""
        def train(kept, rounds, threads):
            self.run_here(f"./{name}", *before, rounds, kept + suffix, threads)
            return self.kept(kept + suffix)

        one = train("one", rounds, 1)
        for threads in (2, 4):
            self.assertTrue(train(f"by{threads}", rounds, threads) == one, f"{threads} threads")
        half = train("paused", rounds // 2, 2)
        self.assertEqual(set(half), set(one))
        self.assertTrue(half != one)
        self.assertTrue(train("paused", rounds, 2) == one, "after a pause")

    def test_dcgan(self):
        digits = ROOT / "examples/data/digits.csv.gz"
        text = self.example("dcgan", digits)
        before, = self.numbers(r"before ([\d.]+)", text)
        after = self.numbers(r", distance ([\d.]+)", text)
        losses = self.numbers(r"loss ([\d.]+)", text)
        # The mean of the painted pictures comes to lie by that of the digits, and neither network has won: ln 2 is a draw.
        self.assertGreater(before, 0.2, text)
        self.assertLess(after[-1], before / 2, text)
        self.assertGreater(losses[-1], 0.05, text)
        self.assertLess(losses[-1], 1.5, text)
        self.check_bits("dcgan", 2, digits)

    def test_actor_critic(self):
        text = self.example("actor_critic")
        steps = self.numbers(r"episode \d+: ([\d.]+) steps", text)
        self.assertLess(steps[0], 60, text)      # a pole that is pushed at random falls after some 20 steps
        self.assertGreater(max(steps), 120, text)
        self.check_bits("actor_critic", 20)

    def test_style(self):
        text = self.example("style")
        losses = self.numbers(r"loss ([\d.]+)", text)
        self.assertLess(losses[-1], losses[0] / 10, text)
        self.check_bits("style", 20, suffix=".npz")

    def test_buckets(self):
        text = self.example("buckets")
        arena, largest, apart = self.numbers(r"(?:arena|alone|apart) (\d+)", text)
        self.assertEqual(arena, largest, text)
        self.assertGreater(apart, largest, text)
        accuracy = self.numbers(r"accuracy ([\d.]+)", text)
        self.assertEqual(len(accuracy), 3, text)
        for value in accuracy:
            self.assertGreater(value, 0.95, text)
        self.check_bits("buckets", 10)


if __name__ == "__main__":
    unittest.main()
