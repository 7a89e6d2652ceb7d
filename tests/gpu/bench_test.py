"""rapt bench on a simulated GPU prints forecasts that say so, or nothing. Usage: bench_test.py RAPT"""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import support

PROBLEM = "b1 hq2 hk1 sq40 sk50 d64 bf16 causal"


class SimulatedBench(support.CommandTest):
    def bench(self, time, threads=2):
        os.environ["RAPT_SIM_TIME"] = time
        os.environ["RAPT_SIM_THREADS"] = str(threads)
        result = self.rapt("bench", "--device", "hip:0", "--op", "fwd", PROBLEM, "--json", "rows.json", "--html", "page.html")
        (row,) = [json.loads(line) for line in (self.folder / "rows.json").read_text().splitlines()]
        return result.stdout, row, (self.folder / "page.html").read_text()

    def test_forecasts_say_so(self):
        text, row, page = self.bench("1")
        self.assertRegex(text, r"device hip:0: AMD Instinct MI300X.*simulator.*, time model \d")
        self.assertRegex(text, r"hip:0 +hip +forward.d64.bf16.plain.k32w2 +[0-9.]+.* simulated \(time model \d\)")
        self.assertRegex(row["simulated"], r"^time model \d+$")
        self.assertIn("simulator", row["runtime"])
        self.assertEqual(row["samples"], 1)
        self.assertGreater(row["ms"], 0.004)  # a launch alone takes as long
        self.assertLess(row["ms"], 10)
        self.assertEqual(row["ms"], row["ms_p20"])
        self.assertIsNone(row["peak_fraction"])
        self.assertEqual(page.count("simulated (time model"), 2)  # its bar, its row
        self.assertIn("not measurements", page)

    def test_the_same_each_time(self):
        times = [self.bench(time, threads)[1]["ms"] for time in ("1", "sample") for threads in (1, 2, 2)]
        self.assertEqual(len(set(times)), 1, times)

    def test_no_time_without_a_model(self):
        text, row, page = self.bench("0")
        self.assertIsNone(row["ms"])
        self.assertNotIn("simulated", row)
        for told in (text, row["left_out"], page):
            self.assertIn("RAPT_SIM_TIME=1 asks for forecasts", told)
        self.assertNotRegex(page, r"[0-9] ms")


if __name__ == "__main__":
    support.main()
