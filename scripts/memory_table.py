#!/usr/bin/env python3
"""Makes docs/memory.md: the memory of every model of the examples as mxc plans it, beside the MXNet paper's rules and its figure 7.

Usage: memory_table.py BUILD    (BUILD: a build with `mxc` and `mxc-opt`)
A test (tests/compiler/passes/plan_memory_test.py) fails if docs/memory.md is not what this makes.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/memory.md"
PLANS = ("naive", "inplace", "coshare", "both")
MEBIBYTE = 2**20
# The bars of figure 7 in 1/1000 of a GiB: forward, forward and backward.
BARS = {
    "alexnet": ((371, 212, 139, 114), (776, 613, 503, 436)),
    "googlenet": ((2171, 1401, 503, 494), (5267, 4275, 2504, 2407)),
    "vgg11": ((3919, 2138, 1582, 982), (7873, 6085, 5444, 4685)),
}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


class Model:
    """A model: its memory by the paper's rules (where it is to be trained by the standard trainer) and by mxc's own plan, in bytes.

    paper[plan]: [reads as cuDNN's, minimal, minimal and alive at once] -> (forward, training). own[plan][function]: what the passes say.
    """

    def __init__(self, build, source, name, folder):
        mxc, graph, ir = build / "bin/mxc", folder / "graph.json", folder / "model.mlir"
        self.title = name if name == source.stem else f"{source.stem}: {name}"
        run(mxc, "compile", source, f"--model={name}", "--emit=graph", "-o", graph)
        run(mxc, "compile", graph, "--emit=mlir", "-o", ir)
        inputs = [node["attributes"] for node in json.loads(graph.read_text())["nodes"] if node["op"] == "input"]
        self.batch = next((of["shape"][of["batch_axis"]] for of in inputs if of["batch_axis"] >= 0), "")
        has_main = "int main(" in source.read_text()
        plans = PLANS if name in BARS and not has_main else PLANS[-1:]
        start = time.monotonic()
        self.own = {plan: self.own_plan(run(build / "tests/tools/mxc-opt", "--pass=all", f"--memory-plan={plan}",
                                            *["--own-main"][:has_main], ir)) for plan in plans}
        self.seconds = (time.monotonic() - start) / len(plans)
        functions = self.own[PLANS[-1]]  # a model without outputs has no inference
        self.ways = ("infer" if "infer" in functions else "eval", "forward_backward" if has_main else "train")
        self.paper = {} if has_main else {plan: self.paper_plan(run(mxc, "compile", graph, "--memory-rules=paper", f"--memory-plan={plan}"))
                                          for plan in plans}

    @staticmethod
    def paper_plan(text):
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


def all_models(build):
    """Every model of the examples; the paper's networks first."""
    sources = sorted((ROOT / "examples").glob("*/*.cpp"), key=lambda source: (source.stem not in BARS, source.stem))
    with tempfile.TemporaryDirectory() as folder:
        return [Model(build, source, name, pathlib.Path(folder))
                for source in sources for name in re.findall(r"MXC_MODEL\((\w+)\)", source.read_text())]


def elements(dims):
    count = 1
    for dim in dims.split("x"):
        count *= int(dim or 1)
    return count


def mib(size):
    return f"{size / MEBIBYTE:.1f}" if size >= MEBIBYTE else f"{size / MEBIBYTE:.3f}"


def table(header, rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, ["---"] * len(header), *rows])


def paper_rows(models):
    for model in models:
        for way, (title, bars) in enumerate(zip(("forward", "training"), BARS.get(model.title, ()))):
            yield [model.title, title, *(f"{mib(model.paper[plan][0][way])} ({bar})" for plan, bar in zip(PLANS, bars))]


def own_rows(models):
    for model in models:
        for way, function in enumerate(model.ways):
            own = model.own["both"][function]
            paper, least, alive = [row[way] for row in model.paper["both"]] if model.paper else [0, 0, 0]
            padding = own["peak_live_bytes"] / own["peak_logical_bytes"] - 1
            yield [model.title, model.batch, function, mib(paper) if paper else "", mib(least) if least and way else "", mib(alive) if alive else "",
                   f"**{mib(own['arena_bytes'])}**", mib(own["peak_live_bytes"]), f"{100 * (own['arena_bytes'] / own['peak_live_bytes'] - 1):.2f} %",
                   f"{100 * padding:.1f} %", f"{paper / own['arena_bytes']:.2f}" if paper else ""]


def plan_rows(models):
    for model in models:
        if model.title in BARS:
            for function in model.ways:
                yield [model.title, function, *(mib(model.own[plan][function]["arena_bytes"]) for plan in PLANS)]


def state_rows(models):
    for model in models:
        state = model.own["both"][model.ways[1]]["state"]
        yield [model.title, mib(state["parameter"]), mib(state["state"])]


def page(models):
    own_header = ["network", "batch", "graph", "paper's plan", "minimal reads", "alive at once", "**mxc's arena**", "mxc: alive at once", "over that",
                  "padding", "paper / mxc"]
    return f"""# Memory

Made by `scripts/memory_table.py BUILD`; do not edit. MiB of f32, at the batch of the model.

## By the paper's rules

Figure 7 of the MXNet paper (arXiv 1512.01274): internal variables, one operation a step, nothing fused. In brackets the paper's bar, in
1/1000 of a GiB. `mxc compile --memory-rules=paper --memory-plan=PLAN MODEL` prints these.

{table(["network", "pass", *PLANS], paper_rows(models))}

## As mxc plans it

- *paper's plan*: in place and co-shared, backward reads what cuDNN reads (the last column above).
- *minimal reads*: the same planner, where backward reads no more than it must; *alive at once*: the least that any plan for those steps
  needs, steps that nobody reads left out.
- *mxc's arena*: what a compiled program reserves for one graph, with kernels fused and ordered; *alive at once*: the least that any
  plan for those kernels in that order needs; *padding*: how much of that layouts in blocks of channels add.
- Models of a main of the user's own have no graph `train`, which updates parameters, but `forward_backward`; the paper's rules are for
  training.

{table(own_header, own_rows(models))}

Where the difference to *alive at once* comes from:

- what is computed behind a convolution or a matrix product is stored once, not an operation at a time (pass `fuse`);
- a convolution runs inside the kernel of the pooling that reads it, a few rows at a time: what it makes is never stored whole;
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
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    DOCUMENT.write_text(page(all_models(pathlib.Path(sys.argv[1]).resolve())), encoding="utf-8")


if __name__ == "__main__":
    main()
