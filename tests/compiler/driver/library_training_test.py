"""Embedded libraries that train: bit for bit the standard trainer's steps, the cut to some layers, states, and what is refused.

Usage: library_training_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import functools
import gzip
import json
import math
import re
import unittest

import numpy

from library_fixture import INPUTS, LENET, MXC, ROOT, STRICT, SharedLibrary, pathlib, run, scratch
import safetensors_file

DIGITS = ROOT / "examples/digits/digits.cpp"
NORMED = ROOT / "tests/examples/normed_digits.cpp"
TYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}
SAMPLES, BATCH, SEED = 75, 32, 5  # two whole batches and an odd one
STATE_HEADER = 64


def plain(buffer, data):
    """A tensor's physical bytes, as the Plan describes them, in its logical order."""
    dims, order, axis, block = buffer["dims"], buffer.get("order"), buffer.get("block_axis", -1), buffer.get("block", 0)
    order = order if order is not None else list(range(len(dims)))
    array = numpy.frombuffer(data, TYPES[buffer["dtype"]])
    if axis < 0:
        return array.reshape([dims[a] for a in order]).transpose(numpy.argsort(order)) if dims else array.reshape(())
    array = array.reshape([-(-dims[a] // block) if a == axis else dims[a] for a in order] + [block])
    place = order.index(axis)
    array = numpy.moveaxis(array, -1, place + 1)
    array = array.reshape([dims[a] if a != axis else -1 for a in order])
    array = array.transpose(numpy.argsort(order))
    return array.take(range(dims[axis]), axis)


class Library(SharedLibrary):
    """One that trains; inputs, outputs and states are read by the Plan inside."""

    def __init__(self, path, name):
        super().__init__(path, name)
        plans = json.loads(run(MXC, "inspect", "--json", path, cwd=path.parent).stdout)
        self.plan = plans[0] if isinstance(plans, list) else plans
        self.buffers = self.plan["buffers"]
        self.graphs = {graph["name"]: graph for graph in self.plan["graphs"]}

    def call(self, verb, graph, arrays, results, count):
        inputs = [numpy.ascontiguousarray(arrays[i["name"]]) for i in self.graphs[graph]["inputs"]]
        pointers = [(ctypes.c_void_p * len(group))(*(a.ctypes.data for a in group)) for group in (inputs, results)]
        status = self.function(verb)(self.context, *pointers, ctypes.c_int64(count))
        assert status == 0, status

    def step(self, arrays):
        """The numbers that a step of training gives, in the model's order."""
        count = len(next(iter(arrays.values())))
        outputs = [o for o in self.graphs["train"]["outputs"] if o["kind"] in ("loss", "metric")]
        results = [numpy.zeros((), TYPES[self.buffers[o["buffer"]]["dtype"]]) for o in outputs]
        self.call("train_step", "train", arrays, results, count)
        return [float(r) for r in results]

    def infer(self, arrays, count):
        results = [numpy.zeros((count, 10), "f4")]
        self.call("run", "infer", arrays, results, count)
        return results[0]

    def save(self):
        state = ctypes.create_string_buffer(self.constant("STATE_BYTES"))
        assert self.function("save")(self.context, state, ctypes.c_size_t(len(state))) == 0
        return state.raw

    def load(self, state):
        return self.function("load")(self.context, state, ctypes.c_size_t(len(state)))

    def own(self):
        """The tensors that the context has for itself, by name, in their logical order."""
        state = self.save()[STATE_HEADER:]
        first = self.plan["devices"][0]["persistent_bytes"] - len(state)
        tensors = {}
        for buffer in self.buffers:
            if buffer["space"] == "persistent" and buffer["offset"] >= first:
                at = buffer["offset"] - first
                tensors[buffer["name"]] = plain(buffer, state[at : at + buffer["bytes"]])
        return tensors


@functools.cache
def order():
    """The order in which a trainer reads SAMPLES samples, for each of three epochs: told by a program that reports each one's number."""
    folder = pathlib.Path(scratch.name) / "order"
    folder.mkdir()
    (folder / "order.cpp").write_text("""#include <mxc/mxc.h>
        using namespace mxc;
        MXC_MODEL(order) {
          Symbol id = input("id", {batch(1), 1});
          minimize(dense(id, {.units = 1}));
          report("id", id);
        }""")
    numpy.savez(folder / "id.npz", id=numpy.arange(SAMPLES, dtype="f4").reshape(SAMPLES, 1))
    run(MXC, "compile", "order.cpp", "-o", "order", cwd=folder)
    run("./order", "train", "--data", "npz:id.npz", "--seed", SEED, "--epochs", 3, "--lr", 0, "--log", "log", cwd=folder)
    events = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    ids = [int(event["id"]) for event in events if event["event"] == "step"]
    assert sorted(ids[:SAMPLES]) == list(range(SAMPLES)) and ids[:SAMPLES] != ids[SAMPLES : 2 * SAMPLES]
    return [ids[e * SAMPLES : (e + 1) * SAMPLES] for e in range(3)]


@functools.cache
def samples():
    table = numpy.loadtxt(gzip.open(ROOT / "examples/data/digits.csv.gz"), delimiter=",", max_rows=SAMPLES)
    return {"image": (table[:, :64] / 16).astype("f4").reshape(-1, 1, 8, 8), "label": table[:, 64].astype("i4")}


def batch(epoch, position):
    chosen = order()[epoch][position : position + BATCH]
    return {name: array[chosen] for name, array in samples().items()}


@functools.cache
def trained(name):
    """A folder with a trained model, its program, and `fresh`, the same parameters at the beginning of a training."""
    folder = pathlib.Path(scratch.name) / name
    folder.mkdir()
    source = {"digits": DIGITS, "normed_digits": NORMED}[name]
    numpy.savez(folder / "samples.npz", **samples())
    run(MXC, "compile", source, "-o", name, cwd=folder)
    run(f"./{name}", "train", "--data", "npz:samples.npz", "--seed", SEED, "--epochs", 3, "--steps", 1, "--save", "trained", cwd=folder)
    tensors, metadata = safetensors_file.read(folder / "trained")
    tensors = {k: numpy.zeros_like(v) if "/" in k else v for k, v in tensors.items()}
    safetensors_file.write(folder / "fresh", tensors, {**metadata, "step": "0", "position": "0", "epoch": "0", "sums": "0 0"})
    return folder, source


def make(name, flags, suffix, *more, params="trained"):
    folder, source = trained(name)
    run(MXC, "compile", source, "--params", params, "--emit=shared", "-o", f"{suffix}.so", *flags, *more, cwd=folder)
    return Library(folder / f"{suffix}.so", name)


class Steps(unittest.TestCase):
    def same(self, found, expected, what):
        self.assertEqual(found.astype("f4").tobytes(), expected.astype("f4").tobytes(), what)

    def check_whole(self, name):
        folder, _ = trained(name)
        library = make(name, ["--train"], "whole")
        library.function("set_seed")(library.context, ctypes.c_uint64(SEED))
        (folder / "log").unlink(missing_ok=True)
        run(f"./{name}", "train", "--data", "npz:samples.npz", "--resume", "fresh", "--epochs", 2, "--log", "log", "--save", "after", cwd=folder)
        events = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
        steps = [event for event in events if event["event"] == "step"]
        self.assertEqual([event["n"] for event in steps], [32, 32, 11] * 2)
        for event in steps:
            loss, accuracy = library.step(batch(event["epoch"] - 1, BATCH * ((event["step"] - 1) % 3)))
            self.assertEqual([numpy.float32(loss), numpy.float32(accuracy)], [numpy.float32(event["loss"]), numpy.float32(event["accuracy"])])
        tensors, _ = safetensors_file.read(folder / "after")
        own = library.own()
        self.assertEqual(set(tensors), {n for n in own if n in tensors}, "everything is trained")
        for tensor, value in tensors.items():
            self.same(own[tensor], value, tensor)
        numpy.savez(folder / "images.npz", image=samples()["image"])
        run(f"./{name}", "predict", "--data", "npz:images.npz", "--load", "after", "--count", 7, "--output", "after.npz", cwd=folder)
        self.assertEqual(library.infer(samples(), 7).tobytes(), numpy.load(folder / "after.npz")["probability"].tobytes())

    def test_all_layers_of_digits(self):
        self.check_whole("digits")

    def test_all_layers_with_batch_norm(self):
        self.check_whole("normed_digits")

    def check_some(self, name, flag, chosen):
        """Against the trainer, step by step, with what is not trained put back after each."""
        folder, _ = trained(name)
        library = make(name, [f"--train={flag}"], "some")
        library.function("set_seed")(library.context, ctypes.c_uint64(SEED))
        first, _ = safetensors_file.read(folder / "fresh")
        current = "fresh"
        for step in range(3):
            (folder / "log").unlink(missing_ok=True)
            run(f"./{name}", "train", "--data", "npz:samples.npz", "--resume", current, "--epochs", 3, "--steps", step + 1, "--log", "log", "--save",
                "next", cwd=folder)
            event = [json.loads(line) for line in (folder / "log").read_text().splitlines()][1]
            self.assertEqual(numpy.float32(library.step(batch(0, BATCH * step))[0]), numpy.float32(event["loss"]))
            after, metadata = safetensors_file.read(folder / "next")
            for tensor in first:
                layer_state = re.search(r"\.running_\w+$", tensor) and "/" not in tensor
                if tensor.split("/")[0] not in chosen and not layer_state:
                    after[tensor] = first[tensor]
            current = "merged"
            safetensors_file.write(folder / current, after, metadata)
            own = library.own()
            for tensor in after:
                if tensor in own:
                    self.same(own[tensor], after[tensor], f"{tensor}, step {step}")
            parameters = {t for t in own if t in first and "/" not in t}
            self.assertLessEqual(chosen, parameters)
            self.assertFalse({t for t in parameters - chosen if not re.search(r"\.running_\w+$", t)})
        numpy.savez(folder / "images.npz", image=samples()["image"])
        run(f"./{name}", "predict", "--data", "npz:images.npz", "--load", "merged", "--count", 5, "--output", "some.npz", cwd=folder)
        self.assertEqual(library.infer(samples(), 5).tobytes(), numpy.load(folder / "some.npz")["probability"].tobytes())
        return library

    def test_the_last_layer_of_digits(self):
        library = self.check_some("digits", "dense1", {"dense1.weight", "dense1.bias"})
        whole = make("digits", ["--train"], "all")
        inference = pathlib.Path(trained("digits")[0]) / "inference.h"
        run(MXC, "compile", DIGITS, "--emit=header", "-o", inference, cwd=inference.parent)
        self.assertEqual(library.constant("TRAIN_ALL_ARENA_BYTES"), whole.constant("ARENA_BYTES"))
        self.assertEqual(whole.constant("TRAIN_ALL_ARENA_BYTES"), whole.constant("ARENA_BYTES"))
        self.assertIn(f"the cut saves {whole.constant('ARENA_BYTES') - library.constant('ARENA_BYTES')} */", library.header)
        # A last layer takes hardly more than inference: it and its optimizer's state.
        without = int(re.search(r"DIGITS_ARENA_BYTES (\d+) ", inference.read_text())[1])
        own = 3 * (16 * 64 + 16) * 4
        self.assertLess(library.constant("ARENA_BYTES"), without + own + 2048)
        self.assertEqual(library.constant("TRAIN_OWN_BYTES"), library.constant("STATE_BYTES") - STATE_HEADER)
        self.assertEqual(library.constant("WEIGHTS_BYTES"), whole.constant("WEIGHTS_BYTES"))

    def test_several_flags_train_what_any_of_them_names(self):
        together = make("digits", ["--train=dense1", "--train=conv2d0.bias,dense1.bias"], "together")
        self.assertEqual({name for name in together.own() if "/" not in name and re.search(r"weight$|bias$", name)}, {"conv2d0.bias", "dense1.weight", "dense1.bias"})
        self.assertEqual(together.header, make("digits", ["--train=dense1.bias,dense1,conv2d0.bias"], "together").header)
        whole = make("digits", ["--train=dense1", "--train"], "wholly")
        self.assertIn("conv2d1.weight", whole.own())
        shown = run(MXC, "inspect", "together.so", cwd=trained("digits")[0]).stdout
        self.assertRegex(shown, r"(?m)^trains +conv2d0\.bias, dense1\.weight, dense1\.bias$")
        self.assertRegex(shown, rf"(?m)^state of training +{together.constant('STATE_BYTES')} bytes$")

    def test_a_weight_that_two_layers_share(self):
        """It is one parameter, of the layer that made it: trained under that name, it is for both."""
        folder = trained("digits")[0] / "tied"
        folder.mkdir()
        (folder / "tied.cpp").write_text("""#include <mxc/mxc.h>
            using namespace mxc;
            MXC_MODEL(tied) {
              Symbol x = input("x", {batch(2), 3}), w = parameter("w", {3, 3}, {.init = ones()});
              Symbol y = matmul(matmul(x, w), w);
              output("y", y);
              minimize(mean(y));
              optimizer(sgd{.lr = 1});
            }""")
        weight = numpy.random.default_rng(3).normal(size=(3, 3)).astype("f4")
        safetensors_file.write(folder / "params", {"w": weight})
        run(MXC, "compile", "tied.cpp", "--params", "params", "--emit=shared", "--train=w", "-o", "tied.so", cwd=folder)
        library = Library(folder / "tied.so", "tied")
        x = numpy.ones((2, 3), "f4")
        library.step({"x": x})
        w, g, a = weight.astype("f8"), numpy.full((2, 3), 1 / 6), x.astype("f8")
        gradient = (a @ w).T @ g + a.T @ (g @ w.T)
        numpy.testing.assert_allclose(library.own()["w"], w - gradient, rtol=1e-5, atol=1e-6)

    def test_a_layer_between_and_a_parameter(self):
        chosen = {"conv2d1.weight", "dense1.bias"} | {f"batch_norm1.{n}" for n in ("gamma", "beta")}
        self.check_some("normed_digits", "dense1.bias,batch_norm1,conv2d1.weight", chosen)

    def test_clipping_is_by_the_norm_of_what_is_trained(self):
        name, norm, rate = "digits", 0.01, 0.5
        optimizer = f"--optimizer=sgd:clip_norm={norm},lr={rate}"
        folder, source = trained(name)
        library = make(name, ["--train=dense1"], "clipped", optimizer)
        before = library.own()
        library.step(batch(0, 0))
        after = library.own()
        squares = sum(((after[t].astype("f8") - before[t]) ** 2).sum() for t in ("dense1.weight", "dense1.bias"))
        self.assertAlmostEqual(math.sqrt(squares) / (norm * rate), 1, places=4)

    def test_a_report_that_is_no_mean(self):
        """It is shown of each step, as the trainer does in its log."""
        folder, _ = trained("digits")
        text = DIGITS.read_text().replace('accuracy(logits, label)', 'exp(mean(softmax_cross_entropy(logits, label)))').replace('"accuracy"', '"perplexity"')
        (folder / "perplexity.cpp").write_text(text)
        run(MXC, "compile", "perplexity.cpp", "-o", "perplexity", cwd=folder)
        (folder / "log").unlink(missing_ok=True)
        run("./perplexity", "train", "--data", "npz:samples.npz", "--resume", "fresh", "--epochs", 1, "--log", "log", "--save", "after", cwd=folder)
        run(MXC, "compile", "perplexity.cpp", "--params", "trained", "--emit=shared", "--train", "-o", "perplexity.so", cwd=folder)
        library = Library(folder / "perplexity.so", "digits")
        library.function("set_seed")(library.context, ctypes.c_uint64(SEED))
        steps = [json.loads(line) for line in (folder / "log").read_text().splitlines() if '"step",' in line]
        self.assertEqual(len(steps), 3)
        for position, event in enumerate(steps):
            loss, perplexity = library.step(batch(0, BATCH * position))
            self.assertEqual([numpy.float32(loss), numpy.float32(perplexity)], [numpy.float32(event["loss"]), numpy.float32(event["perplexity"])])
            self.assertAlmostEqual(math.log(perplexity), loss, places=5)

    def test_other_hyper_parameters(self):
        """Twice the rate of plain SGD is twice the change; what cannot be is refused."""
        changes = []
        for rate in (0.25, 0.5):
            library = make("digits", ["--train=dense1"], "rate", "--optimizer=sgd")
            fields = re.search(r"typedef struct digits_hypers \{\n(.*?)\}", library.header, re.S)[1]
            names = re.findall(r"double (\w+);", fields)
            values = (ctypes.c_double * len(names))()
            self.assertEqual(library.function("get_hypers")(library.context, values), 0)
            self.assertEqual(numpy.float32(re.search(r"double lr; /\* (\S+) at first \*/", fields)[1]), numpy.float32(values[names.index("lr")]))
            values[names.index("lr")] = rate
            self.assertEqual(library.function("set_hypers")(library.context, values), 0)
            before = library.own()["dense1.bias"]
            library.step(batch(0, 0))
            changes.append(library.own()["dense1.bias"].astype("f8") - before)
            values[names.index("lr")] = -1
            self.assertEqual(library.function("set_hypers")(library.context, values), 17)
        numpy.testing.assert_allclose(changes[1], 2 * changes[0], atol=2e-7)
        self.assertGreater(abs(changes[0]).max(), 1e-3)

    def test_a_state_goes_on_bit_for_bit(self):
        libraries = [make("normed_digits", ["--train"], f"state{i}") for i in range(2)]
        libraries[0].step(batch(0, 0))
        self.assertEqual(libraries[1].load(libraries[0].save()), 0)
        self.assertEqual(libraries[1].step(batch(1, 0)), libraries[0].step(batch(1, 0)), "dropout and running statistics, too")
        self.assertEqual(libraries[1].save(), libraries[0].save())
        steps = ctypes.c_int64()
        self.assertEqual(libraries[1].function("count_steps")(libraries[1].context, ctypes.byref(steps)), 0)
        self.assertEqual(steps.value, 2)
        other = make("normed_digits", ["--train=dense1"], "state2")
        self.assertEqual(other.load(libraries[0].save()), 20)
        other = make("digits", ["--train"], "state3")
        self.assertEqual(other.load(libraries[0].save()), 20)

    def test_weights_beside(self):
        folder, _ = trained("digits")
        library, within = (make("digits", ["--train=dense1"], *more) for more in (("beside", "--weights=file"), ("within",)))
        data, expected = batch(0, 0), None
        pointers = [(ctypes.c_void_p * 2)(data["image"].ctypes.data, data["label"].ctypes.data), (ctypes.c_void_p * 2)()]
        self.assertEqual(library.function("train_step")(library.context, *pointers, ctypes.c_int64(BATCH)), 10)
        file, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.assertEqual(library.function("map_weights")(str(folder / "beside.weights").encode(), ctypes.byref(file), ctypes.byref(size)), 0)
        self.assertEqual(library.function("set_weights")(library.context, file, size), 0)
        self.assertEqual(library.step(data), within.step(data))
        self.assertEqual(library.own()["dense1.weight"].tobytes(), within.own()["dense1.weight"].tobytes())

    def test_for_several_processors(self):
        library = make("digits", ["--train=dense1"], "versions", "--multiversion")
        one = make("digits", ["--train=dense1"], "one", "-mcpu=x86-64-v3")
        self.assertEqual(library.step(batch(0, 0)), one.step(batch(0, 0)))
        self.assertEqual(library.own()["dense1.weight"].tobytes(), one.own()["dense1.weight"].tobytes())


class Faces(unittest.TestCase):
    def test_headers_are_strict(self):
        folder, _ = trained("digits")
        run(MXC, "compile", DIGITS, "--params", "trained", "--emit=lib", "--train=dense1", "-o", "libdigits.a", cwd=folder)
        run("cc", *STRICT, f"-I{folder}", INPUTS / "training.c", "libdigits.a", "-lm", "-o", "training", cwd=folder)
        self.assertEqual(run("./training", cwd=folder).stdout, "all is well\n")
        run("c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{folder}", INPUTS / "training.cc", "libdigits.a",
            "-o", "training_cc", cwd=folder)
        self.assertEqual(run("./training_cc", cwd=folder).stdout.splitlines(), [
            "made 0", "step 0", "learns 1", "short input 6", "short loss 6", "no samples 4", "not wanted 0", "hypers 0", "seed 0", "steps 2",
            "save 0", "short save 18", "load 0", "short load 18"])

    def test_symbols(self):
        folder, _ = trained("digits")
        run(MXC, "compile", DIGITS, "--params", "trained", "--emit=lib", "--train", "-o", "libsymbols.a", cwd=folder)
        shown = {line.split()[-1] for line in run("nm", "-g", "--defined-only", "libsymbols.a", cwd=folder).stdout.splitlines() if " T " in line}
        verbs = "open run set_pool status_text build allocate destroy train_step get_hypers set_hypers set_seed count_steps save load"
        self.assertEqual(shown, {f"digits_{verb}" for verb in verbs.split()})

    def test_bare_metal(self):
        folder, _ = trained("digits")
        run(MXC, "compile", DIGITS, "--params", "trained", "--emit=lib", "--train=dense1", "--target=thumbv7em-none-eabihf", "--dim", "batch=4",
            "--optimizer=momentum", "-o", "libbare.a", cwd=folder)
        lines = run("llvm-nm-19", "-u", "libbare.a", cwd=folder).stdout.splitlines()
        undefined = {line.split()[-1] for line in lines if " U " in line}
        strangers = {name for name in undefined if not name.startswith("__aeabi_") and name not in ("memcpy", "memmove", "memset")}
        self.assertEqual(strangers, set())

    def test_header_alone(self):
        folder, _ = trained("digits")
        run(MXC, "compile", DIGITS, "--params", "trained", "--emit=lib", "--train=dense1", "-o", "libalone.a", cwd=folder)
        run(MXC, "compile", DIGITS, "--emit=header", "--train=dense1", "-o", "header.h", cwd=folder)
        build = re.compile("#define DIGITS_BUILD .*")
        self.assertEqual(build.search((folder / "alone.h").read_text())[0], build.search((folder / "header.h").read_text())[0])


class WrongUse(unittest.TestCase):
    def error(self, source, *flags, code=1, params=True):
        folder = pathlib.Path(scratch.name)
        return run(MXC, "compile", source, *(["--params", "none.st"] if params else []), "-o", "never", *flags, cwd=folder, code=code).stderr

    def test_unknown_layers(self):
        shown = self.error(DIGITS, "--emit=lib", "--train=dens1")
        self.assertRegex(shown, r"^\S*digits\.cpp:5:\d+: error: --train=dens1: the model has no layer and no parameter of that name; did you mean 'dense1'\?\n")
        self.assertRegex(shown, r"digits\.cpp:12:\d+: note: dense1\.weight is made here")
        shown = self.error(DIGITS, "--emit=lib", "--train=dense1.wieght")
        self.assertIn("--train=dense1.wieght: the model has no layer and no parameter of that name; did you mean 'dense1.weight'?\n", shown)
        self.assertIn("--train=zzz: the model has no layer and no parameter of that name\n", self.error(DIGITS, "--emit=lib", "--train=zzz"))

    def test_what_cannot_be_trained(self):
        shown = self.error(NORMED, "--emit=lib", "--train=batch_norm0.running_mean")
        self.assertIn("error: --train=batch_norm0.running_mean: nothing of it can be trained\n", shown)
        self.assertIn("note: batch_norm0.running_mean is made here\n", shown)
        source = pathlib.Path(scratch.name) / "aside.cpp"
        source.write_text("""#include <mxc/mxc.h>
            using namespace mxc;
            MXC_MODEL(aside) {
              Symbol x = input("x", {batch(4), 3});
              minimize(dense(x, {.units = 1}));
              output("y", dense(x, {.units = 2}));
            }""")
        self.assertIn("error: parameter dense1.weight is to be trained, but no gradient of the loss reaches it\n",
                      self.error(source, "--emit=lib", "--train=dense1.weight"))
        source.write_text("""#include <mxc/mxc.h>
            using namespace mxc;
            MXC_MODEL(aside) { output("y", dense(input("x", {batch(4), 3}), {.units = 2})); }""")
        self.assertIn("error: the model has no minimize(loss): there is nothing to train\n", self.error(source, "--emit=lib", "--train"))

    def test_flags(self):
        alone = "mxc: error: --train goes with libraries alone: --emit=lib, shared, header, or obj with --params\n"
        self.assertEqual(self.error(LENET, "--train", code=2, params=False), alone)
        self.assertEqual(self.error(LENET, "--emit=obj", "--train=dense1", code=2, params=False), alone)
        self.assertEqual(self.error(LENET, "--emit=lib", "--train=", code=2),
                         "mxc: error: --train=: names of layers or parameters are expected; --train alone trains all\n")
        self.assertEqual(self.error(LENET, "--emit=lib", "--train=a,,b", code=2),
                         "mxc: error: --train=a,,b: names of layers or parameters with ',' between are expected\n")


if __name__ == "__main__":
    unittest.main()
