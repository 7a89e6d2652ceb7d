"""doctor, explain, verify and bench: exit codes, messages and outputs."""

import json
import os
import subprocess
import xml.dom.minidom
from unittest import mock

import support
from support import CommandTest

PROBLEM = "b1 hq2 hk1 sq40 sk50 d16 fp32 causal"
BENCH_KEYS = {"table", "case", "problem", "op", "device", "arch", "backend", "kernel", "dtype", "causal", "ms", "variables", "warnings",
              "ms_p20", "tflops", "peak_tflops", "peak_fraction", "extra_bytes", "threads"}
VERIFY_KEYS = {"problem", "op", "tensor", "backend", "kernel", "error", "allowance", "ok", "seed"}


class Usage(CommandTest):
    def test_help(self):
        self.rapt("--help", says=["doctor", "explain", "verify", "bench", "run", "Exit codes"])
        for command in ("doctor", "explain", "verify", "bench", "run"):
            self.rapt(command, "--help", says=["Example"])
        self.rapt("--version", says=["rapt 0."])

    def test_bad_usage(self):
        for arguments, message in [
            ([], "subcommand"),
            (["nosuch"], "Run with --help"),
            (["explain"], "problem is required"),
            (["explain", "b1 hq1"], "column 7"),
            (["explain", PROBLEM + " causal"], "'causal' is given twice"),
            (["explain", PROBLEM, "--backend", "nosuch"], "must be one of auto, cpu, cpu."),
            (["doctor", "b1 hq3 hk2 sq1 sk1 d8 fp32"], "heads_q is 3"),
            (["verify", "--suite", "nosuch"], "quick"),
            (["verify", PROBLEM, "--input-kind", "nosuch"], "outliers"),
            (["verify", PROBLEM, "--op", "sideways"], "--op"),
            (["bench"], "required"),
            (["bench", "nosuch"], "strix-halo"),
            (["bench", "strix-halo", "--rows", "Tiny..Nosuch"], "XLarge"),
            (["bench", "strix-halo", "--rows", "Small..Tiny"], "'Small..Tiny' is empty, Small comes after Tiny"),
            (["bench", PROBLEM, "--threads", "-1"], "--threads"),
            (["bench", PROBLEM, "--seconds", "nan"], "--seconds: is 'nan', must be"),
            (["bench", PROBLEM, "--budget", "nan"], "--budget: is 'nan', must be"),
        ]:
            with self.subTest(arguments):
                self.rapt(*arguments, code=2, says=[message])


class Reports(CommandTest):
    def test_doctor(self):
        self.rapt("doctor", says=["rapt 0.", "caches", "memory", "portable", "hip", "cuda", "devices", "kernel archives"])
        self.rapt("doctor", PROBLEM, says=["forward " + PROBLEM, "backward " + PROBLEM])

    def test_variables_that_make_times_too_long(self):
        warning = "warning: AMD_SERIALIZE_KERNEL is 3: kernels wait for each other, so times on a GPU are too long"
        variables = {"AMD_SERIALIZE_KERNEL": "3", "HIP_LAUNCH_BLOCKING": "0", "TORCH_ROCM_FA_PREFER_CK": "1"}
        with mock.patch.dict(os.environ, variables):
            shown = [f"{name}: {value}" for name, value in variables.items()]
            for command in (["doctor", PROBLEM], ["doctor", "--report"]):
                text = self.rapt(*command, code=1 if "--report" in command else 0, says=[warning, *shown]).stdout
                self.assertNotIn("HIP_LAUNCH_BLOCKING is", text)
            self.rapt("bench", PROBLEM, "--budget", "0.0001", "--json", "rows.json", "--html", "report.html",
                      says=[warning, *shown])
        row = json.loads((self.folder / "rows.json").read_text().splitlines()[0])
        self.assertLessEqual(variables.items(), row["variables"].items())
        self.assertEqual(row["warnings"], [warning.removeprefix("warning: ")])
        self.assertIn(warning.removeprefix("warning: "), (self.folder / "report.html").read_text())

    def test_explain(self):
        text = self.rapt("explain", PROBLEM, says=["forward " + PROBLEM, "math", "hip"]).stdout
        pairs = 2 * sum(range(11, 51))  # query i of 40 attends 11 + i of 50 keys, in each of 2 heads
        self.assertIn(f"{4 * 16 * pairs:.4g} FLOPs", text)
        self.assertEqual(text.count("->"), 1)
        text = self.rapt("explain", PROBLEM, "--backward", "--backend", "math", says=["backward"]).stdout
        chosen = [line for line in text.splitlines() if "->" in line]
        self.assertEqual(len(chosen), 1)
        self.assertIn("math", chosen[0])


class Verify(CommandTest):
    def test_problem(self):
        self.rapt("verify", PROBLEM, "--json", "rows.json", says=["out", "lse", "dq", "0 failed"])
        rows = [json.loads(line) for line in (self.folder / "rows.json").read_text().splitlines()]
        self.assertEqual({row["tensor"] for row in rows}, {"out", "lse", "dq", "dk", "dv"})
        for row in rows:
            self.assertLessEqual(VERIFY_KEYS, row.keys())
            self.assertEqual(row["problem"], PROBLEM)
            self.assertLessEqual(row["error"], row["allowance"])
            self.assertIs(row["ok"], True)

    def test_seeds(self):
        for layout in [], ["--padded"], ["--layout", "bhsd"]:
            text = self.rapt("verify", PROBLEM, "--seeds", "3", "--seed", "5", "--backend", "cpu", "--json", "rows.json",
                             *layout, says=["15 checks, 0 failed"]).stdout
            self.assertEqual(text.count("ok for 3 seeds, the worst is "), 5)
            rows = [json.loads(line) for line in (self.folder / "rows.json").read_text().splitlines()]
            self.assertEqual(sorted(row["seed"] for row in rows), [5] * 5 + [6] * 5 + [7] * 5)
            self.assertEqual(len({row["error"] for row in rows}), 15)

    def test_padded(self):
        for problem in ("b2 hq4 hk2 sq2 sk33 d16 fp16 causal paged=8", "b2 hq2 hk2 sq9 sk7 d5 bf16 varlen=9:7,3:2",
                        "b1 hq2 hk1 sq40 sk50 d300 fp32 bias=bNhN"):
            for kind in ("normal", "identical"):
                self.rapt("verify", problem, "--input-kind", kind, "--padded", says=["0 failed"])

    def test_options(self):
        problem = "b1 hq2 hk2 sq20 sk20 d8 bf16 bias=b1hN sink"
        text = self.rapt("verify", problem, "--backend", "cpu", "--op", "bwd").stdout
        self.assertNotIn(" lse ", text)
        for tensor in ("dq", "dk", "dv", "dbias", "dsink"):
            self.assertIn(f" {tensor} ", text)
        text = self.rapt("verify", f"{problem} grads=dk,dbias", "--backend", "cpu", "--op", "bwd", says=["2 checks"]).stdout
        for tensor in ("dk", "dbias"):
            self.assertIn(f" {tensor} ", text)
        self.rapt("verify", "b2 hq4 hk2 sq2 sk33 d16 fp16 causal paged=8", "--input-kind", "outliers",
                  says=["outliers"])
        self.rapt("verify", "b1 hq1 hk1 sq4 sk4 d8 fp64", code=2, says=["nothing was checked"])
        self.rapt("verify", "b1 hq1 hk1 sq4 sk4 d8 fp64", "--backend", "cpu", code=2, says=["fp64"])


class Bench(CommandTest):
    def bench(self, *arguments, **options):
        result = self.rapt("bench", *arguments, "--json", "rows.json", **options)
        rows = [json.loads(line) for line in (self.folder / "rows.json").read_text().splitlines()]
        for row in rows:
            self.assertLessEqual(BENCH_KEYS, row.keys())
        return result.stdout, rows

    def test_problem(self):
        text, rows = self.bench(PROBLEM, "--threads", "1", "--samples", "3", "--seconds", "0.2")
        self.assertEqual({(row["backend"], row["op"]) for row in rows},
                         {(backend, op) for backend in ("cpu", "math") for op in ("fwd", "bwd")})
        for row in rows:
            self.assertEqual((row["problem"], row["dtype"], row["causal"], row["threads"]), (PROBLEM, "fp32", True, 1))
            self.assertGreater(row["ms"], 0)
            self.assertLessEqual(row["ms_p20"], row["ms"])
            self.assertAlmostEqual(row["tflops"] * row["ms"] * 1e9,
                                   4 * 2 * sum(i + 11 for i in range(40)) * 16 * (2.5 if row["op"] == "bwd" else 1),
                                   delta=1)
            self.assertGreater(row["peak_tflops"], row["tflops"])
            self.assertTrue(0 < row["peak_fraction"] < 2)  # a busy machine can slow a probe
            self.assertGreaterEqual(row["extra_bytes"], 0)
        self.assertIn("against the plain definition", text)

    def test_table_within_budget(self):
        text, rows = self.bench("strix-halo", "--rows", "tiny..Large", "--op", "fwd", "--budget", "1.5", "--html",
                                "report.html")
        self.assertEqual(len(rows), 4 * 2 * 2)  # sizes, masks, backends
        left_out = [row for row in rows if "left_out" in row]
        self.assertTrue(any(row["case"] == "Large" and row["backend"] == "math" for row in left_out))
        self.assertIn(f"left out ({len(left_out)} of 16 rows)", text)
        for row in left_out:
            self.assertIsNone(row["ms"])
            self.assertIn("of the budget", row["left_out"])
        html = (self.folder / "report.html").read_text()
        xml.dom.minidom.parseString(html)
        self.assertIn("<svg", html)
        for outside in ("http", "<script", "<link", "src="):
            self.assertNotIn(outside, html)
        self.assertEqual(self.names(), ["report.html", "rows.json"])

    def test_numbers_of_calls(self):
        _, rows = self.bench(PROBLEM, "--warmup", "2", "--iterations", "7", "--seconds", "0.000001")
        self.assertEqual([row["samples"] for row in rows], [7] * 4)

    def test_what_no_memory_holds(self):
        _, rows = self.bench("b64 hq64 hk64 sq1000000 sk1000000 d128 fp32", "--budget", "0", "--backend", "cpu")
        self.assertIn("available", rows[0]["left_out"])

    def test_tables(self):
        for table, cases in (("mi300x-d256", 5), ("fa3", 72), ("xeon", 72)):
            _, rows = self.bench(table, "--op", "fwd", "--backend", "cpu", "--budget", "0.0001")
            self.assertEqual(len({row["problem"] for row in rows}), cases)
        _, rows = self.bench("decode", "--backend", "cpu", "--budget", "0.0001")
        self.assertEqual(len(rows), 12)  # types and group sizes; only forward
        for row in rows:
            self.assertLessEqual({"gbps", "peak_gbps", "limit"}, row.keys())

    def test_peaks(self):
        text, rows = self.bench("peaks", "--threads", "1")
        self.assertEqual(rows, [])
        self.assertRegex(text, r"probed peak, GFLOP/s: fp32 \(\w+\) \d+, bf16 \(\w+\) \d+")

    def test_refusals(self):
        _, rows = self.bench("b1 hq1 hk1 sq8 sk8 d8 fp64", "--backend", "cpu", "--op", "fwd")
        self.assertIn("fp64", rows[0]["left_out"])
        text, rows = self.bench("b1 hq1 hk1 sq2 sk32 d8 fp32 paged=8", "--backend", "cpu", "--seconds", "0.1")
        self.assertEqual(["left_out" in row for row in rows], [False, True])
        self.assertIn("backward pass takes no cache", text)

    def test_output_that_cannot_be_written(self):
        commands = ("bench", "--json"), ("bench", "--html"), ("verify", "--json"), ("compare", "--html"), ("tune", "-o")
        for command, option in commands:
            for file, why in [("no/such.json", "there is no folder no"), (".", ". is a folder"), ("", "the name is empty")]:
                with self.subTest(f"{command} {option} {file}"):  # before anything runs
                    self.assertEqual(self.rapt(command, PROBLEM, option, file, code=2, says=[why]).stdout, "")

    def test_output_to_a_descriptor(self):
        with (self.folder / "out").open("w") as out:
            subprocess.run([support.RAPT, "bench", PROBLEM, "--op", "fwd", "--seconds", "0.01", "--json", "/dev/fd/1"],
                           stdout=out, check=True)
        text = (self.folder / "out").read_text()
        self.assertIn("case ", text)
        self.assertEqual(set(json.loads(text.splitlines()[-1])) & BENCH_KEYS, BENCH_KEYS)


if __name__ == "__main__":
    support.main()
