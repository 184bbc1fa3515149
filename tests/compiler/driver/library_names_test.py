"""Headers of embedded libraries whatever a model calls itself, its inputs and outputs: they compile, as C and as C++, with every warning an error.

Usage: library_names_test.py ROOT BUILD [unittest arguments].
"""
import json
import re
import unittest

import numpy

from library_fixture import MXC, pathlib, run, scratch
import safetensors_file

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
LANGUAGES = (("cc", "c99", "c"), ("cc", "gnu17", "c"), ("clang-19", "c99", "c"), ("clang-19", "gnu23", "c"), ("c++", "c++17", "cc"), ("c++", "gnu++20", "cc"),
             ("clang++-19", "c++17", "cc"), ("clang++-19", "gnu++23", "cc"))
# What a program may have included before the library's header.
BEFORE = {"c": "#include <complex.h>\n#include <errno.h>\n#include <limits.h>\n#include <math.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
               "#include <string.h>\n#include <time.h>\n",
          "cc": "#include <cerrno>\n#include <climits>\n#include <cmath>\n#include <cstdio>\n#include <ctime>\n#include <string>\n#include <vector>\n"}
WORDS = ("and", "bool", "true", "_Bool", "asm", "typeof", "nullptr", "constexpr", "xor", "co_await", "inline", "restrict", "wchar_t", "thread_local", "char8_t",
         "requires", "_Complex", "alignas", "static_assert", "final", "3d", "x-1", "this", "errno", "stdin", "I", "unix", "linux", "i386", "NULL", "int32_t",
         "uint64_t", "size_t", "INT64_C", "UINT64_MAX", "__LINE__", "__func__", "span", "inputs", "outputs", "in", "out", "n", "samples", "context", "model", "data",
         "c_inputs", "std", "float", "x", "X", "x_", "y", "Y", "a.b", "a_b", "a-b", "none")


def folder(name):
    made = pathlib.Path(scratch.name) / name
    made.mkdir()
    return made


class Names(unittest.TestCase):
    def strict(self, where, *headers):
        """That the headers compile, alone and behind others of the C library, and that what they offer in C++ can be instantiated."""
        for compiler, language, ending in LANGUAGES:
            for before in ("", BEFORE[ending]):
                lines = "".join(f'#include "{header}.{"hpp" if ending == "cc" else "h"}"\n' for header in headers)
                (where / f"face.{ending}").write_text(f"{before}{lines}int main(void) {{ return 0; }}\n")
                run(compiler, f"-std={language}", *WARNINGS, f"face.{ending}", cwd=where)

    def model(self, name, body, where, *flags):
        (where / f"{name}.cpp").write_text(f"#include <mxc/mxc.h>\nusing namespace mxc;\nMXC_MODEL({name}) {{ {body} }}\n")
        run(MXC, "compile", f"{name}.cpp", "--emit=lib", *flags, "-o", f"lib{name}.a", cwd=where)

    def test_of_inputs_and_outputs(self):
        where = folder("words")
        words = json.dumps(list(WORDS)).strip("[]")
        self.model("words", f"""Symbol h = input("first", {{batch(4), 3}});
          for (const char* word : {{{words}}}) h = h + input(word, {{batch(4), 3}});
          for (const char* word : {{{words}}}) output(word, h * 2);""", where)
        self.strict(where, "words")
        header = (where / "words.h").read_text()
        fields = re.findall(r"^  const float\* (\w+);", header, re.MULTILINE)
        self.assertEqual(len(set(fields)), 1 + len(WORDS))
        self.assertEqual([fields[1 + WORDS.index(word)] for word in ("x", "X", "x_", "NULL", "_Bool", "a.b", "a_b", "span")],
                         ["x", "X_", "x__", "NULL_", "_Bool_", "a_b", "a_b_", "span"])

    def test_without_inputs_and_without_samples(self):
        where = folder("none")
        safetensors_file.write(where / "w", {"w": numpy.ones(2, "f4")})
        self.model("noin", 'output("y", parameter("w", {2}, {.init = ones()}) * 2);', where, "--params", "w")
        self.model("nobatch", 'output("y", input("a", {4, 3}) * 2);', where)
        self.strict(where, "noin", "nobatch")

    def test_two_models_one_of_which_is_called_as_the_others_training(self):
        where = folder("two")
        safetensors_file.write(where / "params", {"dense0.weight": numpy.ones((1, 3), "f4"), "dense0.bias": numpy.ones(1, "f4")})
        self.model("foo", 'Symbol y = dense(input("x", {batch(4), 3}), {.units = 1}); output("y", y); minimize(mean(square(y))); optimizer(sgd{.lr = 0.1});',
                   where, "--train", "--params", "params")
        for name in ("foo_train", "foo_set", "foo_get", "foo_train_all", "foo_wrong", "foo_other", "foo_batch"):
            self.model(name, 'output("y", relu(input("x", {batch(4), 3})));', where)
        self.strict(where, "foo", "foo_train", "foo_set", "foo_get", "foo_train_all", "foo_wrong", "foo_other", "foo_batch")
        self.assertIn("int foo_train__run(", (where / "foo_train.h").read_text())
        (where / "both.c").write_text("""#include <stdio.h>
#include "foo.h"
#include "foo_train.h"
int main(void) {
  float x[3] = {-1, 2, -3}, y[3];
  foo_train__inputs inputs = {x};
  foo_train__outputs outputs = {y};
  foo_train__context* net = foo_train__create();
  printf("%d ", foo_train__run(net, &inputs, &outputs, 1));
  printf("%g %d\\n", y[1], foo_create() != 0);
  return 0;
}
""")
        run("cc", "-std=c99", "both.c", "libfoo.a", "libfoo_train.a", "-lm", "-o", "both", cwd=where)
        self.assertEqual(run("./both", cwd=where).stdout, "0 2 1\n")

    def named(self, where, library, name):
        """A library of a model in symbol JSON, whose name may be any text."""
        if not (where / "plain.json").exists():
            (where / "plain.cpp").write_text('#include <mxc/mxc.h>\nusing namespace mxc;\nMXC_MODEL(plain) { output("y", relu(input("x", {batch(4), 3}))); }\n')
            run(MXC, "compile", "plain.cpp", "--emit=graph", "-o", "plain.json", cwd=where)
        graph = json.loads((where / "plain.json").read_text())
        (where / f"{library}.json").write_text(json.dumps({**graph, "model": name}))
        run(MXC, "compile", f"{library}.json", "--emit=lib", "-o", f"lib{library}.a", cwd=where)
        header, wrapper = (where / f"{library}.h").read_text(), (where / f"{library}.hpp").read_text()
        return re.search(r"int (\w+)_run\(", header)[1], re.search(r"^namespace (\w+) \{", wrapper, re.MULTILINE)[1]

    def test_of_models(self):
        where = folder("models")
        expected = {"std": ("std_", "std_"), "linux": ("linux_", "linux_"), "sem": ("sem_", "sem_"), "timer": ("timer_", "timer_"), "span": ("span", "span"),
                    "model": ("model", "model"), "exp": ("exp", "exp_"), "time": ("time", "time_"), "X": ("X", "X"), "while": ("while_", "while_")}
        for name, (prefix, space) in expected.items():
            self.assertEqual(self.named(where, f"of_{name}", name), (prefix, space))
        self.strict(where, *(f"of_{name}" for name in expected))

    def test_of_a_model_that_is_called_as_a_function(self):
        """Of the C library, of the DSL, or as a namespace; in a program the model is then told apart by its own."""
        where = folder("functions")
        for name in ("exp", "index", "main", "std", "mxc", "dense"):
            self.model(name, 'output("y", mxc::relu(mxc::input("x", {mxc::batch(4), 3})));', where)
        self.strict(where, "exp", "index", "main", "std", "mxc", "dense")
        (where / "called.cpp").write_text("""#include <cmath>

#include <mxc/mxc.h>
MXC_MODEL(exp) { mxc::output("y", mxc::input("x", {mxc::batch(4), 3}) * 2); }
int main() {
  mxc::Executor net(mxc_models::exp, mxc::cpu());
  (void)std::exp(1.0);
}
""")
        run("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", MXC.parent.parent / "include", "called.cpp", cwd=where)

    def test_of_a_model_that_is_any_text(self):
        """It stands in a comment, too."""
        where = folder("text")
        names = ("a */ int b; /* c", "line\nbreak", "3d", "größe", "back\\slash\\", "{p}")
        for number, name in enumerate(names):
            self.named(where, f"number{number}", name)
        self.strict(where, *(f"number{number}" for number in range(len(names))))

    def test_of_libraries(self):
        shown = run(MXC, "compile", "x.cpp", "--emit=lib", "-o", 'a"b.a', cwd=pathlib.Path(scratch.name), code=2).stderr
        self.assertEqual(shown, "mxc: error: -o a\"b.a: the library's headers include each other by a name in which '\"', '\\' and ends of lines have no place\n")


if __name__ == "__main__":
    unittest.main()
