"""rapt install-aotriton, on torch folders that are made up.

Usage: install_test.py RAPT TORCH_HIP TORCH_HIP_OF_THE_FUTURE   the command, and two libraries of torch_hip.cpp
"""

import pathlib
import shutil
import sys
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
        self.install("--undo", says=["is again as AOTriton made it"])
        self.assertEqual(self.contents(), before)
        self.install("--undo", code=2, says=["has AOTriton's own library"])

    def test_a_dry_run_does_nothing(self):
        before = self.contents()
        self.install("--dry-run", says=["AOTriton 0.11.1", "would be Rapt's"])
        self.assertEqual(self.contents(), before)
        self.install()
        installed = self.contents()
        self.install("--undo", "--dry-run", says=["would be as AOTriton made it"])
        self.assertEqual(self.contents(), installed)

    def test_names_without_a_version(self):
        (self.lib / "libaotriton_v2.so").unlink()
        (self.lib / NAME).rename(self.lib / "libaotriton_v2.so")
        self.install(says=["AOTriton 0.7 or before"])
        self.install("--undo")
        self.assertEqual((self.lib / "libaotriton_v2.so").read_bytes(), ORIGINAL)

    def test_the_folder_itself(self):
        self.rapt("install-aotriton", "--torch", "torch/lib", "--dry-run")
        self.rapt("install-aotriton", "--torch", ".", "--dry-run")

    def refuses(self, *says):
        before = self.contents()
        self.install(code=2, says=says)
        self.assertEqual(self.contents(), before)

    def test_refuses_a_newer_release(self):
        (self.lib / NAME).rename(self.lib / "libaotriton_v2.so.0.14.0")
        self.refuses("libaotriton_v2.so.0.14.0", "0.7 to 0.13")

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
        self.refuses("rapt is there already")

    def test_refuses_a_torch_without_aotriton(self):
        (self.lib / NAME).unlink()
        (self.lib / "libaotriton_v2.so").unlink()
        self.refuses("has no libaotriton_v2.so", "PyTorch for ROCm")
        self.rapt("install-aotriton", "--torch", "nowhere", code=2, says=["nowhere is no folder"])


if __name__ == "__main__":
    FUTURE_TORCH_HIP, TORCH_HIP = sys.argv.pop(), sys.argv.pop()
    support.main()
