"""The standard trainer by several shards and in jobs of several processes: the same bits on any number of them, what rank 0 shows, what is refused,
and what happens when a process dies.

Who hears that a job has failed has three seconds to say so before mxc launch ends it. How long that takes on a busy machine is not what is tested: what is said
must be right, and the exit code.

Usage: trainer_jobs_test.py ROOT BUILD [unittest arguments]. MNIST is looked for in ROOT/../shared; a test that needs it is skipped without it.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
MXC = BUILD / "bin/mxc"
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"
MNIST = ROOT.parent / "shared" / "data" / "mnist"
SOURCES = {"digits": "examples/digits/digits.cpp", "normed": "tests/examples/normed_digits.cpp", "lenet": "examples/lenet/lenet.cpp",
           "mixed": "tests/examples/mixed_digits.cpp"}
LIMIT = 300  # seconds after which a process hangs
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file  # noqa: E402


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def program(self, name, *flags):
        path = self.folder / "-".join([name, *(re.sub(r"\W+", "_", flag) for flag in flags)])
        if not path.exists():
            subprocess.run([MXC, "compile", ROOT / SOURCES[name], *flags, "-o", path], check=True, timeout=LIMIT)
        return path

    def run_command(self, *command, code=0):
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def train(self, name, processes, saved, *more, data=DIGITS, code=0, launch=()):
        """`name` may have flags of the compiler behind it. `processes` of 0: without a launcher."""
        command = [self.program(*name.split()), "train", "--data", data, "--threads", 1, "--save", saved, *more]
        if processes > 0:
            command = [MXC, "launch", "-n", processes, *launch, *command]
        return self.run_command(*command, code=code)

    def saved(self, name):
        return (self.folder / name).read_bytes()

    def report(self, shown):
        """MB sent and received a step, messages with elements sent and received a step, per cent that is hidden, steps that values lacked, and messages that
        were sent again."""
        lines = [line for line in shown.stdout.splitlines() if " processes this one has sent " in line]
        self.assertEqual(len(lines), 1, shown.stdout)
        report = re.fullmatch(r"\[0\] of \d processes this one has sent ([0-9.]+) MB and received ([0-9.]+) MB a step, in ([0-9.]+) and ([0-9.]+) messages; "
                              r"(\d+) % of the communication was hidden behind computing; its values lacked (\d+) steps at most; "
                              r"(\d+) messages were sent again; (\d+) % of the bytes went through shared memory", lines[0])
        *numbers, shared = [float(number) for number in report.groups()]
        self.assertEqual(shared, self.shared)
        return numbers

    shared = 100  # per cent of the bytes that go through shared memory

    def parameter_bytes(self, name):
        return sum(array.nbytes for name, array in safetensors_file.read(self.folder / name)[0].items() if "/" not in name)

    def check_bits(self, name, shards, *more):
        """The whole files, with the optimizer's state and the sums of the epoch, of one process and of several."""
        self.train(name, 0, "alone", "--shards", shards, *more)
        for processes in range(2, shards + 1):
            with self.subTest(processes=processes):
                self.train(name, processes, "job", "--kvstore", "dist_sync", "--shards", shards, *more)
                self.assertEqual(self.saved("job"), self.saved("alone"))
        return safetensors_file.read(self.folder / "alone")


class Digits(Jobs):
    def test_the_same_bits_on_any_number_of_processes(self):
        """Adam and dropout; 1438 samples in steps of 4 x 32: the last step of an epoch has 30 of them."""
        arrays, metadata = self.check_bits("digits", 4, "--epochs", 2, "--schedule", "cosine")
        self.assertEqual(metadata["step"], str(2 * 12))
        self.assertEqual(metadata["shards"], "4")
        self.assertIn("conv2d0.weight/variance", arrays)

    def test_the_same_bits_whichever_processes_hold_parameters(self):
        self.train("digits", 0, "alone", "--shards", 3, "--epochs", 1)
        for servers, launch in ((1, []), (2, ["--servers", 2])):
            self.train("digits", 3, "job", "--kvstore", "dist_sync", "--epochs", 1, *([] if launch else ["--servers", servers]), launch=launch)
            self.assertEqual(self.saved("job"), self.saved("alone"))
        self.train("mixed --optimizer=lamb", 0, "alone", "--shards", 3, "--epochs", 1)
        self.train("mixed --optimizer=lamb", 3, "job", "--kvstore", "dist_sync", "--epochs", 1, "--servers", 1)
        self.assertEqual(self.saved("job"), self.saved("alone"))

    def test_the_same_bits_whichever_way_arrays_go(self):
        self.train("digits", 0, "alone", "--shards", 2, "--epochs", 1)
        for percent, flags in ((100, ["--shared-memory=on"]), (0, ["--shared-memory=off"]), (0, ["--shared-memory=off", "--transport=tcp"]), (100, ["--transport=tcp"])):
            self.shared = percent
            shown = self.train("digits", 2, "job", "--kvstore", "dist_sync", "--epochs", 1, *flags)
            self.report(shown)
            self.assertEqual(self.saved("job"), self.saved("alone"))

    def test_layers_with_state(self):
        """Batch norm: a step's new state is the mean of its shards'."""
        self.check_bits("normed", 3, "--epochs", 1)

    def test_samples_of_a_job_are_those_of_one_process(self):
        """Steps of 2 x 16 see the same samples as steps of 32: without anything random but the order, the weights are the same up to rounding. So are norms:
        each clips or scales what both processes have summed."""
        saved = {}
        for flags in ("", " --optimizer=lars", " --optimizer=sgd:lr=0.05,clip_norm=0.01"):
            with self.subTest(flags=flags):
                self.train("lenet" + flags, 0, "one", "--steps", 6, "--batch", 32, data="random:200")
                self.train("lenet" + flags, 2, "two", "--steps", 6, "--batch", 16, "--kvstore", "dist_sync", data="random:200")
                one, two = (safetensors_file.read(self.folder / name)[0] for name in ("one", "two"))
                self.assertEqual(one.keys(), two.keys())
                for name in one:
                    self.assertLess(abs(one[name] - two[name]).max(), 1e-4, name)
                saved[flags] = one
        moved = {flags: abs(arrays["dense0.weight"] - saved[""]["dense0.weight"]).max() for flags, arrays in saved.items() if flags}
        for flags, most in moved.items():
            self.assertGreater(most, 1e-3, flags)  # they are other updates

    def test_updates_of_whole_parameters(self):
        """Norms of a parameter, and of all gradients; in the second, layers have state; in the others, parameters have two element types."""
        for name in ("mixed --optimizer=lamb", "normed --optimizer=lars", "mixed --optimizer=adam:clip_norm=0.1"):
            with self.subTest(name=name):
                _, metadata = self.check_bits(name, 3, "--epochs", 2)
                self.assertEqual(metadata["step"], str(2 * 15))
                self.train(name, 2, "begun", "--kvstore", "dist_sync", "--shards", 3, "--epochs", 2, "--steps", 17)
                self.train(name, 3, "ended", "--kvstore", "dist_sync", "--resume", "begun")
                self.assertEqual(self.saved("ended"), self.saved("alone"))

    def test_parameters_of_several_element_types(self):
        arrays, _ = self.check_bits("mixed", 3, "--epochs", 4)
        self.assertEqual({str(array.dtype) for array in arrays.values()}, {"float32", "float64"})
        self.assertRegex(self.run_command(self.program("mixed"), "eval", "--load", "alone", "--data", DIGITS).stdout, r"accuracy 0\.[89]")

    def test_resumed_on_another_number_of_processes(self):
        self.train("digits", 0, "whole", "--shards", 4, "--epochs", 3)
        self.train("digits", 2, "begun", "--kvstore", "dist_sync", "--shards", 4, "--epochs", 3, "--steps", 17, "--checkpoint-dir", "kept")
        self.train("digits", 4, "ended", "--kvstore", "dist_sync", "--resume", "begun")
        self.assertEqual(self.saved("ended"), self.saved("whole"))
        self.train("digits", 0, "ended", "--resume", "kept/digits-0001.safetensors")
        self.assertEqual(self.saved("ended"), self.saved("whole"))
        for more, message in ((("--shards", 2), "--shards 2: begun was begun with 4"), ((), "begun: was trained by 4 shards, and there are 5 processes")):
            errors = self.train("digits", 5 if not more else 2, "no", "--kvstore", "dist_sync", "--resume", "begun", *more, code=1).stderr
            self.assertIn(message, errors)

    def test_compression(self):
        """The same bits on any number of processes; fewer bytes both ways, of which headers and acknowledgements are some; the digits are learnt."""
        for method, part, least in (("fp16", 1 / 2, 0.95), ("2bit", 1 / 16, 0.95), ("topk:0.05", 0.05 * 6 / 4, 0.95)):
            with self.subTest(method=method):
                self.check_bits("digits", 3, "--epochs", 1, "--compress", method)
                shown = self.train("digits", 2, "m", "--kvstore", "dist_sync", "--epochs", 12, "--compress", method)
                *traffic, _, _, _, lacked, again = self.report(shown)
                whole = self.parameter_bytes("m")
                for sent in traffic:
                    self.assertTrue(part * whole <= sent * 1e6 < (part + 0.05) * whole + again * whole / 30, (method, sent, part * whole))
                accuracy = self.run_command(self.program("digits"), "eval", "--load", "m", "--data", DIGITS).stdout
                self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", accuracy).group(1)), least, method)

    def test_compression_is_resumed_on_another_number_of_processes(self):
        """What has been left out is in the checkpoint; how, too."""
        for name, method in (("digits", "2bit"), ("mixed --optimizer=lamb", "topk:0.1")):
            with self.subTest(name=name):
                self.train(name, 0, "whole", "--shards", 4, "--epochs", 3, "--compress", method)
                self.train(name, 3, "begun", "--kvstore", "dist_sync", "--shards", 4, "--epochs", 3, "--steps", 17, "--checkpoint-dir", "kept", "--compress", method)
                arrays, metadata = safetensors_file.read(self.folder / "begun")
                self.assertEqual(metadata["compress"], method)
                left = arrays["dense0.weight/residual"]
                self.assertEqual(left.shape, (4, *arrays["dense0.weight"].shape))
                self.assertTrue(all(abs(of_shard).max() > 0 for of_shard in left))
                self.train(name, 2, "ended", "--kvstore", "dist_sync", "--resume", "begun")
                self.assertEqual(self.saved("ended"), self.saved("whole"))
                kept = f"kept/{'digits' if name == 'digits' else 'mixed_digits'}-0001.safetensors"
                self.train(name, 0, "ended", "--resume", kept, "--compress", method)
                self.assertEqual(self.saved("ended"), self.saved("whole"))
        self.train("digits", 0, "plain", "--shards", 2, "--steps", 2)
        for file, method, message in (("begun", "fp16", "--compress fp16: begun was begun with topk:0.1"),
                                      ("plain", "fp16", "--compress fp16: plain was begun without it")):
            program = "mixed --optimizer=lamb" if file == "begun" else "digits"
            self.assertIn(message, self.train(program, 0, "no", "--resume", file, "--compress", method, code=1).stderr)
        arrays, metadata = safetensors_file.read(self.folder / "begun")
        safetensors_file.write(self.folder / "lacking", {name: array for name, array in arrays.items() if name != "dense0.weight/residual"}, metadata)
        safetensors_file.write(self.folder / "short", {name: array[:2] if name == "dense0.weight/residual" else array for name, array in arrays.items()}, metadata)
        self.assertIn("short: tensor 'dense0.weight/residual' is 2x24x64 f32, expected 4x24x64 f32",
                      self.train("mixed --optimizer=lamb", 0, "no", "--resume", "short", code=1).stderr)
        self.assertIn("the checkpoint lacks the tensor 'dense0.weight/residual', which compression has kept",
                      self.train("mixed --optimizer=lamb", 0, "no", "--resume", "lacking", code=1).stderr)

    def test_compression_of_other_kinds_learns(self):
        for kind in ("dist_bounded:2", "dist_async"):
            with self.subTest(kind=kind):
                self.train("digits", 2, "m", "--kvstore", kind, "--epochs", 15, "--lr", 0.002, "--compress", "2bit", "--checkpoint-dir", "of_kind")
                shown = self.run_command(self.program("digits"), "eval", "--load", "m", "--data", DIGITS).stdout
                self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", shown).group(1)), 0.9)
                self.train("digits", 2, "m", "--kvstore", kind, "--resume", "of_kind/digits-0014.safetensors", "--lr", 0.002)

    def test_rank_0_speaks_for_all(self):
        shown = self.train("digits", 3, "m", "--kvstore", "dist_sync", "--epochs", 2, "--log", "log.jsonl", "--trace", "trace.json", launch=["--shards", 3])
        lines = shown.stdout.splitlines()
        self.assertEqual([line[:3] for line in lines], ["[0]"] * len(lines))
        self.assertRegex(lines[0], r"\[0\] epoch +train loss +train accuracy +test loss +test accuracy +seconds")
        self.assertEqual(shown.stderr, "")
        *traffic, pushes, values, hidden, _, again = self.report(shown)
        parameters = self.parameter_bytes("m")
        for sent in traffic:  # headers and acknowledgements are in it; where a machine stood still, what was sent again, too
            self.assertTrue(parameters <= sent * 1e6 < 1.05 * parameters + again * parameters / 30, (sent, parameters))
        # Eight parameters, of which only two are larger than 16 KB, in five bundles; and what is measured.
        self.assertTrue(6 <= pushes <= 6 + again, pushes)
        self.assertEqual(values, 6)
        self.assertTrue(0 <= hidden <= 100, hidden)
        events = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.assertEqual((events[0]["shards"], events[0]["processes"]), (3, 3))
        told = next(event for event in events if event["event"] == "communication")
        self.assertEqual([f"{told[name] / 1e6:.3f}" for name in ("sent", "received")], [f"{mb:.3f}" for mb in traffic])
        self.assertEqual((round(told["pushes"], 1), told["values"], told["staleness"], told["again"], told["shared"]), (pushes, 6, 0, again, 100))
        for event in events:
            if event["event"] in ("communication", "epoch"):
                self.assertTrue(0 <= event["hidden"] <= 100, event)
        self.assertEqual([event["n"] for event in events if event["event"] == "step"][:15], [96] * 14 + [1438 - 14 * 96])
        traced = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        lanes = {event["name"]: event["cat"] for event in traced if event["ph"] == "X"}
        self.assertEqual((lanes["push"], lanes["pull"], lanes["gradients"], lanes["add"]), ("network", "network", "compute", "copy"))

    def test_the_naive_engine_gives_the_same(self):
        self.train("digits", 0, "alone", "--shards", 2, "--steps", 20)
        self.train("digits", 2, "job", "--kvstore", "dist_sync", "--steps", 20, "--engine", "naive")
        self.assertEqual(self.saved("job"), self.saved("alone"))

    def test_other_kinds_learn(self):
        for kind in ("dist_bounded:2", "dist_async"):
            with self.subTest(kind=kind):
                self.train("digits", 2, "m", "--kvstore", kind, "--epochs", 15, "--lr", 0.002)
                shown = self.run_command(self.program("digits"), "eval", "--load", "m", "--data", DIGITS).stdout
                self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", shown).group(1)), 0.9)  # a guess has 0.1
                self.assertEqual(safetensors_file.read(self.folder / "m")[1]["step"], str(15 * 23))

    def test_each_shard_by_itself(self):
        """In a process alone, shards whose gradients are updates of their own are steps of one shard: what nothing random but the order touches is the same up
        to rounding, and not what sums give."""
        self.train("lenet", 0, "one", "--steps", 6, "--batch", 16, data="random:200")
        shards = ["--shards", 3, "--steps", 2, "--batch", 16, "--kvstore", "dist_async"]
        self.train("lenet", 1, "three", *shards, "--kvstore-local", "async", data="random:200")
        self.train("lenet", 1, "sums", *shards, data="random:200")
        one, three, sums = (safetensors_file.read(self.folder / name)[0] for name in ("one", "three", "sums"))
        for name in one:
            self.assertLess(abs(one[name] - three[name]).max(), 1e-5, name)
        self.assertGreater(abs(one["dense0.weight"] - sums["dense0.weight"]).max(), 1e-3)
        self.train("digits", 2, "m", "--kvstore", "dist_async", "--kvstore-local", "async", "--shards", 5, "--epochs", 25, "--lr", 0.002)
        shown = self.run_command(self.program("digits"), "eval", "--load", "m", "--data", DIGITS).stdout
        self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", shown).group(1)), 0.9)

    def test_help(self):
        shown = " ".join(self.run_command(self.program("digits"), "train", "--help").stdout.split())
        self.assertIn("--shards NUMBER of a step, each with a batch of its own; they decide the result, however many processes they are spread over "
                      "(default: one a process)", shown)
        self.assertIn("--kvstore KIND how the processes of a job, started by mxc launch or another launcher, train together: dist_sync, dist_bounded:STEPS or dist_async; "
                      "or local, for one alone", shown)
        self.assertIn("--kvstore-local sync|async what becomes of the gradients of a process's shards: sync (the default) adds them up before they leave; async, with "
                      "--kvstore dist_async, makes each an update of its own", shown)
        self.assertIn("--servers NUMBER how many of the job's processes hold parameters and update them; the results do not depend on it (default: all)", shown)
        self.assertIn("--shared-memory on|off whether arrays between processes of one machine go through its memory: on (the default) or off", shown)
        self.assertIn("--machine-sums auto|on|off whether the processes of a machine add up their gradients before these leave it, and bring values once for all of them: auto "
                      "(the default), where the job can; on, or end with an error; or off", shown)
        self.assertIn("--transport NAME what carries gradients and parameters between processes: zeromq (the default); tcp, which is quicker and never encrypted; or mpi, where "
                      "mpirun or srun has started them (mpi:FILE: by that plug-in)", shown)
        self.assertIn("--compress METHOD fewer bytes between processes: fp16, bf16, 2bit, or topk:PART, the largest of each shard's gradients; what is left out is "
                      "added to the next step's", shown)

    def test_wrong_use(self):
        digits = self.program("digits")
        train = [digits, "train", "--data", DIGITS]
        for command, code, message in (
            ([*train, "--kvstore", "dist_sink"], 2, "digits: error: --kvstore: there is no kind 'dist_sink'; did you mean 'dist_sync'?; see digits --help\n"),
            ([*train, "--kvstore", "dist_bounded:x"], 2, "digits: error: --kvstore: 'dist_bounded:x': a number of steps from 0 to 1000 is expected"),
            ([*train, "--compress", "zip"], 2, "digits: error: --compress: there is no compression 'zip': one of fp16, bf16, 2bit, topk:PART; see digits --help\n"),
            ([*train, "--compress", "topk:0.6"], 2, "digits: error: --compress: 'topk:0.6': a part above 0 and at most 0.5 is expected after topk:; see digits --help\n"),
            ([*train, "--shards", "0"], 2, "digits: error: --shards: expected a whole number from 1 to 1048576, not '0'"),
            ([*train, "--kvstore-local", "maybe"], 2, "digits: error: --kvstore-local: maybe not in {sync,async}; see digits --help\n"),
            ([*train, "--kvstore-local", "async"], 1, "digits: error: --kvstore-local: async is for dist_async: of the other kinds a step is one sum of all shards, and none can go before it\n"),
            ([*train, "--shared-memory", "maybe"], 2, "digits: error: --shared-memory: maybe not in {on,off}; see digits --help\n"),
            ([*train, "--machine-sums", "maybe"], 2, "digits: error: --machine-sums: maybe not in {auto,on,off}; see digits --help\n"),
            ([MXC, "launch", "-n", 2, *train, "--kvstore", "dist_sync", "--machine-sums", "on", "--shared-memory", "off"], 1,
             "digits: error: --machine-sums on: a machine's processes do not add up without shared memory\n"),
            ([MXC, "launch", "-n", 2, "--on-death=wait", *train, "--kvstore", "dist_sync", "--machine-sums", "on"], 1,
             "digits: error: --machine-sums on: a machine's processes do not add up in a job that goes on when processes die: what one had added up for others would be gone with it\n"),
            ([*train, "--servers", "0"], 2, "digits: error: --servers: expected a whole number from 1 to 1048576, not '0'"),
            ([MXC, "launch", "-n", 2, *train, "--kvstore", "dist_sync", "--servers", 3], 1, "--servers 3: the job has 2 processes\n"),
            ([MXC, "launch", "-n", 2, "--servers", 3, *train, "--kvstore", "dist_sync"], 2, "mxc: error: --servers 3: the job has 2 processes\n"),
            ([MXC, "launch", "-n", 2, "--servers", 0, *train], 2, "--servers"),
            ([*train, "--kvstore", "dist_sync"], 1, "digits: error: --kvstore dist_sync: no launcher has started this process as one of several; try: mxc launch -n 2 PROGRAM train ...\n"),
            ([MXC, "launch", "-n", 2, *train], 1, "digits: error: this process is one of 2 of a job: --kvstore dist_sync, dist_bounded:STEPS or dist_async says how they train together\n"),
            ([MXC, "launch", "-n", 2, *train, "--kvstore", "dist_sync", "--shards", 1], 1, "--shards 1: there are 2 processes, and each has at least one shard\n"),
        ):
            with self.subTest(command=command[1:]):
                self.assertIn(message, self.run_command(*command, code=code).stderr)
        for kind in ("dist_bounded:1", "dist_async"):
            for name, why in (("mixed --optimizer=lamb", "'lamb' looks at whole gradients of a step"),
                              ("mixed --optimizer=adam:clip_norm=0.1", "clip_norm looks at all gradients of a step")):
                errors = self.train(name, 2, "no", "--kvstore", kind, code=3).stderr
                self.assertIn(f"mixed_digits: error: unsupported: training by several processes: {why}, which --kvstore dist_sync alone has\n", errors)
        errors = self.train("digits", 2, "no", "--kvstore", "dist_sync", "--compress", "fp16", launch=["--on-death=shrink"], code=3).stderr
        self.assertIn("error: unsupported: training by several processes: --on-death=shrink with --compress: what has been left out would be gone with a process\n",
                      errors)

    def test_processes_that_do_not_train_the_same(self):
        """All of them say what differs, in one line each, and with one exit code."""
        data = {"0": DIGITS, "1": DIGITS.replace("holdout=0.2", "holdout=0.3")}
        for name, words, difference in (
            ("samples", 'train --data "$data"', "the number of training samples is 1258 and 1438"),
            ("seed", f"train --data '{DIGITS}' --seed $MXC_RANK", "--seed is 1 and 0"),
            ("batch", f"train --data '{DIGITS}' --batch $((16 + MXC_RANK))", "--batch is 17 and 16"),
            ("order", f"train --data '{DIGITS}&holdout_seed='$MXC_RANK", r"the data (a number for some samples) is "),
            ("rate", f"train --data '{DIGITS}' --lr 0.00$((1 + MXC_RANK))", "the schedule, --steps, --checkpoint-dir or a hyper-parameter (a number for all) is "),
        ):
            with self.subTest(name=name):
                script = self.folder / f"{name}.sh"
                script.write_text(f"#!/bin/sh\ncase $MXC_RANK in 1) data='{data['1']}';; *) data='{data['0']}';; esac\nexec {self.program('digits')} {words} --kvstore dist_sync\n")
                script.chmod(0o755)
                errors = self.run_command(MXC, "launch", "-n", 2, script, code=1).stderr.splitlines()
                self.assertIn(len(errors), (2, 3), errors)  # whoever is too slow to say it is ended
                for line in errors[:-1]:
                    self.assertIn(f"rank 1 and rank 0 do not train the same: {difference}", line)
                self.assertRegex(errors[-1], r"mxc: error: rank \d \(process \d+\) ended with exit code 1")

    def test_a_fault_of_one_is_told_to_all(self):
        script = self.folder / "missing.sh"
        script.write_text(f"#!/bin/sh\nexec {self.program('digits')} train --data csv:data$MXC_RANK.csv?label=64 --kvstore dist_sync\n")
        script.chmod(0o755)
        shutil.copy(ROOT / "examples/data/digits.csv.gz", self.folder / "data0.csv")
        errors = self.run_command(MXC, "launch", "-n", 2, script, code=1).stderr
        self.assertIn("[1] digits: error: data1.csv: No such file or directory", errors)
        for line in re.findall(r"^\[0\].*", errors, re.M):  # it may be too slow to say it
            self.assertRegex(line, r"\[0\] digits: error: rank 1 \(host \S+, process \d+\): data1.csv: No such file or directory$")

    def signalled(self, send, saved, to_mxc=False):
        """Sends a signal to rank 1 of a job of three in its third epoch, or to mxc. Returns the process of rank 1, what was shown as errors, and the exit
        code."""
        job = subprocess.Popen([MXC, "launch", "-n", "3", self.program("digits"), "train", "--data", DIGITS, "--threads", "1", "--kvstore", "dist_sync",
                                "--epochs", "1000000", "--save", saved], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        try:
            while not re.match(r"\[0\] +2 ", job.stdout.readline()):
                self.assertIsNone(job.poll())
            children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            rank_1 = next(p for p in children if b"MXC_RANK=1\0" in pathlib.Path(f"/proc/{p}/environ").read_bytes())
            os.kill(job.pid if to_mxc else int(rank_1), send)
            _, errors = job.communicate(timeout=LIMIT)
        finally:
            job.kill()
        return rank_1, errors, job.returncode

    def test_an_interrupt_of_one_stops_all_at_one_step(self):
        for to_mxc, send in ((False, signal.SIGINT), (True, signal.SIGTERM), (True, signal.SIGINT)):
            _, errors, code = self.signalled(send, "stopped", to_mxc)
            self.assertEqual(code, 130)
            self.assertEqual(errors == "", to_mxc)  # else mxc wonders
        end = int(safetensors_file.read(self.folder / "stopped")[1]["step"]) + 5
        self.train("digits", 2, "ended", "--kvstore", "dist_sync", "--resume", "stopped", "--steps", end)
        self.train("digits", 0, "whole", "--shards", 3, "--epochs", 1000000, "--steps", end)
        self.assertEqual(self.saved("ended"), self.saved("whole"))

    def test_kill_9_ends_the_job_and_names_the_rank(self):
        victim, errors, code = self.signalled(signal.SIGKILL, "never")
        self.assertEqual(code, 128 + 9)
        self.assertIn(f"mxc: error: rank 1 (process {victim}) was ended by signal 9 (Killed)\n", errors)
        for line in re.findall(r"^\[[02]\].*", errors, re.M):  # they have three seconds to say it
            self.assertRegex(line, rf"\[[02]\] digits: error: rank 1 \(host \S+, process {victim}\) is gone: its connection has ended; "
                                   r"the last step that it began was \d+$")
        self.assertFalse((self.folder / "never").exists())


class Lenet(Jobs):
    @unittest.skipUnless(MNIST.is_dir(), f"SKIPPED: no MNIST in {MNIST}")
    def test_the_same_curve_by_1_2_and_4_workers(self):
        """Four shards of 16: the same bits, and what each step shows is the same, digit for digit."""
        curve = self.check_curve("--steps", 120)
        self.assertEqual(len(curve), 120)
        self.assertLess(sum(loss for loss, *_ in curve[-20:]) / 20, 0.7)  # a guess has 2.3

    @unittest.skipUnless(MNIST.is_dir(), f"SKIPPED: no MNIST in {MNIST}")
    def test_a_whole_epoch(self):
        curve = self.check_curve("--epochs", 1)
        self.assertEqual(len(curve), 938 + 1)
        self.assertGreater(curve[-1][2]["accuracy"], 0.97)

    def check_curve(self, *more):
        curves = []
        for processes in (0, 2, 4):
            kind = ["--kvstore", "dist_sync"] if processes else []
            self.train("lenet", processes, f"m{processes}", "--shards", 4, "--batch", 16, "--log", f"l{processes}", *kind, *more, data=f"mnist:{MNIST}")
            events = [json.loads(line) for line in (self.folder / f"l{processes}").read_text().splitlines()]
            curves.append([(e.get("loss"), e.get("train"), e.get("test")) for e in events if e["event"] in ("step", "epoch")])
            self.assertEqual(self.saved(f"m{processes}"), self.saved("m0"))
            (self.folder / f"l{processes}").unlink()
            self.assertEqual(curves[-1], curves[0])
        return curves[0]


if __name__ == "__main__":
    unittest.main(verbosity=2)
