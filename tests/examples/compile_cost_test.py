"""What it costs to compile the training of resnet50, from its C++ to a program: processor time of mxc and its tools together (on a quiet
machine no less than that on the clock, which other work would lengthen), and the most memory that one of them takes.

Usage: compile_cost_test.py ROOT BUILD [unittest arguments].
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class Cost(unittest.TestCase):
    def test_resnet50(self):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            mxc = subprocess.Popen([BUILD / "bin/mxc", "compile", ROOT / "examples/resnet50/resnet50.cpp", "-o", "resnet50"], cwd=folder)
            _, status, usage = os.wait4(mxc.pid, 0)  # of the tools that it has waited for, too
            clock, seconds = time.monotonic() - start, usage.ru_utime + usage.ru_stime
            mxc.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(mxc.returncode, 0)
        print(f"{seconds:.1f} s of processors, {clock:.1f} s on the clock, {usage.ru_maxrss / 1024:.0f} MiB")
        self.assertLess(usage.ru_maxrss * 1024, 1.5e9)
        self.assertLess(seconds, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
