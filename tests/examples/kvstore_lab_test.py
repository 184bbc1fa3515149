"""bench/kvstore_lab.py: what it says of wrong use, and a row that no clock decides.

Usage: kvstore_lab_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def lab(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/kvstore_lab.py", *map(str, arguments)], capture_output=True, text=True, timeout=300)


class WrongUse(unittest.TestCase):
    def test_lines(self):
        for arguments, code, line in (
            ([BUILD, "--only", "what"], 2, "kvstore_lab.py: error: argument --only: invalid choice: 'what' (choose from"),
            ([BUILD, "--rounds", "0"], 2, "kvstore_lab.py: error: --rounds: at least 1\n"),
            ([ROOT / "docs"], 1, f"kvstore_lab.py: {ROOT}/docs has no bin/mxc\n"),
        ):
            with self.subTest(arguments=arguments):
                result = lab(*arguments)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertIn(line, result.stderr)


class Rows(unittest.TestCase):
    def test_bytes(self):
        """A worker of four sends three quarters of 25 MB twice; the table has them as an interface has counted them."""
        result = lab(BUILD, "--only", "bytes", "--rounds", 1)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        head, row = result.stdout.splitlines()
        self.assertEqual(head, "row | ours | reference | ratio | target | met")
        _, ours, reference, ratio, target, met = row.split(" | ")
        self.assertEqual((reference, target, met), ("37.5 MB", "<= 1.03", "met"))
        self.assertAlmostEqual(float(ours.split()[0]) / 37.5, float(ratio), places=2)
        namespaces = subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
        self.assertNotIn("mxclab", namespaces)


if __name__ == "__main__":
    unittest.main(verbosity=2)
