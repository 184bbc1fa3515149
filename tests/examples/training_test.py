"""What a model can say of its training, end to end: loss scaling, parameters that begin with a file, values that are made again.

Usage: training_test.py ROOT BUILD [unittest arguments].
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file  # noqa: E402
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"

# MARK: a declaration at the head of each block; AFTER: one behind which the rest is declared.
NET = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(net) {
  Symbol image = input("image", {batch(32), 1, 8, 8});
  Symbol label = input("label", {batch(32)}, i32);
  Symbol h = conv2d(image, {.filters = 16, .kernel = 3, .pad = 1});
  for (int block = 0; block < 4; ++block) {
    MARK;
    Symbol x = relu(batch_norm(conv2d(h, {.filters = 16, .kernel = 3, .pad = 1})));
    x = dropout(relu(batch_norm(conv2d(x, {.filters = 16, .kernel = 3, .pad = 1}))), {.rate = 0.1});
    h = relu(h + x);
  }
  Symbol logits = dense(flatten(max_pool(h, {.kernel = 2, .stride = 2})), {.units = 10});
  minimize(softmax_cross_entropy(logits, label));
  optimizer(OPTIMIZER);
}
"""

FROM_FILE = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(net) {
  Symbol x = input("x", {batch(4), 6});
  Symbol h = tanh(dense(x, {.units = 20, .weight = from_file("weights.safetensors", "first"), .bias = from_file("bias.npy"), .name = "a"}));
  minimize(square(dense(h, {.units = 3, .weight = {.init = from_file("more.npz"), .gradient = GradientRequest::none}, .name = "b"})));
}
"""


def net(mark="", optimizer="sgd{.lr = 0.05, .momentum = 0.9}"):
    return NET.replace("MARK", mark).replace("OPTIMIZER", optimizer)


class Test(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_here(self, *command, code=0):
        done = subprocess.run([str(c) for c in command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def compile(self, name, text, *flags):
        """The memory report of the compiled program."""
        (self.folder / f"{name}.cpp").write_text(text)
        return json.loads(self.run_here(BUILD / "bin/mxc", "compile", f"{name}.cpp", "-o", name, "--report=memory,json", *flags).stdout)

    def train(self, name, save, *flags, steps=60):
        self.run_here(f"./{name}", "train", "--data", DIGITS, "--save", save, "--steps", steps, "--epochs", 2, *flags)
        return safetensors_file.read_bytes(self.folder / save)


class LossScale(Test):
    def check(self, kind):
        self.compile("plain", net(), f"--optimizer={kind}")
        separator = "," if ":" in kind else ":"
        self.compile("scaled", net(), f"--optimizer={kind}{separator}loss_scale=1024")
        tensors, metadata = self.train("plain", "plain.safetensors")
        self.assertNotIn("hyper.loss_scale", metadata)
        for save, flags in (("s", ()), ("t", ("--loss-scale", 0.0625)), ("u", ("--loss-scale", 65536, "--threads", 1))):
            scaled, metadata = self.train("scaled", save, *flags)
            self.assertEqual(float(metadata["hyper.loss_scale"]), flags[1] if flags else 1024)
            self.assertEqual(tensors, scaled, (kind, flags))

    def test_a_power_of_two_changes_no_bit(self):
        self.check("momentum")
        self.check("adamw:clip_norm=0.5,clip=0.01")
        self.check("lars")

    def test_other_numbers_change_little_and_none_means_none(self):
        self.compile("scaled", net(optimizer="sgd{.lr = 0.05, .loss_scale = 3}"), "--dtype=f64")
        third, _ = self.train("scaled", "a", steps=3)
        one, _ = self.train("scaled", "b", "--loss-scale", 1, steps=3)
        self.assertNotEqual(third, one)
        for name, data in third.items():
            np.testing.assert_allclose(np.frombuffer(data), np.frombuffer(one[name]), rtol=1e-9, atol=1e-11, err_msg=name)
        said = self.run_here("./scaled", "train", "--data", DIGITS, "--loss-scale", 0, code=2).stderr
        self.assertEqual(said, "net: error: --loss-scale: expected a number above 0, not 0; see net --help\n")


class FromFile(Test):
    def test_parameters_begin_with_files(self):
        random = np.random.default_rng(3)
        first, bias, second = (random.normal(size=size).astype(np.float32) for size in ((20, 6), (20,), (3, 20)))
        safetensors_file.write(self.folder / "weights.safetensors", {"other": bias, "first": first})
        np.save(self.folder / "bias.npy", bias)
        np.savez(self.folder / "more.npz", **{"b.weight": second})
        np.savez(self.folder / "data.npz", x=random.normal(size=(8, 6)).astype(np.float32))
        self.compile("net", FROM_FILE)
        train = ("./net", "train", "--data", "npz:data.npz", "--save", "start", "--steps", 1, "--lr", 0)
        self.run_here(*train)
        tensors, _ = safetensors_file.read_bytes(self.folder / "start")
        self.assertEqual(tensors["a.weight"], first.tobytes())
        self.assertEqual(tensors["a.bias"], bias.tobytes())
        self.assertEqual(tensors["b.weight"], second.tobytes())  # frozen, under its own name
        self.assertEqual(tensors["b.bias"], bytes(12))
        np.save(self.folder / "bias.npy", first)
        said = self.run_here(*train, code=1).stderr
        self.assertEqual(said, "net: error: parameter 'a.bias' begins with a file: bias.npy: the array is 20x6 f32, the parameter is 20 f32\n")


class Recompute(Test):
    def arena(self, report):
        return {graph["name"]: graph["arena_bytes"] for graph in report["graphs"]}["train"]

    def test_less_memory_and_the_same_bits(self):
        kept = self.arena(self.compile("kept", net()))
        again = self.arena(self.compile("again", net("Recompute again")))
        # Four blocks each keep what goes from block to block instead of all that they make.
        self.assertLess(again, 0.7 * kept)
        tensors, _ = self.train("kept", "kept.safetensors")
        for threads in (1, 2, 4):
            self.assertEqual(tensors, self.train("again", "again.safetensors", "--threads", threads)[0])

    def test_a_limit_goes_on_from_there(self):
        report = self.compile("again", net("Recompute again"))
        limit = report["total_bytes"] - self.arena(report) // 8
        self.assertLessEqual(self.compile("limited", net("Recompute again"), f"--memory-limit={limit}")["total_bytes"], limit)
        self.assertEqual(self.train("again", "a")[0], self.train("limited", "b")[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
