"""Jobs of several processes: `mxc launch`, the example's bits on any number of processes, and what happens when one dies.

Usage: kvstore_test.py ROOT BUILD [unittest arguments].
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
MXC = BUILD / "bin/mxc"
DIGITS = ROOT / "examples/data/digits.csv.gz"
SOON = 20  # seconds: 5 are promised to a machine that does nothing else
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file  # noqa: E402
from processes import process_with, processes_of  # noqa: E402

LONELY = "#include <mxc/mxc.h>\nint main() { mxc::NDArray::zeros({2}).wait(); }\n"

# A key of a size that rank 0 alone sees.
UNEQUAL = """#include <mxc/mxc.h>
using namespace mxc;
int main() {
  KVStore kv = KVStore::create("dist_sync");
  NDArray w = NDArray::zeros({kv.rank() == 0 ? 5 : 6});
  kv.init("w", w);
  kv.pull("w", w);
  w.wait();
}
"""

# Counts what all push; prints what its launcher told it.
COUNTS = """#include <mxc/mxc.h>
#include <cstdio>
using namespace mxc;
int main(int argc, char** argv) {
  KVStore kv = KVStore::create(argv[1]);
  kv.set_updater([](const KVUpdate& update) { update.value += update.gradient; });
  NDArray sum = NDArray::zeros({3});
  kv.init("sum", sum);
  std::vector<NDArray> ones(kv.own_shards(), NDArray::ones({3}));
  for (int i = 0; i < 10; ++i) kv.push("sum", ones);
  kv.barrier();
  kv.pull("sum", sum);
  std::printf("rank %d of %d, shards %d to %d of %d: %g\\n", kv.rank(), kv.size(), static_cast<int>(kv.first_shard()),
              static_cast<int>(kv.first_shard() + kv.own_shards()), static_cast<int>(kv.shards()), sum[1].item<float>());
}
"""

# One process does not come back: its program in its third step, or its updater in the third update of what lies there.
STANDS_STILL = """#include <mxc/mxc.h>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
using namespace mxc;
int main(int, char** argv) {
  const std::string who = argv[1];
  KVStore kv = KVStore::create("dist_sync");
  kv.set_updater([&](const KVUpdate& update) {
    if (who == "updater" && update.step == 3) std::this_thread::sleep_for(std::chrono::hours(1));
    update.value += update.gradient;
  });
  NDArray sum = NDArray::zeros({3});
  kv.init("sum", sum);
  for (int step = 1;; ++step) {
    if (who == "program" && kv.rank() == 1 && step == 3) std::this_thread::sleep_for(std::chrono::hours(1));
    kv.push("sum", NDArray::ones({3}));
    kv.pull("sum", sum);
    sum.wait();
  }
}
"""


class Launch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.programs = {"digits": ROOT / "examples/kvstore_digits/kvstore_digits.cpp"}
        for name, text in {"lonely": LONELY, "unequal": UNEQUAL, "counts": COUNTS, "stands_still": STANDS_STILL}.items():
            cls.programs[name] = cls.folder / f"{name}.cpp"
            cls.programs[name].write_text(text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def program(self, name):
        path = self.folder / name
        if not path.exists():
            subprocess.run([MXC, "compile", self.programs[name], "-o", path], check=True, timeout=300)
        return path

    def launch(self, *arguments, code=0, environment=None):
        result = subprocess.run([MXC, "launch", *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_the_same_bits_with_any_number_of_processes(self):
        """1 process with 4 shards, 2 with 2 each, 4 with 1, and 3 with 2, 1 and 1 of them."""
        program = self.program("digits")
        subprocess.run([program, DIGITS, "3", self.folder / "1.safetensors", "4"], check=True, stdout=subprocess.DEVNULL, timeout=120)
        expected = safetensors_file.read_bytes(self.folder / "1.safetensors")[0]
        self.assertEqual(len(expected), 6)
        for workers in (2, 3, 4):
            with self.subTest(workers=workers):
                saved = self.folder / f"{workers}.safetensors"
                shown = self.launch("-n", workers, program, DIGITS, 3, saved, 4).stdout
                accuracy = float(re.search(r"\[0\] epoch 2: loss [0-9.]+, accuracy ([0-9.]+) in the last batch", shown).group(1))
                self.assertGreater(accuracy, 0.6)  # a guess has 0.1
                self.assertEqual(safetensors_file.read_bytes(saved)[0], expected)
        # And after a pause, by others than before it.
        half, rest = self.folder / "half.safetensors", self.folder / "rest.safetensors"
        self.launch("-n", 4, program, DIGITS, 1, half, 4)
        self.launch("-n", 2, program, DIGITS, 3, rest, 4, "dist_sync", half, 1)
        self.assertNotEqual(safetensors_file.read_bytes(half)[0], expected)
        self.assertEqual(safetensors_file.read_bytes(rest)[0], expected)
        self.assertEqual(processes_of(program), [])

    def test_each_kind_counts_everything(self):
        for kind in ("dist_sync", "dist_bounded:3", "dist_async"):
            with self.subTest(kind=kind):
                shown = sorted(self.launch("-n", 2, "--shards", 5, self.program("counts"), kind).stdout.splitlines())
                for rank, shards in ((0, "0 to 2"), (1, "2 to 5")):
                    found = re.fullmatch(rf"\[{rank}\] rank {rank} of 2, shards {shards} of 5: (\d+)", shown[rank])
                    self.assertTrue(found, shown)
                    # A pull may lack the last three steps, of five shards each, if the kind says so.
                    self.assertIn(int(found.group(1)), (35, 40, 45, 50) if "bounded" in kind else (50,))

    def test_one_worker_alone(self):
        self.assertEqual(self.launch("-n", 1, self.program("counts"), "dist_sync").stdout, "rank 0 of 1, shards 0 to 1 of 1: 10\n")

    def killed(self, send, who=b"MXC_RANK=1"):
        """Sends a signal to one of three workers, or to the scheduler, in the middle of its work. Returns who it was, what was shown, and how
        long the job took to end."""
        program = self.program("digits")
        job = subprocess.Popen([MXC, "launch", "-n", "3", program, DIGITS, "100000", self.folder / "no.safetensors", "3"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            while not job.stdout.readline().startswith("[0] epoch 1:"):
                self.assertIsNone(job.poll())
            victim = process_with(program, who)
            began = time.monotonic()
            os.kill(victim, send)
            _, errors = job.communicate(timeout=60)
            took = time.monotonic() - began
        finally:
            job.kill()
        self.assertEqual(processes_of(program), [])
        return victim, errors, took, job.returncode

    def test_kill_9_ends_the_job_and_names_the_rank(self):
        victim, errors, took, code = self.killed(signal.SIGKILL)
        self.assertLess(took, SOON)
        self.assertEqual(code, 128 + 9)
        self.assertIn(f"mxc: error: rank 1 (process {victim}) was ended by signal 9 (Killed)\n", errors)
        for rank in (0, 2):
            self.assertRegex(errors, rf"\[{rank}\] .*kvstore_digits.cpp:\d+:\d+: error: (push|pull): key '.*': rank 1 \(host \S+, process {victim}\) "
                                     r"is gone: its connection has ended; the last step that it began was \d+\n")

    def test_without_its_scheduler_a_job_ends(self):
        victim, errors, took, code = self.killed(signal.SIGKILL, b"MXC_ROLE=scheduler")
        self.assertLess(took, SOON)
        self.assertEqual(code, 128 + 9)
        self.assertIn(f"mxc: error: the job's scheduler (process {victim}) was ended by signal 9 (Killed)\n", errors)
        self.assertRegex(errors, r"\[0\] .* error: (push|pull): key '.*': the scheduler at tcp://127.0.0.1:\d+ is gone\n")

    def test_nothing_outlives_mxc(self):
        program = self.program("digits")
        for end in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(end=end):
                job = subprocess.Popen([MXC, "launch", "-n", "2", program, DIGITS, "100000", self.folder / "no.safetensors", "2"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                while not job.stdout.readline().startswith("[0] epoch 0:"):
                    self.assertIsNone(job.poll())
                keys = pathlib.Path(re.search(rb"MXC_KEYS=(\S+?)\0", pathlib.Path(f"/proc/{processes_of(program)[0]}/environ").read_bytes()).group(1).decode())
                self.assertTrue(keys.exists())
                job.send_signal(end)
                self.assertEqual(job.wait(timeout=60), -end)
                job.stdout.close()
                deadline = time.monotonic() + 20
                while processes_of(program) and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertEqual(processes_of(program), [])
                if end != signal.SIGKILL:
                    self.assertFalse(keys.parent.exists())

    def test_a_process_that_stands_still_is_gone(self):
        victim, errors, took, code = self.killed(signal.SIGSTOP)
        self.assertLess(took, SOON, errors)  # two seconds of silence, three for the end
        self.assertEqual(code, 1, errors)
        self.assertRegex(errors, rf"\[0\] .*: rank 1 \(host \S+, process {victim}\) does not answer; the last step that it began was \d+\n")

    def test_a_program_that_stands_still_is_gone(self):
        """Its process says that it lives, and others wait for it."""
        program = self.program("stands_still")
        jobs = {who: subprocess.Popen([MXC, "launch", "-n", "2", "--patience", "5", program, who], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for who in ("program", "updater")}
        for (who, job), rank, last in zip(jobs.items(), (1, 0), ("a pull of 'sum'", "the beginning of an update of 'sum'")):
            errors = job.communicate(timeout=120)[1]
            self.assertEqual(job.returncode, 1, errors)
            self.assertRegex(errors, rf"\[{1 - rank}\] \S+stands_still.cpp:20:\d+: error: (push|pull|wait): key 'sum': rank {rank} \(host \S+, process \d+\) stands still: "
                                     rf"others wait for it, and it has done nothing for 5 s; the last that was seen of it is {last}; the last step that it began was [23]\n")
        self.assertEqual(processes_of(program), [])

    def test_a_main_of_its_own_does_not_come_back(self):
        errors = self.launch("-n", 2, "--on-death=wait", self.program("counts"), "dist_sync", code=1).stderr
        self.assertRegex(errors, r"counts.cpp:5:\d+: error: create: the job was launched with --on-death=wait, and a program with a main of its own would "
                                 r"begin anew: only the standard trainer goes on\n")

    def test_processes_that_do_not_agree(self):
        errors = self.launch("-n", 2, self.program("unequal"), code=1).stderr
        self.assertRegex(errors, r"unequal.cpp:8:\d+: error: pull: key 'w': the plans of rank 0 \(.*\) and rank 1 \(.*\) differ")

    def test_keys_are_nobody_elses(self):
        """The file of the job's keys is its owner's alone, and its place is the only thing that the command line or environment tells."""
        script = self.folder / "look.sh"
        script.write_text('#!/bin/sh\n[ "$MXC_ROLE" = scheduler ] && { echo tcp://127.0.0.1:1 >/proc/self/fd/$MXC_PUBLISH; exit; }\nstat -c %a "$MXC_KEYS"; cat "$MXC_KEYS"; env\n')
        script.chmod(0o755)
        shown = self.launch("-n", 1, script).stdout
        self.assertTrue(shown.startswith("600\n"), shown)
        secret = re.search(r"^secret (\S{40})$", shown, re.M).group(1)
        self.assertEqual(shown.count(secret), 1)
        self.assertFalse(pathlib.Path(re.search(r"^MXC_KEYS=(.*)$", shown, re.M).group(1)).exists())

    def test_help(self):
        shown = " ".join(self.launch("--help").stdout.split())
        self.assertIn("--patience SECONDS=30 How many seconds a process may do nothing while others wait for it, before the job ends; computing is no standing still. "
                      "0: for ever", shown)

    def test_wrong_command_lines(self):
        for arguments, code, message in (
            (["-n", "2"], 2, "mxc launch -n NUMBER PROGRAM [ARGUMENTS]: which program?"),
            (["-n", "0", "./p"], 2, ""),
            (["./p"], 2, "-n is required"),
            (["-n", "2", "--patience", "-1", "./p"], 2, "--patience"),
            (["-n", "2", "./nowhere"], 1, "cannot run './nowhere': No such file or directory"),
            (["-n", "2", self.program("lonely")], 1, f"'{self.folder}/lonely' makes no KVStore: there is nothing that its processes would share"),
            (["-n", "2", "false"], 1, "'false' does not become the job's scheduler: does its main make a KVStore?"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.launch(*arguments, code=code).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
