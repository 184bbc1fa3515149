"""mxc launch --on-death=wait and shrink: whoever is killed, nothing is lost and nothing counts twice.

A job that kills itself in the middle of the protocol (tests/runtime/kv/mortal_job.cc), and the standard trainer, killed from outside: what it saves are the
bits of a training that nobody has disturbed. Nothing here depends on when a process is killed: whatever it was doing, the end must be the same.

Usage: on_death_test.py ROOT BUILD [unittest arguments].
"""
import contextlib
import os
import pathlib
import random
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
MORTAL = BUILD / "tests/runtime/kv/mortal_job"
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"
LIMIT = 300  # seconds after which a process hangs
REPLACED = (r"mxc: (rank \d|the job's scheduler) \((?:process \d+|host [\d.]+)\) was ended by signal 9 \(Killed\); (?:process \d+|another) takes its place "
            r"\((\d+) of (\d+)\)\n")
SHRUNK = r"mxc: ((?:rank \d \(process \d+\) was ended by signal 9 \(Killed\)(?:, )?)+); the job goes on with (\d) process(?:es)?\n"
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file  # noqa: E402
from namespaces import Network  # noqa: E402
from processes import processes_of  # noqa: E402

# Messages, as in runtime/kv/wire.h.
JOIN, SEALED, PEERS, LEAVE, OPENED, INIT, PUSH, RECEIVED, COMMITTED, PULL, VALUE, FINISH, ASK, VERSION = (
    1, 3, 4, 10, 17, 19, 21, 22, 23, 26, 27, 28, 30, 31)
POINTS = (("send", JOIN, 1), ("send", SEALED, 1), ("receive", PEERS, 1), ("send", OPENED, 2), ("send", INIT, 2), ("receive", INIT, 1),
          ("receive", PUSH, 1), ("receive", PUSH, 6), ("send", PUSH, 1), ("send", PUSH, 7), ("send", RECEIVED, 3), ("send", COMMITTED, 1),
          ("send", COMMITTED, 6), ("receive", COMMITTED, 3), ("receive", PULL, 4), ("send", VALUE, 5), ("receive", VALUE, 6), ("send", FINISH, 1),
          ("send", LEAVE, 1), ("send", ASK, 2), ("send", VERSION, 1))
STEPS = 5
SCHEDULER = "scheduler"


class Launched(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def launch(self, *arguments, code=0):
        command = [str(word) for word in (MXC, "launch", *arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def mortal(self, *points, workers=2, deaths=1, launch=()):
        """A job whose processes kill themselves so often has the values of plain loops, and mxc tells of each death."""
        shown = self.launch("-n", workers, "--on-death=wait", *launch, MORTAL, STEPS, *points)
        self.assertEqual(shown.stdout, "[0] as plain loops\n")
        told = re.findall(REPLACED, shown.stderr)
        self.assertEqual(re.sub(REPLACED, "", shown.stderr), "")
        self.assertEqual([number for _, number, _ in told], [str(number + 1) for number in range(deaths)], shown.stderr)
        return [int(rank[-1]) for rank, *_ in told]

    def shrunk(self, *points, workers=3, launch=()):
        """The same of a job that shrinks. Returns how many processes went on after each death."""
        shown = self.launch("-n", workers, "--on-death=shrink", *launch, MORTAL, STEPS, *points)
        self.assertEqual(shown.stdout, "[0] as plain loops\n")
        self.assertEqual(re.sub(SHRUNK, "", shown.stderr), "")
        return [int(left) for _, left in re.findall(SHRUNK, shown.stderr)]


class Protocol(Launched):
    def test_a_process_may_die_at_each_message(self):
        for number, (way, kind, count) in enumerate(POINTS):
            rank = number % 2
            with self.subTest(rank=rank, way=way, kind=kind):
                self.assertEqual(self.mortal(f"{rank}:{way}:{kind}:{count}"), [rank])

    def test_all_may_die_at_once(self):
        self.mortal(f"0:send:{COMMITTED}:2", f"1:send:{COMMITTED}:3", f"2:receive:{COMMITTED}:4", workers=3, deaths=3)

    def test_the_only_server_may_die_and_those_that_are_none(self):
        for rank, *point in ((0, "send", COMMITTED, 2), (0, "receive", PUSH, 6), (1, "receive", VALUE, 6), (2, "send", PUSH, 7), (1, "send", SEALED, 1)):
            with self.subTest(rank=rank, point=point):
                self.assertEqual(self.mortal(":".join(map(str, (rank, *point))), workers=3, launch=["--servers", 1]), [rank])

    def test_one_may_die_again_and_again(self):
        self.assertEqual(self.mortal(f"1:send:{PUSH}:6:3", deaths=3), [1, 1, 1])

    def test_but_not_for_ever(self):
        errors = self.launch("-n", 2, "--on-death=wait", "--returns", 2, MORTAL, STEPS, f"1:send:{PUSH}:1:99", code=128 + 9).stderr
        self.assertEqual(len(re.findall(REPLACED, errors)), 2)
        self.assertRegex(errors, r"mxc: error: rank 1 \(process \d+\) was ended by signal 9 \(Killed\); 2 processes have been replaced, and --returns allows no more\n")

    def test_a_failure_is_no_death(self):
        """What a process ends with by itself, it would end with again."""
        errors = self.launch("-n", 2, "--on-death=wait", MORTAL, STEPS, "what", code=2).stderr
        self.assertNotIn("takes its place", errors)

    def test_the_folder_of_states(self):
        state = self.folder / "state"
        state.mkdir()
        self.mortal(f"1:send:{COMMITTED}:2", launch=["--state", state])
        self.assertEqual(list(state.iterdir()), [])  # the job is over
        self.launch("-n", 2, "--on-death=wait", "--returns", 1, "--state", state, MORTAL, STEPS, f"1:send:{COMMITTED}:1:99", code=128 + 9)
        self.assertEqual(sorted(path.name for path in state.iterdir()), ["server-0.state", "server-1.state"])
        errors = self.launch("-n", 2, "--on-death=wait", "--state", state, MORTAL, STEPS, code=1).stderr
        self.assertRegex(errors, rf"\[\d\] mortal_job: .*{state}/server-\d.state: it is the state of another job \([0-9a-f]+, and this is [0-9a-f]+\)\n")

    def test_wrong_use(self):
        (self.folder / "file").touch()
        for arguments, code, message in (
            (["--on-death=foo"], 2, "--on-death: foo not in {abort,wait,shrink}"),
            (["--on-death=abort", "--returns", 3], 2, "mxc: error: --returns goes with --on-death=wait or shrink"),
            (["--state", "."], 2, "mxc: error: --state goes with --on-death=wait or shrink"),
            (["--on-death=wait", "--returns", "-1"], 2, "--returns"),
            (["--on-death=wait", "-H", "file"], 2, "mxc: error: --on-death=wait with -H: --state says in which folder, on each of the machines, processes keep "
                                                   "what they have updated"),
            (["--on-death=shrink", "-H", "file"], 2, "mxc: error: --on-death=shrink is for processes of one machine, without -H"),
            (["--on-death=wait", "--state", "nowhere"], 1, "mxc: error: --state: 'nowhere': No such file or directory"),
            (["--on-death=wait", "--state", "file"], 1, "mxc: error: --state: 'file' is no folder"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.launch("-n", 2, *arguments, MORTAL, 1, code=code).stderr)

    def test_help(self):
        shown = " ".join(self.launch("--help").stdout.split())
        self.assertIn("--on-death abort|wait|shrink What becomes of the job when a signal ends a process: abort ends it; wait starts the process again, and the job "
                      "goes on from the last step that is in all values (trainer, dist_sync); shrink goes on from there with the processes that are left",
                      shown)
        self.assertIn("--returns NUMBER With --on-death=wait or shrink: how often processes are started again, all together; with shrink that is the scheduler "
                      "alone (default: 10)", shown)
        self.assertIn("--state FOLDER With --on-death=wait or shrink: the folder in which each process keeps what it has updated (default: a temporary one)", shown)


class Shrinking(Launched):
    """Those who are left compute what all would have: the job keeps the number of shards that it began with."""

    def test_a_process_may_die_at_a_message(self):
        for number, (way, kind, count) in list(enumerate(POINTS))[::5]:
            with self.subTest(way=way, kind=kind):
                self.assertEqual(self.shrunk(f"{number % 2}:{way}:{kind}:{count}", workers=2 + number % 2), [1 + number % 2])

    def test_until_one_is_left(self):
        self.assertEqual(self.shrunk(f"0:send:{COMMITTED}:2:2", workers=3), [2, 1])

    def test_fewer_hold_values(self):
        """Ranks 0 and 2 of four, 0 and 1 of three, and both of two."""
        for rank, *point in ((1, "receive", VALUE, 4), (2, "send", COMMITTED, 2)):
            with self.subTest(rank=rank):
                self.assertEqual(self.shrunk(":".join(map(str, (rank, *point))), workers=4, launch=["--servers", 2]), [3])
        self.assertEqual(self.shrunk(f"0:send:{COMMITTED}:2:3", workers=4, launch=["--servers", 2]), [3, 2, 1])

    def test_but_not_until_none_is(self):
        errors = self.launch("-n", 2, "--on-death=shrink", MORTAL, STEPS, f"0:send:{PUSH}:2:2", code=128 + 9).stderr
        self.assertEqual([left for _, left in re.findall(SHRUNK, errors)], ["1"])
        self.assertRegex(errors, r"mxc: error: rank 0 \(process \d+\) was ended by signal 9 \(Killed\)\n$")

    def test_a_failure_is_no_death(self):
        errors = self.launch("-n", 2, "--on-death=shrink", MORTAL, STEPS, "what", code=2).stderr
        self.assertNotIn("goes on", errors)

    def test_the_folder_of_states(self):
        state = self.folder / "state"
        state.mkdir()
        self.shrunk(f"1:send:{COMMITTED}:2", launch=["--state", state])
        self.assertEqual(list(state.iterdir()), [])  # the job is over
        (state / "1").mkdir()
        errors = self.launch("-n", 2, "--on-death=shrink", "--state", state, MORTAL, STEPS, code=1).stderr
        self.assertEqual(errors, f"mxc: error: --state: '{state}/1' cannot be made: File exists\n")


class EachPoint(Launched):
    """Long: each point for each rank, with another process dying a little later."""

    def test_each_point_for_each_rank(self):
        for way, kind, count in POINTS:
            for rank in (0, 1, 2):
                if rank > 0 and (kind == INIT and way == "send"):
                    continue
                with self.subTest(rank=rank, way=way, kind=kind):
                    self.assertEqual(self.mortal(f"{rank}:{way}:{kind}:{count}", workers=3), [rank])
                    self.mortal(f"{rank}:{way}:{kind}:{count}", f"{(rank + 1) % 3}:send:{PULL}:3", workers=3, deaths=2)

    def test_a_job_that_shrinks(self):
        for way, kind, count in POINTS:
            for rank in (0, 1, 2):
                if rank > 0 and (kind == INIT and way == "send"):
                    continue
                with self.subTest(rank=rank, way=way, kind=kind):
                    self.assertEqual(self.shrunk(f"{rank}:{way}:{kind}:{count}"), [2])


class Trainer(Launched):
    processes = 3
    policy = ("--on-death=wait", "--returns", "1000")
    before = ()  # the words before the command
    noise = "(?!)"  # what shells say
    compress = ()

    def setUp(self):
        super().setUp()
        self.program = self.folder / "program"

    def compile(self, source, *flags):
        subprocess.run([MXC, "compile", ROOT / source, *flags, "-o", self.program], check=True, timeout=LIMIT)

    def begin(self, *policy):
        """A training that ends when it is interrupted."""
        policy = policy or self.policy
        (self.folder / "kept").mkdir()
        with open(self.folder / "out", "w") as out, open(self.folder / "errors", "w") as errors:
            self.job = subprocess.Popen([*self.before, MXC, "launch", "-n", str(self.processes), *policy, self.program, "train", "--data", DIGITS, "--threads", "1",
                                         "--kvstore", "dist_sync", "--epochs", "1000000", "--save", "disturbed", "--checkpoint-dir", "kept", *self.compress],
                                        stdout=out, stderr=errors, cwd=self.folder)
        self.addCleanup(self.job.kill)

    def until(self, condition):
        """Waits for what comes sooner or later, and returns it."""
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            self.assertIsNone(self.job.poll(), (self.folder / "errors").read_text())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return found

    def epochs(self):
        return sorted(path.name for path in (self.folder / "kept").glob("*-[0-9]*[0-9].safetensors"))

    def wait_for_epochs(self, count):
        wanted = len(self.epochs()) + count
        self.until(lambda: len(self.epochs()) >= wanted)

    def process(self, who):
        """A rank, or the scheduler."""
        variable = b"MXC_ROLE=scheduler\0" if who == SCHEDULER else b"MXC_RANK=%d\0" % who
        for process in processes_of(self.program):
            try:
                if variable in pathlib.Path(f"/proc/{process}/environ").read_bytes():
                    return process
            except OSError:
                pass  # it has just gone
        return None

    def kill(self, who):
        """Kills it, whichever process it is now, and waits for another to be started."""
        killed = self.until(lambda: self.process(who))
        os.kill(killed, signal.SIGKILL)
        self.until(lambda: self.process(who) not in (None, killed))

    def check_end(self, deaths, told=REPLACED):
        self.wait_for_epochs(2)  # so all take part again
        self.job.send_signal(signal.SIGINT)
        self.job.wait(timeout=LIMIT)
        errors = re.sub(self.noise, "", (self.folder / "errors").read_text())
        self.assertEqual(self.job.returncode, 130, errors)
        self.assertEqual(re.sub(told, "", errors), "")
        if deaths is not None:
            self.assertEqual(len(re.findall(told, errors)), deaths, errors)
        steps = safetensors_file.read(self.folder / "disturbed")[1]["step"]
        (self.folder / "alone").mkdir()
        subprocess.run([self.program, "train", "--data", DIGITS, "--threads", "1", "--shards", str(self.processes), "--epochs", "1000000", "--steps", steps,
                        "--save", "undisturbed", "--checkpoint-dir", "alone", *self.compress], check=True, cwd=self.folder, timeout=LIMIT, stdout=subprocess.DEVNULL)
        self.assertEqual((self.folder / "disturbed").read_bytes(), (self.folder / "undisturbed").read_bytes())
        for name in self.epochs():
            self.assertEqual((self.folder / "kept" / name).read_bytes(), (self.folder / "alone" / name).read_bytes(), name)

    def killed(self, source, *victims):
        self.compile(source)
        self.begin()
        for who in victims:
            self.wait_for_epochs(1)
            self.kill(who)
        self.check_end(len(victims))

    def test_weights_are_those_of_an_undisturbed_training(self):
        """Adam and dropout; the last step of an epoch is smaller. Rank 0 saves, and keeps the sums of the epoch."""
        self.killed("examples/digits/digits.cpp", 1, 0, SCHEDULER, 2)

    def test_layers_with_state(self):
        self.killed("tests/examples/normed_digits.cpp", 0, 1)

    def test_optimizers_that_look_at_whole_gradients(self):
        """Each process keeps what it updates itself."""
        self.compile("examples/digits/digits.cpp", "--optimizer=lamb")
        self.begin()
        for who in (0, 2):
            self.wait_for_epochs(1)
            self.kill(who)
        self.check_end(2)

    def test_compression(self):
        """What has been left out is not lost with a process, nor the exact values with a server."""
        self.compress = ("--compress", "topk:0.05")
        self.killed("examples/digits/digits.cpp", 1, 0)

    def shrink(self, *victims, policy=()):
        self.begin("--on-death=shrink", *policy)
        for who in victims:
            self.wait_for_epochs(1)
            killed = self.until(lambda: self.process(who))
            os.kill(killed, signal.SIGKILL)
            self.until(lambda: not pathlib.Path(f"/proc/{killed}/environ").exists())
        self.wait_for_epochs(1)
        self.check_end(len(victims), f"{SHRUNK}|{REPLACED}")

    def test_optimizers_that_look_at_whole_gradients_without_the_dead(self):
        self.compile("examples/digits/digits.cpp", "--optimizer=adam:clip_norm=0.1")
        self.shrink(0, 1)

    def test_fewer_hold_values_without_the_dead(self):
        self.compile("examples/digits/digits.cpp")
        self.shrink(0, 1, policy=("--servers", "2"))

    def test_those_who_are_left_go_on(self):
        """Three processes, then two, then one."""
        self.compile("examples/digits/digits.cpp")
        self.shrink(1, SCHEDULER, 0)
        shown = (self.folder / "out").read_text()
        told = re.findall(r"\[0\] went on after step (\d+) with (2 processes|1 process): rank (\d) \(process \d+\) is gone\n", shown)
        self.assertEqual([(left, rank) for _, left, rank in told], [("2 processes", "1"), ("1 process", "0")], shown)
        self.assertLess(0, int(told[0][0]))
        self.assertLess(int(told[0][0]), int(told[1][0]))

    def test_a_hundred_random_deaths(self):
        self.compile("examples/digits/digits.cpp")
        self.random_deaths()

    def test_a_hundred_random_deaths_of_processes_that_update_themselves(self):
        self.compile("examples/digits/digits.cpp", "--optimizer=lamb")
        self.random_deaths()

    def test_a_hundred_random_deaths_with_compression(self):
        """All residuals are in each checkpoint."""
        self.compress = ("--compress", "2bit")
        self.compile("examples/digits/digits.cpp")
        self.random_deaths()

    def test_a_hundred_random_deaths_of_processes_that_update_themselves_with_compression(self):
        self.compress = ("--compress", "fp16")
        self.compile("examples/digits/digits.cpp", "--optimizer=lamb")
        self.random_deaths()

    def test_random_deaths_without_the_dead(self):
        """Processes are killed while others take over, too; so how many deaths mxc sees is not known."""
        seed = int.from_bytes(os.urandom(4), "little")
        print("seed", seed, file=sys.stderr)
        chance = random.Random(seed)
        self.compile("examples/digits/digits.cpp")
        whole = self.folder
        for attempt in range(10):
            self.folder = whole / str(attempt)
            self.folder.mkdir()
            self.begin("--on-death=shrink")
            self.wait_for_epochs(1)
            for left in range(self.processes, 1, -1):
                who = chance.randrange(left)
                with contextlib.suppress(ProcessLookupError):  # mxc was faster
                    os.kill(self.until(lambda: self.process(who) or self.process(0)), signal.SIGKILL)
                time.sleep(chance.random() * 0.6)
            self.check_end(None, SHRUNK)

    def random_deaths(self):
        seed = int.from_bytes(os.urandom(4), "little")
        print("seed", seed, file=sys.stderr)
        chance = random.Random(seed)
        self.begin()
        self.wait_for_epochs(1)
        slowest = 0
        for number in range(100):
            time.sleep(chance.random() * 0.3)
            began = time.monotonic()
            self.kill(chance.choice([SCHEDULER, *range(self.processes)]))
            if number % 3 == 0:
                continue  # the next dies while this one comes back
            self.wait_for_epochs(1)
            slowest = max(slowest, time.monotonic() - began)
        print(f"recovery: {slowest:.2f} s at most from a death to the end of an epoch (goal: 5)", file=sys.stderr)
        self.check_end(100)


class Machines(Trainer):
    """The same on three machines, with the launcher on one more: a worker is killed with its server, where it runs, or the scheduler, beside the launcher."""
    # On one machine.
    test_fewer_hold_values_without_the_dead = test_those_who_are_left_go_on = test_random_deaths_without_the_dead = None
    test_optimizers_that_look_at_whole_gradients_without_the_dead = None
    noise = r"\[\d\] Killed\n"

    def setUp(self):
        super().setUp()
        network = Network(f"death{os.getpid()}", self.processes)
        self.addCleanup(network.close)
        self.before = network.within(0)
        (self.folder / "hosts").write_text("".join(f"{network.address(number)}\n" for number in range(1, self.processes + 1)))
        ssh = self.folder / "ssh"
        ssh.write_text(f'#!/bin/sh\ncd / && exec ip netns exec {network.prefix}-"${{1##*.}}" sh -c "$2"\n')
        ssh.chmod(0o755)
        (self.folder / "state").mkdir()
        self.policy = (*self.policy, "-H", "hosts", "--ssh", str(ssh), "--state", "state")


if __name__ == "__main__":
    unittest.main(verbosity=2)
