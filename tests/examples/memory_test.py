"""The memory of a running trainer against what the compiler promised.

Usage: memory_test.py ROOT BUILD [unittest arguments].
"""
import collections
import itertools
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MIB = 1 << 20

MODEL = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(wide) {
  Symbol image = input("image", {batch(BATCH), 3, 96, 96});
  Symbol label = input("label", {batch(BATCH)}, i32);
  Symbol h = image;
  for (int layer = 0; layer < 6; ++layer) h = relu(conv2d(h, {.filters = 16, .kernel = 3, .pad = 1}));
  minimize(softmax_cross_entropy(dense(flatten(h), {.units = 10}), label));
}
"""


class Memory(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def promised_and_taken(self, batch, *flags):
        """Bytes in the report, and the most that the trainer had resident."""
        (self.folder / "wide.cpp").write_text(MODEL.replace("BATCH", str(batch)))
        command = [BUILD / "bin/mxc", "compile", "wide.cpp", "-o", "wide", "--report=memory,json", *flags]
        report = json.loads(subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout)
        trainer = subprocess.Popen(["./wide", "train", "--data", "random:40", "--batch", str(batch), "--steps", "2", "--threads", "1"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(trainer.pid, 0)
        trainer.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(trainer.returncode, 0)
        return report["total_bytes"], usage.ru_maxrss * 1024

    def test_a_trainer_takes_what_the_report_says(self):
        # What a program takes for itself and its data is in both; the report must account for the rest.
        small, large = self.promised_and_taken(1), self.promised_and_taken(32)
        promised, taken = large[0] - small[0], large[1] - small[1]
        self.assertGreater(promised, 100 * MIB)
        self.assertLess(abs(taken - promised), 0.03 * promised + 10 * MIB)

    def test_recomputing_takes_less(self):
        kept, limit = self.promised_and_taken(32), 92 * MIB
        again = self.promised_and_taken(32, f"--memory-limit={limit}")
        self.assertLessEqual(again[0], limit)
        self.assertLess(again[1], kept[1] - 40 * MIB)


SHARDED = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(sharded) {
  minimize(square(dense(input("x", {batch(1), 4096}), {.units = 4096, .bias = false})));
}
"""


class Reserved(unittest.TestCase):
    def test_gradients_of_several_shards_cost_no_other_training(self):
        """Under a limit that has room for what the report says and half of the parameter, but not for its gradient too."""
        parameter = 4 * 4096 * 4096
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "sharded.cpp").write_text(SHARDED)
            command = [BUILD / "bin/mxc", "compile", "sharded.cpp", "-o", "sharded", "--report=memory,json"]
            promised = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)["total_bytes"]

            def limit():
                resource.setrlimit(resource.RLIMIT_DATA, (promised + parameter // 2,) * 2)
                resource.setrlimit(resource.RLIMIT_STACK, (MIB,) * 2)  # that of each thread counts

            def train(*more):
                return subprocess.run(["./sharded", "train", "--data", "random:2", "--epochs", "1", "--threads", "1", *more], cwd=folder,
                                      capture_output=True, text=True, preexec_fn=limit)

            alone, several = train(), train("--shards", "2")
            self.assertEqual(alone.returncode, 0, alone.stderr)
            self.assertEqual(several.returncode, 1, several.stdout + several.stderr)
            self.assertRegex(several.stderr, "^sharded: error: .*memory")

            shown = subprocess.run(["./sharded", "info", "--json"], cwd=folder, check=True, capture_output=True, text=True).stdout
            memory, = json.loads(shown)["memory"]
            self.assertEqual(memory["arena_bytes"] + memory["persistent_bytes"] + memory["io_bytes"], promised)
            self.assertGreaterEqual(memory["shards"]["io_bytes"], memory["io_bytes"] + parameter)
            for told in (["./sharded", "info"], [BUILD / "bin/mxc", "inspect", "sharded"]):
                shown = subprocess.run(told, cwd=folder, check=True, capture_output=True, text=True).stdout
                self.assertRegex(shown, "\n    with several shards: arena .*, inputs and outputs ")


class AnotherForward(unittest.TestCase):
    """The most that a limit can ask for is one more forward: each of its steps is repeated once at most."""

    def compile(self, model, *flags, code=0):
        command = [BUILD / "bin/mxc", "compile", ROOT / f"examples/{model}/{model}.cpp", "--emit=plan", "-o", "-", *flags]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran.stdout if code == 0 else ran.stderr

    def steps(self, plan, graph):
        """Name, kernel and flops of each step."""
        text = re.search(rf"\ngraph {graph} .*?(?=\ngraph |\Z)", plan, re.DOTALL).group(0)
        found = re.findall(r"^ *step \d+ (.*?): cpu kernel (\d+),.*?(?:, (\d+) flops)?$", text, re.MULTILINE)
        return [(name, kernel, int(flops or 0)) for name, kernel, flops in found]

    def test_networks(self):
        for model in ("lenet", "resnet20"):
            with self.subTest(model):
                kept = self.compile(model)
                missing = re.search(r"memory limit of 1 bytes is (\d+) bytes too small: train needs", self.compile(model, "--memory-limit=1", code=1))
                again = self.steps(self.compile(model, f"--memory-limit={1 + int(missing.group(1))}"), "train")
                once = self.steps(kept, "train")
                forward = list(itertools.takewhile(lambda step: ".gradient" not in step[0], again))
                self.assertEqual([name for name, _, _ in forward], [name for name, _, _ in once[:len(forward)]])
                repeated = [step for step in again[len(forward):] if step in forward]
                self.assertGreater(len(repeated), len(forward) // 4)
                self.assertEqual(collections.Counter(repeated) - collections.Counter(forward), collections.Counter())
                work = [sum(flops for _, _, flops in steps) for steps in (once, again, self.steps(kept, "eval"))]
                self.assertGreater(work[1], work[0])
                self.assertLessEqual(work[1], work[0] + work[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
