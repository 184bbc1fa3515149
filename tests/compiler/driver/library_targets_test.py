"""Libraries for other machines: the same bits under qemu and in node; for a microcontroller, what the object needs.

Usage: library_targets_test.py ROOT BUILD [unittest arguments]. What is not installed is skipped, and said.
"""
import re
import shutil
import sys
import unittest

from library_fixture import INPUTS, LENET, MXC, SAMPLES, STRICT, lenet, predict, run

LLVM = "/usr/lib/llvm-19/bin/"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"SKIPPED: {program} is not installed", file=sys.stderr)
            raise unittest.SkipTest(f"{program} is not installed")


class Targets(unittest.TestCase):
    def compile(self, target, *flags, name=None):
        folder = lenet() / (name or target)
        folder.mkdir()
        run(MXC, "compile", LENET, "--params", lenet() / "lenet.safetensors", "--emit=lib", f"--target={target}", "-o", "liblenet.a", *flags,
            cwd=folder)
        return folder

    def check_emulated(self, target, compiler, emulator):
        need(compiler, emulator)
        folder = self.compile(target)
        run(compiler, *STRICT, "-static", f"-I{folder}", INPUTS / "predict.c", "liblenet.a", "-lm", "-o", "predict", cwd=folder)
        for n in (1, 7):
            run(emulator, "./predict", lenet() / "images.f32", "probability.f32", n, cwd=folder)
            self.assertEqual((folder / "probability.f32").read_bytes(), predict(lenet(), n).tobytes(), f"n = {n}")
        run(compiler, *STRICT, "-static", f"-I{folder}", INPUTS / "wrong_use.c", "liblenet.a", "-lm", "-o", "wrong_use", cwd=folder)
        self.assertIn("misaligned arena: 2 memory is not aligned", run(emulator, "./wrong_use", cwd=folder).stdout)

    def test_aarch64(self):
        self.check_emulated("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "qemu-aarch64-static")

    def test_riscv64(self):
        self.check_emulated("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", "qemu-riscv64-static")

    def test_wasm32(self):
        need("node", LLVM + "wasm-ld")
        folder = self.compile("wasm32")
        header = (folder / "lenet.h").read_text()
        self.assertNotIn("lenet_create", header)
        # No byte more than is stated; below the stack there is no memory.
        stack = -(-int(re.search(r"#define LENET_STACK_BYTES (\d+)", header)[1]) // 16) * 16
        run(LLVM + "wasm-ld", "-z", f"stack-size={stack}", "--stack-first", "--no-entry", "--whole-archive", "liblenet.a", "--export-dynamic", "--export=__heap_base", "-o",
            "lenet.wasm", cwd=folder)
        sizes = [re.search(rf"#define LENET_{name} (\d+)", header)[1]
                 for name in ("ARENA_BYTES", "INPUT_IMAGE_ELEMENTS", "OUTPUT_PROBABILITY_ELEMENTS")]
        for n in (1, 7):
            shown = run("node", INPUTS / "wasm.mjs", "lenet.wasm", lenet() / "images.f32", "probability.f32", n, *sizes, cwd=folder).stdout
            self.assertEqual(shown, "memory is not aligned as its type, an arena's as the library's header says\n")
            self.assertEqual((folder / "probability.f32").read_bytes(), predict(lenet(), n).tobytes(), f"n = {n}")

    def test_cortex_m(self):
        folder = self.compile("thumbv7em-none-eabihf", "--dim", "batch=1")
        undefined = {line.split()[-1] for line in run(LLVM + "llvm-nm", "-u", "liblenet.a", cwd=folder).stdout.splitlines() if " U " in line}
        # Of the C library, moving and filling memory; of the compiler's own, division of 64-bit integers.
        self.assertLessEqual(undefined, {"memcpy", "memmove", "memset", "__aeabi_memcpy", "__aeabi_memcpy4", "__aeabi_memcpy8", "__aeabi_memmove",
                                         "__aeabi_memmove4", "__aeabi_memset", "__aeabi_memclr", "__aeabi_memclr4", "__aeabi_memclr8",
                                         "__aeabi_uldivmod", "__aeabi_ldivmod"})
        self.assertLess(int(re.search(r"#define LENET_STACK_BYTES (\d+)", (folder / "lenet.h").read_text())[1]), 80 << 10)
        described = run(LLVM + "llvm-readelf", "-h", "-A", "liblenet.a", cwd=folder).stdout
        self.assertIn("Machine:                           ARM", described)
        self.assertIn("Microcontroller", described)

    def test_multiversion(self):
        need("qemu-x86_64-static")
        folder = self.compile("x86_64-linux-gnu", "--multiversion")
        run("cc", *STRICT, "-static", f"-I{folder}", INPUTS / "predict.c", "liblenet.a", "-lm", "-o", "predict", cwd=folder)
        (folder / "few.f32").write_bytes((lenet() / "images.f32").read_bytes()[: 3 * 784 * 4])
        expected = predict(lenet(), 3)[:3].tobytes()
        # This machine, a processor without AVX, which would stop at the first instruction of a newer one, and all that qemu knows.
        for command in ([], ["qemu-x86_64-static", "-cpu", "qemu64"], ["qemu-x86_64-static", "-cpu", "max"]):
            run(*command, "./predict", "few.f32", "probability.f32", 3, cwd=folder)
            self.assertEqual((folder / "probability.f32").read_bytes(), expected, command)
        code = run(LLVM + "llvm-objdump", "-d", "liblenet.a", cwd=folder).stdout
        self.assertIn("%zmm", code)
        self.assertIn("vfmadd", code)
        self.assertIn("mulps\t", code)
        shown = {line.split()[-1] for line in run("nm", "-g", "--defined-only", "liblenet.a", cwd=folder).stdout.splitlines() if " T " in line}
        self.assertEqual({name for name in shown if not name.startswith("lenet_")}, set())

    def test_a_cpu_of_the_target(self):
        folder = self.compile("x86_64-linux-gnu", "-mcpu=x86-64-v3", name="v3")
        self.assertIn("for x86_64-unknown-linux-gnu x86-64-v3.", (folder / "lenet.h").read_text())
        wrong = run(MXC, "compile", LENET, "--params", "x", "--emit=lib", "--target=aarch64-linux-gnu", "-mcpu=x86-64-v3", cwd=folder, code=2)
        self.assertEqual(wrong.stderr, "mxc: error: -mcpu=x86-64-v3: unknown cpu 'x86-64-v3' for target 'aarch64-unknown-linux-gnu'\n")


if __name__ == "__main__":
    unittest.main()
