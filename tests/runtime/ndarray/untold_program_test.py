"""What a program says at the end of its main of operations that failed. Usage: untold_program_test.py PROGRAM (untold_program.cc)"""
import subprocess
import sys


def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


UNTOLD = "error: an operation failed, and nobody has read its result: take: index 7 at {0} is outside of an axis of 2 (called at "

assert run("good") == (0, "", ""), run("good")
code, out, error = run()
assert code == 1 and error.startswith(UNTOLD) and error.count("\n") == 1 and "untold_program.cc:11:" in error, (code, error)
code, out, error = run("more")
assert code == 1 and error.startswith(UNTOLD) and error.endswith("; and 1 other\n"), (code, error)
assert run("read") == (0, "read\n", ""), run("read")
code, out, error = run("three")  # main's own code stays
assert code == 3 and error.startswith(UNTOLD), (code, error)
code, out, error = run("exits")
assert code == 1 and out == "before" and error.startswith(UNTOLD) and error.count("\n") == 1, (code, out, error)
code, out, error = run("exits three")
assert code == 3 and error.startswith(UNTOLD) and error.count("\n") == 1, (code, error)
code, out, error = run("throws")  # told by the exception, which ends the program
assert code == 1 and error.count("\n") == 1 and "nobody" not in error and "untold_program.cc:25:" in error, (code, error)
