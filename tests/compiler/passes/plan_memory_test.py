"""The memory plan of every example, as the passes make it: no code is generated.

Held for each function of each program: the arena is within 0.5 % of the bytes alive at once. For the networks of the MXNet paper also:
the bytes alive at once, padding of layouts left out, are at or below what the best plan for one op a step needs where backward reads no
more than it must (tests/compiler/passes/paper_memory_test.py holds these figures), and below the paper's own plan.

Usage: plan_memory_test.py ROOT BUILD [unittest arguments].
"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import memory_table  # noqa: E402

# MiB alive at once: inference, training.
BOUNDS = {"alexnet": (85.43, 255.19), "googlenet": (245.0, 1452.44), "vgg11": (980.0, 2254.24)}
# Elements of a sample in the two largest neighbours of inference where no convolution before a pooling is stored: the first pooling and its
# normalisation; the branches of inception 3b and their concatenation; the first two poolings.
NEIGHBOURS = {"alexnet": 2 * 96 * 27 * 27, "googlenet": 2 * 480 * 28 * 28, "vgg11": 64 * 112 * 112 + 128 * 56 * 56}


class OwnPlan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = memory_table.all_models(BUILD)
        cls.examples = {model.title: model.own["both"] for model in cls.models}

    def test_arena_is_what_is_alive_at_once(self):
        self.assertLessEqual({"alexnet", "digits", "googlenet", "lenet", "vgg11"}, set(self.examples))
        for name, functions in self.examples.items():
            wanted = {"train", "eval", "init"} if "train" in functions else {"infer", "init", "forward_backward"}
            self.assertLessEqual(wanted, set(functions), name)
            for function, plan in functions.items():
                self.assertLessEqual(plan["peak_live_bytes"], plan["arena_bytes"], (name, function))
                self.assertLessEqual(plan["arena_bytes"], 1.005 * plan["peak_live_bytes"], (name, function))

    def test_bounds(self):
        for name, bounds in BOUNDS.items():
            for function, bound in zip(("infer", "train"), bounds):
                self.assertLessEqual(self.examples[name][function]["peak_logical_bytes"] / memory_table.MEBIBYTE, bound + 0.01, (name, function))

    def test_convolutions_before_poolings_are_never_whole(self):
        for name, elements in NEIGHBOURS.items():
            for function in ("infer", "eval"):
                self.assertEqual(self.examples[name][function]["peak_logical_bytes"], 64 * 4 * elements, (name, function))

    def test_passes_take_seconds(self):
        for model in self.models:
            self.assertLess(model.seconds, 30, model.title)

    def test_the_document_is_what_the_script_makes_and_lists_every_example(self):
        page = memory_table.page(self.models)
        self.assertEqual(memory_table.DOCUMENT.read_text(encoding="utf-8"), page, "run scripts/memory_table.py")
        sources = {source.stem for source in (ROOT / "examples").glob("*/*.cpp") if "MXC_MODEL" in source.read_text()}
        self.assertEqual({model.title.split(":")[0] for model in self.models}, sources)
        for model in self.models:
            for function in model.ways:
                self.assertIn(f"| {model.title} | {model.batch} | {function} |", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
