"""The KVStore between machines against what the network gives: a table of what was measured, beside a reference measured in the same run.

Machines are network namespaces (tests/namespaces.py), so it needs root and Linux, and iproute2; iperf3 and Open MPI (mpirun, mpicc) for the rows that are held against them.
Processes of machine r are kept on processor r modulo the number of them. Run it on a quiet machine.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import networks  # noqa: E402
from namespaces import Network  # noqa: E402

LIMIT = 300  # seconds after which a process hangs
MEGABYTES_25 = [(25 * 10**6 // 4, 1)]


class Failed(Exception):
    """One line."""


class Lab:
    """Machines, and the programs that run on them."""

    def __init__(self, build, folder, network):
        self.build, self.folder, self.network = build, folder, network
        self.port = 5000
        self.program, self.keys = folder / "kvstore_load", folder / "keys"
        if not self.keys.exists():
            self.run([build / "bin/mxc", "compile", ROOT / "bench/kvstore_load.cpp", "-o", self.program])
            self.run([build / "bin/mxc", "keygen", self.keys])

    def run(self, command, **more):
        try:
            result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, cwd="/", **more)
        except FileNotFoundError:
            raise Failed(f"{command[0]} is not there") from None
        if result.returncode != 0:
            raise Failed(f"{pathlib.Path(command[0]).name} has failed: {(result.stderr or result.stdout).strip()}")
        return result.stdout

    def shape(self, rate):
        for number in range(1, self.network.hosts + 1):
            self.network.shape(number, rate)

    def pinned(self, number, *command):
        """The command on a machine, on the machine's processor."""
        return self.network.within(number, "taskset", "-c", (number - 1) % os.cpu_count(), *command)

    def job(self, workers, command, more=None, insecure=False):
        """What each process of a job shows, one on each machine. `more` has further arguments of ranks."""
        self.port += 1  # the last job's scheduler may still be there
        place = {"MXC_SIZE": str(workers), "MXC_RENDEZVOUS": f"{self.network.address(1)}:{self.port}", "TMPDIR": str(self.folder),
                 **({"MXC_INSECURE": "1"} if insecure else {"MXC_KEYS": str(self.keys)})}
        jobs = [subprocess.Popen(self.pinned(rank + 1, *command, *(more or {}).get(rank, [])), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                                 env={**os.environ, **place, "MXC_RANK": str(rank)}) for rank in range(workers)]
        try:
            shown = [job.communicate(timeout=LIMIT) for job in jobs]
        finally:
            for job in jobs:
                job.kill()
        for job, (_, errors) in zip(jobs, shown):
            if job.returncode != 0:
                raise Failed(f"{pathlib.Path(command[0]).name} has failed: {errors.strip()}")
        return [out for out, _ in shown]

    def load(self, arrays, workers, steps, first, seconds=None, insecure=False, transport="zeromq"):
        """A step's seconds, and the bytes that each worker has sent in it, most first."""
        totals = [sum(column) or 1 for column in zip(*arrays)]
        keys = self.folder / "arrays"
        keys.write_text("".join(f"{elements} {work / totals[1]} {work / totals[1]}\n" for elements, work in arrays))
        arguments = [transport, keys, steps, first] + ([] if seconds is None else [seconds])
        shown = self.job(workers, [self.program, *arguments], insecure=insecure)
        seconds, sent = zip(*(map(float, out.split()) for out in shown))
        return max(seconds) / steps, sorted((bytes_sent / steps for bytes_sent in sent), reverse=True)

    def iperf3(self, seconds=3):
        """Bytes a second from machine 1 to 2 and back at once, the mean of both."""
        server = subprocess.Popen(self.pinned(1, "iperf3", "--server", "--one-off"), stdout=subprocess.DEVNULL, cwd="/")
        try:
            time.sleep(0.5)
            end = json.loads(self.run(self.pinned(2, "iperf3", "--client", self.network.address(1), "--bidir", "--time", seconds, "--omit", 1, "--json")))["end"]
        finally:
            server.kill()
            server.wait()
        return (end["sum_received"]["bits_per_second"] + end["sum_received_bidir_reverse"]["bits_per_second"]) / 16

    def allreduce(self, elements, workers, steps, first):
        """Seconds of Open MPI's sum."""
        program, ssh = self.folder / "mpi_allreduce", self.folder / "ssh"
        if not program.exists():
            self.run(["mpicc", "-O2", ROOT / "bench/mpi_allreduce.c", "-o", program])
            # A temporary folder for each machine: Open MPI's daemons take those of other machines of the same name for their own.
            ssh.write_text(f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nnumber=${{1##*.}}; shift\nexport TMPDIR="$TMPDIR/$number"; mkdir -p "$TMPDIR"\n'
                           f'cd / && exec ip netns exec {self.network.prefix}-$number sh -c "$*"\n')
            ssh.chmod(0o755)
        hosts = ",".join(f"{self.network.address(number)}:1" for number in range(1, workers + 1))
        subnet = f"{self.network.address(1)}/24"
        command = ["mpirun", "--allow-run-as-root", "-np", workers, "--host", hosts, "--bind-to", "none", "--mca", "plm_rsh_agent", ssh, "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "btl", "tcp,self",
                   "--mca", "btl_tcp_if_include", subnet, "--mca", "oob_tcp_if_include", subnet, "--mca", "mpi_yield_when_idle", "1",
                   "sh", "-c", f"exec taskset -c $((OMPI_COMM_WORLD_RANK % {os.cpu_count()})) {program} {elements} {steps} {first}"]
        return float(self.run(self.network.within(0, *command), env={**os.environ, "TMPDIR": str(self.folder)})) / steps


def bytes_of(arrays):
    return 4 * sum(elements for elements, _ in arrays)


def lower_bound(arrays, workers):
    """Bytes that a worker must send so that all have the sum: of a reduce-scatter and an all-gather."""
    return 2 * (workers - 1) / workers * bytes_of(arrays)


def smaller(arrays, part):
    return [(max(1, elements // part), work) for elements, work in arrays]


def bytes_sent(arrays):
    def measure(lab):
        _, sent = lab.load(arrays, 4, 5, 1)
        return sent[0], lower_bound(arrays, 4)
    return measure


def goodput(lab):
    """Each way a worker's share of pushes goes, and the other's of values."""
    arrays = [(10**6 // 4, 1)] * 25
    lab.shape("1gbit")
    seconds, _ = lab.load(arrays, 2, 20, 2)
    return bytes_of(arrays) / seconds, lab.iperf3()


def against_allreduce(lab):
    seconds, _ = lab.load(MEGABYTES_25, 4, 10, 3, insecure=True, transport="tcp")
    return seconds, lab.allreduce(MEGABYTES_25[0][0], 4, 10, 3)


def overlap(arrays, workers=2):
    def measure(lab):
        lab.shape("200mbit")
        seconds = lower_bound(arrays, workers) / lab.iperf3()
        step, _ = lab.load(arrays, workers, 4, 2, seconds)
        return step, seconds
    return measure


def curve(lab):
    arrays = [(10**6 // 4, 1)] * 25
    lab.shape("1gbit")
    with_keys, _ = lab.load(arrays, 2, 20, 2)
    without, _ = lab.load(arrays, 2, 20, 2, insecure=True)
    return bytes_of(arrays) / with_keys, bytes_of(arrays) / without


# Name: what, unit and its divisor, at most (True) or at least, the target, machines, how.
ROWS = {
    "bytes": ("bytes that a worker sends a step, one array of 25 MB, 4 workers / lower bound", "MB", 1e6, True, 1.03, 4, bytes_sent(MEGABYTES_25)),
    "bytes_resnet50": ("the same, ResNet-50's 161 arrays", "MB", 1e6, True, 1.10, 4, bytes_sent(networks.resnet50())),
    "goodput": ("push and pull at 1 Gbit, both ways at once, 2 workers / iperf3 --bidir", "MB/s", 1e6, False, 0.95, 2, goodput),
    "allreduce": ("push and pull of 25 MB, 4 workers, --transport tcp / Open MPI's allreduce", "ms", 1e-3, True, 1.0, 4, against_allreduce),
    "overlap_vgg": ("step at 200 Mbit, VGG-16's arrays at 1/8 / computation, as long as communication", "s", 1, True, 1.10, 2, overlap(smaller(networks.vgg16(), 8))),
    "overlap_resnet": ("the same, ResNet-50's arrays", "s", 1, True, 1.15, 2, overlap(networks.resnet50())),
    "curve": ("push and pull at 1 Gbit with keys / without", "MB/s", 1e6, False, 0.98, 2, curve),
}


def measure(name, build, folder, rounds):
    """A line of the table. Ours and the reference take turns; the ratio is the median of the rounds'."""
    what, unit, divisor, at_most, target, machines, how = ROWS[name]
    with contextlib.closing(Network(f"mxclab{os.getpid()}", machines)) as network:
        lab = Lab(build, folder, network)
        found = [how(lab) for _ in range(rounds)]
    ratio = statistics.median(ours / reference for ours, reference in found)
    ours, reference = (statistics.median(column) / divisor for column in zip(*found))
    met = ratio <= target if at_most else ratio >= target
    return [what, f"{ours:.4g} {unit}", f"{reference:.4g} {unit}", f"{ratio:.3f}", f"{'<=' if at_most else '>='} {target:.2f}", "met" if met else "not met"]


def check_machine(program):
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("ip") is None:
        sys.exit(f"{program}: network namespaces need root, Linux and iproute2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    parser.add_argument("--only", metavar="ROW", choices=ROWS, action="append", help=f"this row alone; may be repeated: {', '.join(ROWS)}")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="so many measurements of each, in turns (default: 3)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    if not (arguments.build / "bin/mxc").exists():
        sys.exit(f"kvstore_lab.py: {arguments.build} has no bin/mxc")
    check_machine("kvstore_lab.py")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("kvstore_lab.py: ended by a signal"))  # and so behind itself removes what it has made
    print("row | ours | reference | ratio | target | met", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or ROWS:
            try:
                line = measure(name, arguments.build.resolve(), pathlib.Path(folder), arguments.rounds)
            except Failed as failure:
                sys.exit(f"kvstore_lab.py: {name}: {failure}")
            print(" | ".join(line), flush=True)


if __name__ == "__main__":
    main()
