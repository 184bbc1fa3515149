"""flags_in_manual.py MANUAL VERB...: every flag in the --help of each verb stands in the verb's section of the manual page."""
import re
import subprocess
import sys

sections = open(sys.argv[1]).read().replace("\\-", "-").split(".SH MXC ")
count = 0
for verb in sys.argv[2:]:
    section = next(s for s in sections if s.startswith(verb.upper() + "\n"))
    for line in subprocess.run(["mxc", verb, "--help"], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.match(r"  (-[^ ]+)", line)
        for flag in found.group(1).split(",") if found else []:
            count += 1
            if rf"\fB{flag}\fR" not in section:
                sys.exit(f"mxc {verb}: {flag} is not in the manual page")
if count < 20:
    sys.exit(f"only {count} flags were found in the help")
