"""mxc as it is installed: moved to another place without the build, found by CMake and pkg-config, and as a Debian package.

Usage: install_test.py ROOT BUILD [unittest arguments].
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tests"))
import safetensors_file

PROJECT = pathlib.Path(__file__).resolve().parent / "project"
DIGITS = f"csv:{ROOT}/examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"

# Runs a command where the repository and the build are empty folders.
HIDDEN = """
for folder in "$1" "$2"; do if [ -d "$folder" ]; then mount -t tmpfs none "$folder" || exit 99; fi; done
shift 2
exec "$@"
"""


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} instead of {code}: {command}\n{done.stdout}{done.stderr}")
    return done


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"SKIPPED: {program} is not installed", file=sys.stderr)
            raise unittest.SkipTest(f"{program} is not installed")


def install(folder):
    run("cmake", "--install", BUILD, "--prefix", folder, cwd=folder.parent)


class Scratch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()


class Moved(Scratch):
    """Installed, moved, and run where neither the repository nor the build can be seen."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install(cls.folder / "first")
        (cls.folder / "first").rename(cls.folder / "moved")
        cls.mxc = cls.folder / "moved/bin/mxc"
        for name in ("digits", "regression"):
            shutil.copy(ROOT / f"examples/{name}/{name}.cpp", cls.folder)
        if subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True).returncode != 0:
            print("SKIPPED: this machine lets no test hide a folder", file=sys.stderr)
            raise unittest.SkipTest("no mounts of a test's own")

    def hidden(self, *command, **more):
        return run("unshare", "-rm", "sh", "-c", HIDDEN, "sh", ROOT, BUILD, *command, cwd=self.folder, **more)

    def test_the_build_is_hidden(self):
        self.assertNotEqual(subprocess.run(["unshare", "-rm", "sh", "-c", HIDDEN, "sh", ROOT, BUILD, BUILD / "bin/mxc", "--version"],
                                           capture_output=True).returncode, 0)

    def test_a_program(self):
        self.hidden(self.mxc, "compile", "digits.cpp", "-o", "digits")
        run(BUILD / "bin/mxc", "compile", "digits.cpp", "-o", "built", cwd=self.folder)
        self.assertEqual((self.folder / "digits").read_bytes(), (self.folder / "built").read_bytes())

    def test_a_library(self):
        run(BUILD / "bin/mxc", "compile", "digits.cpp", "-o", "trainer", cwd=self.folder)
        run("./trainer", "train", "--data", DIGITS, "--steps", 20, "--save", "digits.safetensors", cwd=self.folder)
        self.hidden(self.mxc, "compile", "digits.cpp", "--params", "digits.safetensors", "--emit=lib", "-o", "libdigits.a")
        shutil.copy(ROOT / "examples/library/recognize.c", self.folder)
        self.hidden("cc", "-I.", "recognize.c", "libdigits.a", "-lm", "-o", "recognize")
        images = numpy.random.default_rng(1).normal(size=(9, 1, 8, 8)).astype("f4")
        images.tofile(self.folder / "images.f32")
        numpy.savez(self.folder / "images.npz", image=images)
        self.hidden("./recognize", "images.f32", "probability.f32", 4)
        run("./trainer", "predict", "--data", "npz:images.npz", "--load", "digits.safetensors", "--count", 9, "--batch", 4,
            "--output", "expected.npz", cwd=self.folder)
        expected = numpy.load(self.folder / "expected.npz")["probability"]
        self.assertEqual(expected.shape, (9, 10))
        self.assertEqual((self.folder / "probability.f32").read_bytes(), expected.tobytes())
        self.hidden(self.mxc, "verify", "digits.cpp", "--params", "digits.safetensors", "--data", self.reference(images, expected))

    def reference(self, images, expected):
        numpy.savez(self.folder / "reference.npz", image=images, probability=expected)
        return "reference.npz"

    def test_a_library_for_every_machine(self):
        run(BUILD / "bin/mxc", "compile", "digits.cpp", "-o", "other", cwd=self.folder)
        run("./other", "train", "--data", "random:32", "--steps", 1, "--save", "random.safetensors", cwd=self.folder)
        names = re.search(r"^ *--target (\S+)$", run(self.mxc, "compile", "--help", cwd=self.folder).stdout, re.MULTILINE)[1].split("|")
        self.assertIn("wasm32", names)
        for name in names:
            self.hidden(self.mxc, "compile", "digits.cpp", "--params", "random.safetensors", "--emit=lib", f"--target={name}", "-o", f"lib{name}.a")

    def test_a_main_of_its_own(self):
        self.hidden(self.mxc, "compile", "regression.cpp", "-o", "regression")
        self.hidden("./regression")

    def test_precompiled_headers_serve(self):
        if not (BUILD / "include/mxc/mxc.h.gch").is_dir():
            self.skipTest("the host compiler of the build is not GCC")
        (self.folder / "wrong.cpp").write_text('#include <mxc/mxc.h>\nMXC_MODEL(net) { mxc::input("x"); }\n')
        shown = self.hidden(self.mxc, "compile", "wrong.cpp", code=1).stderr
        self.assertNotIn(str(BUILD), shown)
        for use in ("staging", "main"):
            self.assertNotIn(str(BUILD).encode(), (self.folder / "moved/include/mxc/mxc.h.gch" / use).read_bytes())

    def test_manual_and_completions(self):
        share = self.folder / "moved/share"
        self.assertIn(".TH MXC 1", (share / "man/man1/mxc.1").read_text())
        self.assertTrue((share / "bash-completion/completions/mxc").is_file())
        self.assertTrue((share / "zsh/site-functions/_mxc").is_file())

    def test_pkg_config(self):
        need("pkg-config")
        files = str(self.folder / "moved/lib/pkgconfig")
        ask = lambda flag: run("pkg-config", flag, "mxc", cwd=self.folder, PKG_CONFIG_PATH=files).stdout.strip()
        version = run(self.mxc, "--version", cwd=self.folder).stdout.split()[1]
        self.assertEqual(ask("--modversion"), version)
        self.assertEqual(pathlib.Path(ask("--variable=mxc")).resolve(), self.mxc.resolve())
        include, = re.findall(r"-I(\S+)", ask("--cflags"))
        self.assertTrue((pathlib.Path(include) / "mxc/mxc.h").is_file())
        self.assertEqual(ask("--libs"), "-lm")


class Models(Scratch):
    """mxc_add_model in a project of a user's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.folder / "prefix"
        install(cls.prefix)

    def project(self, name):
        source = self.folder / name
        shutil.copytree(PROJECT, source)
        self.write_params(source, 2)
        return source

    def write_params(self, source, bias):
        safetensors_file.write(source / "net.safetensors",
                               {"dense0.weight": numpy.array([[1, 10, 100]], "f4"), "dense0.bias": numpy.array([bias], "f4")})

    def configure(self, source, *flags, code=0):
        return run("cmake", "-S", source, "-B", source / "out", f"-DCMAKE_PREFIX_PATH={self.prefix}", *flags, cwd=self.folder, code=code)

    def check_rebuilds(self, generator):
        """Made again when the model, its includes, its parameters or mxc have changed, and not otherwise."""
        source = self.project(f"project of {generator}")  # with a space in its name
        self.configure(source, "-G", generator)
        out = source / "out"

        def build():
            before = {p: p.stat().st_mtime_ns for p in self.made(out) if p.exists()}
            run("cmake", "--build", out, cwd=source)
            return {p.name for p in self.made(out) if p.stat().st_mtime_ns != before.get(p)}

        everything = {"libnet.a", "libnet_sets.a", "libnet_shared.so", "net_program"}
        self.assertEqual(build(), everything)
        self.assertEqual(run("./user", cwd=out).stdout, "2 323\n")
        self.assertEqual(run("./user_sets", cwd=out).stdout, "4 1 4 323\n")
        shared = run("./user_shared", out / "mxc/net_shared/net_shared.weights", cwd=out).stdout
        self.assertEqual(shared, "8 323\n")
        self.assertIn("dense0.weight", run("./net_program", "info", cwd=out).stdout)
        self.assertEqual(build(), set())

        self.write_params(source, 4)
        self.assertEqual(build(), {"libnet.a", "libnet_sets.a", "libnet_shared.so"})
        self.assertEqual(run("./user", cwd=out).stdout, "2 325\n")
        (source / "sizes.h").write_text((source / "sizes.h").read_text().replace("kFactor = 1", "kFactor = 2"))
        self.assertEqual(build(), everything)
        self.assertEqual(run("./user", cwd=out).stdout, "2 650\n")
        os.utime(source / "net.cpp")
        self.assertEqual(build(), everything)
        os.utime(source / "user.c")
        self.assertEqual(build(), set())
        os.utime(self.prefix / "bin/mxc")
        self.assertEqual(build(), everything)
        os.utime(self.prefix / "include/mxc/symbol.h")
        self.assertEqual(build(), everything)
        self.assertEqual(build(), set())

    def made(self, out):
        return [out / "mxc/net/libnet.a", out / "mxc/net_sets/libnet_sets.a", out / "mxc/net_shared/libnet_shared.so", out / "net_program"]

    def test_rebuilds_with_ninja(self):
        self.check_rebuilds("Ninja")

    def test_rebuilds_with_make(self):
        need("make")
        self.check_rebuilds("Unix Makefiles")

    def test_wrong_uses(self):
        source = self.project("wrong")
        top = "cmake_minimum_required(VERSION 3.21)\nproject(user LANGUAGES NONE)\nfind_package(mxc CONFIG REQUIRED)\n"
        for call, message in [
            ("nett nett.cpp PARAMS net.safetensors", f"there is no file {source}/nett.cpp"),
            ("net net.cpp PARAMS nowhere.safetensors", f"there is no file {source}/nowhere.safetensors"),
            ("net . EMIT exe", f"{source} is a folder"),
            ("net net.cpp PARAM net.safetensors", "'PARAM' is none of PARAMS, DIMS, EMIT, FLAGS"),
            ("net net.cpp PARAMS", "PARAMS has no value"),
            ("net net.cpp EMIT obj", "EMIT obj is none of lib, shared, exe"),
            ("net net.cpp EMIT exe DIMS batch=1 DIMS batch=2", "DIMS is given several times: libraries alone hold several sets of sizes"),
            ("net net.cpp DIMS batch=1 DIMS PARAMS net.safetensors", "DIMS has no value"),
            ("net net.cpp EMIT exe PARAMS net.safetensors", "PARAMS goes with libraries, EMIT lib or shared"),
            ("net net.cpp PARAMS net.safetensors DIMS batch", "DIMS batch: name=size is expected"),
            ("net net.cpp PARAMS net.safetensors FLAGS -o x", "FLAGS: -o is given by mxc_add_model itself"),
            ("mxc::mxc net.cpp PARAMS net.safetensors", "there is a target of this name already"),
        ]:
            with self.subTest(call):
                (source / "CMakeLists.txt").write_text(f"{top}mxc_add_model({call})\n")
                shutil.rmtree(source / "out", ignore_errors=True)
                shown = self.configure(source, code=1).stderr
                name = call.split()[0]
                self.assertIn(f"(message): mxc_add_model({name}): {message}\n", self.unwrapped(shown))
                self.assertIn("CMakeLists.txt:4 (mxc_add_model)", shown)
                self.assertEqual(shown.count("CMake Error"), 1, shown)

    def unwrapped(self, text):
        """CMake breaks long lines of a message; the following ones begin with two spaces, as the first one does."""
        return re.sub(r"(?<=\S)\n  (?=\S)", " ", text)


class Package(Scratch):
    """cpack."""

    def test_contents_and_dependencies(self):
        need("cpack", "dpkg-deb", "dpkg-shlibdeps")
        run("cpack", "-G", "DEB", "-B", self.folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", cwd=BUILD)
        package, = self.folder.glob("*.deb")
        field = lambda name: run("dpkg-deb", "-f", package, name, cwd=self.folder).stdout.strip()
        self.assertEqual(field("Package"), "mxc")
        self.assertEqual(field("Version"), run(BUILD / "bin/mxc", "--version", cwd=self.folder).stdout.split()[1])
        self.assertEqual(field("Architecture"), run("dpkg", "--print-architecture", cwd=self.folder).stdout.strip())
        depends = {re.split(r"[ :]", choice)[0] for choice in field("Depends").split(", ")}
        self.assertLessEqual({"g++", "libabsl-dev", "zlib1g-dev", "libjpeg62-turbo-dev", "libpng-dev", "libc6", "libmlir-19", "libllvm19"}, depends)
        self.assertRegex(field("Depends"), r"libabsl-dev \(>= \d+\), libabsl-dev \(<< \d+\)")
        run("dpkg-deb", "-x", package, self.folder / "files", cwd=self.folder)
        files = {str(p.relative_to(self.folder / "files")) for p in (self.folder / "files").rglob("*") if not p.is_dir()}
        installed = {"usr/" + str(p.relative_to(self.installed())) for p in self.installed().rglob("*") if not p.is_dir()}
        self.assertEqual({name.replace("site-functions", "vendor-completions") for name in installed}, files)
        self.assertLessEqual({"usr/bin/mxc", "usr/lib/mxc/mxc-stage", "usr/lib/mxc/link_runtime.txt", "usr/lib/mxc/embed/wasm32/run.bc",
                              "usr/include/mxc/mxc.h", "usr/lib/cmake/mxc/mxcConfig.cmake", "usr/lib/pkgconfig/mxc.pc",
                              "usr/share/man/man1/mxc.1", "usr/share/zsh/vendor-completions/_mxc", "usr/share/doc/mxc/library.md"}, files)
        self.assertEqual({name for name in files if name.endswith((".d", ".o", ".gtest"))}, set())
        # A static archive that a program is linked with and that is not ours belongs to one of the packages.
        for listed in ("link_runtime.txt", "link_main.txt"):
            for line in (self.installed() / "lib/mxc" / listed).read_text().splitlines():
                if line.startswith("-l:"):
                    self.assertRegex(line, r"^-l:lib(absl_\w+|z|jpeg|png)\.a$")
                elif line.startswith("lib"):
                    self.assertIn("usr/lib/mxc/" + line, files)

    def installed(self):
        if not (self.folder / "installed").exists():
            install(self.folder / "installed")
        return self.folder / "installed"


if __name__ == "__main__":
    unittest.main()
