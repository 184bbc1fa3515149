"""Steps of real jobs against what the simulator says of them: a table of workers, what they exchange, the network's rate, milliseconds measured and simulated, and their ratio.

Usage: simulated_steps.py BUILD [--only WORD] [--rounds N] [--trainer]

Machines are network namespaces, as in kvstore_lab.py. Jobs sleep in place of computing (kvstore_load.cpp) and run at real-time priority, so that only the network decides, and not
what else the processors do. With --trainer, instead: LeNet's standard trainer, whose computation is taken from its trace; for a quiet machine. Each step is the
median of N rounds. Exit code 1: one is more than a tenth off.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import sys
import tempfile

import kvstore_lab
import networks
from kvstore_lab import Failed, Lab, Network, smaller

TOLERANCE = 0.1
STEPS, FIRST = 5, 2
TRAINED_STEPS, EPOCHS = 8, 4  # of an epoch; the first epoch is not measured
# tbf counts a packet's 14 bytes of Ethernet header, not its check sum, preamble and gap, which a link carries, too.
COUNTED, CARRIED = 1514, 1538
ARRAYS = {
    "LeNet": [(500, 288000), (20, 0), (25000, 1600000), (50, 0), (400000, 400000), (500, 0), (5000, 5000), (10, 0)],
    "8 equal arrays": [(10**6 // 4, 1)] * 8,
    "VGG-16 / 32": smaller(networks.vgg16(), 32),
    "ResNet-50 / 8": smaller(networks.resnet50(), 8),
}
# What is exchanged, Mbit/s, seconds of computation in a step: little of it, or as long as about half of the communication.
JOBS = [("LeNet", 50, 0.01), ("LeNet", 100, 0.1), ("LeNet", 200, 0.01), ("8 equal arrays", 200, 0.2), ("VGG-16 / 32", 200, 0.4), ("ResNet-50 / 8", 200, 0.3)]
# Samples of a shard, Mbit/s.
TRAINED = [(16, 50), (16, 100), (16, 200)]


def bandwidth(rate):
    return rate * CARRIED / COUNTED


def sleeping(lab, workers, arrays, rate, seconds):
    """A step measured and simulated."""
    lab.shape(f"{rate}mbit")
    measured, _ = lab.load(ARRAYS[arrays], workers, STEPS, FIRST, seconds)
    said = lab.run([lab.build / "bench/simulated_load", lab.folder / "arrays", workers, seconds, bandwidth(rate) * 125e3])
    return measured, float(said.split()[0])


def trained(lab, workers, batch, rate):
    lab.shape(f"{rate}mbit")
    program, mxc = lab.folder / "lenet", lab.build / "bin/mxc"
    if not program.exists():
        lab.run([mxc, "compile", kvstore_lab.ROOT / "examples/lenet/lenet.cpp", "-o", program])
    command = [program, "train", "--data", f"random:{TRAINED_STEPS * batch * workers}", "--threads", 1, "--batch", batch, "--epochs", EPOCHS, "--kvstore", "dist_sync"]
    log, trace = lab.folder / "log", lab.folder / "trace"
    log.unlink(missing_ok=True)
    lab.job(workers, command, {0: ["--log", log, "--trace", trace]})
    epochs = [event["seconds"] for event in map(json.loads, log.read_text().splitlines()) if event["event"] == "epoch"]
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X" and (event["name"], event["cat"]) == ("gradients", "compute")]
    computing = sum(event["dur"] for event in events) / 1e6 / TRAINED_STEPS / EPOCHS
    said = lab.run([mxc, "simulate", program, "--compute", f"{computing}s", "--workers", workers, "--bandwidth", f"{bandwidth(rate)}Mbit", "--latency", "100us", "--json"])
    return statistics.median(epochs[1:]) / TRAINED_STEPS, json.loads(said)["step"]


def row(workers, name, rate, build, folder, rounds, how):
    """A line of the table. False: it is off."""
    with contextlib.closing(Network(f"mxcsim{os.getpid()}", workers)) as network:
        lab = Lab(build, folder, network)
        measured, simulated = map(statistics.median, zip(*[how(lab) for _ in range(rounds)]))
    ratio = simulated / measured
    met = abs(ratio - 1) <= TOLERANCE
    print(f"{workers} | {name} | {rate} Mbit | {1e3 * measured:.1f} | {1e3 * simulated:.1f} | {ratio:.3f} | {'met' if met else 'not met'}", flush=True)
    return met


def rows(arguments):
    """Workers, name, Mbit/s, and what measures and simulates a step in a lab."""
    if arguments.trainer:
        jobs = [(f"LeNet's trainer, batch {batch}", rate, (trained, batch, rate)) for batch, rate in TRAINED]
    else:
        jobs = [(f"{arrays}, {1e3 * seconds:.0f} ms asleep", rate, (sleeping, arrays, rate, seconds)) for arrays, rate, seconds in JOBS]
    return [(workers, name, rate, lambda lab, workers=workers, how=how, rest=rest: how(lab, workers, *rest))
            for workers in (2, 3, 4) for name, rate, (how, *rest) in jobs if arguments.only in name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--only", metavar="WORD", default="", help="rows whose name contains this")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="so many measurements of each (default: 3)")
    parser.add_argument("--trainer", action="store_true", help="a real trainer in place of sleep")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    if not rows(arguments):
        parser.error(f"--only: no row has '{arguments.only}' in its name")
    for program in ("bin/mxc", "bench/simulated_load"):
        if not (arguments.build / program).exists():
            sys.exit(f"simulated_steps.py: {arguments.build} has no {program}")
    kvstore_lab.check_machine("simulated_steps.py")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("simulated_steps.py: ended by a signal"))  # and so behind itself removes what it has made
    if not arguments.trainer:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    print("workers | job | network | ms measured | ms simulated | simulated / measured | within 10 %", flush=True)
    all_met = True
    with tempfile.TemporaryDirectory() as folder:
        for workers, name, rate, how in rows(arguments):
            try:
                all_met &= row(workers, name, rate, arguments.build.resolve(), pathlib.Path(folder), arguments.rounds, how)
            except Failed as failure:
                sys.exit(f"simulated_steps.py: {name}: {failure}")
    sys.exit(0 if all_met else 1)


if __name__ == "__main__":
    main()
