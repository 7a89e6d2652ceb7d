"""run: its results against numpy, hostile input files, and outputs that are complete or absent."""

import os
import pathlib
import resource
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import support
from float64 import oracle
from support import CommandTest, from_bf16, read_safetensors, safetensors_bytes, to_bf16, write_safetensors


def attention(q, k, v, **options):
    """out and lse of attention's definition in float64."""
    results, _ = oracle.attention_float64(q, k, v, **options)
    return results["out"], results["lse"]


class FilesTest(CommandTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        self.q = random.standard_normal((2, 9, 4, 8)).astype(np.float32)
        self.k = random.standard_normal((2, 13, 2, 8)).astype(np.float32)
        self.v = random.standard_normal((2, 13, 2, 6)).astype(np.float32)
        self.random = random

    def save(self, **arrays):
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)

    def qkv(self):
        self.save(q=self.q, k=self.k, v=self.v)
        return ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]


class Results(FilesTest):
    def check(self, *arguments, **definition):
        self.rapt("run", *self.qkv(), "--output", "out.npy", "--lse", *arguments, says=["backend", "wrote"])
        out, lse = attention(self.q, self.k, self.v, **definition)
        np.testing.assert_allclose(np.load(self.folder / "out.npy"), out, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(np.load(self.folder / "out.lse.npy"), lse, rtol=2e-6, atol=4e-6)

    def test_options(self):
        self.check()
        self.check("--causal", causal=True)
        self.check("--causal-tl", causal="top-left")
        self.check("--window", "2,1", "--scale", "0.5", window=(2, 1), softmax_scale=0.5)
        self.check("--window=-1,0", "--softcap", "1.5", window=(-1, 0), softcap=1.5)
        self.check("--softcap", "1.50", "--dropout", "0.0", "--scale", "0.50", softcap=1.5, softmax_scale=0.5)
        self.check("--backend", "math", "--threads", "1")

    def test_tensors(self):
        bias = self.random.standard_normal((2, 1, 9, 13)).astype(np.float32)
        mask = self.random.random((9, 13)) < 0.7
        alibi = np.array([0.5, 0.25, 0.125, 0.0625], dtype=np.float32)
        sink = self.random.standard_normal(4).astype(np.float32)
        self.save(bias=bias, mask=mask, alibi=alibi, sink=sink)
        self.check("--bias", "bias.npy", bias=bias)
        self.check("--mask", "mask.npy", mask=mask)
        self.check("--alibi", "alibi.npy", "--sink", "sink.npy", alibi_slopes=alibi, sink=sink)
        write_safetensors(self.folder / "more.safetensors", {"left": ("F32", bias), "m": ("U8", mask.astype(np.uint8))})
        self.check("--bias", "more.safetensors:left", "--mask", "more.safetensors:m", bias=bias, mask=mask)

    def test_layout(self):
        out, lse = attention(self.q, self.k, self.v, causal=True)
        self.save(q=self.q.swapaxes(1, 2).copy(), k=self.k.swapaxes(1, 2).copy(), v=self.v.swapaxes(1, 2).copy())
        self.rapt("run", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--layout", "bhsd", "--causal", "--lse",
                  "--output", "both.safetensors")
        both = read_safetensors(self.folder / "both.safetensors")
        np.testing.assert_allclose(both["out"], out.swapaxes(1, 2), rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(both["lse"], lse, rtol=2e-6, atol=4e-6)

    def test_packed(self):
        of_q, of_k = [0, 3, 3, 12], [0, 5, 7, 20]  # three sequences, the second without queries
        q, k, v = (x.reshape(-1, *x.shape[2:])[:n] for x, n in ((self.q, 12), (self.k, 20), (self.v, 20)))
        self.save(q=q, k=k, v=v, of_q=np.array(of_q, dtype=np.int32))
        write_safetensors(self.folder / "lengths.safetensors",
                          {"of_k": ("I32", np.array(of_k, dtype=np.int32))})
        packed = ["--cu-seqlens-q", "of_q.npy", "--cu-seqlens-k", "lengths.safetensors:of_k"]
        tensors = ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]
        self.rapt("run", *tensors, *packed, "--causal", "--lse", "--output", "out.npy", says=["varlen=3:5,0:2,9:13"])
        out, lse = np.load(self.folder / "out.npy"), np.load(self.folder / "out.lse.npy")
        self.assertEqual((out.shape, lse.shape), ((12, 4, 6), (4, 12)))
        for b in range(3):
            rows, keys = slice(of_q[b], of_q[b + 1]), slice(of_k[b], of_k[b + 1])
            wanted, wanted_lse = attention(q[None, rows], k[None, keys], v[None, keys], causal=True)
            np.testing.assert_allclose(out[rows], wanted[0], rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(lse[:, rows], wanted_lse[0], rtol=2e-6, atol=4e-6)
        self.rapt("verify", *tensors, *packed, says=[" 0 failed"])

        output = ["--output", "new.npy"]
        self.rapt("run", *tensors, *packed[:2], *output, code=2, says=["--cu-seqlens-k"])
        self.rapt("run", *tensors, *packed, "--layout", "bhsd", *output, code=2, says=["bhsd", "packed"])
        self.save(of_q=np.array([0, 3, 2, 12], dtype=np.int32))
        self.rapt("run", *tensors, *packed, *output, code=2, says=["cu_seqlens_q"])
        self.rapt("run", *self.qkv(), *packed, *output, code=2, says=["3 dimensions"])
        self.assertFalse((self.folder / "new.npy").exists())

    def test_types(self):
        for kind, narrow, widen, tolerance in [
            ("F16", lambda x: x.astype(np.float16), lambda x: x, 2e-3),
            ("BF16", to_bf16, from_bf16, 2e-2),
            ("F64", lambda x: x.astype(np.float64), lambda x: x, 1e-12),
        ]:
            with self.subTest(kind):
                q, k, v = (narrow(x) for x in (self.q, self.k, self.v))
                write_safetensors(self.folder / "in.safetensors", {"v": (kind, v), "q": (kind, q), "k": (kind, k)})
                self.rapt("run", "--input", "in.safetensors", "--output", "out.safetensors")
                out, _ = attention(widen(q), widen(k), widen(v))
                np.testing.assert_allclose(widen(read_safetensors(self.folder / "out.safetensors")["out"]), out,
                                           rtol=tolerance, atol=tolerance)
        self.rapt("verify", "--input", "in.safetensors", code=2, says=["nothing was checked"])  # fp64
        self.rapt("verify", *self.qkv(), "--causal", says=["from files", "0 failed"])

    def test_dropout_is_the_seed_s(self):
        run = [*self.qkv(), "--dropout", "0.5", "--output", "out.npy"]
        outs = []
        for seed in ("1", "1", "2"):
            self.rapt("run", *run, "--seed", seed)
            outs.append(np.load(self.folder / "out.npy"))
        self.assertTrue((outs[0] == outs[1]).all())
        self.assertFalse((outs[0] == outs[2]).all())


def npy(header, data=b"", version=1, length=None):
    text = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def st_entry(kind, shape, begin, end):
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


GOOD_NPY = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
HOSTILE_NPY = [
    (b"", "first bytes"),
    (b"\x93NUM", "first bytes"),
    (b"\x93NUMPY\x01\x00", "truncated"),
    (npy(GOOD_NPY, bytes(8), version=9), "version 9"),
    (npy(GOOD_NPY, length=60000), "claims 60000 bytes"),
    (npy(GOOD_NPY, version=3, length=2**32 - 1), "claims"),
    (npy(GOOD_NPY, bytes(7)), "needs 8 bytes, 7 follow"),
    (npy(GOOD_NPY, bytes(9)), "needs 8 bytes, 9 follow"),
    (npy(GOOD_NPY.replace("<f4", ">f4"), bytes(8)), "big endian"),
    (npy(GOOD_NPY.replace("<f4", "|V2"), bytes(4)), "store bf16 as .safetensors"),
    (npy(GOOD_NPY.replace("<f4", "<c8"), bytes(16)), "'<c8'"),
    (npy(GOOD_NPY.replace("'<f4'", "[('a', '<f4')]"), bytes(8)), "structured"),
    (npy(GOOD_NPY.replace("(2,)", "(1, 2)").replace("False", "True"), bytes(8)), "Fortran order"),
    (npy(GOOD_NPY.replace("False", "Maybe"), bytes(8)), "True or False"),
    (npy(GOOD_NPY.replace("(2,)", "(-2,)"), bytes(8)), "dimension"),
    (npy(GOOD_NPY.replace("(2,)", "(99999999999999999999,)"), bytes(8)), "dimension"),
    (npy(GOOD_NPY.replace("(2,)", "(4294967296, 4294967296)"), bytes(8)), "exceeds 64 bits"),
    (npy(GOOD_NPY.replace("(2,)", "(" + "1, " * 40 + ")"), bytes(4)), "more than 8 dimensions"),
    (npy(GOOD_NPY.replace("{", "{'descr': '<f4', "), bytes(8)), "comes twice"),
    (npy(GOOD_NPY.replace("'shape'", "'shapes'"), bytes(8)), "a key other than"),
    (npy("{'descr': '<f4', 'fortran_order': False}\n", bytes(8)), "needs the keys"),
    (npy("__import__('os').system('true')\n"), "expected '{'"),
    (npy(GOOD_NPY.strip() + "()\n", bytes(8)), "text follows"),
]

ONE = {"a": st_entry("F32", [2], 0, 8)}
HOSTILE_SAFETENSORS = [
    (b"", "truncated"),
    (b"\x05\0\0\0", "truncated"),
    (struct.pack("<Q", 2**63) + b"{}", "claims 9223372036854775808 bytes"),
    (struct.pack("<Q", 100) + b"{}", "claims 100 bytes, 2 are left"),
    (safetensors_bytes(b'{"a":'), "not valid JSON"),
    (safetensors_bytes(b"\xff\xfe"), "not valid JSON"),
    (safetensors_bytes(b"[1]"), "not a JSON object"),
    (safetensors_bytes(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"), "list where none belongs"),
    (safetensors_bytes(b'{"a":' * 5000 + b"1" + b"}" * 5000), "tensor 'a'"),
    (safetensors_bytes({"a": 7}), "number where none belongs"),
    (safetensors_bytes({"a": {"dtype": "F32"}}), "lacks"),
    (safetensors_bytes({"a": {**ONE["a"], "x": 1}}, bytes(8)), "a field other than"),
    (safetensors_bytes({"a": st_entry("F32", [2.5], 0, 8)}, bytes(8)), "64-bit integer"),
    (safetensors_bytes({"a": st_entry("F32", [-2], 0, 8)}, bytes(8)), "negative"),
    (safetensors_bytes({"a": st_entry("F32", [2**63], 0, 8)}, bytes(8)), "beyond 63 bits"),
    (safetensors_bytes({"a": st_entry("F32", [2**62, 2**62], 0, 8)}, bytes(8)), "exceeds 64 bits"),
    (safetensors_bytes({"a": st_entry("F33", [2], 0, 8)}, bytes(8)), "unknown type 'F33'"),
    (safetensors_bytes(ONE, bytes(7)), "outside of the 7 bytes"),
    (safetensors_bytes({"a": st_entry("F32", [2], 8, 0)}, bytes(8)), "outside"),
    (safetensors_bytes({"a": st_entry("F32", [3], 0, 8)}, bytes(8)), "needs 12"),
    (safetensors_bytes(ONE, bytes(9)), "1 bytes follow"),
    (safetensors_bytes({**ONE, "b": st_entry("U8", [4], 4, 8)}, bytes(8)), "overlapping"),
    (safetensors_bytes({**ONE, "b": st_entry("U8", [1], 9, 10)}, bytes(10)), "hole"),
    (safetensors_bytes(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                       b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"\0"), "comes twice"),
    (safetensors_bytes({"a": st_entry("I64", [1], 0, 8)}, bytes(8)), "is I64"),
]


class Hostile(FilesTest):
    def test_files(self):
        good = self.qkv()
        before = self.names()
        for suffix, cases in ((".npy", HOSTILE_NPY), (".safetensors", HOSTILE_SAFETENSORS)):
            for content, message in cases:
                with self.subTest(message):
                    path = self.folder / ("bad" + suffix)
                    path.write_bytes(content)
                    self.rapt("run", "--q", path.name, *good[2:], "--output", "out.npy", code=2,
                              says=[path.name, message])
                    path.unlink()
                    self.assertEqual(self.names(), before)

    def test_what_is_no_file(self):
        rest = self.qkv()[2:]
        os.mkfifo(self.folder / "pipe.npy")
        (self.folder / "folder.npy").mkdir()
        for name, message in (("missing.npy", "No such file"), ("pipe.npy", "not a regular file"),
                              ("folder.npy", "not a regular file"), ("q.txt", "must end in .npy")):
            self.rapt("run", "--q", name, *rest, "--output", "out.npy", code=2, says=[name, message])

    def test_tensors_that_do_not_fit(self):
        good = self.qkv()
        write_safetensors(self.folder / "x.safetensors", {"a": ("F32", self.q), "b": ("F32", self.q)})
        self.save(flat=self.q[0], wide=self.q.astype(np.float64))
        for arguments, message in [
            (["--q", "x.safetensors", *good[2:]], "no tensor is named 'q'; it has a, b"),
            (["--q", "x.safetensors:c", *good[2:]], "no tensor is named 'c'"),
            (["--q", "flat.npy", *good[2:]], "must have 4 dimensions"),
            (["--q", "wide.npy", *good[2:]], "fp64"),
            ([*good, "--bias", "flat.npy"], "bias has shape"),
            ([*good, "--window", "3"], "'window=3' must be window=left,right"),
            ([*good, "--window=-2,0"], "window is -2,0"),
            ([*good, "--dropout", "1"], "[0, 1)"),
            ([*good, "--scale", "nan"], "softmax_scale"),
            ([*good, "--softcap", "3 causal"], "must have no spaces"),
            ([*good, "--backend", "nosuch"], "must be one of"),
            (good[:4], "--q, --k and --v"),
            (["--input", "missing.safetensors"], "missing.safetensors"),
        ]:
            with self.subTest(message):
                self.rapt("run", *arguments, "--output", "out.npy", code=2, says=[message])
        self.assertNotIn("out.npy", self.names())


class FullDisk(FilesTest):
    def setUp(self):
        super().setUp()
        self.q = np.ones((1, 4096, 4, 8), dtype=np.float32)

    def run_onto(self, output, **options):
        self.rapt("run", *self.qkv_paths, "--lse", "--output", output, code=2, says=[output.name, "cannot write"],
                  **options)

    def test_file_size_limit(self):
        self.k, self.v = self.k[:1], self.v[:1]
        self.qkv_paths = self.qkv()
        output = self.folder / "out.npy"
        output.write_bytes(b"old")
        before = self.names()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        self.run_onto(output, preexec_fn=limit)
        self.assertEqual(self.names(), before)
        self.assertEqual(output.read_bytes(), b"old")

    def test_full_file_system(self):
        self.k, self.v = self.k[:1], self.v[:1]
        self.qkv_paths = self.qkv()
        small = self.folder / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", small]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.run_onto(small / "out.safetensors")
        self.run_onto(small / "out.npy")
        self.assertEqual(list(small.iterdir()), [])


class Outputs(FilesTest):
    def test_paths(self):
        good = self.qkv()
        self.rapt("run", *good, "--output", "out.txt", code=2, says=["must end in .npy or .safetensors"])
        self.rapt("run", *good, "--output", "no/such/out.npy", code=2, says=["no/such/out.npy"])
        write_safetensors(self.folder / "b.safetensors",
                          {n: ("BF16", to_bf16(x)) for n, x in (("q", self.q), ("k", self.k), ("v", self.v))})
        self.rapt("run", "--input", "b.safetensors", "--output", "out.npy", code=2, says=[".npy has no bf16"])
        self.assertNotIn("out.npy", self.names())

    def test_inputs_are_not_overwritten(self):
        write_safetensors(self.folder / "mask.safetensors", {"left": ("U8", np.ones((1, 1, 9, 13), np.uint8))})
        self.save(**{"k.lse": self.k})
        good = [*self.qkv(), "--mask", "mask.safetensors:left"]
        before = (self.folder / "q.npy").read_bytes()
        for name in ("q.npy", "./q.npy", "mask.safetensors"):
            self.rapt("run", *good, "--output", name, code=2, says=[name, "must not be written"])
        lse = ["--q", "q.npy", "--k", "k.lse.npy", "--v", "v.npy", "--lse"]
        self.rapt("run", *lse, "--output", "k.npy", code=2, says=["k.lse.npy", "must not be written"])
        self.assertEqual((self.folder / "q.npy").read_bytes(), before)
        self.rapt("run", *lse[:-1], "--output", "k.npy")

    def test_replaces_the_old(self):
        good = self.qkv()
        (self.folder / "out.npy").write_bytes(b"old")
        self.rapt("run", *good, "--output", "out.npy")
        self.assertEqual(np.load(self.folder / "out.npy").shape, (2, 9, 4, 6))
        self.assertEqual(self.names(), ["k.npy", "out.npy", "q.npy", "v.npy"])


if __name__ == "__main__":
    support.main()
