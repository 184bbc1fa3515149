"""interrupt.py WHAT SIGNAL: runs mxc in a session of its own with its temporary folder in ./tmp, sends the signal once mxc is at WHAT,
and says how it ended and what it left behind. WHAT: `staging` (of endless.cpp, the signal goes to mxc alone) or `running` (a program
that trains; the signal goes to all, as Ctrl-C at a terminal does)."""
import glob
import os
import signal
import subprocess
import sys
import time

what, number = sys.argv[1], getattr(signal, sys.argv[2])
os.makedirs("tmp", exist_ok=True)
command = {
    "staging": ["mxc", "compile", "endless.cpp", "--emit=obj", "--stage-time-limit=100"],
    "running": ["mxc", "run", "trainable.cpp", "--", "train", "--data", "random:4000", "--epochs", "100000", "--log", "log"],
}[what]
ready = {"staging": "tmp/*/model.so", "running": "log"}[what]


def others(session):
    """Processes of the session that still live."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = open(stat).read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(stat)
    return found


process = subprocess.Popen(command, env=dict(os.environ, TMPDIR=os.path.abspath("tmp")), start_new_session=True,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a shell may have it ignored
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
deadline = time.time() + 120
while not (glob.glob(ready) and os.path.getsize(glob.glob(ready)[0])):
    if process.poll() is not None or time.time() > deadline:
        sys.exit(f"mxc did not get there: {process.poll()}")
    time.sleep(0.02)
time.sleep(0.2)
os.killpg(process.pid, number) if what == "running" else process.send_signal(number)
print("ended with", process.wait(timeout=60))
deadline = time.time() + 20  # what was told to end may still be ending
while (os.listdir("tmp") or others(process.pid)) and time.time() < deadline:
    time.sleep(0.02)
print("left", os.listdir("tmp"), len(others(process.pid)))
