"""mxc run --params and mxc verify: a trained model on arrays of files.

Usage: verify_test.py ROOT BUILD [unittest arguments].
"""
import unittest

import numpy

from library_fixture import LENET, MXC, SAMPLES, lenet, predict, run
import safetensors_file

WORDS = """
#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(words) {
  output("sum", sum(embedding(input("word", {batch(4), 3}, i32), {.vocabulary = 5, .units = 2}), {.axes = {1}}));
}
"""


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()
        cls.images = numpy.load(cls.folder / "images.npz")["image"]
        numpy.save(cls.folder / "images.npy", cls.images)

    def mxc(self, *arguments, code=0, model=LENET, params="lenet.safetensors"):
        return run(MXC, "run", model, "--params", params, *arguments, cwd=self.folder, code=code)

    def refused(self, *arguments, code=1, **more):
        return self.mxc(*arguments, "--output", "probability=refused.npy", code=code, **more).stderr

    def test_more_samples_than_a_batch(self):
        self.mxc("--input", "image=images.npy", "--output", "probability=p.npy")
        found = numpy.load(self.folder / "p.npy")
        self.assertEqual(found.shape, (SAMPLES, 10))
        self.assertEqual(found.tobytes(), predict(self.folder, 64).tobytes())

    def test_one_sample_without_its_axis(self):
        numpy.save(self.folder / "digit.npy", self.images[5])
        self.mxc("--input", "image=digit.npy", "--output", "probability=p.npy")
        self.assertEqual(numpy.load(self.folder / "p.npy").tobytes(), predict(self.folder, 1)[5].tobytes())

    def test_wrong_arrays(self):
        self.assertEqual(self.refused(), "mxc: error: input 'image': there is no array for it\n")
        numpy.save(self.folder / "double.npy", self.images.astype("f8"))
        takes = "the model takes 64x1x28x28 f32, for any number of samples in place of 64\n"
        self.assertEqual(self.refused("--input", "image=double.npy"), f"mxc: error: input 'image': the array is {SAMPLES}x1x28x28 f64, {takes}")
        numpy.save(self.folder / "small.npy", self.images[:, :, 1:])
        self.assertEqual(self.refused("--input", "image=small.npy"), f"mxc: error: input 'image': the array is {SAMPLES}x1x27x28 f32, {takes}")
        numpy.save(self.folder / "none.npy", self.images[:0])
        self.assertEqual(self.refused("--input", "image=none.npy"), f"mxc: error: input 'image': the array is 0x1x28x28 f32, {takes}")
        self.assertEqual(self.refused("--input", "image=nowhere.npy"), "mxc: error: nowhere.npy: No such file or directory\n")

    def test_wrong_command_lines(self):
        self.assertEqual(self.refused("--input", "image", code=2), "mxc: error: --input image: NAME=FILE.npy is expected\n")
        self.assertEqual(self.mxc("--input", "image=images.npy", code=2).stderr,
                         "mxc: error: the model's inference is run: say where a result goes with --output NAME=FILE.npy\n")
        self.assertEqual(self.mxc("--output", "p=p.npy", "train", code=2).stderr,
                         "mxc: error: 'train' is one word too many: with --params, --input and --output no program is run\n")
        self.assertEqual(self.mxc("--input", "image=images.npy", "--output", "probabilities=p.npy", code=1).stderr,
                         "mxc: error: the model has no output 'probabilities'; did you mean 'probability'?\n")
        without = run(MXC, "run", LENET, "--input", "image=images.npy", "--output", "probability=p.npy", cwd=self.folder, code=2).stderr
        self.assertEqual(without, "mxc: error: the model has trained parameters: name their file with --params\n")

    def test_integers_without_a_place(self):
        (self.folder / "words.cpp").write_text(WORDS)
        weight = numpy.arange(10, dtype="f4").reshape(5, 2)
        safetensors_file.write(self.folder / "words.safetensors", {"embedding0.weight": weight})
        words = numpy.array([[0, 1, 2], [3, 4, 4], [1, 1, 1], [0, 0, 4], [2, 2, 2]], "i4")
        numpy.save(self.folder / "words.npy", words)
        more = {"model": "words.cpp", "params": "words.safetensors"}
        self.mxc("--input", "word=words.npy", "--output", "sum=sum.npy", **more)
        self.assertTrue((numpy.load(self.folder / "sum.npy") == weight[words].sum(1)).all())
        words[4, 2] = 5
        numpy.save(self.folder / "words.npy", words)
        self.assertEqual(self.mxc("--input", "word=words.npy", "--output", "sum=sum.npy", code=1, **more).stderr,
                         "mxc: error: the model refuses its inputs: an integer of an input is outside of what the model accepts\n")


    def model(self, name, body):
        (self.folder / f"{name}.cpp").write_text(f"#include <mxc/mxc.h>\nusing namespace mxc;\nMXC_MODEL({name}) {{ {body} }}\n")
        return f"{name}.cpp"

    def infer(self, model, outputs, code=0, **inputs):
        """A model without parameters: its outputs, or the error."""
        for name, array in inputs.items():
            numpy.save(self.folder / f"in_{name}.npy", array)
        flags = [word for name in inputs for word in ("--input", f"{name}=in_{name}.npy")]
        flags += [word for name in outputs for word in ("--output", f"{name}=out_{name}.npy")]
        done = run(MXC, "run", model, *flags, cwd=self.folder, code=code)
        return done.stderr if code else [numpy.load(self.folder / f"out_{name}.npy") for name in outputs]

    def test_batches_that_are_not_the_first_axis(self):
        model = self.model("columns", """Symbol x = input("x", {3, batch(4), 2}), w = input("w", {batch(4)});
            output("y", x * 2); output("z", w + 1); output("t", transpose(w * sum(x, {.axes = {0, 2}})));""")
        random = numpy.random.default_rng(8)
        for count in (1, 3, 4, 5, 11):
            x, w = random.normal(size=(3, count, 2)).astype("f4"), random.normal(size=count).astype("f4")
            y, z, t = self.infer(model, ("y", "z", "t"), x=x, w=w)
            self.assertEqual(y.tobytes(), (x * 2).tobytes(), count)
            self.assertEqual(z.tobytes(), (w + 1).tobytes(), count)
            numpy.testing.assert_allclose(t, w * x.astype("f8").sum((0, 2)), rtol=1e-5, atol=1e-6)
        one, = self.infer(model, ("y",), x=x[:, 0], w=w[:1])
        self.assertEqual(one.tobytes(), (x[:, :1] * 2).tobytes())
        self.assertEqual(self.infer(model, ("y",), code=1, x=x[:2], w=w),
                         "mxc: error: input 'x': the array is 2x11x2 f32, the model takes 3x4x2 f32, for any number of samples in place of 4\n")

    def test_one_result_for_all_samples(self):
        model = self.model("total", 'Symbol x = input("x", {batch(4), 2}); output("s", sum(x)); output("y", x + 1);')
        x = numpy.arange(10, dtype="f4").reshape(5, 2)
        self.assertEqual(self.infer(model, ("s",), x=x[:3])[0], 15)
        self.assertEqual(self.infer(model, ("s",), x=x[:4])[0], 28)
        self.assertEqual(self.infer(model, ("y",), x=x)[0].tobytes(), (x + 1).tobytes(), "what is not asked for does no harm")
        self.assertEqual(self.infer(model, ("s", "y"), code=3, x=x),
                         "mxc: error: 's' is one for all samples of a run, of which there are 4 at most and 5 are given: give no more, or compile for them with "
                         "--dim batch=5\n")
        numpy.save(self.folder / "in_x.npy", x)
        run(MXC, "run", model, "--dim", "batch=5", "--input", "x=in_x.npy", "--output", "s=s.npy", cwd=self.folder)
        self.assertEqual(numpy.load(self.folder / "s.npy"), 45)

    def test_a_model_without_inputs(self):
        model = self.model("constant", 'Symbol w = parameter("w", {2}, {.init = ones()}); output("y", w * 2);')
        safetensors_file.write(self.folder / "constant.safetensors", {"w": numpy.array([3, 4], "f4")})
        run(MXC, "run", model, "--params", "constant.safetensors", "--output", "y=y.npy", cwd=self.folder)
        self.assertEqual(numpy.load(self.folder / "y.npy").tolist(), [6, 8])


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()
        cls.images = numpy.load(cls.folder / "images.npz")["image"]
        cls.expected = predict(cls.folder, 64)

    def verify(self, *flags, code=0, **arrays):
        numpy.savez(self.folder / "reference.npz", image=self.images, **arrays)
        return run(MXC, "verify", LENET, "--params", "lenet.safetensors", "--data", "reference.npz", *flags, cwd=self.folder, code=code)

    def test_agrees(self):
        shown = self.verify(probability=self.expected)
        self.assertEqual(shown.stdout, f"probability: {SAMPLES * 10} numbers agree, the largest difference is 0\n")
        self.assertEqual(shown.stderr, "")
        near = self.verify(probability=self.expected.astype("f8") * (1 + 5e-5)).stdout
        self.assertRegex(near, rf"^probability: {SAMPLES * 10} numbers agree, the largest difference is \de-0\d\n|\d\.\d+e-0\d\n$")

    def test_differs(self):
        other = self.expected.copy()
        other[3, 7] += 0.25
        other[70, 0] = numpy.nan
        shown = self.verify(probability=other, code=1).stderr
        self.assertRegex(shown, r"^mxc: error: output 'probability' differs at \[3, 7\]: [0-9.]+, expected [0-9.]+; 2 of 710 numbers differ, 1 by NaN on one side, the others by 0\.25 at most\n"
                                r"mxc: note: arrays for tensors within the model show where the difference begins: conv2d0, tanh0, max_pool0, conv2d1 "
                                r"and \d+ more that mxc compile --emit=graph names\n$")
        other[3, 7] -= 0.25
        self.assertRegex(self.verify(probability=other, code=1).stderr,
                         r"^mxc: error: output 'probability' differs at \[70, 0\]: [0-9.]+, expected nan; 1 of 710 numbers differ, 1 by NaN on one side\n")
        self.assertEqual(self.verify("--atol", 0.3, probability=self.expected + 0.25, code=0).stderr, "")
        self.assertIn("differs at [0, 0]", self.verify("--rtol", 0, "--atol", 0, probability=self.expected * (1 + 1e-6), code=1).stderr)

    def test_wrong_references(self):
        self.assertEqual(self.verify(code=1).stderr, "mxc: error: reference.npz: there is no array for any output or tensor of the model\n")
        self.assertEqual(self.verify(probability=self.expected[:, 1:], code=1).stderr,
                         f"mxc: error: output 'probability' is {SAMPLES}x10 f32, expected {SAMPLES}x9 f32\n")
        self.assertEqual(self.verify(probability=self.expected.astype("f2"), code=3).stderr,
                         "mxc: error: 'probability': numbers of 16 bits are not compared\n")
        self.assertEqual(self.verify(probability=self.expected, hidden=self.images, label=self.images, **{"dense0.bias": self.images}).stderr,
                         "mxc: warning: the array 'hidden' is no tensor of the model, and is not compared\n")
        for flag, wrong in (("--atol", "nan"), ("--rtol", "-1"), ("--atol", "inf"), ("--rtol", "much")):
            self.assertEqual(self.verify(f"{flag}={wrong}", code=2).stderr, f"mxc: error: {flag}: '{wrong}' is no number of at least 0\n")
        numpy.savez(self.folder / "empty.npz")
        self.assertRegex(run(MXC, "verify", LENET, "--params", "lenet.safetensors", "--data", "empty.npz", cwd=self.folder, code=1).stderr,
                         r"^mxc: error: empty\.npz: (there is no array in this archive|byte 0: this is not an NPZ \(zip\) file)\n$")
        self.assertEqual(run(MXC, "verify", LENET, "--data", "reference.npz", cwd=self.folder, code=2).stderr,
                         "mxc: error: the model has trained parameters: name their file with --params\n")
        missing = run(MXC, "verify", LENET, "--params", "lenet.safetensors", "--data", "nowhere.npz", cwd=self.folder, code=1).stderr
        self.assertEqual(missing, "mxc: error: nowhere.npz: No such file or directory\n")


def convolved(images, weight, bias):
    """By the definition, in double: filters slide over the pictures, nothing is padded."""
    windows = numpy.lib.stride_tricks.sliding_window_view(images.astype("f8"), weight.shape[2:], axis=(2, 3))
    return numpy.einsum("nchwij,fcij->nfhw", windows, weight.astype("f8"), optimize=True) + bias.astype("f8")[:, None, None]


def pooled(values):
    n, c, h, w = values.shape
    return values.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


class VerifyWithin(unittest.TestCase):
    """Tensors within the model, against NumPy in double."""

    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()
        cls.images = numpy.load(cls.folder / "images.npz")["image"]
        trained, _ = safetensors_file.read(cls.folder / "lenet.safetensors")
        cls.tensors = {"conv2d0": convolved(cls.images, trained["conv2d0.weight"], trained["conv2d0.bias"])}
        cls.tensors["tanh0"] = numpy.tanh(cls.tensors["conv2d0"])
        cls.tensors["max_pool0"] = pooled(cls.tensors["tanh0"])
        cls.tensors["conv2d1"] = convolved(cls.tensors["max_pool0"], trained["conv2d1.weight"], trained["conv2d1.bias"])
        cls.probability = predict(cls.folder, 64)

    def verify(self, code=0, model=LENET, params="lenet.safetensors", **arrays):
        numpy.savez(self.folder / "within.npz", **arrays)
        return run(MXC, "verify", model, *(["--params", params] if params else []), "--data", "within.npz", cwd=self.folder, code=code)

    def test_agrees_in_the_order_of_computation(self):
        shown = self.verify(image=self.images, probability=self.probability, **self.tensors).stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in shown], ["conv2d0", "tanh0", "max_pool0", "conv2d1", "probability"])
        for line, (name, tensor) in zip(shown, self.tensors.items()):
            self.assertIn(f"{name}: {tensor.size} numbers agree", line)

    def test_the_first_that_differs_is_named_with_its_line(self):
        wrong = {name: tensor.copy() for name, tensor in self.tensors.items()}
        wrong["max_pool0"][3, 7, 2, 1] += 0.25
        wrong["conv2d1"] += 1
        shown = self.verify(image=self.images, probability=self.probability + 1, code=1, **wrong)
        self.assertEqual([line.split(":")[0] for line in shown.stdout.splitlines()], ["conv2d0", "tanh0"])
        line = next(i for i, text in enumerate(LENET.read_text().splitlines(), 1) if "filters = 20" in text)
        first, source, caret = shown.stderr.splitlines()
        self.assertRegex(first, rf"^{LENET}:{line}:14: error: 'max_pool0' differs at \[3, 7, 2, 1\]: [-0-9.]+, expected [-0-9.]+; 1 of {wrong['max_pool0'].size} "
                                r"numbers differ, by 0\.25 at most$")
        self.assertEqual(source, LENET.read_text().splitlines()[line - 1])
        self.assertEqual(caret, " " * 13 + "^" + "~" * 7)

    def test_one_of_several_results(self):
        (self.folder / "halves.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(halves) {
  std::vector<Symbol> parts = split(input("x", {batch(4), 6}), {.parts = 2});
  output("y", parts[0] * parts[1]);
}
""")
        halves = {"model": "halves.cpp", "params": None}
        x = numpy.arange(12, dtype="f4").reshape(2, 6)
        shown = self.verify(**halves, x=x, **{"split0": x[:, :3], "split0.1": x[:, 3:]}).stdout
        self.assertEqual(shown, "".join(f"{name}: 6 numbers agree, the largest difference is 0\n" for name in ("split0", "split0.1")))
        self.assertIn("'split0.1' differs at [0, 0]: 3, expected 4; 6 of 6",
                      self.verify(**halves, code=1, x=x, **{"split0": x[:, :3], "split0.1": x[:, 3:] + 1}).stderr)

    def test_samples_that_do_not_lie_one_after_another(self):
        (self.folder / "turned.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(turned) { output("y", transpose(input("x", {batch(4), 3}), {.axes = {1, 0}})); }
""")
        turned = {"model": "turned.cpp", "params": None}
        x = numpy.arange(12, dtype="f4").reshape(4, 3)
        self.assertEqual(self.verify(**turned, x=x, y=numpy.ascontiguousarray(x.T)).stdout, "y: 12 numbers agree, the largest difference is 0\n")
        self.assertEqual(self.verify(**turned, x=x[:2], y=numpy.ascontiguousarray(x[:2].T)).stdout, "y: 6 numbers agree, the largest difference is 0\n")
        x = numpy.arange(27, dtype="f4").reshape(9, 3)
        self.assertEqual(self.verify(**turned, x=x, y=numpy.ascontiguousarray(x.T)).stdout, "y: 27 numbers agree, the largest difference is 0\n")

    def test_one_result_for_more_samples_than_a_run_takes(self):
        (self.folder / "total.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(total) { Symbol x = input("x", {batch(4), 2}); output("s", sum(x)); output("y", x * 2); }
""")
        total, x = {"model": "total.cpp", "params": None}, numpy.arange(10, dtype="f4").reshape(5, 2)
        self.assertEqual(self.verify(**total, x=x, s=numpy.float32(45), code=3).stderr,
                         "mxc: error: 's' is one for all samples of a run, of which there are 4 at most and 5 are given: give no more, or compile for them with "
                         "--dim batch=5\n")
        self.assertEqual(self.verify(**total, x=x, y=x * 2).stdout, "y: 10 numbers agree, the largest difference is 0\n")


if __name__ == "__main__":
    unittest.main()
