# Text in, text out: each .mlir file runs its RUN lines. Started by CTest with --param bin=BUILD --param llvm=LLVM's bin folder.
import os
import lit.formats

config.name = "mxc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(lit_config.params["bin"], "tests", "compiler", "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(lit_config.params["bin"], "tests", "tools"), lit_config.params["llvm"], os.environ["PATH"]])
