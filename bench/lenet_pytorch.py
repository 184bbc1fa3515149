"""LeNet's training step at batch 64: a compiled program against PyTorch (Debian's python3-torch), one thread each, alternating.

Usage: lenet_pytorch.py ROOT BUILD [ROUNDS]. Needs MNIST in ROOT/../shared/data/mnist. A step's time is process CPU time: for mxc the difference
between runs of 400 and of 100 steps over their difference in steps (so that starting and reading data do not count; both sides then include
taking a batch from memory), for PyTorch 100 steps inside the process. Prints each round, the medians and their ratio; the exit code is 1
if mxc takes more than half of PyTorch's time.
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
MNIST = ROOT.parent / "shared" / "data" / "mnist"

# PyTorch's BLAS has threads of its own, which torch.set_num_threads leaves alone.
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}

TORCH = """
import sys, time
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 20, 5), torch.nn.Tanh(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(20, 50, 5), torch.nn.Tanh(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(800, 500), torch.nn.Tanh(), torch.nn.Linear(500, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
loss_of = torch.nn.CrossEntropyLoss()
images, labels = torch.rand(6400, 1, 28, 28), torch.randint(0, 10, (6400,))

def steps(count):
    for i in range(count):
        batch = slice(64 * (i % 100), 64 * (i % 100) + 64)
        optimizer.zero_grad()
        loss_of(net(images[batch]), labels[batch]).backward()
        optimizer.step()
steps(10)
start = time.process_time()
steps(100)
print((time.process_time() - start) / 100)
"""


def cpu_seconds(command, cwd):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(c) for c in command], cwd=cwd, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    if not MNIST.is_dir():
        print(f"SKIPPED: no MNIST in {MNIST}")
        return 0
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        print("SKIPPED: no PyTorch (apt-get install python3-torch)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BUILD / "bin/mxc", "compile", ROOT / "examples/lenet/lenet.cpp", "-o", "lenet"], cwd=folder, check=True)
        train = ["./lenet", "train", "--threads", 1, "--data", f"mnist:{MNIST}", "--epochs", 1]
        ours, torch = [], []
        for _ in range(ROUNDS):
            short, long = (cpu_seconds([*train, "--steps", n], folder) for n in (100, 400))
            ours.append((long - short) / 300)
            torch.append(float(subprocess.run(["/usr/bin/python3", "-c", TORCH], env=ONE_THREAD, check=True, capture_output=True, text=True).stdout))
            print(f"mxc {1e3 * ours[-1]:.2f} ms   PyTorch {1e3 * torch[-1]:.2f} ms")
    ratio = statistics.median(ours) / statistics.median(torch)
    print(f"median: mxc {1e3 * statistics.median(ours):.2f} ms, PyTorch {1e3 * statistics.median(torch):.2f} ms, ratio {ratio:.2f}")
    return 0 if ratio <= 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())
