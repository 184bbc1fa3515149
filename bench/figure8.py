"""Figure 8 of the paper (arXiv 1512.01274), small: held-out accuracy of one machine and of two, against passes over the data and against time.

Usage: figure8.py BUILD DATA.json [--mnist FOLDER] [--passes N]    trains, and writes what it has seen
       figure8.py --draw DATA.json FIGURE.svg                      draws it

The paper trains GoogLeNet on ILSVRC12 with 1 and 10 machines, each with a batch of its own; here it is LeNet on MNIST (../shared/data/mnist), and machines are network namespaces, each kept on a
processor of its own, with links of 300 Mbit. Needs root, Linux and a processor for each machine, with nothing else to do.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from namespaces import Network  # noqa: E402

LIMIT = 3600  # seconds after which a training hangs
RATE, BATCH = "300mbit", 512
MACHINES = (1, 2)


def train(lenet, keys, folder, mnist, machines, passes):
    """Seconds and held-out accuracy after each pass, those of evaluating included."""
    network = Network(f"mxcfig{os.getpid()}", machines)
    jobs = []
    try:
        for rank in range(machines):
            network.shape(rank + 1, RATE)
            place = {"MXC_RANK": str(rank), "MXC_SIZE": str(machines), "MXC_RENDEZVOUS": f"{network.address(1)}:5000", "MXC_KEYS": str(keys)} if machines > 1 else {}
            command = network.within(rank + 1, "taskset", "-c", rank, lenet, "train", "--data", f"mnist:{mnist}", "--threads", 1, "--batch", BATCH, "--epochs", passes, "--seed", 1,
                                     "--kvstore", "dist_sync" if machines > 1 else "local", "--log", folder / f"log{rank}")
            jobs.append(subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env={**os.environ, **place, "TMPDIR": str(folder)}))
        if any([job.wait(timeout=LIMIT) for job in jobs]):
            sys.exit("a training has failed")
    finally:
        for job in jobs:
            job.kill()
        network.close()
    events = [event for event in map(json.loads, (folder / "log0").read_text().splitlines()) if event["event"] == "epoch"]
    (folder / "log0").unlink()
    seconds = [sum(event["seconds"] for event in events[: number + 1]) for number in range(len(events))]
    return [{"seconds": round(at, 2), "accuracy": event["test"]["accuracy"]} for at, event in zip(seconds, events)]


def measure(build, output, mnist, passes):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        lenet, keys = folder / "lenet", folder / "keys"
        subprocess.run([build / "bin/mxc", "compile", ROOT / "examples/lenet/lenet.cpp", "--dim", f"batch={BATCH}", "-o", lenet], check=True, timeout=LIMIT)
        subprocess.run([build / "bin/mxc", "keygen", keys], check=True, timeout=LIMIT)
        curves = {str(machines): train(lenet, keys, folder, mnist, machines, passes) for machines in MACHINES}
    output.write_text(json.dumps({"batch": BATCH, "rate": RATE, "machines": curves}, indent=1) + "\n")


WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 200, 56, 34, 70
COLOURS = {"1": "#4477aa", "2": "#cc6677"}


def panel(left, label, most, ticks, curves, low):
    """`curves`: by machines, pairs of what is on the axis and an accuracy."""
    def across(value):
        return left + WIDTH * value / most

    def down(accuracy):
        return TOP + HEIGHT * (1 - (accuracy - low) / (1 - low))

    parts = [f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>']
    for tick in ticks:
        parts.append(f'<text x="{across(tick):.1f}" y="{TOP + HEIGHT + 15}" text-anchor="middle">{tick:g}</text>')
    for step in range(5):
        accuracy = low + (1 - low) * step / 4
        parts.append(f'<path d="M{left} {down(accuracy):.1f}h{WIDTH}" stroke="#ddd"/><text x="{left - 6}" y="{down(accuracy) + 4:.1f}" text-anchor="end">{accuracy:.3f}</text>')
    for machines, points in curves.items():
        line = " ".join(f"{across(at):.1f},{down(max(low, accuracy)):.1f}" for at, accuracy in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[machines]}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(at):.1f}" cy="{down(max(low, accuracy)):.1f}" r="3" fill="{COLOURS[machines]}"/>' for at, accuracy in points]
    parts.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">{label}</text>')
    return parts


def draw(data):
    curves = {machines: [(number + 1, one["seconds"], one["accuracy"]) for number, one in enumerate(points)] for machines, points in data["machines"].items()}
    passes = max(number for points in curves.values() for number, _, _ in points)
    longest = max(seconds for points in curves.values() for _, seconds, _ in points)
    low = min(accuracy for points in curves.values() for _, _, accuracy in points) // 0.02 * 0.02
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if longest / step <= 8)
    parts = panel(LEFT, "passes over the data", passes, range(0, passes + 1, max(1, passes // 8)), {m: [(n, a) for n, _, a in p] for m, p in curves.items()}, low)
    parts += panel(LEFT + WIDTH + GAP, "seconds", longest, range(0, int(longest) + 1, every), {m: [(s, a) for _, s, a in p] for m, p in curves.items()}, low)
    for place, machines in enumerate(curves):
        left = LEFT + 130 * place
        parts.append(f'<path d="M{left} 16h24" stroke="{COLOURS[machines]}" stroke-width="2"/><text x="{left + 30}" y="20">{machines} machine{"s" if machines != "1" else ""}</text>')
    width, height = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 46
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12"><rect width="{width}" height="{height}" fill="#fff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw FIRST, a DATA.json, into SECOND")
    parser.add_argument("first", metavar="BUILD", type=pathlib.Path, help="the build folder")
    parser.add_argument("second", metavar="DATA.json", type=pathlib.Path, help="what was measured")
    parser.add_argument("--mnist", metavar="FOLDER", type=pathlib.Path, default=ROOT.parent / "shared/data/mnist", help="MNIST's four files (default: ../shared/data/mnist)")
    parser.add_argument("--passes", metavar="N", type=int, default=8, help="passes over the data (default: 8)")
    arguments = parser.parse_args()
    if arguments.draw:
        arguments.second.write_text(draw(json.loads(arguments.first.read_text())))
    elif os.cpu_count() < max(MACHINES):
        sys.exit(f"{max(MACHINES)} machines need as many processors")
    else:
        measure(arguments.first.resolve(), arguments.second, arguments.mnist.resolve(), arguments.passes)


if __name__ == "__main__":
    main()
