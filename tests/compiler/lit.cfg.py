# Text in, text out: lit runs the RUN lines of each file, FileCheck compares. Started by CTest with --param bin=BUILD and
# --param llvm=LLVM's bin folder. On PATH: mxc, mxc-opt, FileCheck, not, split-file. `%exits N command` succeeds if the command ends
# with exit code N.
import os
import subprocess

import lit.formats

config.name = "mxc"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".cpp", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
build = lit_config.params["bin"]
config.test_exec_root = os.path.join(build, "tests", "compiler", "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), os.path.join(build, "tests", "tools"), lit_config.params["llvm"], os.environ["PATH"]])
root = os.path.dirname(os.path.dirname(config.test_source_root))
config.substitutions.append(("%{tblgen}", f"llvm-tblgen --dump-json -I {root} -I {lit_config.params['llvm']}/../include"))
config.substitutions.append(("%{scripts}", os.path.join(root, "scripts")))
config.substitutions.append(("%exits", "sh " + os.path.join(config.test_source_root, "exits.sh")))

# May a test mount a file system that it alone sees?
try:
    subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, check=True)
    config.available_features.add("mount-namespace")
except (OSError, subprocess.CalledProcessError):
    pass

# Has the build precompiled mxc/mxc.h, which it does for GCC alone?
if os.path.isdir(os.path.join(build, "include", "mxc", "mxc.h.gch")):
    config.available_features.add("precompiled")
