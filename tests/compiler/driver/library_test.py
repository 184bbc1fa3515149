"""Embedded libraries as a user makes and uses them: compiled by mxc, linked with `cc` into C programs, compared with the trainer's predict.

Usage: library_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import re
import shutil
import tempfile
import unittest

import numpy

from library_fixture import INPUTS, LENET, MXC, ROOT, SAMPLES, compile_c, lenet, predict, run
import safetensors_file

# What a library may need of others: functions of the C library and of its mathematics.
C_LIBRARY = {"malloc", "free", "memcpy", "memmove", "memset"}
MATHEMATICS = {"exp", "log", "tanh", "pow", "sin", "cos", "erf", "expf", "logf", "tanhf", "powf", "sinf", "cosf", "erff", "fmaf", "fma"}


class Lenet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()

    def test_outputs_are_those_of_the_trainer_bit_for_bit(self):
        program = compile_c(self.folder, "predict.c", "predict")
        for n in (1, 7, 64):
            run(program, "images.f32", "probability.f32", n, cwd=self.folder)
            expected = predict(self.folder, n)
            self.assertEqual(expected.shape, (SAMPLES, 10))
            self.assertEqual((self.folder / "probability.f32").read_bytes(), expected.tobytes(), f"n = {n}")

    def test_symbols(self):
        def names(*flags):
            lines = run("nm", *flags, "liblenet.a", cwd=self.folder).stdout.splitlines()
            return {line.split()[-1] for line in lines if len(line.split()) >= 2}

        shown = names("-g", "--defined-only")
        self.assertEqual({name for name in shown if not name.startswith("lenet_")}, set())
        self.assertLessEqual({"lenet_open", "lenet_run", "lenet_allocate", "lenet_destroy", "lenet_status_text", "lenet_build"}, shown)
        self.assertLessEqual(names("-u"), C_LIBRARY | MATHEMATICS)

    def test_size_without_weights(self):
        header = (self.folder / "lenet.h").read_text()
        weights = int(re.search(r"#define LENET_WEIGHTS_BYTES (\d+)", header)[1])
        tensors, _ = safetensors_file.read(self.folder / "lenet.safetensors")
        self.assertGreaterEqual(weights, sum(a.nbytes for name, a in tensors.items() if "/" not in name))
        self.assertLessEqual((self.folder / "liblenet.a").stat().st_size - weights, 200_000)

    def test_same_input_same_bytes(self):
        again = self.folder / "again"
        again.mkdir()
        run(MXC, "compile", LENET, "--params", self.folder / "lenet.safetensors", "--emit=lib", "-o", "liblenet.a", cwd=again)
        for name in ("liblenet.a", "lenet.h", "lenet.hpp"):
            self.assertEqual((self.folder / name).read_bytes(), (again / name).read_bytes(), name)

    def test_an_object_is_the_library_too(self):
        folder = self.folder / "object"
        folder.mkdir()
        run(MXC, "compile", LENET, "--params", self.folder / "lenet.safetensors", "--emit=obj", "-o", "lenet.o", cwd=folder)
        program = compile_c(folder, "wrong_use.c", "wrong_use", library="lenet.o")
        self.assertIn("output not wanted: 0 all is well", run(program, cwd=folder).stdout)

    def test_what_it_depends_on(self):
        folder = self.folder / "depends"
        folder.mkdir()
        shutil.copy(self.folder / "lenet.safetensors", folder / "with space.safetensors")
        run(MXC, "compile", LENET, "--params", "with space.safetensors", "--emit=lib", "-MD", "-MF", "rule.d", "-o", "liblenet.a", cwd=folder)
        rule = (folder / "rule.d").read_text()
        self.assertTrue(rule.startswith("liblenet.a:"), rule)
        self.assertIn("lenet.cpp", rule)
        self.assertTrue(rule.endswith(" \\\n  with\\ space.safetensors\n"), rule)
        shutil.copy(self.folder / "lenet.safetensors", folder / "lenet.safetensors")
        run(MXC, "compile", LENET, "--params", "lenet.safetensors", "--emit=lib", "-MD", "-MF", "spaced.d", "-o", "lib with #space.a", cwd=folder)
        self.assertTrue((folder / "spaced.d").read_text().startswith("lib\\ with\\ \\#space.a:"), (folder / "spaced.d").read_text())
        run(MXC, "compile", LENET, "--emit=graph", "-o", "a graph.json", cwd=folder)
        run(MXC, "compile", "a graph.json", "--params", "lenet.safetensors", "--emit=obj", "-MD", "-MF", "json.d", "-o", "l e.o", cwd=folder)
        self.assertEqual((folder / "json.d").read_text(), "l\\ e.o: a\\ graph.json \\\n  lenet.safetensors\n")

    def test_what_it_says_of_itself(self):
        shown = run(MXC, "inspect", "liblenet.a", cwd=self.folder).stdout
        header = (self.folder / "lenet.h").read_text()
        lines = dict(re.split(r"  +", line, maxsplit=1) for line in shown.split("\n\n")[0].splitlines()[:11])
        constant = lambda name: re.search(rf"#define LENET_{name} (\S+)", header)[1]
        self.assertEqual(lines["library of the model"], "lenet, from lenet.cpp")
        self.assertEqual(lines["samples of a run"], f"{constant('BATCH')} at most")
        self.assertEqual((lines["inputs"], lines["outputs"]), ("image f32 [n, 1, 28, 28]", "probability f32 [n, 10]"))
        self.assertEqual(lines["memory of a context"], f"{constant('ARENA_BYTES')} bytes, aligned to 64")
        self.assertEqual(lines["weights"], f"{constant('WEIGHTS_BYTES')} bytes, within")
        self.assertEqual(lines["flags"], "-O2 -mcpu=native")
        self.assertRegex(lines["versions"], r"^mxc [0-9.]+, Plan \d+$")
        self.assertRegex(lines["hash of the parameters"], r"^[0-9a-f]{16}$")
        self.assertEqual(f"UINT64_C({lines['build']})", constant("BUILD"))

    def test_without_parameters(self):
        folder = self.folder / "bare"
        folder.mkdir()
        (folder / "double.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(twice) { output("y", input("x", {batch(2), 3}) * 2); }
""")
        for flags in ((), ("--weights=file",)):
            run(MXC, "compile", "double.cpp", "--emit=lib", *flags, "-o", "libtwice.a", cwd=folder)
            self.assertIn("#define TWICE_WEIGHTS_BYTES 0 ", (folder / "twice.h").read_text())
        (folder / "use.c").write_text("""#include <stdio.h>
#include "twice.h"
int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  twice_inputs inputs = {x};
  twice_outputs outputs = {y};
  int status = twice_run(twice_create(), &inputs, &outputs, 2);
  printf("%d %g\\n", status, y[5]);
  return 0;
}
""")
        run("cc", "-std=c99", "use.c", "libtwice.a", "-lm", "-o", "use", cwd=folder)
        self.assertEqual(run("./use", cwd=folder).stdout, "0 12\n")
        for flag in ("--emit=lib", "--emit=shared"):
            self.assertEqual(run(MXC, "compile", LENET, flag, "-o", "none", cwd=folder, code=2).stderr,
                             "mxc: error: the model has trained parameters: name their file with --params\n")

    def test_a_header_says_what_to_link(self):
        for output, library in (("alone.h", "libalone.a"), ("-", "liblenet.a")):
            shown = run(MXC, "compile", LENET, "--emit=header", "-o", output, cwd=self.folder).stdout
            text = shown if output == "-" else (self.folder / output).read_text()
            self.assertRegex(text, rf"^/\* {library[3:-2]}\.h: the model lenet of lenet\.cpp, compiled by .*\. Link {library} and -lm\.\n")

    def test_a_file_with_a_main(self):
        source = ROOT / "examples/imperative_lenet/imperative_lenet.cpp"
        shown = run(MXC, "compile", source, "--params", "x", "--emit=lib", cwd=self.folder, code=2).stderr
        self.assertEqual(shown, f"{source}: error: --emit=lib makes the library of a model, without the main of this file: say which with --model\n")

    def test_headers_alone(self):
        run(MXC, "compile", LENET, "--emit=header", "-o", "alone.h", cwd=self.folder)
        alone, beside = ((self.folder / name).read_text() for name in ("alone.h", "lenet.h"))
        defined = [[line for line in text.splitlines() if line.startswith("#define LENET_") and len(line.split()) > 2] for text in (alone, beside)]
        self.assertEqual(*defined)
        self.assertGreater(len(defined[0]), 6)
        for compiler, language in (("cc", "c99"), ("clang-19", "c99"), ("c++", "c++17"), ("clang++-19", "c++20")):
            header = "lenet.hpp" if "+" in language else "lenet.h"
            source = self.folder / f"alone.{'cc' if '+' in language else 'c'}"
            source.write_text(f'#include "{header}"\nint main(void) {{ return 0; }}\n')
            run(compiler, f"-std={language}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", source, cwd=self.folder)

    def test_run_allocates_nothing(self):
        program = compile_c(self.folder, "allocation.c", "allocation")
        self.assertEqual(run(program, cwd=self.folder).stdout, "status 0, making 1, running 0\n")

    def test_the_stack_that_the_header_states(self):
        """It is never exceeded, and not far above what a run takes."""
        program = compile_c(self.folder, "stack.c", "stack", "-pthread", "-Wl,-z,now")
        status, taken, stated = map(int, run(program, cwd=self.folder).stdout.split())
        print(f"{taken} bytes of stack, {stated} stated")
        self.assertEqual(status, 0)
        self.assertLessEqual(taken, stated)
        self.assertLess(stated - taken, 8192)

    def test_wrapper(self):
        run("c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{self.folder}", INPUTS / "wrapper.cc", "liblenet.a",
            "-o", "wrapper", cwd=self.folder)
        self.assertEqual(run("./wrapper", cwd=self.folder).stdout.splitlines(), [
            "made 0", "three 0", "one 0", "same 1", "moved from 1 1", "moved to 0 0, from 1", "not wanted 0", "short input 6", "short output 6", "no samples 4",
            "too many 4", "in an arena 0", "short arena 3"])

    def test_wrong_checkpoints(self):
        def error(params, code=1):
            folder = self.folder / "wrong"
            folder.mkdir(exist_ok=True)
            shown = run(MXC, "compile", LENET, "--params", params, "--emit=lib", "-o", folder / "lib.a", cwd=self.folder, code=code).stderr
            self.assertEqual(list(folder.iterdir()), [], "nothing is written")
            return shown

        tensors, metadata = safetensors_file.read(self.folder / "lenet.safetensors")
        safetensors_file.write(self.folder / "missing.safetensors", {k: v for k, v in tensors.items() if k != "conv2d1.bias"}, metadata)
        safetensors_file.write(self.folder / "other.safetensors", tensors, {**metadata, "model": "digits"})
        safetensors_file.write(self.folder / "shape.safetensors", {**tensors, "dense1.bias": numpy.zeros(11, "f4")}, metadata)
        whole = (self.folder / "lenet.safetensors").read_bytes()
        (self.folder / "short.safetensors").write_bytes(whole[:-100])
        (self.folder / "none.safetensors").write_bytes(b"no such thing as a checkpoint")
        refused = "not a checkpoint of model 'lenet': "
        self.assertEqual(error("missing.safetensors"), f"mxc: error: missing.safetensors: {refused}tensor 'conv2d1.bias' is missing\n")
        self.assertEqual(error("other.safetensors"), f"mxc: error: other.safetensors: {refused}it is of model 'digits'\n")
        self.assertEqual(error("shape.safetensors"),
                         f"mxc: error: shape.safetensors: {refused}tensor 'dense1.bias' is 11 f32, the model has 10 f32\n")
        self.assertRegex(error("short.safetensors"), r"^mxc: error: short\.safetensors: tensor '.*': its data end at byte \d+, .*\n$")
        self.assertEqual(error("none.safetensors"), "mxc: error: none.safetensors: byte 0: this is no safetensors file\n")
        self.assertRegex(error("nowhere.safetensors"), r"^mxc: error: nowhere\.safetensors: .*No such file or directory\n$")


class WrongUse(unittest.TestCase):
    """A case each in wrong_use.c."""

    CASES = {
        "null arena": 1, "misaligned arena": 2, "short arena": 3, "no arena at all": 3, "other build": 7, "nowhere to put the context": 1,
        "nowhere to put the allocated": 1, "allocated for other build": 7, "null context": 1, "foreign context": 8, "misaligned context": 8,
        "null inputs": 1, "null outputs": 1, "no samples": 4, "fewer than none": 4, "too many samples": 4, "null input": 1,
        "misaligned input": 2, "misaligned output": 2, "output not wanted": 0, "after the end": 8, "no status": 99, "no status either": -1}
    TEXTS = {
        0: "all is well", 1: "a pointer is null that must not be",
        2: "memory is not aligned as its type, an arena's as the library's header says",
        3: "the arena has fewer bytes than the library's header says",
        4: "the number of samples is not between 1 and the largest that the library was compiled for",
        7: "the header belongs to another build of the library", 8: "this is no context of this library",
        99: "there is no such status", -1: "there is no such status"}

    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()
        program = compile_c(cls.folder, "wrong_use.c", "wrong_use")
        cls.lines = dict(line.split(": ", 1) for line in run(program, cwd=cls.folder).stdout.splitlines())

    def test_every_case_is_listed(self):
        self.assertEqual(list(self.lines), list(self.CASES))

    def test_a_header_of_another_build(self):
        folder = self.folder / "other"
        folder.mkdir()
        run(MXC, "compile", LENET, "--dim", "batch=8", "--emit=header", "-o", folder / "lenet.h", cwd=self.folder)
        shutil.copy(self.folder / "liblenet.a", folder)
        program = compile_c(folder, "predict.c", "predict")
        (folder / "image.f32").write_bytes(bytes(4 * 784))
        shown = run(program, "image.f32", "out.f32", 1, cwd=folder, code=1).stderr
        self.assertEqual(shown, self.TEXTS[1] + "\n")  # there is no context


for case in WrongUse.CASES:

    def check(self, case=case):
        status = self.CASES[case]
        self.assertEqual(self.lines[case], f"{status} {self.TEXTS[status]}")

    setattr(WrongUse, "test_" + case.replace(" ", "_"), check)


class Tokens(unittest.TestCase):
    def test_names_strides_and_bounds(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            weight = numpy.random.default_rng(2).normal(size=(5, 2)).astype("f4")
            safetensors_file.write(folder / "tokens.safetensors", {"embedding0.weight": weight})
            shown = run(MXC, "compile", INPUTS / "tokens.cpp", "--params", "tokens.safetensors", "--emit=lib", "-o", "libtokens.a", cwd=folder)
            self.assertEqual(shown.stderr, "")
            header = (folder / "tokens.h").read_text()
            self.assertIn("const int32_t* class_; /* i32 [3, n], where the memory is that of n = 4, from 0 to 4 */", header)
            lines = run(compile_c(folder, "tokens.c", "tokens", library="libtokens.a"), cwd=folder).stdout.splitlines()
            expected = numpy.zeros((3, 4, 2), "f4")
            expected[:, :2] = weight[[[4, 0], [1, 2], [3, 4]]]
            self.assertEqual(lines[0], "0")
            values = numpy.array([line.split() for line in lines[1:25]], "f4")
            self.assertTrue((values[:, 0] == expected.ravel()).all())
            numpy.testing.assert_allclose(values[:, 1], numpy.tanh(expected.ravel().astype("f8")), rtol=1e-6)
            # words[5] is the middle word of the second sample.
            self.assertEqual(lines[25:28], ["5", "5", "0"])
            numpy.testing.assert_allclose(float(lines[28]), numpy.tanh(weight[4, 0].astype("f8")), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
