"""The folder that PyTorch's own build takes by AOTRITON_INSTALLED_PREFIX: its layout, its headers, and a program that is
compiled with it as PyTorch is.

Usage: prefix_test.py CMAKE CXX BUILD_DIR RAPT   librapt.so; the environment names the GPU as in this folder's tests
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
INTERFACE = HERE / "interface"
HEADERS = HERE.parent.parent / "include" / "aotriton"
CMAKE = CXX = BUILD = RAPT = None
MINORS = (11, 12, 13, 14)


def run(*command, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


class Prefix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / "prefix"
        run(CMAKE, "--install", BUILD, "--component", "aotriton", "--prefix", cls.prefix)

    def includes(self, minor):
        """A folder with the headers as they are for this release."""
        folder = self.prefix.parent / f"include-{minor}"
        shutil.copytree(HEADERS, folder / "aotriton", dirs_exist_ok=True)
        config = (HEADERS / "config.h.in").read_text().replace("@RAPT_AOTRITON_MINOR@", str(minor))
        (folder / "aotriton" / "config.h").write_text(config)
        return folder

    def client(self, minor, includes, library):
        program = self.prefix.parent / f"client-{minor}"
        run(CXX, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Wno-missing-field-initializers",
            "-Werror", f"-DRELEASE={minor}", f"-I{includes}",
            f"-I{INTERFACE}", f"-I{HERE.parent.parent}/include", INTERFACE / "client.cpp", library, RAPT, "-o", program)
        environment = {name: value for name, value in os.environ.items() if name != "RAPT_KERNEL_PATH"}
        paths = f"{library.parent}:{pathlib.Path(RAPT).parent}"
        return run(program, env=environment | {"LD_LIBRARY_PATH": paths})

    def test_layout(self):
        files = {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if p.is_file()}
        names = ("config", "dtypes", "flash", "runtime", "util", "v2/flash")
        headers = {f"include/aotriton/{name}.h" for name in names}
        archives = {name for name in files if re.fullmatch(r"lib/aotriton\.images/rapt/gfx\w+\.rapt", name)}
        self.assertTrue(archives)
        self.assertEqual(files, headers | archives | {"lib/libaotriton_v2.so"})

    def test_a_program_runs_with_the_kernels_in_the_prefix(self):
        config = (self.prefix / "include/aotriton/config.h").read_text()
        minor = int(re.search(r"AOTRITON_VERSION_MINOR (\d+)", config)[1])
        said = self.client(minor, self.prefix / "include", self.prefix / "lib" / "libaotriton_v2.so")
        self.assertEqual(said.count("returned 0, attn_bwd 0"), 2, said)

    def test_every_release(self):
        for minor in MINORS:
            with self.subTest(minor):
                said = self.client(minor, self.includes(minor), self.prefix / "lib" / "libaotriton_v2.so")
                self.assertEqual(said.count(f"AOTriton 0.{minor}"), 2, said)

    def test_headers_agree_with_aotritons(self):
        table = [line.split(": ", 1) for line in (INTERFACE / "table.txt").read_text().splitlines()]
        for minor in MINORS:
            with self.subTest(minor), tempfile.TemporaryDirectory() as name:
                theirs = {line for releases, line in table if f"0.{minor}b" in releases.split()}
                probe = [CXX, "-std=c++20", "-O0", "-w", f"-DRELEASE={minor}",
                         f"-I{self.includes(minor)}", f"-I{INTERFACE}", "-x", "c++", INTERFACE / "probe.cpp"]
                run(*probe, "-c", "-o", f"{name}/probe.o")
                symbols = {f"symbol {s}" for s in run("nm", "-u", f"{name}/probe.o").split() if "8aotriton" in s}
                run(*probe, "-DLAYOUT", "-o", f"{name}/probe", "-Wl,--unresolved-symbols=ignore-all")
                layout = set(run(f"{name}/probe").splitlines())
                self.assertEqual(layout, {line for line in theirs if not line.startswith("symbol ")})
                inline = re.compile(r"symbol _ZNK?8aotriton(10TensorView|.*_paramsC1Ev$)")  # in Rapt's headers
                needed = {line for line in theirs if line.startswith("symbol ") and not inline.match(line)}
                self.assertEqual(symbols, needed)


if __name__ == "__main__":
    CMAKE, CXX, BUILD, RAPT = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
