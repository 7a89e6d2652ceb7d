"""After an edit, only the kernels that it affects are rebuilt, in a small separate project.
Usage: rebuild_test.py CMAKE CXX_COMPILER DEVICE_COMPILER RAPT_ARCHIVE"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, CXX, CLANG, TOOL = "", "", "", ""
ROOT = Path(__file__).resolve().parents[2]
ROW = "{} gfx942 dtype={} head_dim=64 features=plain block_k=32 waves=4 waves_per_eu=2 vgprs<=64 lds<=8192 occupancy>=4 p=exact\n"
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(rebuild LANGUAGES CXX)
set(here ${CMAKE_CURRENT_SOURCE_DIR})
set(PROJECT_SOURCE_DIR @ROOT@)
include(@ROOT@/cmake/architectures.cmake)
include(@ROOT@/cmake/device_compiler.cmake)
include(@ROOT@/cmake/archives.cmake)
add_executable(rapt_archive_tool IMPORTED)
set_target_properties(rapt_archive_tool PROPERTIES IMPORTED_LOCATION @TOOL@)
rapt_device_compiler(DEVICE @CLANG@ gfx942)
rapt_archive(all_kernels ARCH gfx942 MANIFEST ${here}/manifest SOURCES ${here} OUTPUT ${CMAKE_BINARY_DIR}/out COMPILER DEVICE)
add_custom_target(kernels ALL DEPENDS ${all_kernels_FILE})
"""


class Rebuild(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        project = PROJECT.replace("@ROOT@", str(ROOT)).replace("@TOOL@", TOOL).replace("@CLANG@", CLANG)
        self.write("CMakeLists.txt", project)
        self.write("value.hpp", "#pragma once\nconstexpr int kValue = 1;\n")
        head = '#include "tests/packer/kernels/device.hpp"\n'
        self.write("first.hip", head + '#include "value.hpp"\nRAPT_TEST_KERNEL(int* out) { *out = kValue; }\n')
        self.write("second.hip", head + "RAPT_TEST_KERNEL(int* out) { *out = 2; }\n")
        self.manifest = ROW.format("first", "fp16") + ROW.format("first", "bf16") + ROW.format("second", "fp16")
        self.write("manifest", self.manifest)
        subprocess.run([CMAKE, "-G", "Ninja", "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_CXX_COMPILER={CXX}"],
                       check=True, stdout=subprocess.DEVNULL)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def build(self, ok=True):
        result = subprocess.run([CMAKE, "--build", self.folder / "build"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode == 0, ok, result.stdout + result.stderr)
        self.output = result.stdout
        done = re.findall(r"\] (?:Compiling gfx942 (\w+)\.d64\.(\w+)|Packing (gfx942))", result.stdout)
        return sorted("pack" if pack else f"{name} {dtype}" for name, dtype, pack in done)

    def test_an_edit_rebuilds_what_it_concerns(self):
        first, second = ["first bf16", "first fp16"], ["second fp16"]
        self.assertEqual(self.build(), first + ["pack"] + second)
        archive = self.folder / "build/out/gfx942.rapt"
        before = archive.read_bytes()
        self.assertEqual(self.build(), [])
        self.write("second.hip", (self.folder / "second.hip").read_text() + "// edited\n")
        self.assertEqual(self.build(), ["pack"] + second)
        self.assertEqual(archive.read_bytes(), before)  # a comment changes nothing
        self.write("value.hpp", "#pragma once\nconstexpr int kValue = 3;\n")
        self.assertEqual(self.build(), first + ["pack"])
        self.assertNotEqual(archive.read_bytes(), before)
        self.write("manifest", self.manifest.replace("dtype=bf16 head_dim=64", "dtype=bf16 head_slices=1 head_dim=64 flags=-O2"))
        self.assertEqual(self.build(), ["first bf16", "pack"])
        self.write("manifest", self.manifest)
        self.assertEqual(self.build(), ["first bf16", "pack"])

        before = archive.read_bytes()  # a budget is checked without compiling, and a refused archive replaces nothing
        self.write("manifest", self.manifest.replace("dtype=bf16", "dtype=bf16 sgprs<=0"))
        self.assertEqual(self.build(ok=False), ["pack"])
        self.assertRegex(self.output, r"manifest:2: first\.d64\.bf16\.plain\.k32w4 on gfx942: sgprs is \d+, the row allows at most 0")
        self.assertEqual(archive.read_bytes(), before)


if __name__ == "__main__":
    CMAKE, CXX, CLANG, TOOL = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])
