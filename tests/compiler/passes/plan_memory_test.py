"""The memory plan of every example, as the passes make it: no code is generated.

Held for each function of each program: the arena is within 0.5 % of the bytes alive at once. For the networks of the MXNet paper also:
the bytes alive at once, padding of layouts left out, are at or below what the best plan for one op a step needs where backward reads no
more than it must (tests/compiler/passes/paper_memory_test.py holds these figures), and below the paper's own plan.

Usage: plan_memory_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MEBIBYTE = 2**20
# MiB alive at once: inference, training.
BOUNDS = {"alexnet": (85.43, 255.19), "googlenet": (245.0, 1452.44), "vgg11": (980.0, 2254.24)}


def plans(source, name, folder):
    """{function: {attribute: bytes}} of a model of a file at its own batch, and the seconds that the passes took."""
    model = pathlib.Path(folder) / (name + ".mlir")
    subprocess.run([str(BUILD / "bin/mxc"), "compile", str(source), f"--model={name}", "--emit=mlir", "-o", str(model)], check=True)
    start = time.monotonic()
    own_main = ["--own-main"] if "int main(" in source.read_text() else []
    command = [str(BUILD / "tests/tools/mxc-opt"), "--pass=all", *own_main, str(model)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = time.monotonic() - start
    found = {}
    for name, attributes in re.findall(r"func\.func @(\w+)\(.*attributes \{(.*)\} \{$", text, re.MULTILINE):
        found[name] = {key: int(value) for key, value in re.findall(r"mx\.(\w+) = (\d+) : i64", attributes)}
    return found, seconds


class OwnPlan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            sources = sorted((ROOT / "examples").glob("*/*.cpp"))
            models = [(source, name) for source in sources for name in re.findall(r"MXC_MODEL\((\w+)\)", source.read_text())]
            cls.examples = {name if name == source.stem else f"{source.stem}: {name}": plans(source, name, folder) for source, name in models}

    def test_arena_is_what_is_alive_at_once(self):
        self.assertLessEqual({"alexnet", "digits", "googlenet", "lenet", "vgg11"}, set(self.examples))
        for name, (functions, _) in self.examples.items():
            wanted = {"train", "eval", "init"} if "train" in functions else {"infer", "init", "forward_backward"}
            self.assertLessEqual(wanted, set(functions), name)
            for function, plan in functions.items():
                self.assertLessEqual(plan["peak_live_bytes"], plan["arena_bytes"], (name, function))
                self.assertLessEqual(plan["arena_bytes"], 1.005 * plan["peak_live_bytes"], (name, function))

    def test_bounds(self):
        for name, bounds in BOUNDS.items():
            functions, _ = self.examples[name]
            for function, bound in zip(("infer", "train"), bounds):
                self.assertLessEqual(functions[function]["peak_logical_bytes"] / MEBIBYTE, bound + 0.01, (name, function))

    def test_passes_take_seconds(self):
        for name, (_, seconds) in self.examples.items():
            self.assertLess(seconds, 30, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
