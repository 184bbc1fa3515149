"""What a tiny addition costs: x = x + y of 16 floats, a hundred thousand in a chain, in NDArray and in PyTorch's eager mode, taking turns.

Usage: small_add_pytorch.py BUILD [ROUNDS]. One processor, one thread of PyTorch; processor time of the whole process by operation, the best of
the rounds. PyTorch is Debian's python3-torch; without it, that is said and mxc is measured alone. Fails if mxc takes more than 0.6 us.
"""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
GOAL = 0.6
PYTHON = "/usr/bin/python3"

TORCH = """
import time
import torch
torch.set_num_threads(1)
torch.set_grad_enabled(False)
x, y = torch.ones(16), torch.zeros(16)
def chain(count):
    global x
    for _ in range(count):
        x = x + y
chain(1000)
best = 1e9
for _ in range(5):
    start = time.process_time()
    chain(100000)
    best = min(best, time.process_time() - start)
print(best / 100000 * 1e6)
"""


def run(*command):
    one = {max(os.sched_getaffinity(0))}
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                          preexec_fn=lambda: os.sched_setaffinity(0, one)).stdout


def main():
    has_torch = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
    if not has_torch:
        print("SKIPPED: PyTorch is not there to be measured beside it (apt-get install python3-torch)")
    ours, torch = [], []
    for _ in range(ROUNDS):
        ours.append(float(re.search(r"x = x \+ y, 16 floats +([\d.]+) us", run(BUILD / "bench/ndarray_bench", "small")).group(1)))
        if has_torch:
            torch.append(float(run(PYTHON, "-c", TORCH)))
    print(f"x = x + y of 16 floats: mxc {min(ours):.3f} us (goal {GOAL})" + (f", PyTorch {min(torch):.3f} us, {min(torch) / min(ours):.1f} times" if torch else ""))
    return 0 if min(ours) <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
