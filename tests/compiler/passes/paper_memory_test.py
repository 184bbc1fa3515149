"""The memory of the MXNet paper's networks by its rules, `mxc compile --memory-rules=paper`.

Expected: MiB that an independent planner gave, which hits every bar of the paper's figure 7 (in 1/1000 of a GiB) within 2; plans of two
small graphs made by hand, in elements of f32.

Usage: paper_memory_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PLANS = ("naive", "inplace", "coshare", "both")

# (network, pass) -> MiB of each plan, and the bars of the paper.
FIGURE_7 = {
    ("alexnet", "forward"): ((380.6, 217.9, 142.2, 117.2), (371, 212, 139, 114)),
    ("alexnet", "training"): ((795.7, 628.8, 515.0, 447.9), (776, 613, 503, 436)),
    ("googlenet", "forward"): ((2224.0, 1435.8, 515.6, 506.8), (2171, 1401, 503, 494)),
    ("googlenet", "training"): ((5394.0, 4378.3, 2564.4, 2465.4), (5267, 4275, 2504, 2407)),
    ("vgg11", "forward"): ((4014.2, 2190.9, 1620.0, 1006.5), (3919, 2138, 1582, 982)),
    ("vgg11", "training"): ((8063.0, 6231.5, 5576.1, 4798.2), (7873, 6085, 5444, 4685)),
}
# MiB alive at once where backward reads no more than it must.
ALIVE = {"alexnet": (85.4, 255.2), "googlenet": (245.0, 1452.4), "vgg11": (980.0, 2254.2)}
# (graph, pass, reads) -> elements of each plan; the last is also the largest number alive at once.
SMALL = {
    ("perceptron", "forward", "cudnn"): (208, 104, 128, 104),
    ("perceptron", "training", "cudnn"): (408, 304, 296, 272),
    ("perceptron", "forward", "minimal"): (208, 104, 128, 104),
    ("perceptron", "training", "minimal"): (408, 240, 232, 208),
    ("residual", "forward", "cudnn"): (400, 168, 192, 128),
    ("residual", "training", "cudnn"): (920, 560, 488, 424),
    ("residual", "forward", "minimal"): (400, 168, 192, 128),
    ("residual", "training", "minimal"): (920, 432, 360, 296),
}


def mxc(*arguments):
    done = subprocess.run([str(BUILD / "bin/mxc"), "compile", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


class PaperMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.graphs = {}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def graph(self, source, *dims):
        """The symbol graph of a model, staged once."""
        key = (source, *dims)
        if key not in self.graphs:
            self.graphs[key] = pathlib.Path(self.scratch.name) / f"{len(self.graphs)}.json"
            mxc(source, *dims, "--emit=graph", "-o", self.graphs[key])
        return self.graphs[key]

    def memory(self, source, plan, *dims):
        """{(reads, pass): bytes}, reads being cudnn, minimal or alive."""
        text = mxc(self.graph(source, *dims), "--memory-rules=paper", f"--memory-plan={plan}")
        lines = text.splitlines()
        self.assertEqual(lines[0], f"bytes of internal variables by the MXNet paper's rules, plan '{plan}'")
        found = {}
        names = {"reads as cuDNN's": "cudnn", "minimal reads": "minimal", "minimal reads, alive at once": "alive"}
        for line in lines[2:]:
            name, forward, training = re.fullmatch(r"  (\S.*?) +(\d+) \([\d.]+ MiB\) +(\d+) \([\d.]+ MiB\)", line).groups()
            reads = names.pop(name)
            found[reads, "forward"], found[reads, "training"] = int(forward), int(training)
        return found

    def example(self, name):
        return ROOT / f"examples/{name}/{name}.cpp"

    def assertMebibytes(self, got, expected, digits, what):
        self.assertEqual(f"{got / 2**20:.{digits}f}", f"{expected:.{digits}f}", what)

    def test_figure_7(self):
        for name in ALIVE:
            for column, plan in enumerate(PLANS):
                memory = self.memory(self.example(name), plan)
                for way in ("forward", "training"):
                    expected, bars = FIGURE_7[name, way]
                    self.assertMebibytes(memory["cudnn", way], expected[column], 1, (name, way, plan))
                    self.assertLessEqual(abs(memory["cudnn", way] / 2**30 * 1000 - bars[column]), 2, (name, way, plan))

    def test_vgg_on_a_single_picture(self):
        memory = self.memory(self.example("vgg11"), "both", "--dim", "batch=1")
        self.assertMebibytes(memory["cudnn", "forward"], 15.73, 2, "forward")
        self.assertMebibytes(memory["cudnn", "training"], 74.97, 2, "training")

    def test_alive_at_once(self):
        for name, expected in ALIVE.items():
            memory = self.memory(self.example(name), "both")
            for way, mebibytes in zip(("forward", "training"), expected):
                self.assertMebibytes(memory["alive", way], mebibytes, 1, (name, way))

    def test_plans_made_by_hand(self):
        for (name, way, reads), expected in SMALL.items():
            source = ROOT / f"tests/compiler/passes/Inputs/{name}.cpp"
            for plan, elements in zip(PLANS, expected):
                memory = self.memory(source, plan)
                self.assertEqual(memory[reads, way] // 4, elements, (name, way, reads, plan))
                if reads == "minimal":
                    self.assertEqual(memory["alive", way] // 4, expected[-1], (name, way))


if __name__ == "__main__":
    unittest.main(verbosity=2)
