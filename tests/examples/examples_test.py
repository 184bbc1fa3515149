"""The examples as a user runs them: compiled by mxc, trained on real data, resumed, asked.

Usage: examples_test.py ROOT BUILD [unittest arguments]. Data sets outside the repository are looked for in ROOT/../shared; a test that
needs one that is absent is skipped and says so.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"
MNIST = ROOT.parent / "shared" / "data" / "mnist"

# Deep enough for values of forward to fill the memory; dropout's masks are made again too.
DEEP = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(deep) {
  Symbol h = input("image", {batch(32), 1, 8, 8});
  Symbol label = input("label", {batch(32)}, i32);
  for (int layer = 0; layer < 9; ++layer)
    h = dropout(relu(conv2d(h, {.filters = 16, .kernel = 3, .pad = 1})), {.rate = 0.1});
  minimize(softmax_cross_entropy(dense(flatten(h), {.units = 10}), label));
}
"""


def run(*command, cwd, **options):
    return subprocess.run([str(c) for c in command], cwd=cwd, check=True, capture_output=True, text=True, **options)


def compile_model(source, folder, *flags):
    program = folder / source.stem
    run(BUILD / "bin/mxc", "compile", *flags, source, "-o", program, cwd=folder)
    return program


def compile_example(name, folder, *flags):
    return compile_model(ROOT / f"examples/{name}/{name}.cpp", folder, *flags)


def test_accuracies(log):
    """The test accuracy after each epoch, as the JSON-lines log has it."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return [e["test"]["accuracy"] for e in events if "test" in e]


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.program = compile_example("digits", cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def train(self, save, *flags):
        run(self.program, "train", "--data", DIGITS, "--save", save, *flags, cwd=self.folder)
        return (self.folder / save).read_bytes()

    def test_learns_within_a_minute(self):
        start = time.monotonic()
        self.train("learned.safetensors", "--epochs", 30, "--schedule", "cosine", "--log", "log.jsonl")
        self.assertLess(time.monotonic() - start, 60)
        self.assertGreaterEqual(test_accuracies(self.folder / "log.jsonl")[-1], 0.97)
        shown = run(self.program, "predict", "--data", DIGITS, "--load", "learned.safetensors", "--count", 2, cwd=self.folder).stdout
        self.assertIn("probability:", shown)
        self.assertIn("@@", shown)

    def test_threads_do_not_change_a_byte(self):
        one, two, four = (self.train(f"t{n}.safetensors", "--epochs", 2, "--threads", n) for n in (1, 2, 4))
        self.assertEqual(one, two)
        self.assertEqual(one, four)

    def test_the_seed_decides(self):
        self.assertNotEqual(self.train("s0.safetensors", "--epochs", 1), self.train("s1.safetensors", "--epochs", 1, "--seed", 1))

    def test_resuming_in_the_middle_of_an_epoch_changes_nothing(self):
        whole = self.train("whole.safetensors", "--epochs", 2)
        self.train("half.safetensors", "--epochs", 2, "--steps", 61)
        self.assertEqual(whole, self.train("resumed.safetensors", "--epochs", 2, "--resume", "half.safetensors"))

    def test_interrupt_saves_and_resumes(self):
        command = [str(self.program), "train", "--data", DIGITS, "--epochs", "1000000", "--save", "cut.safetensors"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.stdout.readline().split()[:1] != ["2"]:  # the row of epoch 2
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        step = re.search(r"interrupted after step (\d+); saved cut.safetensors;", output)
        self.assertTrue(step, output)
        end = ("--epochs", 1000000, "--steps", int(step[1]) + 50)
        self.assertEqual(self.train("straight.safetensors", *end), self.train("joined.safetensors", *end, "--resume", "cut.safetensors"))

    def test_program_needs_no_compiler(self):
        libraries = run("ldd", self.program, cwd=self.folder).stdout
        self.assertNotIn("LLVM", libraries)
        self.assertNotIn("MLIR", libraries)

    def test_same_input_same_bytes(self):
        again = self.folder / "again"
        again.mkdir()
        self.assertEqual(self.program.read_bytes(), compile_example("digits", again).read_bytes())

    def test_mxc_run_compiles_and_runs(self):
        shown = run(BUILD / "bin/mxc", "run", ROOT / "examples/digits/digits.cpp", "--", "info", cwd=self.folder).stdout
        self.assertIn("conv2d0.weight", shown)

    def test_a_memory_limit_changes_no_byte(self):
        (self.folder / "deep.cpp").write_text(DEEP)

        def memory(name, *flags):
            command = (BUILD / "bin/mxc", "compile", "deep.cpp", "-o", name, "--report=memory,json", *flags)
            return json.loads(run(*command, cwd=self.folder).stdout)["total_bytes"]

        def trained(name):
            run(f"./{name}", "train", "--data", DIGITS, "--save", f"{name}.safetensors", "--epochs", 2, cwd=self.folder)
            return (self.folder / f"{name}.safetensors").read_bytes()

        needed = memory("free")
        limit = needed * 3 // 4
        self.assertLessEqual(memory("limited", f"--memory-limit={limit}"), limit)
        self.assertEqual(trained("free"), trained("limited"))
        self.assertEqual(memory("enough", f"--memory-limit={needed}"), needed)

    def test_double_precision(self):
        folder = self.folder / "f64"
        folder.mkdir()
        program = compile_example("digits", folder, "--dtype=f64")
        run(program, "train", "--data", DIGITS, "--epochs", 3, "--log", "log.jsonl", cwd=folder)
        self.assertGreaterEqual(test_accuracies(folder / "log.jsonl")[-1], 0.85)

    def test_other_optimizers(self):
        for kind, rate in (("sgd", 0.05), ("adamw", 0.003), ("rmsprop", 0.003), ("lamb:clip_norm=5", 0.02), ("lars:eta=0.1", 0.1)):
            folder = self.folder / kind.split(":")[0]
            folder.mkdir()
            program = compile_example("digits", folder, f"--optimizer={kind}")
            run(program, "train", "--data", DIGITS, "--epochs", 4, "--lr", rate, "--log", "log.jsonl", cwd=folder)
            self.assertGreaterEqual(test_accuracies(folder / "log.jsonl")[-1], 0.8, kind)


class NormedDigits(unittest.TestCase):
    """Batch norm and dropout: running statistics and random masks are part of what threads and resuming must keep."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.program = compile_model(ROOT / "tests/examples/normed_digits.cpp", cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def train(self, save, *flags):
        return run(self.program, "train", "--data", DIGITS, "--save", save, *flags, cwd=self.folder)

    def checkpoint(self, save, *flags):
        self.train(save, *flags)
        return (self.folder / save).read_bytes()

    def test_learns_and_evaluates_with_the_running_statistics(self):
        self.train("learned.safetensors", "--epochs", 8, "--schedule", "cosine", "--log", "log.jsonl")
        accuracy = test_accuracies(self.folder / "log.jsonl")[-1]
        self.assertGreaterEqual(accuracy, 0.97)
        # Evaluation depends on the checkpoint alone: not on the batch, as it would if a batch's own statistics were used.
        for batch in (32, 1):
            shown = run(self.program, "eval", "--data", DIGITS, "--load", "learned.safetensors", "--batch", batch, cwd=self.folder).stdout
            values = dict(line.split() for line in shown.splitlines())
            self.assertAlmostEqual(float(values["accuracy"]), accuracy, places=5)

    def test_threads_and_the_serial_engine_do_not_change_a_byte(self):
        one = self.checkpoint("t1.safetensors", "--epochs", 2, "--threads", 1)
        for n in (2, 4):
            self.assertEqual(one, self.checkpoint(f"t{n}.safetensors", "--epochs", 2, "--threads", n), f"{n} threads")
        self.assertEqual(one, self.checkpoint("naive.safetensors", "--epochs", 2, "--engine", "naive"))

    def test_resuming_in_the_middle_of_an_epoch_changes_nothing(self):
        whole = self.checkpoint("whole.safetensors", "--epochs", 2)
        self.train("half.safetensors", "--epochs", 2, "--steps", 61)
        self.assertEqual(whole, self.checkpoint("resumed.safetensors", "--epochs", 2, "--resume", "half.safetensors"))


class Lenet(unittest.TestCase):
    @unittest.skipUnless(MNIST.is_dir(), f"SKIPPED: no MNIST in {MNIST}")
    def test_three_epochs_of_mnist(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            program = compile_example("lenet", folder)
            run(program, "train", "--data", f"mnist:{MNIST}", "--epochs", 3, "--log", "log.jsonl", cwd=folder)
            self.assertGreaterEqual(test_accuracies(folder / "log.jsonl")[-1], 0.988)


if __name__ == "__main__":
    os.environ.pop("LD_LIBRARY_PATH", None)
    unittest.main(verbosity=2)
