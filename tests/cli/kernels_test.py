"""kernels: listing, inspecting, verifying and extracting from an archive, and its messages about a damaged one."""

import os
import re
import struct
import subprocess
import sys
import zlib

import support
from support import CommandTest

WRITE_ARCHIVE = None  # the program that writes a made-up archive
KERNEL = "forward.d64.bf16.plain.k64w4"

DISASSEMBLY = """
k.co:\tfile format elf64-amdgpu

Disassembly of section .text:

<k>:
\tv_mfma_f32_32x32x8_bf16 v[0:15], v[16:17], v[18:19], 0 // 000000001600: D3E00000
\tv_exp_f32_e32 v1, v1
\tv_fma_f32 v1, v1, v2, v3
\tv_fma_f32 v1, v1, v2, v3
\tv_dual_mul_f32 v1, v2, v3 :: v_dual_add_f32 v4, v5, v6
\tds_read_b128 v[0:3], v4
\tglobal_load_dwordx4 v[0:3], v4, s[0:1]
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\ts_cbranch_scc1 65513
\ts_add_u32 s0, s0, s1
\tnothing_known v1
\ts_endpgm
\ts_code_end
"""


class Kernels(CommandTest):
    def setUp(self):
        super().setUp()
        self.archive = self.folder / "gfx942.rapt"
        subprocess.run([WRITE_ARCHIVE, self.archive], check=True)
        os.environ["RAPT_KERNEL_PATH"] = str(self.folder)
        os.environ.pop("RAPT_OBJDUMP", None)

    def test_lists_archives_and_kernels(self):
        lines = self.rapt("kernels").stdout.splitlines()
        self.assertIn("gfx942", [line.split()[0] for line in lines])
        listed = self.rapt("kernels", "gfx942").stdout
        self.assertEqual(listed, self.rapt("kernels", self.archive).stdout)
        (row,) = (line.split() for line in listed.splitlines() if line.startswith(KERNEL))
        self.assertEqual(row[1:9], ["128x64", "4", "120", "16384", "16", "40", "4", "nearest"])

    def test_inspects_one(self):
        self.rapt("kernels", "gfx942", KERNEL,
                  says=["up to 64", "256 threads in 4 waves, 16384 bytes of shared memory", "120 per thread, 0 spilled",
                        "16 AGPRs, 40 SGPRs, occupancy 4 waves per SIMD"])

    def test_lists_and_inspects_nvidias(self):
        subprocess.run([WRITE_ARCHIVE, self.folder / "sm_90.rapt"], check=True)
        name = "forward.d64.bf16.plain.k64w4q2"
        (row,) = (line.split() for line in self.rapt("kernels", "sm_90").stdout.splitlines() if line.startswith(name))
        self.assertEqual(row[1:7], ["128x64", "4", "120", "36864", "4", "nearest"])
        self.rapt("kernels", "sm_90", name, says=["NVIDIA", "occupancy 4 warps per partition"])

    def test_extracts_one_and_leaves_nothing_else(self):
        self.rapt("kernels", "gfx942", KERNEL, "--extract", "k.co", says=["written to    k.co"])
        self.assertEqual((self.folder / "k.co").read_bytes()[:4], b"\x7fELF")
        self.assertEqual(self.names(), ["gfx942.rapt", "k.co"])
        self.rapt("kernels", "gfx942", KERNEL, "--extract", "no/k.co", code=2, says=["no/k.co"])

    def test_verifies(self):
        self.rapt("kernels", "gfx942", "--verify", says=["the index and all 2 kernels are intact"])
        file = self.archive.read_bytes()
        index = int.from_bytes(file[16:24], "little")
        damaged = re.sub(rb'"crc32":\d+', b'"crc32":1', file[index:], count=1)  # of the first kernel
        header = struct.pack("<IQQ", zlib.crc32(damaged), index, len(damaged))
        self.archive.write_bytes(file[:12] + header + file[32:index] + damaged)
        self.rapt("kernels", "gfx942", "--verify", code=1,
                  says=["forward.d128.fp16.general.k32w8s2: the", "1 of 2 kernels are damaged"])
        self.rapt("kernels", "gfx942", KERNEL, "--verify", says=["intact"])
        self.rapt("kernels", "gfx942", "forward.d128.fp16.general.k32w8s2", "--extract", "k.co", code=2, says=["CRC32"])
        self.assertEqual(self.names(), ["gfx942.rapt"])
        bytes_ = bytearray(file)
        bytes_[700] ^= 1  # in the frame of both
        self.archive.write_bytes(bytes_)
        self.rapt("kernels", "gfx942", "--verify", code=1, says=["2 of 2 kernels are damaged"])
        self.archive.write_bytes(bytes_[:-1])
        self.rapt("kernels", "gfx942", code=2, says=["gfx942.rapt", "truncated"])

    def test_counts_instructions(self):
        tool = self.folder / "objdump"
        tool.write_text(f"#!/bin/sh\ncat <<'END'\n{DISASSEMBLY}\nEND\n")
        tool.chmod(0o755)
        os.environ["RAPT_OBJDUMP"] = str(tool)
        output = self.rapt("kernels", "gfx942", KERNEL, "--instructions").stdout
        counted = output[output.index("  instructions"):].splitlines()
        self.assertEqual(counted[0].split(), ["instructions", "13,", "by", str(tool)])
        counts = {name: int(count) for count, name in (line.strip().split("  ", 1) for line in counted[1:])}
        self.assertEqual(counts, {
            "matrix": 1, "transcendental": 1, "VALU": 2, "VALU, two in one": 1, "LDS reads": 1, "memory reads": 1,
            "waits": 1, "barriers": 1, "branches": 1, "SALU": 2, "unknown": 1})

    def test_a_missing_disassembler_is_named(self):
        os.environ["RAPT_OBJDUMP"] = "/nowhere/objdump"
        self.rapt("kernels", "gfx942", KERNEL, "--instructions", code=2, says=["/nowhere/objdump", "RAPT_OBJDUMP"])
        os.environ["RAPT_OBJDUMP"] = "/bin/false"
        self.rapt("kernels", "gfx942", KERNEL, "--instructions", code=2, says=["/bin/false cannot disassemble"])

    def test_what_is_not_there_is_named(self):
        self.rapt("kernels", "gfx900", code=2, says=["no kernel archive gfx900.rapt in", "there is one for", "gfx942"])
        self.rapt("kernels", "gfx942", "forward", code=2, says=["has no kernel forward"])
        self.rapt("kernels", "./nowhere.rapt", code=2, says=["./nowhere.rapt: cannot open"])
        self.rapt("kernels", "gfx942", "--extract", "k.co", code=2, says=["--extract needs the name of a kernel"])


if __name__ == "__main__":
    WRITE_ARCHIVE = sys.argv.pop()
    support.main()
