"""Embedded libraries with several sets of sizes: the bits of a library of each alone, weights that are there once, and what is refused.

Usage: library_sets_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import functools
import json
import unittest

import numpy

from library_fixture import MXC, ROOT, STRICT, SharedLibrary, pathlib, run, scratch
import safetensors_file

DIGITS = ROOT / "examples/digits/digits.cpp"
PICTURES = """#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(pictures) {
  int64_t size = dim("size", 8);
  Symbol x = input("x", {batch(4), 3, size, size});
  Symbol h = relu(conv2d(x, {.filters = 16, .kernel = 3, .pad = 1}));
  output("each", h);
  output("y", dense(mean(h, {.axes = {2, 3}}), {.units = 5}));
}
"""


class Library(SharedLibrary):
    """`outputs`: shapes of a sample."""

    def __init__(self, path, name, outputs):
        super().__init__(path, name)
        self.outputs = outputs

    def run(self, x, *number):
        """Status and outputs for all samples of x; with a number, by that set."""
        results = [numpy.zeros((len(x), *(s(x.shape) if callable(s) else s for s in shape)), "f4") for shape in self.outputs]
        pointers = [(ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * len(results))(*(r.ctypes.data for r in results))]
        verb = self.function("run_set" if number else "run")
        return verb(self.context, *(ctypes.c_int(n) for n in number), *pointers, ctypes.c_int64(len(x))), results

    def step(self, x, label):
        loss = ctypes.c_float()
        pointers = [(ctypes.c_void_p * 2)(x.ctypes.data, label.ctypes.data), (ctypes.c_void_p * 2)(ctypes.addressof(loss), None)]
        return self.function("train_step")(self.context, *pointers, ctypes.c_int64(len(x))), loss.value


@functools.cache
def folder(name):
    made = pathlib.Path(scratch.name) / name
    made.mkdir()
    if name == "digits":
        run(MXC, "compile", DIGITS, "-o", "digits", cwd=made)
        run("./digits", "train", "--data", "random:64", "--epochs", 1, "--save", "params", cwd=made)
    else:
        random = numpy.random.default_rng(5)
        shapes = {"conv2d0.weight": (16, 3, 3, 3), "conv2d0.bias": (16,), "dense0.weight": (5, 16), "dense0.bias": (5,)}
        safetensors_file.write(made / "params", {k: random.normal(size=s).astype("f4") for k, s in shapes.items()})
        (made / "pictures.cpp").write_text(PICTURES)
    return made


def make(name, library, *flags):
    source = DIGITS if name == "digits" else "pictures.cpp"
    outputs = [(10,)] if name == "digits" else [(16, lambda s: s[2], lambda s: s[3]), (5,)]
    run(MXC, "compile", source, "--params", "params", "--emit=shared", "-o", f"{library}.so", *flags, cwd=folder(name))
    return Library(folder(name) / f"{library}.so", name, outputs)


IMAGES = numpy.random.default_rng(4).normal(size=(33, 1, 8, 8)).astype("f4")
LABELS = numpy.arange(33, dtype="i4") % 10


class Batches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = make("digits", "all", "--train=dense1", "--dims", "batch=8", "--dims", "batch=1", "--dims", "batch=32")
        cls.single = {n: make("digits", f"single{n}", "--train=dense1", "--dim", f"batch={n}") for n in (1, 8, 32)}

    def test_a_run_has_the_bits_of_the_smallest_that_fits(self):
        for n, batch in ((1, 1), (2, 8), (7, 8), (8, 8), (9, 32), (32, 32)):
            status, found = self.library.run(IMAGES[:n])
            _, expected = self.single[batch].run(IMAGES[:n])
            self.assertEqual(status, 0)
            self.assertEqual(found[0].tobytes(), expected[0].tobytes(), n)
            self.assertGreater(found[0].min(), 0)
        self.assertEqual(self.library.run(IMAGES)[0], 4)
        self.assertEqual(self.library.run(IMAGES[:0])[0], 4)

    def test_a_set_that_is_named(self):
        for number, batch in enumerate((8, 1, 32)):
            self.assertIn(f"DIGITS_SET_BATCH_{batch} = {number}", self.library.header)
            self.assertEqual(self.library.run(IMAGES[:batch], number)[1][0].tobytes(), self.single[batch].run(IMAGES[:batch])[1][0].tobytes())
        self.assertEqual(self.library.run(IMAGES[:2], 1)[0], 4, "more than that set's batch")
        self.assertEqual(self.library.run(IMAGES[:1], 3)[0], 16)
        self.assertEqual(self.library.run(IMAGES[:1], -1)[0], 16)

    def test_steps_of_all_sets_train_one_context(self):
        library = make("digits", "train", "--train=dense1", "--dims", "batch=8", "--dims", "batch=1", "--dims", "batch=32")
        whole = make("digits", "whole", "--train=dense1", "--dim", "batch=32")
        for n in (32, 1, 5, 20, 8):
            self.assertEqual(library.step(IMAGES[:n], LABELS[:n]), whole.step(IMAGES[:n], LABELS[:n]))
        self.assertEqual(library.run(IMAGES[:32])[1][0].tobytes(), whole.run(IMAGES[:32])[1][0].tobytes())

    def test_weights_and_arena_are_there_once(self):
        self.assertEqual(self.library.constant("WEIGHTS_BYTES"), self.single[32].constant("WEIGHTS_BYTES"))
        self.assertEqual(self.library.constant("ARENA_BYTES"), self.single[32].constant("ARENA_BYTES"))
        self.assertEqual(self.library.constant("BATCH"), 32)
        sizes = {name: (folder("digits") / f"{name}.so").stat().st_size for name in ("all", "single1", "single8", "single32")}
        parts = sum(sizes[f"single{n}"] for n in (1, 8, 32))
        self.assertLess(sizes["all"], parts - 2 * self.library.constant("WEIGHTS_BYTES") + 20000)

    def test_for_several_processors(self):
        library = make("digits", "versions", "--dims", "batch=1", "--dims", "batch=8", "--multiversion")
        for n in (1, 8):
            self.assertEqual(library.run(IMAGES[:n])[1][0].tobytes(), self.single[8].run(IMAGES[:n])[1][0].tobytes())

    def test_for_wasm(self):
        run(MXC, "compile", DIGITS, "--params", "params", "--emit=lib", "--target=wasm32", "--dims", "batch=1", "--dims", "batch=2", "-o", "libwasm.a",
            cwd=folder("digits"))
        undefined = run("llvm-nm-19", "-u", "libwasm.a", cwd=folder("digits")).stdout
        self.assertNotIn("fma", undefined, "each set calls the library's own")

    def test_headers_are_strict(self):
        source = folder("digits") / "face.c"
        source.write_text('#include "all.h"\nint main(void) { return DIGITS_SET_BATCH_8; }\n')
        run("cc", *STRICT, "-fsyntax-only", source, cwd=folder("digits"))
        (folder("digits") / "face.cc").write_text('#include "all.hpp"\nint main() { digits::model net; return net.status(); }\n')
        run("c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "face.cc", cwd=folder("digits"))

    def test_inspect_shows_each(self):
        plans = json.loads(run(MXC, "inspect", "--json", "all.so", cwd=folder("digits")).stdout)
        self.assertEqual([plan["graphs"][0]["batch"] for plan in plans], [8, 1, 32])


class OtherSizes(unittest.TestCase):
    def test_pictures_of_two_sizes(self):
        library = make("pictures", "sizes", "--dims", "size=8,batch=4", "--dims", "batch=2,size=12", "--dims", "batch=1,size=8")
        random = numpy.random.default_rng(6)
        for number, (size, batch) in enumerate(((8, 4), (12, 2), (8, 1))):
            single = make("pictures", f"of{number}", "--dim", f"size={size}", "--dim", f"batch={batch}")
            x = random.normal(size=(batch, 3, size, size)).astype("f4")
            status, found = library.run(x, number)
            self.assertEqual(status, 0)
            for mine, other in zip(found, single.run(x)[1]):
                self.assertEqual(mine.tobytes(), other.tobytes(), (size, batch))
            if size == 8:
                self.assertEqual(library.run(x)[1][0].tobytes(), found[0].tobytes())
        self.assertEqual(library.constant("BATCH"), 4)
        self.assertEqual(library.constant("INPUT_X_ELEMENTS"), 192)
        self.assertEqual(library.constant("INPUT_X_ELEMENTS_SET_BATCH_2_SIZE_12"), 432)
        self.assertEqual(library.constant("INPUT_X_ELEMENTS_SET_BATCH_1_SIZE_8"), 192)
        self.assertEqual(library.constant("BATCH_SET_BATCH_2_SIZE_12"), 2)
        self.assertIn("PICTURES_SET_BATCH_2_SIZE_12 = 1, /* batch 2, size 12 */", library.header)

    def test_parameters_of_other_shapes(self):
        path = folder("pictures") / "flat.cpp"
        path.write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(flat) { output("y", dense(input("x", {batch(2), dim("size", 4)}), {.units = 3})); }
""")
        shown = run(MXC, "compile", path, "--emit=header", "--dims", "size=4", "--dims", "size=5", cwd=path.parent, code=1).stderr
        self.assertEqual(shown, "mxc: error: --dims size=5: the model has other parameters with these sizes than with those of the first set\n")


TURNED = """#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(turned) {
  Symbol x = input("x", {2, batch(4)});
  Symbol w = parameter("w", {2, 1}, {.init = ones()});
  output("y", x * w);
  output("all", sum(x, {.axes = {1}}));
  minimize(mean(square(x * w)));
  optimizer(sgd{.lr = 0.1});
}
"""
# Memory of each set's size with pages behind it that nobody may touch, by the constants of the header. Prints for each run its status, and whether
# it is the product for all samples of the row and no other number has changed.
TURNED_C = r"""
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "turned.h"
static float* guarded(size_t count) {
  size_t bytes = count * sizeof(float), inner = (bytes + 4095) / 4096 * 4096, i;
  char* base = mmap(NULL, inner + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  float* memory = (float*)(base + 4096 + inner - bytes);
  mprotect(base, 4096, PROT_NONE);
  mprotect(base + 4096 + inner, 4096, PROT_NONE);
  for (i = 0; i < count; ++i) memory[i] = -7;
  return memory;
}
static void try(turned_context* net, int set, size_t in, size_t out, int batch, int n) {
  float *x = guarded(in), *y = guarded(out), *all = guarded(TURNED_OUTPUT_ALL_ELEMENTS);
  turned_inputs inputs;
  turned_outputs outputs;
  int status, right = 1, i, row;
  for (i = 0; i < (int)in; ++i) x[i] = (float)(i + 1);
  inputs.x = x;
  outputs.y = y;
  outputs.all = all;
  status = set < 0 ? turned_run(net, &inputs, &outputs, n) : turned_run_set(net, set, &inputs, &outputs, n);
  for (row = 0; row < 2; ++row) {
    float sum = 0;
    for (i = 0; i < batch; ++i) {
      float w = row == 0 ? 2.0f : 3.0f;
      if (i < n) sum += x[row * batch + i];
      right &= y[row * batch + i] == (status == 0 && i < n ? w * x[row * batch + i] : y[row * batch + i]);
    }
    right &= status != 0 || all[row] == sum;
  }
  printf("set %d, n %d: %d %d\n", set, n, status, right);
}
int main(void) {
  turned_context* net = turned_create();
  int n;
  for (n = 0; n <= TURNED_BATCH + 1; ++n) try(net, -1, TURNED_INPUT_X_ELEMENTS, TURNED_OUTPUT_Y_ELEMENTS, TURNED_BATCH, n);
  for (n = 1; n <= 5; n += 2)
    try(net, TURNED_SET_BATCH_5, TURNED_INPUT_X_ELEMENTS_SET_BATCH_5, TURNED_OUTPUT_Y_ELEMENTS_SET_BATCH_5, TURNED_BATCH_SET_BATCH_5, n);
  try(net, TURNED_SET_BATCH_5, TURNED_INPUT_X_ELEMENTS_SET_BATCH_5, TURNED_OUTPUT_Y_ELEMENTS_SET_BATCH_5, TURNED_BATCH_SET_BATCH_5, 6);
  try(net, 7, 1, 1, 0, 1);
  turned_destroy(net);
  return 0;
}
"""
TURNED_CC = r"""
#include <cstdio>
#include <vector>
#include "turned.hpp"
int main() {
  turned::model net;
  std::vector<float> small(TURNED_INPUT_X_ELEMENTS, 1.f), large(TURNED_INPUT_X_ELEMENTS_SET_BATCH_5, 1.f), y(TURNED_OUTPUT_Y_ELEMENTS_SET_BATCH_5), all(2);
  std::printf("%d ", net.run({small}, {y, all}, 2));
  std::printf("%d ", net.run({small}, {y, all}, 3));
  std::printf("%d ", net.run_set(TURNED_SET_BATCH_5, {large}, {y, all}, 5));
  std::printf("%d ", net.run_set(TURNED_SET_BATCH_5, {small}, {y, all}, 1));
  std::printf("%d ", net.run_set(TURNED_SET_BATCH_5, {large}, {{y.data(), 4}, all}, 1));
  std::printf("%d ", net.run_set(TURNED_SET_BATCH_5, {large}, {y, all}, 6));
  std::printf("%d ", net.run_set(9, {large}, {y, all}, 1));
  float loss = 0;
  std::printf("%d ", net.train_step({small}, {{&loss, 1}}, 2));
  std::printf("%d ", net.train_step_set(TURNED_SET_BATCH_5, {large}, {{&loss, 1}}, 5));
  std::printf("%d ", net.train_step_set(TURNED_SET_BATCH_5, {small}, {{&loss, 1}}, 5));
  std::printf("%d\n", net.train_step_set(-1, {large}, {{&loss, 1}}, 1));
  std::int64_t steps = 0;
  net.count_steps(steps);
  std::printf("steps %d\n", static_cast<int>(steps));
}
"""


class BatchesThatAreNotFirst(unittest.TestCase):
    """A set's rows are as long as its batch: a run that is not told its set is done by the first, and the header has the sizes of each."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(scratch.name) / "turned"
        cls.folder.mkdir()
        (cls.folder / "turned.cpp").write_text(TURNED)
        safetensors_file.write(cls.folder / "params", {"w": numpy.array([[2], [3]], "f4")})
        run(MXC, "compile", "turned.cpp", "--params", "params", "--emit=lib", "--train", "--dims", "batch=2", "--dims", "batch=5", "-o", "libturned.a",
            cwd=cls.folder)

    def test_each_set_in_memory_of_its_size(self):
        header = (self.folder / "turned.h").read_text()
        self.assertRegex(header, r"#define TURNED_BATCH 2 ")
        self.assertRegex(header, r"#define TURNED_TRAIN_INPUT_X_ELEMENTS_SET_BATCH_5 10 ")
        (self.folder / "turned.c").write_text(TURNED_C)
        run("cc", *STRICT, "turned.c", "libturned.a", "-lm", "-o", "turned_c", cwd=self.folder)
        self.assertEqual(run("./turned_c", cwd=self.folder).stdout.splitlines(), [
            "set -1, n 0: 4 1", "set -1, n 1: 0 1", "set -1, n 2: 0 1", "set -1, n 3: 4 1", "set 1, n 1: 0 1", "set 1, n 3: 0 1", "set 1, n 5: 0 1",
            "set 1, n 6: 4 1", "set 7, n 1: 16 1"])

    def test_spans_are_checked_for_the_set(self):
        (self.folder / "turned.cc").write_text(TURNED_CC)
        run("c++", "-std=c++17", *STRICT[1:], "turned.cc", "libturned.a", "-lm", "-o", "turned_cc", cwd=self.folder)
        self.assertEqual(run("./turned_cc", cwd=self.folder).stdout, "0 4 0 6 6 4 16 0 0 6 16\nsteps 2\n")


class OtherComputation(unittest.TestCase):
    def test_a_size_that_no_tensor_shows(self):
        """It may change what is computed: so a run takes no set in which it is another."""
        folder = pathlib.Path(scratch.name) / "powers"
        folder.mkdir()
        (folder / "powers.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(powers) {
  Symbol x = input("x", {batch(4), 1}), y = x;
  for (int64_t i = 1; i < dim("power", 2); ++i) y = y * x;
  output("y", y);
}
""")
        run(MXC, "compile", "powers.cpp", "--emit=shared", "--dims", "batch=4,power=2", "--dims", "batch=1,power=3", "--dims", "batch=8,power=2",
            "-o", "powers.so", cwd=folder)
        library = Library(folder / "powers.so", "powers", [(1,)])
        x = numpy.full((1, 1), 3, "f4")
        self.assertEqual(library.run(x)[1][0][0, 0], 9)
        self.assertEqual(library.run(x, 1)[1][0][0, 0], 27)
        self.assertEqual(library.constant("BATCH"), 8)


class WrongUse(unittest.TestCase):
    def error(self, *flags, code=2, emit="--emit=header", source=DIGITS):
        return run(MXC, "compile", source, emit, *flags, cwd=folder("digits"), code=code).stderr

    def test_sets_that_cannot_be(self):
        self.assertEqual(self.error("--dims", "batch=1", "--dims", "batch=1"), "mxc: error: --dims batch=1: the set is given twice\n")
        self.assertEqual(self.error("--dims", "batch=1,batch=2"), "mxc: error: --dims batch=1,batch=2: a size is given twice\n")
        self.assertEqual(self.error("--dims", "batch=1", "--dim", "batch=2"), "mxc: error: --dims batch=1: --dim gives batch for all sets, too\n")
        self.assertEqual(self.error("--dims", "batch=1", "--dims", "size=2"), "mxc: error: --dims size=2: each set names the same sizes: batch\n")
        self.assertEqual(self.error("--dims", "batch=1,size"), "mxc: error: --dims size: name=size with a positive size is expected\n")
        self.assertEqual(self.error("--dims", "batch=1", emit="--emit=exe"),
                         "mxc: error: --dims goes with libraries alone, which can hold several sets of sizes; --dim changes a program's\n")
        self.assertEqual(self.error("--dims", "batch=1", source="none.json"),
                         "mxc: error: --dims sets a dimension while a model is staged: none.json is symbol JSON, whose sizes are fixed\n")
        self.assertIn("error: --dim size: the model has no dimension of that name; it has batch", self.error("--dims", "size=1", code=1))


if __name__ == "__main__":
    unittest.main()
