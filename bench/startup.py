"""How long a program with a model's library takes from its start to its first result, and how much memory it has resident by then.

Usage: bench/startup.py ROOT BUILD [RUNS [MODEL...]]. Goals: lenet 5 ms; resnet50 200 ms and 130 MiB. The test tests/examples/startup_test.py holds
them. Files are in the page cache after the first run, which does not count. With weights in the library and beside it (checked by their sum).
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().parent / "startup.c"


def run(*command, cwd):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {command}\n{done.stdout}{done.stderr}")


def build(root, build_folder, model, folder, weights="embed"):
    """The command that starts a program with the model's library, for one picture at once and with parameters of one training step."""
    mxc, source = build_folder / "bin/mxc", root / f"examples/{model}/{model}.cpp"
    if not (folder / "trained.safetensors").exists():
        run(mxc, "compile", source, "--dim", "batch=2", "-o", "trainer", cwd=folder)
        run("./trainer", "train", "--data", "random:2", "--epochs", 1, "--save", "trained.safetensors", cwd=folder)
    run(mxc, "compile", source, "--dim", "batch=1", "--params", "trained.safetensors", "--emit=lib", f"--weights={weights}", "-o", f"lib{model}.a",
        cwd=folder)
    names = {"HEADER": f'"{model}.h"', "CREATE": f"{model}_create", "RUN": f"{model}_run", "INPUTS": f"{model}_inputs", "OUTPUTS": f"{model}_outputs",
             "ELEMENTS": f"{model.upper()}_INPUT_IMAGE_ELEMENTS", "RESULTS": f"{model.upper()}_OUTPUT_PROBABILITY_ELEMENTS"}
    if weights == "file":
        names |= {"MAP": f"{model}_map_weights", "USE": f"{model}_set_weights"}
    defines = [f"-D{name}={value}" for name, value in names.items()]
    run("cc", "-std=c99", "-O2", *defines, f"-I{folder}", PROGRAM, f"lib{model}.a", "-lm", "-o", weights, cwd=folder)
    return [str(folder / weights)] + ([str(folder / f"{model}.weights")] if weights == "file" else [])


def start(command):
    """From before the process is made until its first result: milliseconds, those of processor time among them, and MiB resident by then."""
    read, write = os.pipe()
    begin = time.monotonic_ns()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    with os.fdopen(read) as output:
        text = output.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code != 0:
        raise RuntimeError(f"exit code {code}: {command}")
    clock, processor, kib = (int(number) for number in text.split())
    return (clock - begin) / 1e6, processor / 1e6, kib / 1024


def measure(command, runs):
    """Times of all runs but the first in ms, ascending, by the clock and of the processor, and the largest memory in MiB."""
    times, processor, memory = zip(*[start(command) for _ in range(runs + 1)][1:])
    return sorted(times), sorted(processor), max(memory)


if __name__ == "__main__":
    root, build_folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 21
    for model in sys.argv[4:] or ["lenet", "resnet50"]:
        with tempfile.TemporaryDirectory() as scratch:
            for weights in ("embed", "file"):
                times, processor, memory = measure(build(root, build_folder, model, pathlib.Path(scratch), weights), runs)
                print(f"{model}, --weights={weights}: first result after {times[0]:.2f} ms at best, {statistics.median(times):.2f} in the middle, "
                      f"{times[-1]:.2f} at worst ({processor[0]:.2f} of processor time at best); {memory:.1f} MiB", flush=True)
