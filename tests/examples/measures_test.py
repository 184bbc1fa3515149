"""Numbers that are no means over samples (F1, MCC, perplexity, RMSE), of a trained program against NumPy, whatever the batches.

Usage: measures_test.py ROOT BUILD [unittest arguments].
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
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"

MODEL = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(measures) {
  Symbol image = input("image", {batch(32), 64});
  Symbol label = input("label", {batch(32)}, i32);
  Symbol logits = dense(relu(dense(image, {.units = 16})), {.units = 10});
  Symbol truth = one_hot(label, {.depth = 10, .dtype = f32});
  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  report("f1", f1_score(logits, label, {.positive = 8}));
  report("mcc", mcc(logits, label, {.positive = 8}));
  report("perplexity", perplexity(logits, label));
  report("rmse", rmse(softmax(logits), truth));
  output("probability", softmax(logits));
  output("truth", truth);
  optimizer(lamb{.lr = 0.02, .clip_norm = 1});
}
"""


def run(*command, cwd):
    return subprocess.run([str(c) for c in command], cwd=cwd, check=True, capture_output=True, text=True).stdout


def expected(probability, truth):
    predicted, label = probability.argmax(1) == 8, truth.argmax(1) == 8
    tp, fp = (predicted & label).sum(), (predicted & ~label).sum()
    fn, tn = (~predicted & label).sum(), (~predicted & ~label).sum()
    return {
        "accuracy": (probability.argmax(1) == truth.argmax(1)).mean(),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / np.sqrt(float((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
        "perplexity": np.exp(-np.log(probability[truth == 1]).mean()),
        "rmse": np.sqrt(((probability - truth) ** 2).mean()),
    }


class Measures(unittest.TestCase):
    def test_over_all_samples(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "measures.cpp").write_text(MODEL)
            run(BUILD / "bin/mxc", "compile", "measures.cpp", "-o", "measures", cwd=folder)
            run("./measures", "train", "--data", DIGITS, "--epochs", 3, "--save", "m", "--log", "log.jsonl", cwd=folder)
            run("./measures", "predict", "--data", DIGITS, "--load", "m", "--count", 359, "--output", "p.npz", cwd=folder)
            with np.load(folder / "p.npz") as arrays:
                wanted = expected(arrays["probability"].astype(np.float64), arrays["truth"])
            self.assertGreater(wanted["f1"], 0.3)
            for batch in 32, 7:
                lines = run("./measures", "eval", "--data", DIGITS, "--load", "m", "--batch", batch, cwd=folder).splitlines()
                shown = {name: float(value) for name, value in (line.split() for line in lines)}
                self.assertEqual(list(shown), ["samples", "loss", "accuracy", "f1", "mcc", "perplexity", "rmse"])
                for name, value in wanted.items():
                    self.assertAlmostEqual(shown[name], value, delta=2e-5 * max(1, abs(value)), msg=f"{name} with batch {batch}")
            last = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines() if '"epoch"' in line and '"test"' in line][-1]
            self.assertAlmostEqual(last["test"]["f1"], wanted["f1"], delta=1e-5)


if __name__ == "__main__":
    unittest.main()
