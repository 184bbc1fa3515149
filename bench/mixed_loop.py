"""LeNet's training step at batch 64: a loop of one's own (forward_backward and a line of imperative SGD) against the compiled step.

Usage: mixed_loop.py ROOT BUILD [ROUNDS [STEPS]]. Compiles mixed_loop.cpp and runs it on one processor (the last one that this process may
use), where two executors take turns: STEPS steps each (default 4), ROUNDS times (default 151). Processor time of the whole process, all
threads together, of a step in the fastest fifth of the rounds of each (their median): a host that is shared slows some rounds by a third. Fails if the
ratio is above 1.02 or if the parameters of the two differ in a bit.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
ROUNDS, STEPS = (sys.argv[3:] + ["151", "4"][len(sys.argv) - 3:])[:2]
GOAL = 1.02


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "mixed_loop"
        subprocess.run([BUILD / "bin/mxc", "compile", ROOT / "bench/mixed_loop.cpp", "-o", program], check=True)
        one = {max(os.sched_getaffinity(0))}
        done = subprocess.run([program, ROUNDS, STEPS], capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, one))
    if done.returncode != 0:
        print(f"exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}")
        return 1
    *rounds, verdict = done.stdout.split("\n")[:-1]
    pairs = [tuple(float(number) for number in line.split()) for line in rounds][1:]  # the first one warms up
    whole, parts = (statistics.median(sorted(column)[:len(pairs) // 5 + 1]) for column in zip(*pairs))
    ratio = parts / whole
    print(f"compiled step {whole:.3f} ms, mixed loop {parts:.3f} ms: the fastest fifth of {len(pairs)} rounds; ratio {ratio:.4f} (goal {GOAL}); parameters {verdict}")
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
