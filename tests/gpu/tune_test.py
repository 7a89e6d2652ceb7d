"""rapt tune and rapt compare on a simulated GPU whose archive has a better kernel, a wrong one and a slow one.
Usage: tune_test.py RAPT"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import support

PROBLEMS = [f"b1 hq2 hk2 sq{s} sk{s} d64 bf16 causal" for s in (40, 90, 150)]
DEFAULT, BETTER = "forward.d64.bf16.plain.k32w2", "forward.d64.bf16.plain.k64w2"
WRONG, SLOW = "forward.d64.bf16.plain.k16w2", "forward.d64.bf16.plain.k128w2"


class Tune(support.CommandTest):
    def setUp(self):
        super().setUp()
        os.environ["RAPT_SIM_TIME"] = "sample"

    def tune(self, *more, code=1):
        budget = [] if "--budget" in more else ["--budget", "300"]
        return self.rapt("tune", "--device", "hip:0", *budget, *more, code=code).stdout

    def table(self):
        return (self.folder / "table").read_text()

    def explain(self, problem=PROBLEMS[0], table="table"):
        os.environ["RAPT_TUNING"] = str(self.folder / table)
        try:
            return self.rapt("explain", "--device", "hip:0", problem).stdout
        finally:
            del os.environ["RAPT_TUNING"]

    def test_finds_the_better_kernel_and_names_the_wrong_one(self):
        text = self.tune("--simulated", "-o", "table", *PROBLEMS)
        self.assertRegex(text, rf"wrong: forward b1 hq2 hk2 sq40 sk40 d64 bf16 causal {WRONG}:[0-9a-f]{{8}}: .*FAIL")
        self.assertEqual(len(re.findall(rf"\* {BETTER} ", text)), len(PROBLEMS))
        self.assertEqual(text.count(f"  {SLOW} "), len(PROBLEMS))
        rows = [line for line in self.table().splitlines() if line and not line.startswith("#")]
        self.assertEqual(len(rows), 1, self.table())  # one answer everywhere
        self.assertRegex(rows[0], rf"^forward dtype=bf16 head_dim=1..64 mask=causal features=plain .* use={BETTER}:[0-9a-f]{{8}} "
                                  rf"by=simulated gain=[12][.0-9]+ n=1 against={DEFAULT}:[0-9a-f]{{8}}$")
        self.assertIn("# tuned on AMD Instinct MI300X, 304 compute units, time model", self.table())
        for problem in PROBLEMS:
            self.assertRegex(self.explain(problem), rf"-> +hip +{BETTER} +.*table line 4 fired")
        self.assertRegex(self.explain("b1 hq2 hk2 sq90 sk90 d64 bf16"), rf"-> +hip +{DEFAULT} ")  # another mask

        before = self.table()
        again = self.tune("--simulated", "-o", "table", *PROBLEMS, code=0)  # nothing is tried twice
        self.assertIn("3 were tuned before, 0 to tune", again)
        self.assertEqual(self.table(), before)

        (self.folder / "measured").write_text(before.replace("by=simulated", "by=measured"))
        self.assertIn("0 to tune", self.tune("--simulated", "-o", "measured", *PROBLEMS, code=0))

        stale = re.sub(rf"(against={DEFAULT}):[0-9a-f]{{8}}", r"\1:00000000", before)
        (self.folder / "stale").write_text(stale)
        self.assertRegex(self.explain(table="stale"), rf"-> +hip +{DEFAULT} .*line 4 was passed over: {DEFAULT} has changed")

    def test_killed_at_any_moment_and_continued(self):
        problems = [f"b1 hq1 hk1 sq{s} sk{s} d64 bf16" for s in (20, 40, 90, 150)]
        command = [support.RAPT, "tune", "--device", "hip:0", "--simulated", "-o", "table", *problems]
        for delay in (0.2, 0.5, 0.8, 1.1):
            run = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            run.send_signal(signal.SIGKILL)
            run.wait()
            if (self.folder / "table").exists():
                self.assertTrue(self.table().startswith("# Below here"))
                self.assertTrue(self.table().endswith("\n"))
                self.explain(problems[0])  # it parses
        self.assertLess(support.rapt(*command[1:], cwd=self.folder).returncode, 2)
        self.assertEqual(self.table().count("# tried "), len(problems))

    def test_every_kernel_has_a_forecast(self):
        problems = [f"b1 hq2 hk2 sq40 sk40 {p}" for p in ("d64 bf16", "d128 fp16 bias=b1h1", "d64 fp32", "d256 bf16")]
        for archive in sorted(Path(os.environ["RAPT_TEST_ARCHIVES"]).glob("gfx*.rapt")):
            with self.subTest(archive.stem), self.shipped_kernels(RAPT_SIM_ARCH=archive.stem):
                both = "backward" in self.rapt("kernels", archive.stem).stdout
                text = self.rapt("compare", "--device", "hip:0", "--op", "both" if both else "fwd", *problems).stdout
                self.assertNotIn("left out", text)
                self.assertEqual(text.count("*"), (1 + both) * len(problems) + 1, text)

    def test_a_forecast_does_not_depend_on_what_ran_before(self):
        problem, kernel = "b1 hq4 hk4 sq512 sk512 d128 fp16 causal", "backward_dkv_pipelined.d128.fp16.plain.k32w4"
        with self.shipped_kernels():
            tuned = self.tune("--simulated", "--op", "bwd", problem, code=0)
            self.rapt("bench", "--device", "hip:0", "--op", "bwd", "--backend", f"hip.{kernel}", problem, "--json", "rows")
        (alone,) = [json.loads(line)["ms"] for line in (self.folder / "rows").read_text().splitlines()]
        self.assertRegex(tuned, rf"{re.escape(kernel)} +{alone:.4f} ms")

    @contextlib.contextmanager
    def shipped_kernels(self, **more):
        """With the archives that ship, in place of the one with a wrong kernel."""
        changed = {"RAPT_KERNEL_PATH": os.environ["RAPT_TEST_ARCHIVES"], **more}
        old = {name: os.environ[name] for name in changed}
        os.environ.update(changed)
        try:
            yield
        finally:
            os.environ.update(old)

    def test_equal_bits_have_answers_of_their_own(self):
        with self.shipped_kernels():
            problem = "b1 hq1 hk1 sq40 sk40 d64 bf16"
            self.tune("--simulated", "--op", "bwd", "-o", "table", problem, code=0)
            before = [line for line in self.table().splitlines() if line.startswith("# tried backward ")]
            self.assertEqual(len(before), 1)
            self.assertIn(" deterministic=no ", before[0])
            self.tune("--simulated", "--op", "bwd", "-o", "table", problem + " det", code=0)
            self.assertIn(before[0], self.table())
            self.assertIn(" deterministic=yes ", self.table())
            again = self.tune("--simulated", "--op", "bwd", "-o", "table", problem, problem + " det", code=0)
            self.assertIn("2 were tuned before", again)

    def test_a_problem_that_cannot_run_leaves_the_others(self):
        huge, empty = "b1 hq3 hk3 sq500000000 sk500000000 d64 bf16", "b1 hq2 hk2 sq40 sk0 d64 bf16"
        for command in ("tune", "compare"):
            text = self.rapt(command, "--device", "hip:0", huge, empty, PROBLEMS[0], code=int(command == "tune")).stdout
            self.assertRegex(text, rf"left out: (forward )?{huge}: no memory")
            self.assertIn(f"{empty}: there is nothing to compute", text)
            self.assertRegex(text, BETTER if command == "tune" else r"\*[0-9.]+ \(1\.00x\)")

    def test_the_budget_holds_for_checks_too(self):
        start = time.monotonic()
        text = self.tune("--budget", "1", "b4 hq8 hk2 sq2000 sk2000 d64 bf16 causal", code=0)
        self.assertLess(time.monotonic() - start, 8)
        self.assertIn("1 cells are left", text)
        self.assertNotIn("# tried", text)

    def test_forecasts_need_a_word(self):
        error = self.rapt("tune", "--device", "hip:0", "-o", "table", PROBLEMS[0], code=2).stderr
        self.assertIn("--output is table, and hip:0 is a simulated GPU: its times are forecasts, which --simulated allows", error)
        self.assertFalse((self.folder / "table").exists())
        self.assertIn("use=" + BETTER, self.tune(PROBLEMS[0]))  # printed, they are

    def test_what_it_refuses(self):
        self.assertIn("--device is cpu", self.rapt("tune", "--device", "cpu", PROBLEMS[0], code=2).stderr)
        self.assertIn("there is nothing to tune", self.rapt("tune", "--device", "hip:0", code=2).stderr)
        (self.folder / "problems").write_text("forward b1 hq2\n")
        self.assertIn("problems line 1 is 'forward b1 hq2': problem text, column 7: expected hk",
                      self.rapt("tune", "--device", "hip:0", "--record", "problems", code=2).stderr)
        self.assertIn(f"{self.folder} is a folder, must be a file",
                      self.rapt("tune", "--device", "hip:0", "--record", self.folder, code=2).stderr)
        (self.folder / "problems").write_bytes(f"forward {PROBLEMS[0]}\r\n".encode())
        self.assertIn("* " + BETTER, self.tune("--record", "problems"))
        (self.folder / "problems").write_text("\nsideways b1\n")
        self.assertIn("problems line 2 is 'sideways b1', must be 'forward PROBLEM'",
                      self.rapt("tune", "--device", "hip:0", "--record", "problems", code=2).stderr)
        for budget in ("0", "nan", "1e10", "soon"):
            self.assertIn(f"--budget: is '{budget}', must be 1 to 1e9 seconds",
                          self.rapt("tune", "--device", "hip:0", "--budget", budget, PROBLEMS[0], code=2).stderr)
        os.environ["RAPT_SIM_TIME"] = "0"
        self.assertIn("RAPT_SIM_TIME=sample asks for forecasts",
                      self.rapt("tune", "--device", "hip:0", PROBLEMS[0], code=2).stderr)

    def test_where_no_table_can_be_written(self):
        (self.folder / "problems").write_text(f"forward {PROBLEMS[0]}\n")
        (self.folder / "bytes").write_bytes(bytes(range(256)))
        os.mkfifo(self.folder / "pipe")
        for path, why in (("problems", "problems line 1 is no row of a table"), ("bytes", "bytes line 1 is no row"),
                          ("pipe", "the table's path is pipe, must be a file"),
                          (".", "--output: . is a folder, must be a file"),
                          ("missing/table", "--output: missing/table: there is no folder missing")):
            before = [(name, (self.folder / name).read_bytes()) for name in ("problems", "bytes")]
            result = self.rapt("tune", "--device", "hip:0", "--simulated", "-o", path, PROBLEMS[0], code=2)
            self.assertIn(why, result.stderr)
            self.assertEqual(result.stdout, "")  # nothing was tried
            self.assertEqual(before, [(name, (self.folder / name).read_bytes()) for name in ("problems", "bytes")])

    def test_a_link_stays_one(self):
        (self.folder / "table").symlink_to("real")
        (self.folder / "real").write_text("forward rows<9 use=forward.smallest by=me\n")
        self.tune("--simulated", "-o", "table", PROBLEMS[0])
        self.assertTrue((self.folder / "table").is_symlink())
        self.assertIn("\nforward dtype=bf16", (self.folder / "real").read_text())

    def test_what_a_program_ran(self):
        os.environ["RAPT_RECORD"] = str(self.folder / "problems")
        try:
            os.environ["RAPT_SIM_TIME"] = "0"  # or only a sample runs
            self.rapt("verify", "--device", "hip:0", *PROBLEMS)
        finally:
            del os.environ["RAPT_RECORD"]
        os.environ["RAPT_SIM_TIME"] = "sample"
        lines = (self.folder / "problems").read_text().splitlines()
        self.assertEqual(len(lines), len(set(lines)))
        self.assertIn(f"forward {PROBLEMS[0]} lse", lines)
        self.assertIn("* " + BETTER, self.tune("--record", "problems"))

    def test_tensors_that_are_not_compact(self):
        for layout in ("align=2", "stride=999", "device-lengths=70:70"):
            problem = f"b2 hq2 hk2 sq40 sk40 d64 bf16 {layout}"
            self.assertIn("* " + BETTER, self.tune(problem), layout)
            self.assertIn("*", self.rapt("compare", "--device", "hip:0", problem).stdout.split("fwd", 1)[1])

    def test_compare_prints_every_kernel(self):
        text = self.rapt("compare", "--device", "hip:0", *PROBLEMS[:2], "--json", "rows", "--html", "page").stdout
        self.assertIn("times are forecasts by time model", text)
        for kernel in (DEFAULT, BETTER, WRONG, SLOW):
            self.assertIn(kernel.replace(".bf16.", "."), text)
        self.assertRegex(text, r"fwd +b1 hq2 hk2 sq40 sk40 d64 bf16 causal +.*\*[0-9.]+ \(1\.00x\)")
        self.assertEqual(len((self.folder / "rows").read_text().splitlines()), 8)
        self.assertIn("<svg", (self.folder / "page").read_text())


if __name__ == "__main__":
    support.main()
