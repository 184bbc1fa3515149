"""Faults of machines and networks against jobs of real processes on three machines, which are network namespaces.

What is measured is told in a table: how long it takes until the survivors are told who is gone, and until they have ended. Limits are those of a machine that has other
things to do.

Usage: faults_test.py ROOT BUILD [unittest arguments].
"""
import gzip
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
import unittest

from three_machines import HOSTS, LIMIT, MXC, NFT, ROOT, SOON, Job, Machines, FOR_EVER, listening

DIGITS = ROOT / "examples/data/digits.csv.gz"
PATIENCE = 30  # seconds, the default
MINUTES = 10  # without a false death


class Deaths(Machines):
    """One of three machines, or its process, is gone; the others end and say who it was."""
    table = []

    @classmethod
    def tearDownClass(cls):
        print("\nseconds from a fault to its being told to all survivors, the target, and to the end of them all", file=sys.stderr)
        for what, told, target, ended in cls.table:
            print(f"  {what:<44}{told:8.2f}{target:8.1f}{ended:8.2f}", file=sys.stderr)

    def check(self, what, fault, target, pattern, survivors=(0, 2), limit=SOON, arguments=(), before=2, elements=1000, port=5001):
        """Rank 1, unless the fault says otherwise, is gone after `fault(job)`. `pattern`: what the survivors say, {pid} being rank 1's process."""
        job = Job(self, f"job{port}", FOR_EVER, elements, *arguments, port=port)
        job.wait_for_steps(before)
        pid = job.pid(1)
        began = time.monotonic()
        fault(job)
        job.until(lambda: all("told\n" in job.said(rank) for rank in survivors), limit)
        told = time.monotonic()
        ended, errors = job.ended(survivors)
        for text in errors:
            self.assertRegex(text, r"^\S+steps.cpp:\d+:\d+: error: (push|pull|wait): key 'sum': " + pattern.replace("{pid}", str(pid)) + r"\n$")
        self.table.append((what, told - began, target, ended - began))
        return job

    WHO = r"rank 1 \(host \S+, process {pid}\) "
    STEP = r"; the last step that it began was \d+"

    def test_kill_9(self):
        self.check("kill -9", lambda job: os.kill(job.pid(1), signal.SIGKILL), 0.1, self.WHO + "is gone: its connection has ended" + self.STEP)

    def test_kill_9_of_the_process_that_has_the_scheduler(self):
        self.check("kill -9 of rank 0", lambda job: os.kill(job.pid(0), signal.SIGKILL), 0.1,
                   r"rank 0 \(host \S+, process \d+\) is gone: its connection has ended" + self.STEP, survivors=(1, 2))

    def test_kill_9_of_the_scheduler(self):
        self.check("kill -9 of the scheduler", lambda job: os.kill(job.scheduler(), signal.SIGKILL), 0.1,
                   r"the scheduler at tcp://10.77.0.1:5001 is gone", survivors=(0, 1, 2))

    def test_cut(self):
        """The machine's cable. It ends, too: the scheduler is gone for it."""
        job = self.check("cut", lambda _: self.on(0, "ip", "link", "set", "to2", "down"), 3, self.WHO + "does not answer" + self.STEP)
        self.assertRegex(job.ended([1])[1][0], "the scheduler at tcp://10.77.0.1:5001 is gone\n$")

    def test_cut_of_the_machine_that_has_the_scheduler(self):
        self.check("cut of the scheduler's machine", lambda _: self.on(0, "ip", "link", "set", "to1", "down"), 3,
                   "the scheduler at tcp://10.77.0.1:5001 is gone", survivors=(1, 2))

    def test_nothing_leaves(self):
        """It may hear what is said of it."""
        job = self.check("one-way drop, of what it sends", lambda _: self.drop(2, "output"), 3, self.WHO + "does not answer" + self.STEP)
        self.assertRegex(job.ended([1])[1][0], "(the scheduler at tcp://10.77.0.1:5001 is gone|rank 1 .* does not answer; .*)\n$")

    def test_nothing_arrives(self):
        """It may hear nothing, and end itself, before the others miss it."""
        job = self.check("one-way drop, of what it is sent", lambda _: self.drop(2, "input"), 3,
                         self.WHO + "(does not answer|is gone: its connection has ended)" + self.STEP)
        self.assertRegex(job.ended([1])[1][0], "the scheduler at tcp://10.77.0.1:5001 is gone\n$")

    UNREACHABLE = r"rank {0} at 10\.77\.0\.{1}:\d+ cannot be reached, though the scheduler has not missed it"

    def test_two_are_cut_from_each_other(self):
        """Ranks 1 and 2, on machines 2 and 3; both still reach the scheduler, on machine 1. Either may see it first, and is named with the other."""
        one, other = self.UNREACHABLE.format(2, 3), self.UNREACHABLE.format(1, 2)
        told = rf"((rank 1 \(host \S+, process \d+\): )?{one}|(rank 2 \(host \S+, process \d+\): )?{other})"
        rules = {"output": ("ip", "daddr", self.network.address(3)), "input": ("ip", "saddr", self.network.address(3))}
        for port, directions in ((5001, ["output"]), (5002, ["input"]), (5003, ["output", "input"])):
            with self.subTest(directions=directions):
                job = self.check(f"two cut from each other, {' and '.join(directions)}", lambda _: [self.drop(2, direction, rules[direction]) for direction in directions], 8, told,
                                 survivors=(0, 1, 2), elements=10**6, port=port)
                self.assertRegex(job.said(0, "errors"), r"rank [12] \(host \S+, process \d+\): rank [12] at ")
                job.end()
                self.on(2, NFT, "flush", "ruleset")

    def test_stopped(self):
        self.check("SIGSTOP", lambda job: os.kill(job.pid(1), signal.SIGSTOP), 3, self.WHO + "does not answer" + self.STEP)

    def test_stuck(self):
        """A thread that does not come back, in a process that says that it lives."""
        self.check("stuck thread", lambda job: None, PATIENCE,
                   self.WHO + f"stands still: others wait for it, and it has done nothing for {PATIENCE} s; the last that was seen of it is a pull of 'sum'" + self.STEP,
                   limit=PATIENCE + SOON, arguments=(1, 6, "sleeps"), before=0)

    def test_stuck_updater(self):
        """The key lies on rank 0, whose worker waits, too: it may end itself."""
        self.check("stuck updater", lambda job: None, PATIENCE,
                   rf"rank 0 \(host \S+, process \d+\) stands still: others wait for it, and it has done nothing for {PATIENCE} s; "
                   "the last that was seen of it is the beginning of an update of 'sum'" + self.STEP,
                   survivors=(1, 2), limit=PATIENCE + SOON, arguments=(0, 6, "updates"), before=0)

    def test_a_long_step_is_no_death(self):
        """It computes for longer than the patience lasts."""
        job = Job(self, "job", 5, 1000, 1, 3, "computes")
        job.check_sums(5)


class RandomDeaths(Machines):
    """A hundred jobs, of each of which a process, with its server, or the scheduler is killed at some moment: the others are told who it was, and end."""
    COUNT = 100

    def test_all_are_gone(self):
        random.seed(7)
        took = []
        for number in range(self.COUNT):
            victim = random.choice((0, 1, 2, "scheduler"))
            with self.subTest(number=number, victim=victim):
                job = Job(self, f"job{number}", FOR_EVER, random.choice((10, 100_000)), port=5001 + number)
                job.wait_for_steps(1)
                time.sleep(random.uniform(0, 0.3))
                pid = job.scheduler() if victim == "scheduler" else job.pid(victim)
                began = time.monotonic()
                os.kill(pid, signal.SIGKILL)
                survivors = [rank for rank in range(HOSTS) if rank != victim]
                ended, errors = job.ended(survivors)
                took.append(ended - began)
                who = (rf"the scheduler at tcp://10.77.0.1:{5001 + number} is gone" if victim == "scheduler" else
                       rf"rank {victim} \(host \S+, process {pid}\) is gone: its connection has ended; the last step that it began was \d+")
                for text in errors:
                    self.assertRegex(text, rf"^\S+steps.cpp:\d+:\d+: error: (push|pull|wait|create|init|barrier): (key 'sum': )?{who}\n$")
                job.until(lambda: not job.all(), SOON)
                job.end()
        print(f"\n{len(took)} deaths: all others gone after {statistics.median(took):.2f} s, {max(took):.2f} s at most (the goal is 5)", file=sys.stderr)


class Networks(Machines):
    """Networks that are slow, lossy, or several."""

    def test_a_slow_member(self):
        self.network.shape(2, "10mbit")
        Job(self, "job", 5, 250_000).check_sums(5)

    def test_no_false_death(self):
        """A slow member on a bad line, for a long time."""
        self.network.shape(2, "10mbit")
        self.lose_one_in_a_hundred(2)
        job = Job(self, "job", FOR_EVER, 50_000)
        job.wait_for_steps(1)
        end = time.monotonic() + 60 * MINUTES
        while time.monotonic() < end:
            job.wait_for_steps(1)
            time.sleep(1)
        print(f"\n{job.steps(0)} steps of 200 kB in {MINUTES} min at 10 Mbit with 1 % loss, both ways: nobody is told dead", file=sys.stderr)

    def test_two_jobs(self):
        """On the same machines, at once."""
        jobs = [Job(self, name, 20, 1000, port=port) for name, port in (("one", 5001), ("other", 5002))]
        for job in jobs:
            job.check_sums(20)

    def test_a_taken_port(self):
        """The second job says so, and the first does not care."""
        first = Job(self, "first", FOR_EVER, 1000)
        first.wait_for_steps(1)
        second = Job(self, "second", FOR_EVER, 1000)
        self.assertRegex(second.ended([0])[1][0], "the job's scheduler cannot start: cannot listen at tcp://.*:5001: Address already in use\n$")
        for text in second.ended([1, 2])[1]:
            self.assertRegex(text, "tcp://10.77.0.1:5001 refuses the keys of this process\n$")
        first.wait_for_steps(3)

    def test_two_networks(self):
        """Each machine has another network that leads nowhere: what it advertises is the address by which it reached the scheduler."""
        for number in range(1, HOSTS + 1):
            self.on(number, "ip", "link", "add", "aaa", "type", "veth", "peer", "name", "nowhere")
            self.on(number, "ip", "address", "add", f"192.0.2.{number}/24", "dev", "aaa")
            self.on(number, "ip", "link", "set", "aaa", "up")
        job = Job(self, "job", FOR_EVER, 1000)
        job.wait_for_steps(2)
        for rank in range(HOSTS):
            self.assertEqual({address for address, _ in listening(self.network, rank + 1, job.pid(rank))}, {self.network.address(rank + 1)})

    def test_unequal_data(self):
        """One machine has another file where the others have theirs."""
        program = self.folder / "digits"
        subprocess.run([MXC, "compile", ROOT / "examples/digits/digits.cpp", "-o", program], check=True, timeout=LIMIT * 2)
        for rank in range(HOSTS):
            home = self.folder / f"home{rank}"
            home.mkdir()
            shutil.copy(DIGITS, home / "digits.csv.gz")
        rows = gzip.decompress(DIGITS.read_bytes()).decode().splitlines(keepends=True)
        (self.folder / "home1/digits.csv.gz").write_bytes(gzip.compress("".join(rows[:-3] + rows[-2:]).encode()))
        job = Job(self, "job", "train", "--data", "csv:digits.csv.gz?label=64&scale=16&holdout=0.2", "--kvstore", "dist_sync", "--epochs", "2", program=program,
                  folders=[self.folder / f"home{rank}" for rank in range(HOSTS)])
        for text in job.ended([0, 1, 2], LIMIT)[1]:
            self.assertRegex(text, "rank 1 and rank 0 do not train the same: ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
