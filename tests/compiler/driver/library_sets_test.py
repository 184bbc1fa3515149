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
        self.assertIn("PICTURES_SET_BATCH_2_SIZE_12 = 1, /* batch 2, size 12 */", library.header)
        self.assertNotIn("INPUT_X_ELEMENTS_SET_BATCH_1_SIZE_8", library.header)

    def test_parameters_of_other_shapes(self):
        path = folder("pictures") / "flat.cpp"
        path.write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(flat) { output("y", dense(input("x", {batch(2), dim("size", 4)}), {.units = 3})); }
""")
        shown = run(MXC, "compile", path, "--emit=header", "--dims", "size=4", "--dims", "size=5", cwd=path.parent, code=1).stderr
        self.assertEqual(shown, "mxc: error: --dims size=5: the model has other parameters with these sizes than with those of the first set\n")


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
