"""rapt install-aotriton, on torch folders that are made up.

Usage: install_test.py RAPT TORCH_HIP TORCH_HIP_OF_THE_FUTURE   the command, and two libraries of torch_hip.cpp
"""

import fcntl
import os
import pathlib
import re
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))

import support  # noqa: E402
from support import CommandTest  # noqa: E402

TORCH_HIP = FUTURE_TORCH_HIP = None
NAME = "libaotriton_v2.so.0.11.1"
ORIGINAL = b"AOTriton's own library" * 1000


class Install(CommandTest):
    def setUp(self):
        super().setUp()
        self.lib = self.folder / "torch" / "lib"
        self.lib.mkdir(parents=True)
        (self.lib / NAME).write_bytes(ORIGINAL)
        (self.lib / "libaotriton_v2.so").symlink_to(NAME)
        (self.lib / "aotriton.images").mkdir()
        shutil.copy(TORCH_HIP, self.lib / "libtorch_hip.so")

    def contents(self):
        return {str(p.relative_to(self.lib)): p.read_bytes() for p in self.lib.rglob("*") if p.is_file()}

    def install(self, *arguments, **expected):
        return self.rapt("install-aotriton", "--torch", "torch", *arguments, **expected)

    def test_installs_and_undoes(self):
        before = self.contents()
        self.install(says=["AOTriton 0.11.1", "libtorch_hip.so", NAME, "is now Rapt's"])
        after = self.contents()
        self.assertEqual(after[NAME + ".before-rapt"], ORIGINAL)
        self.assertNotEqual(after[NAME], ORIGINAL)
        self.assertEqual(after["libaotriton_v2.so"], after[NAME])  # still a link to it
        self.assertTrue(any(name.startswith("rapt/gfx") for name in after), sorted(after))
        self.install(code=2, says=["has Rapt's library already", "--undo"])
        self.install("--dry-run", code=2, says=["has Rapt's library already"])
        self.install("--undo", says=["is again AOTriton's own"])
        self.assertEqual(self.contents(), before)
        self.install("--undo", code=2, says=["has AOTriton's own library"])

    def test_what_doctor_says_of_it(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.update, {"PATH": path})
        os.environ["PATH"] = f"{self.folder}:{path}"
        (self.folder / "python3").write_text(f"#!/bin/sh\necho {self.folder}/torch\n")
        (self.folder / "python3").chmod(0o755)
        library = self.lib.resolve() / NAME
        problem = "b1 hq1 hk1 sq16 sk16 d64 fp16"
        self.rapt("doctor", problem, says=[f"libaotriton_v2 of python3's torch: {library}, not by Rapt: `rapt install"])
        self.install()
        self.rapt("doctor", problem, says=[f"libaotriton_v2 of python3's torch: {library}, by Rapt\n"])
        begin = time.monotonic()
        report = self.rapt("doctor", "--report", says=[f"AOTriton drop-in: {library}\n", "\n52 checks, 0 failed\n"]).stdout
        self.assertLess(time.monotonic() - begin, 120)
        self.assertEqual(len(re.findall(" drop-in +(fwd|bwd) +ok +", report)), 6)
        self.assertEqual(len(re.findall(" Rapt +(fwd|bwd) +ok +", report)), 14)
        self.assertIn("ms: of one call, forecast by the model, not measured", report)
        rows = report[report.index("times through the AOTriton drop-in, forecast, not measured\n"):].splitlines()[2:5]
        for row in rows:
            self.assertRegex(row, r"^ +0\.\d{4} +0\.\d{4}  b1 hq")

    def test_a_dry_run_does_nothing(self):
        before = self.contents()
        self.install("--dry-run", says=["AOTriton 0.11.1", "would be Rapt's"])
        self.assertEqual(self.contents(), before)
        self.install()
        installed = self.contents()
        self.install("--undo", "--dry-run", says=["would again be AOTriton's own"])
        self.assertEqual(self.contents(), installed)

    def test_names_without_a_version(self):
        (self.lib / "libaotriton_v2.so").unlink()
        (self.lib / NAME).rename(self.lib / "libaotriton_v2.so")
        self.install(says=["AOTriton 0.10 or later"])  # by the functions that torch_hip.cpp calls
        self.install("--undo")
        self.assertEqual((self.lib / "libaotriton_v2.so").read_bytes(), ORIGINAL)

    def test_copies_in_place_of_links(self):
        (self.lib / "libaotriton_v2.so").unlink()
        for name in ["libaotriton_v2.so", "libaotriton_v2.so.0.11"]:
            shutil.copy(self.lib / NAME, self.lib / name)
        before = self.contents()
        self.install(says=["AOTriton 0.11.1", "libaotriton_v2.so.0.11, "])
        self.install("--undo")
        self.assertEqual(self.contents(), before)

    def test_an_installation_that_was_ended(self):
        before = self.contents()

        def written():
            shutil.copytree(self.archives, self.lib / "rapt.part" / "rapt")

        def kept():
            written()
            (self.lib / (NAME + ".before-rapt")).hardlink_to(self.lib / NAME)

        def half_moved():
            kept()
            (self.lib / "rapt.part" / "rapt").rename(self.lib / "rapt")

        self.install()
        self.archives = self.folder / "archives"
        shutil.copytree(self.lib / "rapt", self.archives)
        installed = self.contents()
        self.install("--undo")
        for leave in [written, kept, half_moved]:
            leave()
            self.install("--undo", says=["is again AOTriton's own"])
            self.assertEqual(self.contents(), before)
            leave()
            self.install()
            self.assertEqual(self.contents(), installed)
            self.install("--undo")

    def test_an_undo_that_was_ended(self):
        before = self.contents()
        self.install()
        shutil.rmtree(self.lib / "rapt")
        self.install("--undo")
        self.assertEqual(self.contents(), before)

    def test_a_torch_that_was_installed_anew(self):
        for name in [NAME, "libaotriton_v2.so.0.12.0"]:
            self.install()
            (self.lib / NAME).unlink()
            (self.lib / name).write_bytes(b"a newer one")
            self.install("--dry-run", says=["would be Rapt's"])
            self.install(says=[name, "is now Rapt's"])
            self.install("--undo", says=[name])
            self.assertEqual((self.lib / name).read_bytes(), b"a newer one")
            self.assertFalse(any("rapt" in name for name in self.contents()))

    def test_refuses_while_another_installs(self):
        folder = os.open(self.lib, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        self.refuses("another process installs in")
        os.close(folder)
        self.install()

    def test_refuses_to_undo_what_is_not_kept(self):
        self.install()
        (self.lib / (NAME + ".before-rapt")).unlink()
        installed = self.contents()
        self.install("--undo", code=2, says=[NAME + ".before-rapt is gone"])
        self.assertEqual(self.contents(), installed)

    def test_the_folder_itself(self):
        self.rapt("install-aotriton", "--torch", "torch/lib", "--dry-run")
        self.rapt("install-aotriton", "--torch", ".", "--dry-run")

    def refuses(self, *says):
        before = self.contents()
        self.install(code=2, says=says)
        self.assertEqual(self.contents(), before)

    def test_refuses_a_newer_release(self):
        (self.lib / NAME).rename(self.lib / "libaotriton_v2.so.0.15.0")
        self.refuses("libaotriton_v2.so.0.15.0", "0.7 to 0.14")

    def test_refuses_what_is_no_release(self):
        for version in ["0.3.0", "0.-1", "0.9x", "0.11.1.bak"]:
            name = self.lib / f"libaotriton_v2.so.{version}"
            (self.lib / NAME).rename(name)
            self.refuses(f"is of AOTriton {version}, ")
            name.rename(self.lib / NAME)

    def test_refuses_two_releases(self):
        (self.lib / "libaotriton_v2.so.0.10.0").write_bytes(ORIGINAL)
        self.refuses("0.10.0", "0.11.1")

    def test_refuses_functions_it_has_not(self):
        shutil.copy(FUTURE_TORCH_HIP, self.lib / "libtorch_hip.so")
        self.refuses("_ZN8aotriton2v45flash8attn_fwdEv")

    def test_refuses_a_torch_that_does_not_call_it(self):
        (self.lib / "libtorch_hip.so").write_bytes(b"\x7fELF, but not really")
        self.refuses("no library in", "calls AOTriton")

    def test_refuses_another_folder_of_archives(self):
        (self.lib / "rapt").mkdir()
        (self.lib / "rapt" / "notes").write_bytes(b"of somebody else")
        self.refuses("rapt exists already")

    def test_refuses_a_torch_without_aotriton(self):
        (self.lib / NAME).unlink()
        (self.lib / "libaotriton_v2.so").unlink()
        self.refuses("have no libaotriton_v2.so", "PyTorch for ROCm")
        self.rapt("install-aotriton", "--torch", "nowhere", code=2, says=["nowhere is not a folder"])


if __name__ == "__main__":
    FUTURE_TORCH_HIP, TORCH_HIP = sys.argv.pop(), sys.argv.pop()
    support.main()
