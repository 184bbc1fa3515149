"""Jobs of two machines with two processes each, the machines being network namespaces: what leaves a machine is what one process would send, the bits are those of one
process, and a death ends the job. Needs root and Linux.

Usage: machine_sums_test.py ROOT BUILD [unittest arguments].
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
import safetensors_file  # noqa: E402
from namespaces import Network  # noqa: E402

MXC = BUILD / "bin/mxc"
LIMIT = 180  # seconds after which a process hangs
SIZE = 4  # processes; ranks 0 and 1 are on the first machine
PLAIN = {name: value for name, value in os.environ.items() if not re.match("MXC_|OMPI_|PMIX?_|SLURM_|DMLC_", name)}
DATA = ["--data", "random:512", "--batch", "4", "--threads", "1", "--shards", str(SIZE)]


class MachineSums(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.network = Network(f"sums{os.getpid()}", 2)
        cls.addClassCleanup(cls.network.close)
        cls.program = cls.folder / "lenet"
        subprocess.run([MXC, "compile", ROOT / "examples/lenet/lenet.cpp", "-o", cls.program], check=True, timeout=LIMIT)
        cls.keys = cls.folder / "keys"
        subprocess.run([MXC, "keygen", cls.keys], check=True, timeout=LIMIT, capture_output=True)

    def sent(self):
        """Bytes that have left both machines."""
        counter = "/sys/class/net/eth0/statistics/tx_bytes"
        return sum(int(subprocess.run(self.network.within(host, "cat", counter), capture_output=True, check=True, timeout=LIMIT).stdout) for host in (1, 2))

    def start(self, *flags):
        processes = []
        for rank in range(SIZE):
            said = {"MXC_RANK": str(rank), "MXC_SIZE": str(SIZE), "MXC_RENDEZVOUS": f"{self.network.address(1)}:5001", "MXC_KEYS": str(self.keys)}
            command = self.network.within(rank // 2 + 1, self.program, "train", *DATA, "--kvstore", "dist_sync", *flags)
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder,
                                              env={**PLAIN, **said, "TMPDIR": str(self.folder)}))
        self.addCleanup(lambda: [(process.kill(), process.wait(timeout=LIMIT)) for process in processes])
        return processes

    def ended(self, processes, code):
        shown = [process.communicate(timeout=LIMIT)[0] for process in processes]
        self.assertEqual([process.returncode for process in processes], [code] * len(processes), shown)
        return shown

    def bytes_sent(self, steps, *flags):
        before = self.sent()
        self.ended(self.start("--steps", str(steps), "--save", "job", *flags), 0)
        return self.sent() - before

    def bytes_a_step(self, *flags):
        """Without what a job sends before its first step and behind its last."""
        return (self.bytes_sent(6, *flags) - self.bytes_sent(2, *flags)) / 4

    def test_bytes_and_bits(self):
        """Each half of the parameters lies on one machine. The other one sends its sums for it and gets the values: as many bytes as the parameters have, each way, a step.
        With each process by itself it is both for each of two."""
        subprocess.run([self.program, "train", *DATA, "--steps", "2", "--save", "alone"], check=True, timeout=LIMIT, capture_output=True, cwd=self.folder, env=PLAIN)
        parameters = sum(array.nbytes for name, array in safetensors_file.read(self.folder / "alone")[0].items() if "/" not in name)
        for flags, of_paper in (((), 2 * parameters), (("--machine-sums", "off"), 4 * parameters)):
            with self.subTest(flags=flags):
                sent = self.bytes_a_step(*flags)
                print(f"{' '.join(flags) or 'default'}: {sent:.0f} bytes a step, {sent / of_paper:.3f} of those on paper")
                self.assertGreater(sent, of_paper)
                self.assertLess(sent, 1.06 * of_paper)
                self.assertEqual((self.folder / "job").read_bytes(), (self.folder / "alone").read_bytes())

    def test_a_death_ends_the_job(self):
        processes = self.start("--epochs", "1000", "--machine-sums", "on", "--log", "log")
        deadline = time.monotonic() + LIMIT
        while not (self.folder / "log").exists() or '"epoch"' not in (self.folder / "log").read_text():
            self.assertLess(time.monotonic(), deadline)
            self.assertTrue(all(process.poll() is None for process in processes))
            time.sleep(0.05)
        processes[3].send_signal(signal.SIGKILL)
        for shown in self.ended(processes[:3], 1):
            self.assertRegex(shown, r"rank 3 \(host \S+, process \d+\) is gone")


if __name__ == "__main__":
    unittest.main()
