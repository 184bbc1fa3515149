"""Networks of the papers, compiled and trained: the loss falls, and neither threads nor an interruption change a byte.

Usage: networks_test.py ROOT BUILD [unittest arguments]. Those for pictures of ImageNet's size take a few steps on generated samples, small
ones learn something. Data sets outside the repository are looked for in ROOT/../shared; a test that needs one that is absent is
skipped and says so.
"""
import csv
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SHARED = ROOT.parent / "shared" / "data"
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?scale=16&holdout=0.2"
MNIST = SHARED / "mnist"
SHAKESPEARE = SHARED / "tinyshakespeare" / "input.txt"
CIFAR = SHARED / "cifar10-jpeg" / "train20000.tar.gz"
MIB = 1 << 20


class Network(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_here(self, *command):
        """Runs to success; gives what was printed and the most bytes that were resident."""
        with open(self.folder / "printed", "w+") as printed:
            process = subprocess.Popen([str(c) for c in command], cwd=self.folder, stdout=printed, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            text = printed.read()
        self.assertEqual(process.returncode, 0, text)
        return text, usage.ru_maxrss * 1024

    def compile(self, name, *flags):
        """Compiles an example; gives the bytes that the report promises."""
        source = ROOT / f"examples/{name}/{name}.cpp"
        return json.loads(self.run_here(BUILD / "bin/mxc", "compile", source, "-o", name, "--report=memory,json", *flags)[0])["total_bytes"]

    def train(self, name, save, *flags):
        """Trains; gives the events of the log and the most bytes that were resident."""
        log = self.folder / (save + ".log")
        _, resident = self.run_here(f"./{name}", "train", "--save", save, "--log", log, *flags)
        return [json.loads(line) for line in log.read_text().splitlines()], resident

    def check_bits(self, name, steps, *flags):
        """`steps` steps by one thread, by two, by four, and with a pause: one file."""
        runs = {"one": ["--threads", 1, "--steps", steps], "two": ["--threads", 2, "--steps", steps],
                "four": ["--threads", 4, "--steps", steps], "half": ["--threads", 2, "--steps", steps // 2],
                "rest": ["--resume", "half", "--steps", steps]}
        for save, more in runs.items():
            self.train(name, save, *more, *flags)
        one, *others = ((self.folder / save).read_bytes() for save in ("one", "two", "four", "rest"))
        for how, other in zip(("two threads", "four threads", "resumed"), others):
            self.assertTrue(one == other, how)


def losses(events):
    return [e["loss"] for e in events if e["event"] == "step"]


def tested(events, what):
    """The last test's mean of a reported scalar."""
    return [e["test"][what] for e in events if "test" in e][-1]


class ImageNet(Network):
    """Five steps must bring down the loss on the one sample that they see."""

    def check(self, name, rate):
        promised = self.compile(name, "--dim", "batch=1")
        events, resident = self.train(name, "log", "--data", "random:1", "--steps", 5, "--epochs", 5, "--lr", rate, "--threads", 1)
        values = losses(events)
        self.assertEqual(len(values), 5)
        self.assertLess(values[-1], 0.8 * values[0], values)
        _, resumed = self.train(name, "log", "--data", "random:1", "--resume", "log", "--steps", 6, "--epochs", 6, "--lr", rate, "--threads", 1)
        self.assertLess(max(resident, resumed), 1.03 * promised + 10 * MIB)
        self.check_bits(name, 2, "--data", "random:2?seed=1", "--lr", rate)

    def test_alexnet(self):
        self.check("alexnet", 0.01)

    def test_googlenet(self):
        self.check("googlenet", 0.05)

    def test_vgg11(self):
        self.check("vgg11", 0.01)

    def test_vgg16(self):
        self.check("vgg16", 0.001)

    def test_inception_bn(self):
        self.check("inception_bn", 0.05)

    def test_resnet18(self):
        self.check("resnet18", 0.05)

    def test_resnet50(self):
        self.check("resnet50", 0.05)

    def test_mobilenet_v2(self):
        self.check("mobilenet_v2", 0.05)


class Small(Network):
    def test_autoencoder(self):
        self.compile("autoencoder")
        data = DIGITS + "&image=0-63"
        events, _ = self.train("autoencoder", "m", "--data", data, "--epochs", 40, "--schedule", "cosine")
        # To answer with the mean picture has the variance of the pixels as its loss. Eight numbers tell far more.
        with gzip.open(ROOT / "examples/data/digits.csv.gz", "rt") as file:
            rows = [[float(v) / 16 for v in row[:64]] for row in csv.reader(file) if row[0][0].isdigit()]
        means = [sum(column) / len(rows) for column in zip(*rows)]
        variance = sum((v - m) ** 2 for row in rows for v, m in zip(row, means)) / (64 * len(rows))
        self.assertLess(tested(events, "loss"), 0.4 * variance)
        self.check_bits("autoencoder", 70, "--data", data, "--epochs", 2)

    def test_lenet_alike_with_any_threads_and_resumed(self):
        self.compile("lenet")
        self.check_bits("lenet", 6, "--data", "random:200?seed=1")  # four steps an epoch, the last with 8 samples

    @unittest.skipUnless(MNIST.is_dir(), f"SKIPPED: no MNIST in {MNIST}")
    def test_mlp(self):
        self.compile("mlp")
        events, _ = self.train("mlp", "m", "--data", f"mnist:{MNIST}", "--epochs", 8, "--schedule", "cosine")
        self.assertGreaterEqual(tested(events, "accuracy"), 0.978)
        self.check_bits("mlp", 40, "--data", f"mnist:{MNIST}")

    def test_recommender(self):
        self.compile("recommender")
        # Four hidden factors, and noise of standard deviation 0.1: a guess cannot be better than that on average.
        draw = random.Random(1)
        gauss = lambda deviation, count: [draw.gauss(0, deviation) for _ in range(count)]
        users = [(gauss(0.5, 4), draw.gauss(0, 0.3)) for _ in range(200)]
        items = [(gauss(1, 4), draw.gauss(0, 0.3)) for _ in range(100)]
        ratings = []
        for pair in draw.sample(range(200 * 100), 8000):
            (p, generous), (q, liked) = users[pair // 100], items[pair % 100]
            ratings.append((pair // 100, pair % 100, 3 + generous + liked + sum(a * b for a, b in zip(p, q)) + draw.gauss(0, 0.1)))
        (self.folder / "ratings.csv").write_text("".join("%d,%d,%.6f\n" % rating for rating in ratings))
        mean = sum(r[2] for r in ratings) / len(ratings)
        variance = sum((r[2] - mean) ** 2 for r in ratings) / len(ratings)
        data = "csv:ratings.csv?user=0&item=1&rating=2&holdout=0.1"
        events, _ = self.train("recommender", "m", "--data", data, "--epochs", 30, "--schedule", "cosine")
        self.assertLess(tested(events, "loss"), 0.05 * variance)
        self.check_bits("recommender", 40, "--data", data, "--epochs", 2)

    def test_transformer(self):
        self.compile("transformer")
        data = DIGITS + "&label=64"
        events, _ = self.train("transformer", "m", "--data", data, "--epochs", 20, "--schedule", "cosine")
        self.assertGreaterEqual(tested(events, "accuracy"), 0.93)
        self.check_bits("transformer", 60, "--data", data, "--epochs", 2)

    @unittest.skipUnless(SHAKESPEARE.is_file(), f"SKIPPED: no text in {SHAKESPEARE}")
    def test_char_lstm(self):
        self.compile("char_lstm")
        data = f"text:{SHAKESPEARE}?holdout=0.05"
        events, _ = self.train("char_lstm", "m", "--data", data, "--steps", 200)
        values = losses(events)
        # The entropy of single letters of this text is 3.3 nats; what is below needs the letters before.
        self.assertLess(sum(values[-20:]) / 20, 2.6)
        self.check_bits("char_lstm", 4, "--data", data)


class Cifar(Network):
    @unittest.skipUnless(CIFAR.is_file(), f"SKIPPED: no pictures in {CIFAR}")
    def test_resnet20_reads_four_of_five_unseen_pictures(self):
        with tarfile.open(CIFAR) as tar:
            tar.extractall(self.folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(self.folder)
        self.compile("resnet20")
        data = "images:.?holdout=0.1&crop=random&pad=4&flip=yes&mean=0.4914,0.4822,0.4465&std=0.247,0.2435,0.2616"
        events, _ = self.train("resnet20", "m", "--data", data, "--epochs", 30, "--schedule", "cosine", "--warmup", 300)
        self.assertGreaterEqual(tested(events, "accuracy"), 0.8)

    @unittest.skipUnless(CIFAR.is_file(), f"SKIPPED: no pictures in {CIFAR}")
    def test_resnet20_alike_with_any_threads_and_resumed(self):
        with tarfile.open(CIFAR) as tar:
            for member in tar.getmembers():
                if member.name.endswith(("00.jpg", "train")) or member.isdir():
                    tar.extract(member, self.folder)
        self.compile("resnet20")
        self.check_bits("resnet20", 4, "--data", "images:.?crop=random&pad=4&flip=yes", "--batch", 16, "--epochs", 1)


if __name__ == "__main__":
    os.environ.pop("LD_LIBRARY_PATH", None)
    unittest.main(verbosity=2)
