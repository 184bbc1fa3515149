"""What mxc compile writes: nothing over what it reads, all of its files or none; and what it takes of memory, however large the weights are.

Usage: library_outputs_test.py ROOT BUILD [unittest arguments].
"""
import shutil
import subprocess
import sys
import unittest

import numpy

from library_fixture import MXC, pathlib, run, scratch
import safetensors_file

SOURCE = """#include <mxc/mxc.h>
#include "sizes.h"
using namespace mxc;
MXC_MODEL(net) { output("y", dense(input("x", {batch(2), 3}), {.units = kUnits})); }
"""


# A small process in between: what the one that starts another had in memory counts as the other's.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(scratch.name) / "outputs"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "net.cpp").write_text(SOURCE)
        (self.folder / "sizes.h").write_text("constexpr int kUnits = 1;\n")
        safetensors_file.write(self.folder / "net.weights", {"dense0.weight": numpy.ones((1, 3), "f4"), "dense0.bias": numpy.ones(1, "f4")})
        self.before = self.files()

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def refused(self, *flags, code=2):
        shown = run(MXC, "compile", *flags, cwd=self.folder, code=code).stderr
        self.assertEqual(self.files(), self.before, "nothing is written")
        return shown

    def test_nothing_is_written_over_what_is_read(self):
        self.assertEqual(self.refused("net.cpp", "-o", "net.cpp"), "mxc: error: net.cpp: the program would be written over the model\n")
        self.assertEqual(self.refused("net.cpp", "--emit=graph", "-o", "./net.cpp"), "mxc: error: ./net.cpp: the output would be written over the model\n")
        self.assertEqual(self.refused("net.cpp", "--params", "net.weights", "--emit=lib", "-o", "net.weights"),
                         "mxc: error: net.weights: the library would be written over the parameters\n")
        self.assertEqual(self.refused("net.cpp", "--params", "net.weights", "--emit=lib", "--weights=file", "-o", "libnet.a"),
                         "mxc: error: net.weights: the library's weights would be written over the parameters\n")
        self.assertEqual(self.refused("net.cpp", "--params", "net.weights", "--emit=lib", "-MD", "-MF", "net.cpp", "-o", "libnet.a"),
                         "mxc: error: net.cpp: the rule of -MD would be written over the model\n")
        self.assertEqual(self.refused("net.cpp", "--report=memory", "--report-file", "net.cpp", "-o", "net"),
                         "mxc: error: net.cpp: the report would be written over the model\n")

    def test_nor_over_what_the_model_includes(self):
        self.assertEqual(self.refused("net.cpp", "--params", "net.weights", "--emit=lib", "-o", "libsizes.a"),
                         "mxc: error: sizes.h: the header would be written over a file that the model includes or loads\n")
        self.assertEqual(self.refused("net.cpp", "--params", "net.weights", "--emit=header", "-o", "sizes.h", code=2),
                         "mxc: error: --params goes with --emit=lib, shared and obj alone\n")
        self.assertEqual(self.refused("net.cpp", "--emit=header", "-o", "sizes.h"),
                         "mxc: error: sizes.h: the header would be written over a file that the model includes or loads\n")

    def test_nor_through_a_link(self):
        (self.folder / "link.cpp").symlink_to("net.cpp")
        self.before = self.files()
        self.assertEqual(self.refused("link.cpp", "-o", "net.cpp"), "mxc: error: net.cpp: the program would be written over the model\n")

    def test_nor_over_each_other(self):
        flags = ("net.cpp", "--params", "net.weights", "--emit=lib")
        self.assertEqual(self.refused(*flags, "-o", "x.h"), "mxc: error: x.h: the header would be written over the library\n")
        self.assertEqual(self.refused(*flags, "-o", "x.hpp"), "mxc: error: x.hpp: the C++ header would be written over the library\n")
        self.assertEqual(self.refused(*flags, "-o", "x.weights", "--weights=file"), "mxc: error: x.weights: the library's weights would be written over the library\n")
        self.assertEqual(self.refused(*flags, "-o", "libx.a", "-MD", "-MF", "x.h"), "mxc: error: x.h: the rule of -MD would be written over the header\n")

    def test_a_device_is_no_file(self):
        run(MXC, "compile", "net.cpp", "--emit=graph", "-o", "/dev/null", "-MD", "-MF", "/dev/null", cwd=self.folder)
        self.assertEqual(self.files(), self.before)

    def test_all_or_nothing(self):
        """Where one of the files cannot be written, those that can are not changed, and none is left over."""
        flags = ("net.cpp", "--params", "net.weights", "--emit=lib", "-o", "libmade.a")
        run(MXC, "compile", *flags, cwd=self.folder)
        self.before = self.files()
        (self.folder / "sizes.h").write_text("constexpr int kUnits = 2;\n")
        safetensors_file.write(self.folder / "net.weights", {"dense0.weight": numpy.ones((2, 3), "f4"), "dense0.bias": numpy.ones(2, "f4")})
        changed = {name: (self.folder / name).read_bytes() for name in ("sizes.h", "net.weights")}
        for name in ("made.hpp", "made.d"):
            (self.folder / name).unlink(missing_ok=True)
            (self.folder / name).mkdir()
            self.before = {**{k: v for k, v in self.before.items() if k != name}, **changed}
            shown = self.refused(*flags, "-MD", "-MF", "made.d", code=1)
            self.assertEqual(shown, f"mxc: error: cannot write '{name}': it is a folder\n")
            (self.folder / name).rmdir()
        run(MXC, "compile", *flags, "-MD", "-MF", "made.d", cwd=self.folder)
        self.assertEqual(set(self.files()), set(self.before) | {"made.hpp", "made.d"})

    def test_a_full_device(self):
        shown = self.refused("net.cpp", "--params", "net.weights", "--emit=lib", "-o", "libmade.a", "--report=memory", "--report-file", "/dev/full", code=1)
        self.assertEqual(shown, "mxc: error: cannot write '/dev/full': No space left on device\n")

    def test_a_report_that_nobody_reads(self):
        process = subprocess.Popen([MXC, "compile", "net.cpp", "--params", "net.weights", "--emit=lib", "-o", "libmade.a", "--report=memory"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", 0))
        process.stderr.close()
        self.assertEqual(set(self.files()) - set(self.before), {"libmade.a", "made.h", "made.hpp"})

    def test_results_of_a_run(self):
        numpy.save(self.folder / "x.npy", numpy.ones((2, 3), "f4"))
        self.before = self.files()

        def refused(*outputs):
            shown = run(MXC, "run", "net.cpp", "--params", "net.weights", "--input", "x=x.npy", *outputs, cwd=self.folder, code=2).stderr
            self.assertEqual(self.files(), self.before)
            return shown

        self.assertEqual(refused("--output", "y=x.npy"), "mxc: error: x.npy: output 'y' would be written over input 'x'\n")
        self.assertEqual(refused("--output", "y=net.weights"), "mxc: error: net.weights: output 'y' would be written over the parameters\n")
        self.assertEqual(refused("--output", "y=net.cpp"), "mxc: error: net.cpp: output 'y' would be written over the model\n")
        self.assertEqual(refused("--output", "y=y.npy", "--output", "y=y.npy"), "mxc: error: y.npy: output 'y' would be written over output 'y'\n")
        self.assertEqual(run(MXC, "run", "net.cpp", "--params", "net.weights", "--input", "x=x.npy", "--input", "x=x.npy", "--output", "y=y.npy", cwd=self.folder,
                             code=2).stderr, "mxc: error: --input x=x.npy: there is an array for 'x' already\n")


class Memory(unittest.TestCase):
    """Weights pass through neither LLVM nor mxc's memory as a whole."""

    LARGE = 96 << 20

    def peak(self, name, units, *flags):
        """The most that the compiler had in memory, in bytes."""
        folder = pathlib.Path(scratch.name) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "net.cpp").write_text("""#include <mxc/mxc.h>
using namespace mxc;
MXC_MODEL(net) {
  Symbol h = dense(input("x", {batch(1), 1024}), {.units = %d});
  output("y", dense(h, {.units = 1024}));
}
""" % units)
        random = numpy.random.default_rng(1)
        safetensors_file.write(folder / "params", {"dense0.weight": random.random((units, 1024), "f4"), "dense0.bias": numpy.zeros(units, "f4"),
                                                   "dense1.weight": random.random((1024, units), "f4"), "dense1.bias": numpy.zeros(1024, "f4")})
        shown = run(sys.executable, "-c", MEASURED, MXC, "compile", "net.cpp", "--params", "params", "--emit=lib", "-o", "libnet.a", *flags, cwd=folder).stdout
        self.assertGreater((folder / ("net.weights" if flags else "libnet.a")).stat().st_size, units * 8192)
        return int(shown) * 1024

    def test_does_not_grow_with_the_weights(self):
        units = self.LARGE // 8192
        for flags in ((), ("--weights=file",)):
            small, large = self.peak("small", 16, *flags), self.peak("large", units, *flags)
            print(f"{' '.join(flags) or 'embedded'}: {small / 2**20:.0f} MiB, with {self.LARGE >> 20} MiB of weights {large / 2**20:.0f} MiB")
            self.assertLess(large - small, self.LARGE / 3)


if __name__ == "__main__":
    unittest.main()
