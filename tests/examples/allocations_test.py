"""A step of a compiled training allocates nothing: every call of the allocator in the whole program is counted, for trainings of some steps and of more.

What a program allocates before, after and around its steps is the same in both; so is what the first steps leave behind for the later ones. How many
operations of the engine are under way at once is up to the threads, so that a record of one may be made late: a few of them are nothing.

Usage: allocations_test.py ROOT BUILD LIBRARY [unittest arguments].
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COUNTED = {**os.environ, "LD_PRELOAD": sys.argv.pop(1)}
FEW, MORE = 20, 520  # steps
SEVERAL = 50         # allocations in all of the 500 steps between


class Allocations(unittest.TestCase):
    def check(self, name, *flags):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BUILD / "bin/mxc", "compile", ROOT / f"examples/{name}/{name}.cpp", "-o", "net"], cwd=folder, check=True)

            def count(steps, *flags):
                command = ["./net", "train", "--data", "random:1100?seed=1", "--batch", "2", "--epochs", "1", "--steps", str(steps), *flags]
                ran = subprocess.run(command, cwd=folder, env=COUNTED, capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return int(re.search(r"^allocations: (\d+)$", ran.stderr, re.MULTILINE).group(1))

            # They are counted, those of single steps too: a log has a line for each.
            few = count(FEW, "--threads", "2")
            self.assertGreater(few, 100)
            self.assertGreater(count(FEW, "--threads", "2", "--log", "log"), few + FEW)
            for threads in ("1", "2", "4"):
                with self.subTest(threads=threads):
                    self.assertLess(count(MORE, "--threads", threads), count(FEW, "--threads", threads) + SEVERAL)

    def test_mlp(self):
        self.check("mlp")

    def test_lenet(self):
        self.check("lenet")


if __name__ == "__main__":
    unittest.main(verbosity=2)
