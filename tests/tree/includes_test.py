"""The one-way rule of the tree: frontend -> ir <- passes, codegen -> ir, codegen -> runtime/core/plan.h, runtime alone.

Scans the #include lines of every source. Usage: includes_test.py ROOT
"""
import pathlib
import posixpath
import re
import sys

# What a folder may include of the repository's folders, beside itself. The most specific entry counts.
ALLOWED = {
    "frontend/dsl": ["runtime/api"],
    "frontend/stage": ["frontend"],
    "frontend": ["frontend", "ir"],
    "ir": [],
    "passes": ["ir"],
    "codegen": ["ir", "runtime/core/plan.h"],
    "runtime/api": [],
    "runtime": [],
}
FOLDERS = ["frontend", "ir", "passes", "codegen", "runtime", "driver", "tests", "bench", "examples"]
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^>"]+)[>"]')
COMMENT = re.compile(r"/\*.*?\*/")
# Libraries that a folder must not see at all.
FORBIDDEN = {
    "runtime": re.compile(r"^(llvm|mlir|clang)"),
    "frontend/dsl": re.compile(r"^(llvm|mlir|absl|nlohmann|CLI)"),
    "runtime/api": re.compile(r"^(llvm|mlir|absl|nlohmann|CLI)"),
}


def from_root(root, path, name):
    """An include as it reads from the root: relative ones are resolved, <mxc/...> is the runtime's or else the DSL's."""
    if name.startswith("."):
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if not name.startswith("mxc/"):
        return name
    public = name.removeprefix("mxc/")
    return ("runtime/api/" if (root / "runtime/api" / public).exists() else "frontend/dsl/") + public


def folder_of(path):
    matches = [f for f in ALLOWED if path == f or path.startswith(f + "/")]
    return max(matches, key=len) if matches else None


def violations(root):
    for file in sorted(root.rglob("*")):
        if file.suffix not in (".h", ".cc", ".cpp", ".inc", ".td") or not file.is_file():
            continue
        path = file.relative_to(root).as_posix()
        folder = folder_of(path)
        if folder is None or path.startswith("build"):
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(COMMENT.sub("", line))
            if not match:
                continue
            name = from_root(root, path, match.group(1))
            forbidden = [p for f, p in FORBIDDEN.items() if path.startswith(f + "/") and p.match(name)]
            own = name.split("/")[0] in FOLDERS
            allowed = name.startswith(folder + "/") or any(name == a or name.startswith(a + "/") for a in ALLOWED[folder])
            if forbidden or (own and not allowed):
                yield f"{path}:{number}: {folder} must not include {name}"


def self_test(scratch):
    """A tree with one violation of each kind is refused: the test can fail."""
    (scratch / "ir").mkdir(parents=True)
    (scratch / "runtime/core").mkdir(parents=True)
    (scratch / "runtime/api").mkdir()
    (scratch / "runtime/api/array.h").write_text('#include "mxc/device.h"\n#include "absl/status/status.h"\n')
    (scratch / "runtime/api/device.h").write_text("")
    (scratch / "ir/a.cc").write_text('#include "passes/passes.h"\n/**/ #include "../passes/passes.h"\n#include "./b.h"\n#include "mxc/mxc.h"\n')
    (scratch / "ir/a.td").write_text('include "codegen/a.td"\ninclude "ir/b.td"\n')
    (scratch / "runtime/core/b.cc").write_text("#include <llvm/ADT/StringRef.h>\n#include <vector>\n")
    return len(list(violations(scratch))) == 6


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        assert self_test(pathlib.Path(scratch)), "the scan misses violations"
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "no include against the one-way rule")
    sys.exit(1 if found else 0)
