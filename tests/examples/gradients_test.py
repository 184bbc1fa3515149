"""Models that differentiate themselves, against NumPy: gradients by formula, the training step by central differences in double.

Usage: gradients_test.py ROOT BUILD [unittest arguments].
"""
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

# A product of the Hessian with a vector: no Hessian is ever made.
HESSIAN = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(hessian) {
  Symbol x = input("x", {batch(4), 6}, f64);
  Symbol v = input("v", {batch(4), 6}, f64);
  Symbol h = tanh(dense(x, {.units = 5, .name = "a"}));
  Symbol energy = square(dense(h, {.units = 3, .name = "b"}));
  Symbol slope = gradient(energy, x);
  output("slope", slope);
  output("product", gradient(slope * v, x));
  output("unread", gradient(energy, v));
  minimize(energy);
}
"""

# The critic of a generative adversarial net whose slope is held near 1 (Gulrajani et al. 2017): training goes through the gradient.
PENALTY = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(penalty) {
  Symbol x = input("x", {batch(4), 6}, f64);
  Symbol h = tanh(dense(x, {.units = 5, .name = "a"}));
  Symbol score = dense(h, {.units = 1, .name = "b"});
  Symbol length = sqrt(sum(square(gradient(score, x)), {.axes = {1}}));
  minimize(score);
  minimize(10.0 * square(length - 1.0));
  optimizer(sgd{.lr = 0.5});
  output("length", length);
}
"""

# A value with many users: the gradient is a sum of small whole numbers, so it is exact.
FAN_OUT = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(fan) {
  Symbol x = input("x", {batch(4), 6}, f64);
  Symbol total = 0.0 * x;
  for (int users = 1; users <= 33; ++users) {
    total = total + double(users) * x;
    output("users" + std::to_string(users), gradient(total, x));
  }
  output("stopped", gradient(x * stop_gradient(total), x));
  output("total", total);
  minimize(dense(x, {.units = 1}));
}
"""

FROZEN = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(frozen) {
  Symbol x = input("x", {batch(4), 6}, f64);
  Symbol h = tanh(dense(x, {.units = 5, .weight = {.gradient = REQUEST}, .name = "a"}));
  minimize(square(dense(h, {.units = 3, .name = "b"})));
  optimizer(sgd{.lr = 0.5});
}
"""


class Gradients(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        random = np.random.default_rng(5)
        self.x, self.v = random.normal(size=(4, 6)), random.normal(size=(4, 6))
        np.savez(self.folder / "data.npz", x=self.x, v=self.v)

    def tearDown(self):
        self.scratch.cleanup()

    def run_in(self, *command):
        done = subprocess.run([str(c) for c in command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def compile(self, name, text):
        (self.folder / f"{name}.cpp").write_text(text)
        self.run_in(BUILD / "bin/mxc", "compile", "--dtype=f64", f"{name}.cpp", "-o", name)

    def train(self, name, steps):
        save = f"{name}{steps}.safetensors"
        self.run_in(f"./{name}", "train", "--data", "npz:data.npz", "--epochs", steps, "--batch", 4, "--save", save)
        return safetensors_file.read(self.folder / save)[0]

    def predict(self, name, load):
        self.run_in(f"./{name}", "predict", "--data", "npz:data.npz", "--load", load, "--count", 4, "--output", "out.npz")
        return np.load(self.folder / "out.npz")

    def test_hessian_vector_product(self):
        self.compile("hessian", HESSIAN)
        p = self.train("hessian", 1)
        out = self.predict("hessian", "hessian1.safetensors")
        a, b, c, d = p["a.weight"], p["a.bias"], p["b.weight"], p["b.bias"]

        def slope(x):
            h = np.tanh(x @ a.T + b)
            return 2 * (h @ c.T + d) @ c * (1 - h * h) @ a

        step = 1e-5
        product = (slope(self.x + step * self.v) - slope(self.x - step * self.v)) / (2 * step)
        np.testing.assert_allclose(out["slope"], slope(self.x), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(out["product"], product, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(out["unread"], 0)

    def test_training_through_a_gradient(self):
        self.compile("penalty", PENALTY)
        before, after = self.train("penalty", 1), self.train("penalty", 2)

        def loss(p):
            h = np.tanh(self.x @ p["a.weight"].T + p["a.bias"])
            slope = (p["b.weight"] * (1 - h * h)) @ p["a.weight"]
            return np.mean(h @ p["b.weight"].T + p["b.bias"]) + 10 * np.mean((np.linalg.norm(slope, axis=1) - 1) ** 2)

        for name in ("a.weight", "a.bias", "b.weight", "b.bias"):
            expected = np.zeros_like(before[name])
            for index in np.ndindex(expected.shape):
                sides = []
                for step in (1e-6, -1e-6):
                    moved = {k: v.copy() for k, v in before.items()}
                    moved[name][index] += step
                    sides.append(loss(moved))
                expected[index] = (sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose((before[name] - after[name]) / 0.5, expected, rtol=1e-6, atol=1e-7, err_msg=name)

    def test_fan_out(self):
        self.compile("fan", FAN_OUT)
        self.train("fan", 1)
        out = self.predict("fan", "fan1.safetensors")
        for users in range(1, 34):
            np.testing.assert_array_equal(out[f"users{users}"], users * (users + 1) / 2)
        np.testing.assert_array_equal(out["stopped"], out["total"])

    def test_what_is_asked_for_changes_no_value(self):
        self.compile("all", FROZEN.replace("REQUEST", "GradientRequest::write").replace("frozen", "all"))
        self.compile("some", FROZEN.replace("REQUEST", "GradientRequest::none").replace("frozen", "some"))
        everything, some = self.train("all", 1), self.train("some", 1)
        for name in ("a.bias", "b.weight", "b.bias"):
            np.testing.assert_array_equal(everything[name], some[name], err_msg=name)
        self.assertFalse(np.array_equal(everything["a.weight"], some["a.weight"]))
        np.testing.assert_array_equal(some["a.weight"], self.train("some", 2)["a.weight"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
