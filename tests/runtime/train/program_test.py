"""The hand-written model as a program of its own: link_runtime.txt, exit codes of a process, Ctrl-C, start-up time.

Usage: program_test.py PROGRAM SOURCE_DIR
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.abspath(sys.argv.pop(1))
DATA = f"csv:{SOURCE}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Program(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.dir.name, capture_output=True, text=True, timeout=120)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def test_links_neither_llvm_nor_the_libraries_of_the_build(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
        self.assertNotRegex(libraries, "LLVM|MLIR|absl|libz|libstdc")

    def test_trains_saves_and_predicts_by_default_names(self):
        ran = self.run_program("train", "--data", DATA, "--epochs", "2")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("saved softmax.safetensors", ran.stdout)
        self.assertEqual(self.run_program("eval", "--data", DATA).returncode, 0)
        self.assertIn("@@", self.run_program("predict", "--data", DATA).stdout)

    def test_exit_codes(self):
        self.assertEqual(self.run_program("info").returncode, 0)
        self.assertEqual(self.run_program("eval", "--data", DATA).returncode, 1)
        self.assertEqual(self.run_program("evaluate").returncode, 2)

    def interrupt(self, number):
        """Starts an endless training, interrupts it in the middle, and returns the process and what it wrote."""
        process = subprocess.Popen([PROGRAM, "train", "--data", DATA, "--epochs", "1000000", "--log", "log"],
                                   cwd=self.dir.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.stdout.readline().split()[:1] != ["3"]:  # the row of epoch 3
            pass
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process, out, err

    def test_interrupt_finishes_the_step_saves_and_says_where(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, out, err = self.interrupt(number)
            self.assertEqual((process.returncode, err), (130, ""))
            said = re.search(r"interrupted after step (\d+); saved softmax.safetensors; go on with --resume softmax.safetensors\n$", out)
            self.assertTrue(said, out)
            # To the same place without an interruption: the same file.
            saved = read(self.path("softmax.safetensors"))
            ran = self.run_program("train", "--data", DATA, "--epochs", "1000000", "--steps", said[1])
            self.assertEqual(ran.returncode, 0)
            self.assertEqual(read(self.path("softmax.safetensors")), saved)
            self.assertIn(b'"event":"interrupt"', read(self.path("log")))

    def test_one_interrupt_ends_the_reading_of_data_from_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([PROGRAM, "train", "--data", "csv:pipe?label=64"], cwd=self.dir.name, stdout=subprocess.DEVNULL,
                                       preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, signal.SIGTERM)])
            with open(self.path("pipe"), "wb"):  # from here on the program reads, and nothing comes
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
        self.assertEqual(os.listdir(self.dir.name), ["pipe"])

    def test_full_disk_leaves_the_old_checkpoint(self):
        self.run_program("train", "--data", DATA, "--epochs", "1")
        before = read(self.path("softmax.safetensors"))
        limit = f"ulimit -f 1; exec {PROGRAM} train --data '{DATA}' --epochs 1 --seed 1"
        ran = subprocess.run(["bash", "-c", limit], cwd=self.dir.name, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stderr, "softmax: error: softmax.safetensors: cannot write: File too large; nothing was changed\n")
        self.assertEqual(read(self.path("softmax.safetensors")), before)
        self.assertEqual(os.listdir(self.dir.name), ["softmax.safetensors"])

    def test_a_reader_that_leaves_costs_no_run(self):
        self.run_program("train", "--data", DATA, "--epochs", "20")
        whole = read(self.path("softmax.safetensors"))
        process = subprocess.Popen([PROGRAM, "train", "--data", DATA, "--epochs", "20", "--save", "m"], cwd=self.dir.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(timeout=60), error), (0, b""))
        self.assertEqual(read(self.path("m")), whole)

    def test_a_display_that_cannot_be_written_is_said_after_saving(self):
        with open("/dev/full", "w") as full:
            ran = subprocess.run([PROGRAM, "train", "--data", DATA, "--epochs", "1"], cwd=self.dir.name, stdout=full,
                                 stderr=subprocess.PIPE, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (1, "softmax: error: the output could not be written\n"))
        self.assertTrue(os.path.exists(self.path("softmax.safetensors")))

    def test_saving_into_a_pipe_leaves_the_pipe(self):
        self.run_program("train", "--data", DATA, "--epochs", "1")
        os.mkfifo(self.path("pipe"))
        process = subprocess.Popen([PROGRAM, "train", "--data", DATA, "--epochs", "1", "--save", "pipe"], cwd=self.dir.name,
                                   stdout=subprocess.DEVNULL)
        written = read(self.path("pipe"))
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(written, read(self.path("softmax.safetensors")))

    def test_info_takes_at_most_ten_milliseconds(self):
        best = min(self.time_info() for _ in range(20))
        if b"__asan_init" in read(PROGRAM) or b"__tsan_init" in read(PROGRAM):
            self.skipTest("a sanitizer's start-up counts otherwise")
        self.assertLess(best, 0.010)

    def time_info(self):
        start = time.perf_counter()
        subprocess.run([PROGRAM, "info"], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start


if __name__ == "__main__":
    unittest.main()
