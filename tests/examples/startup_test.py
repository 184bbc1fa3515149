"""Programs with a model's library give their first result at once, in little memory: bench/startup.py measures.

Usage: startup_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "bench"))
import startup


class Startup(unittest.TestCase):
    """Processor time, the best of the runs: on a machine that does nothing else it is what passes on the clock, and elsewhere what else it does is
    not what is measured."""

    def measure(self, model, runs, weights):
        with tempfile.TemporaryDirectory() as scratch:
            times, processor, memory = startup.measure(startup.build(ROOT, BUILD, model, pathlib.Path(scratch), weights), runs)
        print(f"{model}, {weights}: {processor[0]:.2f} ms of processor time, {times[0]:.2f} on the clock, {memory:.1f} MiB")
        return processor[0], memory

    def test_lenet(self):
        for weights in ("embed", "file"):
            milliseconds, memory = self.measure("lenet", 30, weights)
            self.assertLess(milliseconds, 5)
            self.assertLess(memory, 8)

    def test_resnet50(self):
        milliseconds, memory = self.measure("resnet50", 10, "embed")
        self.assertLess(milliseconds, 200)
        self.assertLess(memory, 130)


if __name__ == "__main__":
    unittest.main()
