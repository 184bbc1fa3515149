#!/usr/bin/env python3
"""Makes docs/memory.md: the memory of the MXNet paper's networks by the paper's rules, in the paper's figure 7, and as mxc plans it.

Usage: memory_table.py [--check] BUILD    (BUILD: a build with `mxc` and `mxc-opt`)
--check writes nothing and fails if docs/memory.md is not what would be written.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLANS = ("naive", "inplace", "coshare", "both")
MEBIBYTE = 2**20
# The bars of figure 7 in 1/1000 of a GiB: forward, forward and backward.
BARS = {
    "alexnet": ((371, 212, 139, 114), (776, 613, 503, 436)),
    "googlenet": ((2171, 1401, 503, 494), (5267, 4275, 2504, 2407)),
    "vgg11": ((3919, 2138, 1582, 982), (7873, 6085, 5444, 4685)),
}
OTHERS = ("lenet", "digits")


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


class Model:
    """A network: its memory by the paper's rules and by mxc's own plan, in bytes."""

    def __init__(self, build, name, folder, *flags):
        mxc, source = build / "bin/mxc", ROOT / f"examples/{name}/{name}.cpp"
        graph, ir = folder / "graph.json", folder / "model.mlir"
        run(mxc, "compile", source, *flags, "--emit=graph", "-o", graph)
        run(mxc, "compile", graph, "--emit=mlir", "-o", ir)
        self.paper = {plan: self.paper_plan(run(mxc, "compile", graph, "--memory-rules=paper", f"--memory-plan={plan}")) for plan in PLANS}
        self.own = {plan: self.own_plan(run(build / "tests/tools/mxc-opt", "--pass=all", f"--memory-plan={plan}", ir)) for plan in PLANS}

    @staticmethod
    def paper_plan(text):
        """[reads as cuDNN's, minimal, minimal and alive at once] -> (forward, training)."""
        rows = [re.findall(r"(\d+) \([\d.]+ MiB\)", line) for line in text.splitlines()]
        return [tuple(map(int, row)) for row in rows if row]

    @staticmethod
    def own_plan(text):
        functions = {}
        for name, signature, attributes in re.findall(r"func\.func @(\w+)\((.*?)\) -> .*attributes \{(.*)\} \{$", text, re.MULTILINE):
            plan = {key: int(value) for key, value in re.findall(r"mx\.(\w+) = (\d+) : i64", attributes)}
            plan["state"] = {role: sum(4 * elements(dims) for dims, of in re.findall(r"tensor<((?:\d+x)*)f32[^{}]*?\{([^{}]*)\}", signature)
                                       if f'mx.role = "{role}"' in of) for role in ("parameter", "state")}
            functions[name] = plan
        return functions


def elements(dims):
    count = 1
    for dim in dims.split("x"):
        count *= int(dim or 1)
    return count


def mib(size):
    return f"{size / MEBIBYTE:.1f}"


def table(header, rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows])


def paper_rows(models):
    for name, bars in BARS.items():
        for way, title in enumerate(("forward", "training")):
            bytes_of = [models[name].paper[plan][0][way] for plan in PLANS]
            yield [name, title, *(f"{mib(size)} ({bar})" for size, bar in zip(bytes_of, bars[way]))]


def own_rows(models):
    for name, model in models.items():
        for way, function in enumerate(("infer", "train")):
            own, (least, alive) = model.own["both"][function], (model.paper["both"][1][way], model.paper["both"][2][way])
            paper = model.paper["both"][0][way]
            padding = own["peak_live_bytes"] / own["peak_logical_bytes"] - 1
            yield [name, function, mib(paper), mib(least) if way else "", mib(alive), f"**{mib(own['arena_bytes'])}**", mib(own["peak_live_bytes"]),
                   mib(own["peak_logical_bytes"]), f"{100 * padding:.1f} %", f"{paper / own['arena_bytes']:.2f}"]


def plan_rows(models):
    for name, model in models.items():
        for function in ("infer", "train"):
            yield [name, function, *(mib(model.own[plan][function]["arena_bytes"]) for plan in PLANS)]


def state_rows(models):
    for name, model in models.items():
        state = model.own["both"]["train"]["state"]
        yield [name, mib(state["parameter"]), mib(state["state"])]


def page(models):
    own_header = ["network", "graph", "paper's plan", "minimal reads", "alive at once", "**mxc's arena**", "mxc: alive at once", "without padding",
                  "padding", "paper / mxc"]
    return f"""# Memory

Made by `scripts/memory_table.py BUILD`; do not edit. MiB of f32 at the batch of the model: 64, digits 32.

## By the paper's rules

Figure 7 of the MXNet paper (arXiv 1512.01274): internal variables, one operation a step, nothing fused. In brackets the paper's bar, in
1/1000 of a GiB. `mxc compile --memory-rules=paper --memory-plan=PLAN MODEL` prints these.

{table(["network", "pass", *PLANS], paper_rows(models))}

## As mxc plans it

- *paper's plan*: in place and co-shared, backward reads what cuDNN reads (the last column above).
- *minimal reads*: the same planner, where backward reads no more than it must; *alive at once*: the least that any plan for those steps
  needs, steps that nobody reads left out.
- *mxc's arena*: what a compiled program reserves for one graph, with kernels fused and ordered; *alive at once*: the least that any
  plan for those kernels in that order needs; *without padding*: the same, less what layouts in blocks of channels add.

{table(own_header, own_rows(models))}

Where the difference to *alive at once* comes from:

- what is computed behind a convolution or a matrix product is stored once, not an operation at a time (pass `fuse`);
- relu goes behind max pooling and concat (pass `sink`), so that the value before pooling dies at once; the pool keeps an index of one
  byte an element for its gradient;
- a parameter's gradient is consumed by its update where it is made; a gradient lies over the activation whose mask it reads;
- dropout keeps no mask, local response normalisation no scale: both are made again.

With sharing switched off in part or whole, `--memory-plan=PLAN`:

{table(["network", "graph", *PLANS], plan_rows(models))}

## Beside the arena

What a training program keeps for as long as it runs: parameters, and the optimizer's and the layers' state. Gradients of parameters are
consumed where they are made, or lie in the arena.

{table(["network", "parameters", "state"], state_rows(models))}
"""


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        models = {name: Model(build, name, pathlib.Path(folder)) for name in (*BARS, *OTHERS)}
    text, path = page(models), ROOT / "docs/memory.md"
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.exit("docs/memory.md is not what scripts/memory_table.py makes")


if __name__ == "__main__":
    main()
