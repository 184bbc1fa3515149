"""LeNet on MNIST by several processes of this machine: what each consistency model makes of the same training.

Usage: consistency.py BUILD [--data FOLDER] [--epochs N] [--seeds N]

1. dist_sync with four shards by 1, 2 and 4 processes: the curve of losses and accuracies is the same, and so is every bit of the weights.
2. dist_bounded:2 and dist_async by two processes: the median of the held-out accuracies of several seeds is at most 0.3 % below that of dist_sync.
Prints a table; the exit code is 1 if something does not hold. Takes about a minute a training.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 3600  # seconds after which a training hangs
MOST_BELOW = 0.003

# Gradients of late values want a slow beginning. In dist_async the gradient of each of the two workers is an update of its own.
LEARNING_RATES = {"dist_sync": 0.05, "dist_bounded:2": 0.05, "dist_async": 0.05 / 2}
WARMUP = 600  # steps


class Training:
    def __init__(self, build, folder, data, epochs):
        self.mxc, self.folder, self.data, self.epochs = build / "bin/mxc", folder, data, epochs
        subprocess.run([self.mxc, "compile", ROOT / "examples/lenet/lenet.cpp", "-o", folder / "lenet"], check=True, timeout=LIMIT)

    def run(self, kind, processes, seed, *more):
        """What the log says of each epoch, without its time, and the bytes of the weights."""
        log, weights = self.folder / "log", self.folder / "weights"
        log.unlink(missing_ok=True)
        command = [self.mxc, "launch", "-n", processes, self.folder / "lenet", "train", "--data", f"mnist:{self.data}", "--threads", 1, "--kvstore", kind, "--schedule", "cosine",
                   "--lr", LEARNING_RATES[kind], "--warmup", WARMUP, "--epochs", self.epochs, "--batch", 32, "--seed", seed, "--log", log, "--save", weights, *more]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT, env={**os.environ, "TMPDIR": str(self.folder)})
        epochs = [(event["train"], event["test"]) for event in map(json.loads, log.read_text().splitlines()) if event["event"] == "epoch"]
        return epochs, weights.read_bytes()


def same_curve(training):
    found = [training.run("dist_sync", processes, 1, "--shards", 4) for processes in (1, 2, 4)]
    same = all(one == found[0] for one in found)
    print(f"dist_sync, four shards, 1, 2 and 4 processes: held-out accuracy {found[0][0][-1][1]['accuracy']:.4f}; curves and weights {'are the same' if same else 'DIFFER'}", flush=True)
    return same


def close_to_sync(training, seeds):
    """Of each kind the accuracies of all seeds, and whether their median is near enough."""
    medians, met = {}, True
    for kind, rate in LEARNING_RATES.items():
        accuracies = [training.run(kind, 2, seed)[0][-1][1]["accuracy"] for seed in range(1, seeds + 1)]
        medians[kind] = statistics.median(accuracies)
        below = medians["dist_sync"] - medians[kind]
        met &= below <= MOST_BELOW
        print(f"{kind:15} learning rate {rate}: {' '.join(f'{one:.4f}' for one in accuracies)}, median {medians[kind]:.4f}, "
              f"{100 * below:.2f} % below dist_sync, at most {100 * MOST_BELOW:.1f}: {'met' if below <= MOST_BELOW else 'NOT MET'}", flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--data", metavar="FOLDER", type=pathlib.Path, default=ROOT.parent / "shared/data/mnist", help="MNIST's four files (default: ../shared/data/mnist)")
    parser.add_argument("--epochs", metavar="N", type=int, default=2, help="passes over the data (default: 2)")
    parser.add_argument("--seeds", metavar="N", type=int, default=3, help="trainings of each kind (default: 3)")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"SKIPPED: MNIST is not in {arguments.data}")
    with tempfile.TemporaryDirectory() as folder:
        training = Training(arguments.build.resolve(), pathlib.Path(folder), arguments.data.resolve(), arguments.epochs)
        held = [same_curve(training), close_to_sync(training, arguments.seeds)]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
