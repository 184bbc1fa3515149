"""Embedded libraries that share: weights beside the library, shared objects, several models, many threads.

Usage: library_sharing_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import os
import re
import struct
import subprocess
import unittest

import numpy

from library_fixture import INPUTS, LENET, MXC, ROOT, SAMPLES, STRICT, compile_c, lenet, predict, run


class WeightsBeside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = lenet() / "beside"
        cls.folder.mkdir()
        cls.compile("lenet.safetensors", "liblenet.a")
        cls.program = compile_c(cls.folder, "beside.c", "beside")

    @classmethod
    def compile(cls, params, library, *flags):
        run(MXC, "compile", LENET, "--params", lenet() / params, "--emit=lib", "--weights=file", *flags, "-o", library, cwd=cls.folder)

    def show(self, name, content=None):
        if content is not None:
            (self.folder / name).write_bytes(content)
        return run(self.program, name, cwd=self.folder).stdout

    def test_mapped_shared_and_from_memory(self):
        lines = self.show("lenet.weights").splitlines()
        self.assertEqual(lines[:12], [
            "before 10", "nothing to share 10", "null 1", "misaligned 2", "no context 1", "set 0", "run 0", "shared 0", "run 0", "from memory 0",
            "run 0", "same 1"])
        numpy.savez(lenet() / "zeros.npz", image=numpy.zeros((1, 1, 28, 28), "f4"))
        run("./lenet", "predict", "--data", "npz:zeros.npz", "--load", "lenet.safetensors", "--count", 1, "--output", "zeros_out.npz", cwd=lenet())
        expected = numpy.load(lenet() / "zeros_out.npz")["probability"][0]
        self.assertTrue((numpy.array([float(line) for line in lines[12:]], "f4") == expected).all())

    def test_the_library_has_no_weights(self):
        self.assertLess((self.folder / "liblenet.a").stat().st_size, 200_000)
        weights = int(re.search(r"#define LENET_WEIGHTS_BYTES (\d+)", (self.folder / "lenet.h").read_text())[1])
        self.assertEqual((self.folder / "lenet.weights").stat().st_size, weights + 64)

    def test_other_weights_of_the_model_serve(self):
        run("./lenet", "train", "--data", "random:64", "--seed", 5, "--epochs", 1, "--save", "second.safetensors", cwd=lenet())
        build = re.search("LENET_BUILD .*", (self.folder / "lenet.h").read_text())[0]
        self.compile("second.safetensors", "second.a")
        self.assertEqual(build, re.search("LENET_BUILD .*", (self.folder / "second.h").read_text())[0])
        first, second = self.show("lenet.weights").splitlines(), self.show("second.weights").splitlines()
        self.assertEqual(first[:12], second[:12])
        self.assertNotEqual(first[12:], second[12:])

    def test_wrong_files(self):
        whole = (self.folder / "lenet.weights").read_bytes()
        self.assertEqual(self.show("nowhere.weights"), "11 the weight file cannot be opened or mapped\n")
        self.assertEqual(self.show("."), "11 the weight file cannot be opened or mapped\n")
        os.mkfifo(self.folder / "pipe")
        self.assertEqual(self.show("pipe"), "11 the weight file cannot be opened or mapped\n", "and without waiting for a writer")
        early = "12 the weight file ends early\n"
        self.assertEqual(self.show("wrong", b""), early)
        self.assertEqual(self.show("wrong", whole[:63]), early)
        self.assertEqual(self.show("wrong", whole[:-1]), early)
        version = "13 this is no weight file of this version of mxc\n"
        self.assertEqual(self.show("wrong", b"PK" + whole[2:]), version)
        self.assertEqual(self.show("wrong", whole[:4] + struct.pack("<I", 99) + whole[8:]), version)
        digits = ROOT / "examples/digits/digits.cpp"
        run(MXC, "compile", digits, "-o", "digits", cwd=self.folder)
        run("./digits", "train", "--data", "random:32", "--epochs", 1, "--save", "digits.safetensors", cwd=self.folder)
        run(MXC, "compile", digits, "--params", "digits.safetensors", "--emit=lib", "--weights=file", "-o", "libdigits.a", cwd=self.folder)
        self.assertEqual(self.show("digits.weights"), "14 the weights are those of another model\n")
        self.assertEqual(run(self.program, cwd=self.folder).stdout, "1 a pointer is null that must not be\n")

    def test_a_flipped_bit_anywhere(self):
        whole = bytearray((self.folder / "lenet.weights").read_bytes())
        for at in (24, 31, 40, 63, 64, 65, 12345, len(whole) // 2, len(whole) - 1):
            flipped = whole.copy()
            flipped[at] ^= 1 << at % 8
            self.assertEqual(self.show("flipped", bytes(flipped)), "15 the weights are damaged: they do not match their checksum\n", at)

    def test_wrapper(self):
        (self.folder / "wrapper.cc").write_text("""
#include <cstdio>
#include <vector>
#include "lenet.hpp"
int main() {
  std::vector<float> image(LENET_INPUT_IMAGE_ELEMENTS), probability(LENET_OUTPUT_PROBABILITY_ELEMENTS);
  lenet::weights weights("lenet.weights"), none("nowhere");
  lenet::model net, other;
  std::printf("%d %d %d ", weights.status(), none.status(), net.run({image}, {probability}));
  std::printf("%d %d ", net.use(none), net.use(weights));
  std::printf("%d %d ", net.run({image}, {probability}), other.share(net));
  std::printf("%d %d\\n", other.run({image}, {probability}), probability[0] > 0);
}
""")
        run("c++", "-std=c++17", *STRICT[2:], "wrapper.cc", "liblenet.a", "-o", "wrapper", cwd=self.folder)
        self.assertEqual(run("./wrapper", cwd=self.folder).stdout, "0 11 10 1 0 0 0 0 1\n")


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = lenet() / "shared"
        cls.folder.mkdir()
        run(MXC, "compile", LENET, "--params", lenet() / "lenet.safetensors", "--emit=shared", "-o", "liblenet.so", cwd=cls.folder)

    def test_python_gets_the_trainers_bits(self):
        library = ctypes.CDLL(str(self.folder / "liblenet.so"))
        library.lenet_build.restype = ctypes.c_uint64
        library.lenet_status_text.restype = ctypes.c_char_p
        context = ctypes.c_void_p()
        self.assertEqual(library.lenet_allocate(ctypes.c_uint64(library.lenet_build()), ctypes.byref(context)), 0)
        images = numpy.load(lenet() / "images.npz")["image"]
        found = numpy.empty((SAMPLES, 10), "f4")
        for first in range(0, SAMPLES, 64):
            part = numpy.ascontiguousarray(images[first : first + 64])
            inputs = (ctypes.c_void_p * 1)(part.ctypes.data)
            outputs = (ctypes.c_void_p * 1)(found[first:].ctypes.data)
            self.assertEqual(library.lenet_run(context, inputs, outputs, ctypes.c_int64(len(part))), 0)
        self.assertEqual(found.tobytes(), predict(lenet(), 64).tobytes())
        self.assertEqual(library.lenet_status_text(4)[:21], b"the number of samples")
        library.lenet_destroy(context)

    def test_shows_its_own_functions_and_needs_the_c_library_alone(self):
        lines = run("nm", "-D", "--defined-only", "liblenet.so", cwd=self.folder).stdout.splitlines()
        self.assertEqual({line.split()[-1] for line in lines if not line.split()[-1].startswith("lenet_")}, set())
        needed = re.findall(r"NEEDED\s+Shared library: \[([^]]*)\]", run("readelf", "-d", "liblenet.so", cwd=self.folder).stdout)
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6"})
        self.assertIn("Library soname: [liblenet.so]", run("readelf", "-d", "liblenet.so", cwd=self.folder).stdout)

    def test_a_c_program_links_it(self):
        run("cc", *STRICT, f"-I{self.folder}", INPUTS / "predict.c", "-L.", "-llenet", "-Wl,-rpath,$ORIGIN", "-o", "predict", cwd=self.folder)
        run("./predict", lenet() / "images.f32", "probability.f32", 7, cwd=self.folder)
        self.assertEqual((self.folder / "probability.f32").read_bytes(), predict(lenet(), 7).tobytes())

    def test_commands_are_shown(self):
        shown = run(MXC, "compile", LENET, "--params", "x", "--emit=shared", "-###", cwd=self.folder).stderr
        self.assertIn("-shared -o TEMPORARY/library TEMPORARY/library.o -Wl,-soname,liblenet.so", shown)


class Together(unittest.TestCase):
    """threads.c, as it is and under ThreadSanitizer, which sees what the program does with the contexts."""

    @classmethod
    def setUpClass(cls):
        cls.folder = lenet()
        digits = ROOT / "examples/digits/digits.cpp"
        run(MXC, "compile", digits, "-o", "digits", cwd=cls.folder)
        run("./digits", "train", "--data", "random:32", "--epochs", 1, "--save", "digits.safetensors", cwd=cls.folder)
        run(MXC, "compile", digits, "--params", "digits.safetensors", "--emit=lib", "-o", "libdigits.a", cwd=cls.folder)

    def check(self, compiler, *flags):
        run(compiler, *STRICT, *flags, f"-I{self.folder}", INPUTS / "threads.c", "libdigits.a", "liblenet.a", "-lm", "-pthread", "-o", "threads",
            cwd=self.folder)
        shown = subprocess.run(["./threads"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((shown.stdout.splitlines(), shown.stderr), ([
            "status 0, wrong 0, told apart 1", "status 0, with a pool the same 1, shared out 1", "status 0, without it 0",
            "half a pool 1, no context 1"], ""))

    def test_two_models_and_sixteen_threads(self):
        self.check("cc")

    def test_under_thread_sanitizer(self):
        self.check("clang-19", "-fsanitize=thread", "-g")

    def test_under_address_and_undefined_sanitizers(self):
        self.check("clang-19", "-fsanitize=address,undefined", "-g")


if __name__ == "__main__":
    unittest.main()
