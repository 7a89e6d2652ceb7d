"""rapt bench prints published reports' tables in their layouts, with forecasts. Usage: bench_layouts_test.py RAPT"""

import ast
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import support

STATUS = ROOT / "python/rapt/torch/status.py"


class Layouts(support.CommandTest):
    def setUp(self):
        super().setUp()
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update({"RAPT_SIM_TIME": "sample", "RAPT_TUNING": str(ROOT / "tuning")})

    def bench(self, table, *options, arch="gfx1151", **checks):
        os.environ["RAPT_SIM_ARCH"] = arch
        text = self.rapt("bench", table, "--device", "hip:0", "--json", "rows.json", *options, **checks).stdout
        return text, [json.loads(line) for line in (self.folder / "rows.json").read_text().splitlines()]


class StrixHalo(Layouts):
    def test_the_layout_of_the_report(self):
        text, rows = self.bench("strix-halo", "--rows", "Tiny,Small")
        titles = re.findall("^\u2551 *(.*?) *\u2551$", text, re.MULTILINE)
        self.assertEqual(titles, ["Rapt Status Check", "Testing Tiny: B=1, H=1, S=128, D=64",
                                  "Testing Small: B=2, H=4, S=512, D=64", "Summary", "Testing with different dtypes"])
        self.assertEqual(text.count("Estimated memory per QKV tensor: 0.00 GB\nTotal QKV memory: 0.00 GB\n"), 2)
        header = "| Operation   | FW Time (ms) | FW FLOPS (TF/s) | BW Time (ms) | BW FLOPS (TF/s) |"
        self.assertEqual(text.count(header), 2)
        ms = {(row["case"], row["op"]): row["ms"] for row in rows}
        for size in ("Tiny", "Small"):
            for name, case in (("Causal rapt", f"{size} causal"), ("Full rapt  ", size)):
                self.assertRegex(text, rf"\| {name} \| +{ms[case, 'fwd']:.4f} \|.*\| +{ms[case, 'bwd']:.4f} \|")
            self.assertIn(f"{size}:\n  Causal rapt: {ms[f'{size} causal', 'fwd']:.4f} ms\n", text)
        for dtype in ("fp16", "bf16", "fp32"):
            self.assertIn(f"Testing with {dtype}\nSuccess with {dtype}: ", text)
        self.assertIn("because it needs PyTorch", text)

    def test_forecasts_say_so(self):
        text, rows = self.bench("strix-halo", "--rows", "Tiny")
        self.assertEqual(len(re.findall(r"^Times: simulated \(time model \d+\), not measured$", text, re.MULTILINE)), 3)
        self.assertTrue(all(row["simulated"].startswith("time model") for row in rows))

    def test_no_times_without_a_model(self):
        del os.environ["RAPT_SIM_TIME"]
        text, rows = self.bench("strix-halo", "--rows", "Tiny")
        self.assertIn("Times: none, RAPT_SIM_TIME=sample asks for forecasts", text)
        self.assertRegex(text, r"\| Causal rapt \| +- \| +- \| +- \| +- \|")
        self.assertEqual([row["ms"] for row in rows], [None] * 4)
        self.assertIn("left out (4 of 4 rows)", text)

    def test_the_box_names_what_matters(self):
        constants = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(STATUS.read_text()).body
                     if isinstance(node, ast.Assign) and node.targets[0].id in ("_CHOICE", "_SLOW")}
        names = [*constants["_CHOICE"], *constants["_SLOW"]]
        values = {name: os.environ.get(name, "1") for name in names}
        os.environ.update(values)
        text, rows = self.bench("strix-halo", "--rows", "Tiny", "--op", "fwd")
        for name, value in values.items():
            self.assertIn(f"\n{name}: {value}\n", text)
        for name, what in constants["_SLOW"].items():
            self.assertIn(f"warning: {name} is 1: {what}, so times on a GPU are too long", text)
        self.assertEqual(rows[0]["variables"], values)

    def test_the_libaotriton_that_pytorch_loads(self):
        (self.folder / "python3").write_text("#!/bin/sh\n")
        (self.folder / "python3").chmod(0o755)
        os.environ["PATH"] = f"{self.folder}:{os.environ['PATH']}"
        text, _ = self.bench("strix-halo", "--rows", "Tiny", "--op", "fwd")
        self.assertIn("libaotriton_v2: none: python3 finds no torch\n", text)

    def test_other_tables_and_mixtures_keep_the_common_form(self):
        text, _ = self.bench("strix-halo", "b1 hq1 hk1 sq40 sk40 d64 fp16", "--rows", "Tiny,problem", "--op", "fwd")
        self.assertIn("case         ", text)
        self.assertNotIn("Operation", text)


class Mi300x(Layouts):
    def bench(self, *options, **more):
        return super().bench("mi300x-d256", *options, arch="gfx942", **more)

    def test_the_layout_of_the_report(self):
        text, rows = self.bench("--rows", "s512,s1024-d64")
        ms = {row["kernel"].split(".")[0]: row["ms"] for row in rows if row["case"] == "s512"}
        self.assertEqual(set(ms), {"forward_pipelined", "split_wide"})
        self.assertIn("A: forward_pipelined.k32w4 (BLOCK_M=128, BLOCK_N=32, 4 waves)\n", text)
        self.assertIn("B: split_wide.k32w4s4 (BLOCK_M=16, BLOCK_N=32, 4 waves)\n", text)
        header, line = re.findall(r"^(Config.*|\(4, 512.*)$", text, re.MULTILINE)
        columns = ["Config (B,S,H,D)", "Native (ms)", "A (ms)", "B (ms)", "Rapt (ms)", "A Speedup", "B Speedup",
                   "Rapt Speedup", "Rapt chooses"]
        self.assertEqual(re.split("  +", header), columns)
        cells = line.removeprefix("(4, 512, 8, 256)").split()
        native = float(cells[0].removeprefix(">="))
        times = [ms["forward_pipelined"], ms["split_wide"], ms["forward_pipelined"]]
        self.assertEqual(cells[1:4], [f"{x:.3f}" for x in times])
        for cell, x in zip(cells[4:7], times, strict=True):
            self.assertAlmostEqual(float(cell.strip(">=x")), native / x, delta=0.02)
        self.assertEqual(cells[7], "A")
        self.assertRegex(text, r"Comparison \(seq=1024, d_k=64\):\n  forward_pipelined.k32w\d: +\d.\d{3} ms, which Rapt ch")
        self.assertTrue(all(row["op"] == "fwd" and row["simulated"] for row in rows))
        self.assertRegex(text, r"Times: simulated \(time model \d+\), not measured")

    def test_native_is_a_bound_by_the_data_sheet(self):
        text, _ = self.bench("--rows", "s512", "--op", "fwd")
        products = 2 * 2 * 4 * 8 * 512**2 * 256 / (304 * 2.1e9 * 256) * 1e3  # the logits' 34 MB fit in the last cache
        self.assertIn(f"(4, 512, 8, 256)  >={products:.3f} ", text)

    def test_lds_adds_up_to_what_the_archive_says(self):
        del os.environ["RAPT_SIM_TIME"]  # no times, so it is quick
        for arch in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201"):
            text, rows = Layouts.bench(self, "mi300x-d256", "--rows", "s512", arch=arch)
            kernels = json.loads(self.rapt("kernels", arch, "--json").stdout)["kernels"]
            lds = {k["name"]: k["shared_memory"] for k in kernels}
            names = [row["kernel"].split(" ")[0] for row in rows]
            lines = re.findall(r"^     has (.*)$", text, re.MULTILINE)
            self.assertGreaterEqual(len(lines), 2)
            for name, line in zip(names, lines, strict=True):
                total, parts = line.split(": ")
                self.assertEqual(int(total.split()[0]), lds[name])
                self.assertEqual(sum(int(n) for n in re.findall(r"= (\d+)", parts)), lds[name], name)
                for factors, product in re.findall(r"([0-9(][0-9 ()x+waves]*) = (\d+)", parts):
                    self.assertEqual(eval(factors.replace("waves", "").replace("x", "*")), int(product), line)
        self.assertIn("A: 64 x 256 + 32 x 256 = 24576 elements, 49152 bytes\n", text)  # of gfx1201

    def test_backward_and_chosen_backends_keep_the_common_form(self):
        for options in (("--op", "both"), ("--backend", "hip")):
            text, _ = self.bench("--rows", "s512", *options)
            self.assertIn("bwd TF/s", text)
            self.assertNotIn("Config", text)


class Measured(Layouts):
    """On a GPU that computes nothing, so its times are measured and its results are wrong."""

    def setUp(self):
        super().setUp()
        os.environ.update({"RAPT_HIP_LIBRARY": os.environ["RAPT_TEST_FAKE_HIP"], "FAKE_HIP": "strix_halo"})
        os.environ.pop("RAPT_SIM_TIME")

    def test_warm_up_and_iterations(self):
        text, rows = self.bench("mi300x-d256", "--rows", "s512", "--warmup", "3", "--iterations", "7")
        self.assertIn("Milliseconds of a forward call: the median of 7, after 3 warm-up calls\n", text)
        self.assertEqual([(row["samples"], row["ms"] > 0) for row in rows], [(7, True)] * 2)
        text, rows = self.bench("mi300x-d256", "--rows", "s512")
        self.assertIn("the median of 100, after 10 warm-up calls\n", text)  # the report's numbers
        self.assertEqual([row["samples"] for row in rows], [100] * 2)
        self.assertNotIn("imulated", text)

    def test_wrong_results_are_failures(self):
        text, rows = self.bench("strix-halo", "--rows", "Tiny", "--iterations", "2", code=1)
        self.assertRegex(text, r"\| Causal rapt \| +\d+.\d{4} \| +[0-9.]+ \| +\d+.\d{4} \| +[0-9.]+ \|")
        self.assertEqual(len(re.findall("^Failure with (?:fp16|bf16|fp32): hip .* FAIL$", text, re.MULTILINE)), 3)
        self.assertNotIn("imulated", text)
        self.assertEqual([row["samples"] for row in rows], [2] * 4)


class Options(Layouts):
    def test_bad_options_are_named(self):
        for option, value in (("--warmup", "0"), ("--iterations", "0"), ("--iterations", "many"), ("--warmup", "-1")):
            self.rapt("bench", "strix-halo", "--device", "hip:0", option, value, code=2,
                      says=[f"{option}: Value {value} not in range 1 to 1000000"])


if __name__ == "__main__":
    support.main()
