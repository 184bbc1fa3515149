"""One program under many launchers: Open MPI, and the variables of Slurm, torchrun, DMLC, PMI and Kubernetes; `mxc launch -H` through ssh; `mxc keygen`.

Launchers that are not there are simulated by the variables that they set. A stand-in for ssh runs its command here, or in a network namespace.

Usage: launchers_test.py ROOT BUILD [unittest arguments]. Tests of OpenMpi and Slurm are skipped where those are not installed.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
from namespaces import Network  # noqa: E402
from processes import process_with, processes_of  # noqa: E402

MXC = BUILD / "bin/mxc"
PLUGIN = BUILD / "lib/mxc/libmxc_mpi.so"
LIMIT = 120  # seconds after which a process hangs
OF_LAUNCHERS = re.compile(r"(MXC|OMPI|PMIX|PMI|SLURM|DMLC)_|(RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|MASTER_ADDR|MASTER_PORT|JOB_COMPLETION_INDEX)$")
PLAIN = {name: value for name, value in os.environ.items() if not OF_LAUNCHERS.match(name)}

# All push ones, so many times; each tells the sum. The second argument is the rank that ends with exit code 7.
COUNTS = """#include <mxc/mxc.h>
#include <cstdio>
#include <cstdlib>
using namespace mxc;
int main(int argc, char** argv) {
  KVStore kv = KVStore::create("dist_sync");
  kv.set_updater([](const KVUpdate& update) { update.value += update.gradient; });
  NDArray sum = NDArray::zeros({3});
  kv.init("sum", sum);
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    kv.push("sum", NDArray::ones({3}));
    kv.pull("sum", sum);
    sum.wait();
    if (i == 0) std::printf("rank %d has begun\\n", kv.rank());
    std::fflush(stdout);
  }
  std::printf("rank %d of %d: %g\\n", kv.rank(), kv.size(), sum[1].item<float>());
  kv.close();
  return argc > 2 && kv.rank() == std::atoi(argv[2]) ? 7 : 0;
}
"""

# The host's name, then the command, as ssh would give it to the user's shell there, which begins in the user's home.
FAKE_SSH = """#!/bin/sh
echo "$1" >>"$(dirname "$0")/asked"
[ "$1" = gone ] && exit 255
cd / && exec sh -c "$2"
"""

# To a machine by its address, whose last number is the namespace's; a temporary folder of its own, if there is one.
SSH_TO_NAMESPACE = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
number=${{1##*.}}; shift
[ -d "$TMPDIR/$number" ] && export TMPDIR="$TMPDIR/$number"
cd / && exec ip netns exec {prefix}-$number sh -c "$*"
"""


@contextlib.contextmanager
def port_kept_free():
    """A port of the loopback interface that nobody else is given: it is bound here, and a listener that allows it (SO_REUSEADDR) binds it, too."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        yield keeper.getsockname()[1]


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        (cls.folder / "counts.cpp").write_text(COUNTS)
        cls.program = cls.folder / "counts"
        subprocess.run([MXC, "compile", cls.folder / "counts.cpp", "-o", cls.program], check=True, timeout=300)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check_nothing_is_left(self):
        """A scheduler ends when it has told everybody that the job has, or after a minute in which somebody has not come."""
        deadline = time.monotonic() + 100
        while processes_of(self.program) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(processes_of(self.program), [])
        meetings = self.folder / f"mxc-{os.geteuid()}"
        self.assertEqual(list(meetings.iterdir()) if meetings.exists() else [], [])


class Simulated(Programs):
    def start(self, variables, *arguments):
        """With these variables and no others of launchers."""
        return subprocess.Popen([self.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**PLAIN, "TMPDIR": str(self.folder), **variables})

    def check_job(self, places, idle=()):
        """A process for each of `places`, which are variables; the last rank begins first. `idle` show nothing and end well."""
        jobs = [self.start(variables, 10) for variables in reversed(places)][::-1]
        others = [self.start(variables, 10) for variables in idle]
        for rank, job in enumerate(jobs):
            out, errors = job.communicate(timeout=LIMIT)
            self.assertEqual((job.returncode, errors), (0, ""))
            self.assertEqual(out, f"rank {rank} has begun\nrank {rank} of {len(places)}: {10 * len(places)}\n")
        for job in others:
            self.assertEqual((*job.communicate(timeout=LIMIT), job.returncode), ("", "", 0))
        self.check_nothing_is_left()

    def refusal(self, variables, code=1):
        job = self.start(variables, 10)
        out, errors = job.communicate(timeout=LIMIT)
        self.assertEqual((job.returncode, out), (code, ""), errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        return errors

    @staticmethod
    def open_mpi(rank, size, job="446300161"):
        return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_LOCAL_SIZE": str(size), "PMIX_NAMESPACE": job}

    def test_open_mpi_on_one_machine(self):
        self.check_job([self.open_mpi(rank, 3) for rank in range(3)])

    def test_two_jobs_at_once(self):
        jobs = [[self.start(self.open_mpi(rank, 2, job), 10) for rank in range(2)] for job in ("1", "2")]
        for pair in jobs:
            self.assertEqual([job.communicate(timeout=LIMIT)[0].splitlines()[-1] for job in pair], ["rank 0 of 2: 20", "rank 1 of 2: 20"])
        self.check_nothing_is_left()

    def test_slurm_on_one_machine(self):
        self.check_job([{"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "here",
                         "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "PMI_RANK": str(rank), "PMI_SIZE": "2"} for rank in range(2)])

    def test_torchrun(self):
        def place(rank, port, here):
            return {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": here, "MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none"}
        self.check_job([place(rank, 29500, "2") for rank in range(2)])
        with port_kept_free() as port:
            self.check_job([place(rank, port, "1") for rank in range(2)])

    def test_dmlc_with_keys(self):
        keys = self.folder / "dmlc.keys"
        subprocess.run([MXC, "keygen", keys], check=True)
        with port_kept_free() as port:
            job = {"DMLC_NUM_WORKER": "2", "DMLC_NUM_SERVER": "1", "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port), "MXC_KEYS": str(keys)}
            self.check_job([{**job, "DMLC_ROLE": "worker", "DMLC_TASK_ID": str(rank)} for rank in range(2)],
                           idle=[{**job, "DMLC_ROLE": "server"}, {**job, "DMLC_ROLE": "scheduler"}])

    def test_kubernetes_and_pmi(self):
        """With the variables of the manifest in docs/launchers.md, which must fit together; but for the name, which there are none of here."""
        manifest = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/launchers.md").read_text(), re.S).group(1)
        variables = dict(re.findall(r'\{name: (MXC_\w+), value: "?([^"}]*)"?\}', manifest))
        words = dict(re.findall(r"^ *(completions|parallelism|subdomain|completionMode): (\w+)", manifest, re.M))
        names = set(re.findall(r"^metadata: \{name: (\w+)\}", manifest, re.M))
        self.assertEqual(words, {"completionMode": "Indexed", "completions": variables["MXC_SIZE"], "parallelism": variables["MXC_SIZE"], "subdomain": "lenet"})
        self.assertEqual((names, variables["MXC_RENDEZVOUS"]), ({"lenet"}, "lenet-0.lenet:5000"))
        self.assertEqual(variables.keys(), {"MXC_SIZE", "MXC_RENDEZVOUS", "MXC_KEYS"})
        keys = self.folder / "kubernetes.keys"
        subprocess.run([MXC, "keygen", keys], check=True)
        with port_kept_free() as port:
            self.check_job([{"JOB_COMPLETION_INDEX": str(rank), **variables, "MXC_RENDEZVOUS": f"localhost:{port}", "MXC_KEYS": str(keys)} for rank in range(4)])
            self.check_job([{"PMI_RANK": str(rank), "PMI_SIZE": "2", "MXC_RENDEZVOUS": f"127.0.0.1:{port}"} for rank in range(2)])

    def test_a_death_is_told_by_the_scheduler_of_the_dead(self):
        """Rank 0 has started the scheduler, which outlives it."""
        jobs = [self.start(self.open_mpi(rank, 3), 10**9) for rank in range(3)]
        for rank, job in enumerate(jobs):
            self.assertEqual(job.stdout.readline(), f"rank {rank} has begun\n")
        jobs[0].kill()
        for job in jobs[1:]:
            _, errors = job.communicate(timeout=LIMIT)
            self.assertEqual(job.returncode, 1)
            self.assertRegex(errors, rf"^\S+counts.cpp:\d+:\d+: error: .*: rank 0 \(host \S+, process {jobs[0].pid}\) is gone: its connection has ended; "
                                     r"the last step that it began was \d+\n$")
        jobs[0].communicate()
        self.check_nothing_is_left()

    def test_a_stranger_is_refused(self):
        """Rank 1 has keys, and they are of another job."""
        keys = [self.folder / name for name in ("own.keys", "other.keys")]
        for path in keys:
            subprocess.run([MXC, "keygen", path], check=True)
        with port_kept_free() as port:
            places = [{"MXC_RANK": str(rank), "MXC_SIZE": "2", "MXC_RENDEZVOUS": f"127.0.0.1:{port}", "MXC_KEYS": str(keys[rank])} for rank in range(2)]
            first = self.start(places[0], 10)
            try:
                errors = self.refusal(places[1])
            finally:
                first.kill()
                first.communicate()
        self.assertRegex(errors, rf"error: \w+: .*tcp://127.0.0.1:{port} refuses the keys of this process\n$")
        self.check_nothing_is_left()

    def test_refused(self):
        beyond = {"MXC_RANK": "0", "MXC_SIZE": "2", "MXC_RENDEZVOUS": "192.0.2.9:5000"}
        readable = self.folder / "readable.keys"
        readable.write_text("secret\n")
        for variables, message in (
            ({"OMPI_COMM_WORLD_SIZE": "4"}, "OMPI_COMM_WORLD_SIZE is set, and OMPI_COMM_WORLD_RANK is not"),
            ({**self.open_mpi(1, 4), "PMI_RANK": "0", "PMI_SIZE": "4"},
             "Open MPI and PMI contradict each other: OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4, PMI_RANK=0 of PMI_SIZE=4; unset the variables of the one "
             "that has not started this process"),
            (beyond, "refusing to meet at 192.0.2.9:5000, where other machines can connect, without keys: make some with mxc keygen FILE, and give all processes "
                     "MXC_KEYS=FILE (or MXC_INSECURE=1: whoever can connect may take part)"),
            ({**beyond, "MXC_KEYS": "/nowhere"}, "cannot read the keys in /nowhere: No such file or directory"),
            ({**beyond, "MXC_KEYS": str(readable)}, f"the keys in {readable} may be read by others than their owner: chmod 600 it"),
            ({**beyond, "MXC_RENDEZVOUS": "here"}, "'here' is no HOST:PORT"),
            ({**self.open_mpi(0, 2), "TMPDIR": "/nowhere"}, f"cannot make the folder /nowhere/mxc-{os.geteuid()}: No such file or directory"),
        ):
            with self.subTest(variables=variables):
                self.assertRegex(self.refusal(variables), rf"counts.cpp:6:\d+: error: create: {re.escape(message)}\n$")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            errors = self.refusal({"MXC_RANK": "0", "MXC_SIZE": "2", "MXC_RENDEZVOUS": f"127.0.0.1:{port}"})
        self.assertIn(f"error: create: the job's scheduler cannot start: cannot listen at tcp://127.0.0.1:{port}: Address already in use\n", errors)

    def test_keygen(self):
        path = self.folder / "job.keys"
        self.assertEqual(subprocess.run([MXC, "keygen", path], capture_output=True, text=True, timeout=LIMIT).stdout, "")
        self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        self.assertRegex(path.read_text(), r"^public \S{40}\nsecret \S{40}\n$")
        for arguments, code, message in (([path], 1, f"mxc: error: cannot write the keys in {path}: File exists\n"), ([], 2, "mxc: error: file is required\n")):
            again = subprocess.run([MXC, "keygen", *arguments], capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((again.returncode, again.stderr), (code, message))


@unittest.skipUnless(shutil.which("mpirun"), "SKIPPED: mpirun is not installed (Debian's package openmpi-bin)")
class OpenMpi(Programs):
    def mpirun(self, *command, code=0):
        result = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", *map(str, command)], capture_output=True, text=True, timeout=LIMIT,
                                env={**PLAIN, "TMPDIR": str(self.folder)}, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_counts(self):
        shown = self.mpirun(self.program, 10).stdout.splitlines()
        self.assertEqual(sorted(line for line in shown if " of " in line), [f"rank {rank} of 4: 40" for rank in range(4)])
        self.check_nothing_is_left()

    def test_lenet(self):
        """The same file, bit for bit, as one process with four shards."""
        lenet = self.folder / "lenet"
        subprocess.run([MXC, "compile", ROOT / "examples/lenet/lenet.cpp", "-o", lenet], check=True, timeout=300)
        train = [lenet, "train", "--data", "random:256", "--batch", "8", "--steps", "3", "--threads", "1", "--shards", "4"]
        shown = self.mpirun(*train, "--save", "job", "--kvstore", "dist_sync").stdout
        self.assertIn("of 4 processes (Open MPI) this one has sent ", shown)
        subprocess.run([*train, "--save", "alone"], check=True, timeout=LIMIT, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.assertEqual((self.folder / "job").read_bytes(), (self.folder / "alone").read_bytes())
        self.check_mpi(train)
        errors = self.mpirun(*train, code=1).stderr
        self.assertIn("lenet: error: this process is one of 4 of a job (Open MPI): --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they train "
                      "together\n", errors)

    def check_mpi(self, train):
        """MPI carries the arrays."""
        if not PLUGIN.exists():
            self.skipTest("SKIPPED: this mxc was built without MPI (Debian's package libopenmpi-dev)")
        over_mpi = [*train, "--kvstore", "dist_sync", "--transport", f"mpi:{PLUGIN}"]
        shown = self.mpirun(*over_mpi, "--save", "mpi").stdout
        self.assertRegex(shown, r"; \d+ messages were sent again; 0 % of the bytes went through shared memory\n")
        self.assertEqual((self.folder / "mpi").read_bytes(), (self.folder / "alone").read_bytes())
        shutil.copy(PLUGIN, self.folder)  # beside the program: it needs no name
        self.mpirun(*train, "--kvstore", "dist_sync", "--transport", "mpi", "--save", "mpi")
        self.assertEqual((self.folder / "mpi").read_bytes(), (self.folder / "alone").read_bytes())
        (self.folder / PLUGIN.name).unlink()
        launched = subprocess.run([MXC, "launch", "-n", "2", *map(str, over_mpi)], capture_output=True, text=True, timeout=LIMIT, env=PLAIN, cwd=self.folder)
        self.assertEqual(launched.returncode, 1)
        self.assertIn("lenet: error: MPI's job has 1 ranks, and this one 2: was it started by mpirun?\n", launched.stderr)
        errors = self.mpirun(*train, "--kvstore", "dist_sync", "--transport", "mpi", code=3).stderr
        self.assertRegex(errors, r"lenet: error: unsupported: MPI: libmxc_mpi.so: cannot open shared object file: No such file or directory; libmxc_mpi.so lies in lib/mxc of "
                                 r"an mxc that was built where MPI is: put it beside the program, or say --transport=mpi:FILE\n")

    def test_a_death(self):
        """mpirun ends the others."""
        job = subprocess.Popen(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", self.program, str(10**9)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env={**PLAIN, "TMPDIR": str(self.folder)})
        try:
            self.assertRegex(job.stdout.readline(), "has begun")
            victim = process_with(self.program, b"OMPI_COMM_WORLD_RANK=1")
            os.kill(victim, signal.SIGKILL)
            job.communicate(timeout=LIMIT)
        finally:
            job.kill()
        self.assertNotEqual(job.returncode, 0)
        self.check_nothing_is_left()


class Hosts(Programs):
    """`mxc launch -H`, with a stand-in for ssh."""

    def setUp(self):
        self.ssh = self.folder / "ssh"
        self.ssh.write_text(FAKE_SSH)
        self.ssh.chmod(0o755)
        (self.folder / "hosts").write_text("alpha slots=2\nbeta\n")
        (self.folder / "asked").write_text("")

    def command(self, *arguments):
        return [MXC, "launch", "-H", "hosts", "--ssh", str(self.ssh), "--address", "127.0.0.1", *map(str, arguments)]

    def launch(self, *arguments, code=0):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=LIMIT, env={**PLAIN, "TMPDIR": str(self.folder)}, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def asked(self):
        return sorted((self.folder / "asked").read_text().split())

    def start(self, *arguments):
        """A job whose processes have all begun."""
        job = subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**PLAIN, "TMPDIR": str(self.folder)}, cwd=self.folder)
        begun = sorted(job.stdout.readline() for _ in range(3))
        self.assertEqual(begun, [f"[{rank}] rank {rank} has begun\n" for rank in range(3)])
        return job

    def check_all_gone(self):
        self.check_nothing_is_left()
        deadline = time.monotonic() + 20
        while list(self.folder.glob("tmp.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(list(self.folder.glob("tmp.*")), [])  # the keys there

    def test_all_slots_and_fewer(self):
        """The program is named from the current folder, which is the same there."""
        shown = sorted(line for line in self.launch("./counts", 10).stdout.splitlines() if " of " in line)
        self.assertEqual(shown, [f"[{rank}] rank {rank} of 3: 30" for rank in range(3)])
        self.assertEqual(self.asked(), ["alpha", "alpha", "beta"])
        (self.folder / "asked").write_text("")
        shown = self.launch("-n", 2, self.program, 10).stdout
        self.assertIn("[1] rank 1 of 2: 20\n", shown)
        self.assertEqual(self.asked(), ["alpha", "alpha"])
        self.check_all_gone()

    def test_words_arrive_as_they_are(self):
        script = self.folder / "it's a \"program\".sh"
        script.write_text('#!/bin/sh\n[ "$MXC_ROLE" = scheduler ] && { echo tcp://127.0.0.1:1 >/proc/self/fd/$MXC_PUBLISH; exit; }\n'
                          'stat -c %a "$MXC_KEYS"; cat "$MXC_KEYS"; printf "%s\\n" "$@"; pwd; tr "\\0" "\\n" </proc/self/environ; cat; tr "\\0" " " </proc/$PPID/cmdline\n')
        script.chmod(0o755)
        words = ["", "two words", "it's", '"$HOME" `id` \\ ; & |', "-n"]
        shown = self.launch("-n", 1, f"./{script.name}", *words).stdout
        secret = re.search(r"^secret (\S{40})$", shown, re.M).group(1)
        self.assertTrue(shown.startswith("600\npublic "), shown)
        self.assertIn("\n".join([*words, str(self.folder), ""]), shown)
        self.assertEqual(shown.count(secret), 1)  # and in no command line, and no variable
        self.check_all_gone()

    def test_exit_codes(self):
        errors = self.launch("./counts", 10, 2, code=7).stderr
        self.assertEqual(errors, "mxc: error: rank 2 (host beta) ended with exit code 7\n")
        (self.folder / "hosts").write_text("gone\n")
        errors = self.launch("./counts", 10, code=255).stderr
        self.assertEqual(errors, "mxc: error: rank 0 (host gone) ended with exit code 255, as ssh does when it fails itself\n")

    def test_a_death_ends_all(self):
        job = self.start("./counts", 10**9)
        victim = process_with(self.program, b"MXC_RANK=2")
        os.kill(victim, signal.SIGKILL)
        _, errors = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 128 + 9)
        self.assertIn("mxc: error: rank 2 (host beta) was ended by signal 9 (Killed)\n", errors)
        self.check_all_gone()

    def test_signals_are_handed_on_and_nothing_outlives_mxc(self):
        for send, code in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(send=send):
                job = self.start("./counts", 10**9)
                job.send_signal(send)
                job.communicate(timeout=LIMIT)
                self.assertEqual(job.returncode, code)
                for place in self.folder.glob("mxc-??????"):  # what mxc could not remove itself
                    self.assertEqual(send, signal.SIGKILL)
                    shutil.rmtree(place)
                self.check_all_gone()

    def test_wrong_use(self):
        (self.folder / "bad").write_text("alpha slots=many\n")
        (self.folder / "unknown").write_text("localhost\nno-such-machine.invalid\n")
        launch = [MXC, "launch"]
        for command, code, message in (
            ([*launch, "-H", "nowhere", "./counts"], 1, "nowhere: No such file or directory"),
            ([*launch, "-H", "bad", "./counts"], 1, "bad:1: 'alpha slots=many': a line is HOST or HOST slots=N, with up to 1024 slots"),
            ([*launch, "-H", "hosts", "-n", "4", "./counts"], 1, "-n 4: the hosts of hosts have 3 slots"),
            ([*launch, "-H", "unknown", "./counts"], 1, "; --address says by which address the hosts reach this machine"),
            ([*launch, "-H", "hosts", "--address", "192.0.2.9", "./counts"], 1, "the job's scheduler cannot start: cannot listen at tcp://192.0.2.9:*: Cannot assign"),
            ([*launch, "-H", "hosts", "--address", "127.0.0.1", "--ssh", "./nothing", "./counts"], 1, "cannot run './nothing': No such file or directory"),
            ([*launch, "-H", "hosts", "--ssh", " ", "./counts"], 2, "--ssh: a command is expected"),
            ([*launch, "-n", "2", "--address", "127.0.0.1", "./counts"], 2, "--address is for machines of -H FILE"),
            ([*launch, "./counts"], 2, "-n is required, or -H FILE"),
        ):
            with self.subTest(command=command[2:]):
                result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=self.folder, env=PLAIN)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(message, result.stderr)
        self.check_all_gone()


class Machines(Programs):
    """Three machines; the launcher is on one more."""
    HOSTS = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network = Network(f"mxc{os.getpid()}", cls.HOSTS)
        cls.addClassCleanup(cls.network.close)
        ssh = cls.folder / "ssh"
        ssh.write_text(SSH_TO_NAMESPACE.format(prefix=cls.network.prefix))
        ssh.chmod(0o755)
        (cls.folder / "hosts").write_text("".join(f"{cls.network.address(number)}\n" for number in range(1, cls.HOSTS + 1)))

    def keys(self):
        """The file of the job's keys."""
        path = self.folder / "job.keys"
        if not path.exists():
            subprocess.run([MXC, "keygen", path], check=True)
        return str(path)

    def within(self, number, *command, variables=None, **more):
        return subprocess.Popen(self.network.within(number, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**PLAIN, "TMPDIR": str(self.folder), **(variables or {})}, cwd=self.folder, **more)

    def finished(self, job, code=0):
        out, errors = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, code, out + errors)
        return out, errors


class Namespaces(Machines):
    def launch(self, *arguments):
        return self.within(0, MXC, "launch", "-H", "hosts", "--ssh", "./ssh", *arguments)

    def test_mxc_launch(self):
        out, _ = self.finished(self.launch("./counts", 10))
        self.assertEqual(sorted(line for line in out.splitlines() if " of " in line), [f"[{rank}] rank {rank} of 3: 30" for rank in range(3)])
        self.check_nothing_is_left()

    def test_the_same_bits_as_one_process(self):
        digits = self.folder / "digits"
        data = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"
        subprocess.run([MXC, "compile", ROOT / "examples/digits/digits.cpp", "-o", digits], check=True, timeout=300)
        train = [digits, "train", "--data", data, "--threads", "1", "--epochs", "2", "--shards", "3"]
        out, _ = self.finished(self.launch(*train, "--save", "job", "--kvstore", "dist_sync"))
        subprocess.run([*train, "--save", "alone"], check=True, timeout=LIMIT, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.assertEqual((self.folder / "job").read_bytes(), (self.folder / "alone").read_bytes())
        shared = int(re.search(r"; (\d+) % of the bytes went through shared memory\n", out).group(1))
        self.assertLess(shared, 100)  # what goes to the server beside it does, and what goes to other machines does not

    def test_a_machine_whose_program_dies_ends_all(self):
        job = self.launch("./counts", 10**9)
        begun = sorted(job.stdout.readline() for _ in range(3))
        self.assertEqual(begun, [f"[{rank}] rank {rank} has begun\n" for rank in range(3)])
        victim = process_with(self.program, b"MXC_RANK=1")
        os.kill(victim, signal.SIGKILL)
        _, errors = self.finished(job, 128 + 9)
        self.assertIn("mxc: error: rank 1 (host 10.77.0.2) was ended by signal 9 (Killed)\n", errors)
        self.check_nothing_is_left()

    def by_variables(self, variables, keys=True):
        """A process on each machine."""
        more = {"MXC_KEYS": self.keys()} if keys else {}
        return [self.within(rank + 1, self.program, 10, variables={**variables(rank), **more}) for rank in range(self.HOSTS)]

    def check_variables(self, variables):
        for rank, job in enumerate(self.by_variables(variables)):
            self.assertIn(f"rank {rank} of 3: 30\n", self.finished(job)[0])
        self.check_nothing_is_left()

    def test_slurm(self):
        """Machines have addresses as names; the port follows from the step."""
        self.check_variables(lambda rank: {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_NUM_NODES": "3",
                                           "SLURM_STEP_NODELIST": "10.77.0.[1-3]", "SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0"})

    def mpirun(self, *command, code=0):
        hosts = ",".join(f"{self.network.address(number)}:1" for number in range(1, self.HOSTS + 1))
        subnet = f"{self.network.address(1)}/24"
        """With a folder for each machine: Open MPI's daemons take those of other machines of the same name for their own."""
        options = {"plm_rsh_agent": self.folder / "ssh", "plm_rsh_no_tree_spawn": 1, "btl": "tcp,self", "btl_tcp_if_include": subnet, "oob_tcp_if_include": subnet}
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as own:
            for number in range(1, self.HOSTS + 1):
                os.mkdir(os.path.join(own, str(number)))
            job = self.within(0, "mpirun", "--allow-run-as-root", "-np", self.HOSTS, "--host", hosts, *(word for name, value in options.items() for word in ("--mca", name, value)),
                              *command, variables={"TMPDIR": own})
            return self.finished(job, code)

    @unittest.skipUnless(shutil.which("mpirun") and PLUGIN.exists(), "SKIPPED: Open MPI is not installed (Debian's packages openmpi-bin, libopenmpi-dev)")
    def test_open_mpi(self):
        """MPI tells where rank 0 is, and the keys."""
        _, errors = self.mpirun(self.program, 10, code=1)
        self.assertIn("processes on several machines meet at MXC_RENDEZVOUS=HOST:PORT, the machine of rank 0 and a free port there, or MPI tells them where: MPI: "
                      "libmxc_mpi.so: cannot open shared object file", errors)
        shutil.copy(PLUGIN, self.folder)
        self.addCleanup((self.folder / PLUGIN.name).unlink)
        out, _ = self.mpirun(self.program, 10)
        self.assertEqual(sorted(line for line in out.splitlines() if " of " in line), [f"rank {rank} of 3: 30" for rank in range(3)])
        self.check_nothing_is_left()
        for variables, code, message in ((["MXC_KEYS=/nowhere"], 1, "rank 0: cannot read the keys in /nowhere: No such file or directory"),
                                         ([f"MXC_KEYS={self.keys()}"], 0, ""), (["MXC_INSECURE=1"], 0, "")):
            with self.subTest(variables=variables):
                _, errors = self.mpirun("env", *variables, self.program, 10, code=code)
                self.assertIn(message, errors)
                self.check_nothing_is_left()

    def test_torchrun(self):
        self.check_variables(lambda rank: {"RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"})

    def test_kubernetes(self):
        self.check_variables(lambda rank: {"JOB_COMPLETION_INDEX": str(rank), "MXC_SIZE": "3", "MXC_RENDEZVOUS": "10.77.0.1:5000"})

    def test_dmlc(self):
        def place(rank):
            return {"DMLC_ROLE": "worker", "DMLC_WORKER_ID": str(rank), "DMLC_NUM_WORKER": "3", "DMLC_PS_ROOT_URI": "10.77.0.1", "DMLC_PS_ROOT_PORT": "9091"}
        jobs = self.by_variables(place)
        scheduler = self.within(1, self.program, 10, variables={**place(0), "DMLC_ROLE": "scheduler", "MXC_KEYS": self.keys()})
        for rank, job in enumerate(jobs):
            self.assertIn(f"rank {rank} of 3: 30\n", self.finished(job)[0])
        self.finished(scheduler)
        self.check_nothing_is_left()

    def test_without_keys_nobody_listens(self):
        place = {"MXC_SIZE": "3", "MXC_RENDEZVOUS": "10.77.0.1:5000"}
        for job in self.by_variables(lambda rank: {**place, "MXC_RANK": str(rank)}, keys=False):
            _, errors = self.finished(job, 1)
            self.assertIn("refusing to meet at 10.77.0.1:5000, where other machines can connect, without keys", errors)

    def test_strangers_are_refused(self):
        """From another machine: with keys of another job, and without any; the job goes on."""
        path, other = self.folder / "own.keys", self.folder / "other.keys"
        for keys in (path, other):
            subprocess.run([MXC, "keygen", keys], check=True)
        place = {"MXC_SIZE": "2", "MXC_RENDEZVOUS": "10.77.0.1:5001", "MXC_KEYS": str(path)}
        first = self.within(1, self.program, 10, variables={**place, "MXC_RANK": "0"})
        _, errors = self.finished(self.within(3, self.program, 10, variables={**place, "MXC_RANK": "1", "MXC_KEYS": str(other)}), 1)
        self.assertIn("tcp://10.77.0.1:5001 refuses the keys of this process\n", errors)
        raw = self.within(3, sys.executable, "-c", "import socket\ns = socket.create_connection(('10.77.0.1', 5001), 20)\ns.sendall(b'x' * 10000)\n"
                          "s.settimeout(20)\nwhile s.recv(100): pass\n")
        raw.communicate(timeout=LIMIT)
        second = self.within(2, self.program, 10, variables={**place, "MXC_RANK": "1"})
        for rank, job in enumerate((first, second)):
            self.assertIn(f"rank {rank} of 2: 20\n", self.finished(job)[0])
        self.check_nothing_is_left()


@unittest.skipUnless(all(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("slurmctld", "slurmd", "srun", "munged")),
                     "SKIPPED: Slurm is not installed (Debian's packages slurmctld, slurmd, slurm-client, munge)")
class Slurm(Machines):
    """A real Slurm of three nodes, of which each knows the names of all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = cls.folder / "slurm"
        for folder in (home, home / "state", *(home / f"spool{number}" for number in range(1, cls.HOSTS + 1))):
            folder.mkdir(mode=0o700)
        nodes = [f"node{number}" for number in range(1, cls.HOSTS + 1)]
        (home / "hosts").write_text("127.0.0.1 localhost\n10.77.0.100 control\n" + "".join(f"10.77.0.{number} node{number}\n" for number in range(1, cls.HOSTS + 1)))
        (home / "key").write_bytes(os.urandom(1024))
        (home / "key").chmod(0o400)
        (home / "slurm.conf").write_text(f"""ClusterName=mxc
SlurmctldHost=control(10.77.0.100)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool%n
SlurmctldPidFile={home}/control.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/control.log
SlurmdLogFile={home}/%n.log
""" + "".join(f"NodeName={node} NodeAddr=10.77.0.{number} CPUs=1 State=UNKNOWN\n" for number, node in enumerate(nodes, 1)) +
                                         "PartitionName=all Nodes=ALL Default=YES State=UP\n")
        for number, node in enumerate(nodes, 1):
            (home / f"spool{number}").rename(home / f"spool{node}")
        cls.home = home
        cls.daemon(0, "munged", "--foreground", "--force", f"--key-file={home}/key", f"--socket={home}/munge.socket", f"--pid-file={home}/munge.pid",
                   f"--log-file={home}/munge.log", f"--seed-file={home}/munge.seed")
        cls.wait_for("munged", (home / "munge.socket").exists)
        cls.daemon(0, "slurmctld", "-D", "-f", home / "slurm.conf")
        for number, node in enumerate(nodes, 1):
            cls.daemon(number, "slurmd", "-D", "-N", node, "-f", home / "slurm.conf")

    def setUp(self):
        """Nodes may still be busy with the end of the job before."""
        self.wait_for("three idle nodes", lambda: self.sinfo().count("idle") == self.HOSTS)

    @classmethod
    def sinfo(cls):
        return subprocess.run(cls.words(0, "sinfo", "-h", "-N", "-o", "%n %t"), capture_output=True, text=True, timeout=LIMIT, env=cls.variables()).stdout

    @classmethod
    def variables(cls):
        return {**PLAIN, "SLURM_CONF": str(cls.home / "slurm.conf"), "TMPDIR": str(cls.folder), "PATH": os.environ["PATH"] + ":/usr/sbin"}

    @classmethod
    def words(cls, number, *command):
        """In the network of a machine, under its name, with the names of all."""
        host = f"node{number}" if number else "control"
        return ["nsenter", f"--net=/run/netns/{cls.network.name(number)}", "unshare", "--mount", "--uts", "sh", "-c",
                'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"', str(cls.home / "hosts"), host, *map(str, command)]

    @classmethod
    def daemon(cls, number, *command):
        process = subprocess.Popen(cls.words(number, *command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=cls.variables())
        cls.addClassCleanup(cls.end, process)

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @classmethod
    def wait_for(cls, what, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {LIMIT} s; {cls.said()}")
            time.sleep(0.1)

    @classmethod
    def said(cls):
        """What Slurm has to say for itself."""
        return cls.sinfo() + "".join(f"{path.name}: {path.read_text()[-2000:]}" for path in sorted(cls.home.glob("*.log")))

    def srun(self, *command, code=0, keys=True):
        more = {"MXC_KEYS": self.keys()} if keys else {}
        try:
            result = subprocess.run(self.words(0, "srun", "--overcommit", *command), capture_output=True, text=True, timeout=LIMIT,
                                    env={**self.variables(), **more}, cwd=self.folder)
        except subprocess.TimeoutExpired as late:
            self.fail(f"srun has not ended within {LIMIT} s; {late.stdout} {late.stderr} {self.said()}")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_three_nodes(self):
        shown = sorted(line for line in self.srun("-N3", self.program, 10).stdout.splitlines() if " of " in line)
        self.assertEqual(shown, [f"rank {rank} of 3: 30" for rank in range(3)])

    def test_one_node(self):
        """Without keys: through a file of the user's."""
        shown = sorted(line for line in self.srun("-N1", "-n2", self.program, 10, keys=False).stdout.splitlines() if " of " in line)
        self.assertEqual(shown, [f"rank {rank} of 2: 20" for rank in range(2)])

    def test_a_death_ends_all(self):
        """srun lets the others run on: they end by themselves."""
        job = subprocess.Popen(self.words(0, "srun", "--overcommit", "-N3", self.program, 10**9), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**self.variables(), "MXC_KEYS": self.keys()}, cwd=self.folder)
        try:
            self.assertEqual(sorted(job.stdout.readline() for _ in range(3)), [f"rank {rank} has begun\n" for rank in range(3)])
            victim = process_with(self.program, b"SLURM_PROCID=1")
            os.kill(victim, signal.SIGKILL)
            _, errors = job.communicate(timeout=LIMIT)
        finally:
            job.kill()
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(len(re.findall(rf"rank 1 \(host node2, process {victim}\) is gone: its connection has ended", errors)), 2, errors)
        self.check_nothing_is_left()

    def test_without_keys(self):
        errors = self.srun("-N3", self.program, 10, code=1, keys=False).stderr
        self.assertRegex(errors, r"refusing to meet at node1:2\d{4}, where other machines can connect, without keys")


if __name__ == "__main__":
    unittest.main(verbosity=2)
