"""Jobs of real processes on three machines, which are network namespaces. Needs root, Linux and nftables.

Usage of a test that imports it: TEST ROOT BUILD [unittest arguments].
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
from namespaces import Network  # noqa: E402
from processes import processes_of  # noqa: E402

MXC = BUILD / "bin/mxc"
HOSTS = 3
LIMIT = 180  # seconds after which a process hangs
SOON = 20  # seconds, where 5 are promised to a machine that does nothing else
NFT = shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin")
PLAIN = {name: value for name, value in os.environ.items() if not re.match("MXC_|OMPI_|PMIX?_|SLURM_|DMLC_", name)}

# Adds ones to a key of so many elements, so many times. Then perhaps: a rank, a step, and what happens to it there.
STEPS = """#include <mxc/mxc.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
using namespace mxc;
using Clock = std::chrono::steady_clock;
int main(int argc, char** argv) {
  const std::string fault = argc > 3 ? argv[5] : "";
  const int victim = argc > 3 ? std::atoi(argv[3]) : -1, at = argc > 3 ? std::atoi(argv[4]) : -1;
  KVStore kv = KVStore::create("dist_sync");
  kv.set_updater([&](const KVUpdate& update) {
    if (kv.rank() == victim && update.step == at && fault == "updates") std::this_thread::sleep_for(std::chrono::hours(1));
    update.value += update.gradient;
  });
  NDArray sum = NDArray::zeros({std::atoi(argv[2])});
  const NDArray ones = NDArray::ones({std::atoi(argv[2])});
  kv.init("sum", sum);
  for (int step = 1; step <= std::atoi(argv[1]); ++step) {
    if (kv.rank() == victim && step == at && fault == "sleeps") std::this_thread::sleep_for(std::chrono::hours(1));
    const Clock::time_point end = Clock::now() + std::chrono::seconds(kv.rank() == victim && step == at && fault == "computes" ? 45 : 0);
    while (Clock::now() < end) continue;
    kv.push("sum", ones);
    kv.pull("sum", sum);
    try {
      sum.wait();
    } catch (const Error&) {
      std::puts("told");
      std::fflush(stdout);
      throw;
    }
    std::printf("rank %d, step %d\\n", kv.rank(), step);
    std::fflush(stdout);
  }
  std::printf("rank %d of %d: %g\\n", kv.rank(), kv.size(), sum[1].item<float>());
  kv.close();
}
"""
FOR_EVER = 10**9


class Job:
    """A process on each machine. They are found by their variables; rank 0 starts the scheduler, and 0 the machine of the bridge starts nothing."""

    def __init__(self, test, name, *arguments, port=5001, program=None, folders=None):
        self.test, self.name = test, name
        self.program = program or test.program
        keys = test.keys(name)
        self.processes, self.files = [], []
        for rank in range(HOSTS):
            said = {"MXC_RANK": str(rank), "MXC_SIZE": str(HOSTS), "MXC_RENDEZVOUS": f"{test.network.address(1)}:{port}", "MXC_KEYS": keys}
            files = [open(test.folder / f"{name}-{rank}.{kind}", "w+") for kind in ("out", "errors")]
            self.files.append(files)
            self.processes.append(subprocess.Popen(test.network.within(rank + 1, self.program, *arguments), stdout=files[0], stderr=files[1],
                                                   env={**PLAIN, **said, "TMPDIR": str(test.folder)}, cwd=folders[rank] if folders else test.folder))
        test.addCleanup(self.end)

    def end(self):
        for process in self.all():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait(timeout=LIMIT)
        for file in (file for files in self.files for file in files):
            file.close()

    def all(self):
        """All of its processes, the scheduler among them."""
        found = []
        for process in processes_of(self.program):
            try:
                if self.test.keys(self.name).encode() in pathlib.Path(f"/proc/{process}/environ").read_bytes():
                    found.append(process)
            except OSError:
                pass  # it has just gone
        return found

    def pid(self, rank):
        return self.processes[rank].pid

    def scheduler(self):
        return next(p for p in self.all() if b"MXC_ROLE=scheduler\0" in pathlib.Path(f"/proc/{p}/environ").read_bytes())

    def said(self, rank, kind="out"):
        return (self.test.folder / f"{self.name}-{rank}.{kind}").read_text()

    def steps(self, rank):
        return self.said(rank).count(", step ")

    def errors(self):
        return "".join(f"[{rank}] {self.said(rank, 'errors')}" for rank in range(HOSTS))

    def until(self, condition, seconds=LIMIT):
        deadline = time.monotonic() + seconds
        while not condition():
            self.test.assertLess(time.monotonic(), deadline, self.errors())
            time.sleep(0.01)

    def wait_for_steps(self, more):
        """All have done so many more steps."""
        wanted = max(self.steps(rank) for rank in range(HOSTS)) + more

        def done():
            self.test.assertTrue(all(process.poll() is None for process in self.processes), self.errors())
            return all(self.steps(rank) >= wanted for rank in range(HOSTS))
        self.until(done)

    def ended(self, ranks, seconds=SOON):
        """Waits for these to end with exit code 1; returns when the last has, and what each said."""
        self.until(lambda: all(self.processes[rank].poll() is not None for rank in ranks), seconds)
        at = time.monotonic()
        for rank in ranks:
            self.test.assertEqual(self.processes[rank].returncode, 1, self.errors())
        return at, [self.said(rank, "errors") for rank in ranks]

    def check_sums(self, steps):
        for rank, process in enumerate(self.processes):
            self.test.assertEqual(process.wait(timeout=LIMIT), 0, self.errors())
            self.test.assertIn(f"rank {rank} of {HOSTS}: {HOSTS * steps}\n", self.said(rank))


class Machines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "steps.cpp").write_text(STEPS)
        cls.program = cls.folder / "steps"
        subprocess.run([MXC, "compile", cls.folder / "steps.cpp", "-o", cls.program], check=True, timeout=LIMIT * 2)

    def setUp(self):
        self.network = Network(f"faults{os.getpid()}", HOSTS)
        self.addCleanup(self.network.close)

    def keys(self, name):
        """The file of a job's keys."""
        path = self.folder / f"{name}-{self.id()}.keys"
        if not path.exists():
            subprocess.run([MXC, "keygen", path], check=True)
        return str(path)

    def on(self, number, *command):
        subprocess.run(self.network.within(number, *command), check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)

    def drop(self, number, hook, condition=()):
        """Packets that the machine sends ("output") or receives ("input") are lost, if they meet the condition."""
        self.on(number, NFT, "add", "table", "inet", "faults")
        self.on(number, NFT, f"add chain inet faults {hook} {{ type filter hook {hook} priority 0; }}")
        self.on(number, NFT, "add", "rule", "inet", "faults", hook, *condition, "drop")

    def lose_one_in_a_hundred(self, number):
        for hook in ("input", "output"):
            self.drop(number, hook, ("numgen", "random", "mod", "100", "==", "0"))


def listening(network, number, process):
    """Addresses and ports at which a process of a machine listens."""
    shown = subprocess.run(network.within(number, "ss", "-Hltnp"), capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    return [(found.group(1).strip("[]"), int(found.group(2))) for line in shown.splitlines() if f"pid={process}," in line
            if (found := re.match(r"\S+\s+\S+\s+\S+\s+(\S+):(\d+)\s", line))]
