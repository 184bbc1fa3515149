"""Processes of this machine, by what they run."""
import os
import pathlib


def processes_of(program):
    """Those that run it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def process_with(program, variable):
    """One that runs it and has this in its environment: b"NAME=VALUE"."""
    return next(p for p in processes_of(program) if variable + b"\0" in pathlib.Path(f"/proc/{p}/environ").read_bytes())
