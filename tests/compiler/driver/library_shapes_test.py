"""Libraries of random models, in which the batch is any axis and sets of sizes are any: every set, number of samples and output, against NumPy, in memory
of exactly the size that the header states, with pages around that nobody may touch.

Usage: library_shapes_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import pathlib
import random
import re
import signal
import subprocess
import sys
import unittest

import numpy

from library_fixture import MXC, ROOT, run, scratch
from guarded_memory import Guarded

WRONG_BATCH = 4


class Model:
    """x of any shape; twice it and one, its transpose, its sum, the mean of each sample, and the sum over samples."""

    OUTPUTS = ("y", "t", "s", "m", "a")

    def __init__(self, choose, name):
        self.name, self.rank = name, choose.randint(1, 4)
        self.axis, self.order = choose.randrange(self.rank), choose.sample(range(self.rank), self.rank)
        self.dims = [choose.randint(1, 5) for _ in range(self.rank)]
        self.others = [a for a in range(self.rank) if a != self.axis]
        self.length_axis = choose.choice(self.others) if self.others else None
        lengths = choose.choice(([4, 4, 4], [2, 5, 2], [1, 6, 3]))
        self.sets = list(zip(choose.sample([1, 2, 3, 4, 5, 7, 8, 16, 17], choose.randint(2, 3)), lengths))

    def source(self):
        extents = ["batch(4)" if a == self.axis else f'dim("length", 3)' if a == self.length_axis else str(self.dims[a]) for a in range(self.rank)]
        numbers = lambda axes: "{" + ", ".join(map(str, axes)) + "}"
        return f"""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL({self.name}) {{
  Symbol x = input("x", {{{", ".join(extents)}}});
  output("y", x * 2 + 1);
  output("t", transpose(x, {{.axes = {numbers(self.order)}}}));
  output("s", sum(x));
  output("m", {f"mean(x, {{.axes = {numbers(self.others)}}})" if self.others else "x + 0"});
  output("a", sum(x, {{.axes = {numbers([self.axis])}}}));
}}
"""

    def text(self, number, between, equals):
        batch, length = self.sets[number]
        return f"batch{equals}{batch}" + (f"{between}length{equals}{length}" if self.length_axis is not None else "")

    def compile(self, folder):
        (folder / f"{self.name}.cpp").write_text(self.source())
        dims = [word for i in range(len(self.sets)) for word in ("--dims", self.text(i, ",", "="))]
        run(MXC, "compile", f"{self.name}.cpp", "--emit=shared", *dims, "-o", f"{self.name}.so", cwd=folder)
        self.library, self.header = ctypes.CDLL(str(folder / f"{self.name}.so")), (folder / f"{self.name}.h").read_text()
        build, self.context = self.function("build"), ctypes.c_void_p()
        build.restype = ctypes.c_uint64
        self.arena = Guarded(self.constant("ARENA_BYTES"), at_end=True)
        assert self.function("open")(ctypes.c_void_p(self.arena.address), ctypes.c_size_t(self.arena.size), ctypes.c_uint64(build()),
                                     ctypes.byref(self.context)) == 0

    def function(self, verb):
        return getattr(self.library, f"{self.name}_{verb}")

    def constant(self, name):
        return int(re.search(rf"#define {self.name.upper()}_{name} (\d+) ", self.header)[1])

    def behind(self, number):
        return "_SET_" + self.text(number, "_", "_").upper()

    def is_direct(self):
        """Whether samples lie one after another, in the input and in each output."""
        return self.axis == 0 and self.order[0] == 0

    def served_by_first(self):
        """The most samples of a run that is not told its set."""
        first = self.sets[0]
        return max(batch for batch, length in self.sets if (batch, length) == first or (self.is_direct() and (length == first[1] or self.length_axis is None)))


class Shapes(unittest.TestCase):
    def check(self, model, number, n, capacity, at_end, call, behind):
        """A run of n samples by a set, in memory for `capacity` of them where the batch is not the first axis."""
        length = model.sets[number][1]
        placed = lambda shape, axis: [n if a == axis == 0 else capacity if a == axis else e for a, e in enumerate(shape)]
        shape = [length if a == model.length_axis else e for a, e in enumerate(model.dims)]
        x = numpy.random.default_rng(n).normal(size=placed(shape, model.axis)).astype("f4")
        samples = x.take(range(n), model.axis)
        turned = [shape[a] for a in model.order]
        mean = samples.astype("f8").mean(tuple(model.others)) if model.others else samples
        outputs = {"y": (shape, model.axis, samples * 2 + 1), "t": (turned, model.order.index(model.axis), samples.transpose(model.order)),
                   "s": ([], None, samples.astype("f8").sum()), "m": ([n], 0, mean),
                   "a": ([shape[a] for a in model.others], None, samples.astype("f8").sum(model.axis))}
        memory, shapes = {}, {}
        for name, (extents, axis, _) in outputs.items():
            shapes[name] = placed(extents, axis) if axis is not None else extents
            elements = model.constant(f"OUTPUT_{name.upper()}_ELEMENTS{behind}") * (n if axis == 0 else 1)
            self.assertEqual(elements, int(numpy.prod(shapes[name])), name)
            memory[name] = Guarded(4 * elements, at_end)
        given = Guarded(x.nbytes, at_end, x.tobytes())
        self.assertEqual(call((ctypes.c_void_p * 1)(given.address), (ctypes.c_void_p * 5)(*(memory[o].address for o in model.OUTPUTS)), ctypes.c_int64(n)), 0)
        for name, (_, axis, expected) in outputs.items():
            found = memory[name].array(shapes[name], "f4")
            found = found if axis is None else found.take(range(n), axis)
            numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=f"{name}, n = {n}\n{model.source()}")

    def check_model(self, seed):
        folder = pathlib.Path(scratch.name) / f"shapes{seed}"
        folder.mkdir()
        model = Model(random.Random(seed), f"net{seed}")
        model.compile(folder)
        most = model.served_by_first()
        self.assertEqual(model.constant("BATCH"), most, f"{model.sets}\n{model.source()}")
        run_of_any, run_of_set = model.function("run"), model.function("run_set")
        for at_end in (True, False):
            for number, (batch, _) in enumerate(model.sets):
                self.assertEqual(model.constant("BATCH" + model.behind(number)), batch)
                for n in sorted({1, (batch + 1) // 2, batch}):
                    self.check(model, number, n, batch, at_end, lambda *call: run_of_set(model.context, ctypes.c_int(number), *call), model.behind(number))
            for n in sorted({1, (most + 1) // 2, most}):
                self.check(model, 0, n, most, at_end, lambda *call: run_of_any(model.context, *call), "")
        nothing = (ctypes.c_void_p * 1)(model.arena.address), (ctypes.c_void_p * 5)()
        for n in (-1, 0, most + 1, 2**62):
            self.assertEqual(run_of_any(model.context, *nothing, ctypes.c_int64(n)), WRONG_BATCH)
        for number, (batch, _) in enumerate(model.sets):
            for n in (0, batch + 1):
                self.assertEqual(run_of_set(model.context, ctypes.c_int(number), *nothing, ctypes.c_int64(n)), WRONG_BATCH)


class Pages(unittest.TestCase):
    def test_who_touches_them_is_ended(self):
        for at_end, place, access in ((True, 5, "string_at({}, 1)"), (False, -1, "string_at({}, 1)"), (True, 5, "memset({}, 0, 1)"), (True, 0, "memset({}, 0, 1)")):
            content = "b'12345'" if place == 0 else None
            program = f"from guarded_memory import *; m = Guarded(5, {at_end}, {content}); print(1, flush=True); ctypes.{access.format(f'm.address + {place}')}"
            done = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "tests", capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (-signal.SIGSEGV, "1\n"), (at_end, place, access))


for seed in range(1, 9):
    setattr(Shapes, f"test_{seed}", lambda self, seed=seed: self.check_model(seed))

if __name__ == "__main__":
    unittest.main()
