"""bench/simulated_steps.py: what it says of wrong use, and that the simulator is within a tenth of jobs between network namespaces that sleep in place of computing.

Usage: simulated_steps_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def steps(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/simulated_steps.py", *map(str, arguments)], capture_output=True, text=True, timeout=900)


class WrongUse(unittest.TestCase):
    def test_lines(self):
        for arguments, code, line in (
            ([BUILD, "--rounds", "0"], 2, "simulated_steps.py: error: --rounds: at least 1\n"),
            ([BUILD, "--only", "what"], 2, "simulated_steps.py: error: --only: no row has 'what' in its name\n"),
            ([ROOT / "docs"], 1, f"simulated_steps.py: {ROOT}/docs has no bin/mxc\n"),
        ):
            with self.subTest(arguments=arguments):
                result = steps(*arguments)
                self.assertEqual((result.returncode, result.stdout), (code, ""))
                self.assertIn(line, result.stderr)


class Rows(unittest.TestCase):
    def test_a_tenth(self):
        result = steps(BUILD)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        head, *rows = [line.split(" | ") for line in result.stdout.splitlines()]
        self.assertEqual(head, ["workers", "job", "network", "ms measured", "ms simulated", "simulated / measured", "within 10 %"])
        self.assertEqual([row[0] for row in rows], ["2"] * 6 + ["3"] * 6 + ["4"] * 6)
        for row in rows:
            self.assertAlmostEqual(float(row[4]) / float(row[3]), float(row[5]), places=2)
            self.assertTrue(0.9 <= float(row[5]) <= 1.1 and row[6] == "met", row)
        self.assertNotIn("mxcsim", subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
