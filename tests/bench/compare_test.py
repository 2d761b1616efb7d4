"""Tests the comparison with other libraries where it does not need them: Weft's side of every problem at
a small size, the decision of bench-guard, and docs/benchmarks.md.

usage: compare_test.py WEFT_SIDE
"""

import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/compare"))

import cases  # noqa: E402
import guard  # noqa: E402
import own_benchmarks  # noqa: E402
import page_parts  # noqa: E402
import reasons  # noqa: E402
import render  # noqa: E402
import sides  # noqa: E402

WEFT_SIDE = ""
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

# Options that make a case small, by problem.
SMALL = {
    "axpy": {"shape": [100]},
    "dot": {"shape": [100]},
    "norm": {"shape": [100]},
    "first_derivative": {"shape": [16, 8]},
    "second_derivative": {"shape": [16, 8]},
    "laplacian": {"shape": [16, 8]},
    "gradient": {"shape": [16, 8]},
    "block_diag": {"n": 8},
    "vstack": {"n": 8},
    "hstack": {"n": 8},
    "matrix_mult": {"n": 12, "k": 10, "m": 3},
    "fredholm1": {"shape": [6, 5, 4], "nz": 2},
    "mdc": {"shape": [6, 5, 4], "nt": 15},
    "fftnd": {"shape": [8, 6]},
    "cgls_first_derivative": {"shape": [16, 8], "steps": 2},
    "poststack_cgls": {"shape": [4, 5, 60], "steps": 2},
    "poststack_cg": {"shape": [4, 5, 60], "steps": 2},
    "poststack_end_to_end": {"shape": [4, 5, 60], "steps": 2},
    "reflectivity_ista": {"shape": [4, 5, 60], "steps": 2},
    "reflectivity_fista": {"shape": [4, 5, 60], "steps": 2},
    "mdd_cgls": {"shape": [6, 5, 4], "nt": 15, "steps": 2},
    "cg_laplacian": {"shape": [6, 5, 4], "steps": 2},
}


def small_cases(known):
    """Every combination of options that the comparison has, once."""
    found = {}
    for case in cases.all_cases() + cases.gpu_cases():
        if case["problem"] in known:
            small = {**case, **SMALL[case["problem"]]}
            numbers = ("shape", "n", "k", "m", "nt", "steps", "size")
            kind = {
                k: v for k, v in small.items() if isinstance(v, str) and k not in ("id", *numbers)
            }
            found[json.dumps(kind, sort_keys=True)] = {**small, "id": f"case{len(found)}"}
    return list(found.values())


class WeftSide(unittest.TestCase):
    """Weft's side runs every problem and writes a time and an answer."""

    def test_every_problem_is_known_and_has_a_small_form(self):
        self.assertEqual({case["problem"] for case in cases.all_cases()}, set(SMALL))

    def test_small_problems(self):
        listed = subprocess.run([WEFT_SIDE, "--list"], capture_output=True, text=True, check=True)
        chosen = small_cases(listed.stdout.split())
        self.assertGreater(len(chosen), 10)
        for ranks in (1, 2):
            with tempfile.TemporaryDirectory() as folder, self.subTest(ranks=ranks):
                self.run_job(Path(folder), chosen, ranks)

    def run_job(self, folder, chosen, ranks):
        job, out = folder / "job.json", folder / "out.json"
        job.write_text(
            json.dumps({"cases": chosen, "seconds": 0, "loops": 1, "answers": str(folder)})
        )
        subprocess.run([WEFT_SIDE, job, out, "--ranks", str(ranks)], check=True)
        results = json.loads(out.read_text())
        for case in chosen:
            row = results[case["id"]]
            self.assertGreater(min(row["seconds"]), 0, case)
            self.assertGreater(row["floor_seconds"], 0, case)
            self.assertTrue(list(folder.glob(case["id"] + ".*npy")), case)


class Guard(unittest.TestCase):
    """A ratio that falls by more than a quarter fails, unless a repetition does not confirm it."""

    def test_small_changes_pass(self):
        committed = {"a": (4.0,), "b": (1.0,)}
        self.assertEqual(guard.worse(committed, {"a": (3.01,), "b": (2.0,)}), [])

    def test_a_fall_by_more_than_a_quarter_fails(self):
        committed = {"a": (4.0,), "b": (1.0,)}
        self.assertEqual(guard.worse(committed, {"a": (2.9,), "b": (1.0,)}), ["a"])

    def test_a_fall_of_all_ratios_fails(self):
        self.assertEqual(guard.worse({"a": (40.0, 0.9)}, {"a": (29.0, 0.6)}), ["a"])

    def test_a_faster_peer_passes(self):
        self.assertEqual(guard.worse({"a": (40.0, 0.9)}, {"a": (20.0, 0.9)}), [])

    def test_rows_that_only_one_has_are_left_out(self):
        self.assertEqual(guard.worse({"a": (4.0,)}, {"b": (0.1,)}), [])

    def test_a_disturbance_passes(self):
        runs = iter([{"a": (1.0,)}, {"a": (3.9,), "b": (1.0,)}])
        measured, failures = guard.evaluate({"a": (4.0,)}, lambda: next(runs))
        self.assertEqual((measured, failures), ({"a": (3.9,), "b": (1.0,)}, []))

    def test_a_lasting_fall_fails(self):
        runs = iter([{"a": (1.0,)}, {"a": (1.2,)}, {"a": (1.1,)}])
        measured, failures = guard.evaluate({"a": (4.0,)}, lambda: next(runs))
        self.assertEqual((measured, failures), ({"a": (1.2,)}, ["a"]))

    def test_a_program_that_fails_ends_the_run_with_one_line(self):
        for command, text in [(["false"], "false failed with exit status 1"), (["/none"], "cannot run /none")]:
            with self.assertRaises(SystemExit) as ended:
                guard.run(command)
            self.assertIn(text, ended.exception.code)

    def test_speed_of_a_benchmark_is_relative_to_its_baseline(self):
        row = {"what": "axpy", "baseline": "loop", "ours_us": 50, "ratio": 2.0}
        count = {"what": "messages", "value": 3, "bar": 3}
        self.assertEqual(guard.speeds_of_bench({"rows": [row, count]}), {"axpy vs loop": (0.5,)})

    def test_speed_of_a_comparison_is_relative_to_peer_and_floor(self):
        row = {"id": "x", "ranks": 2, "peer": "petsc", "ours_us": 50, "ratio": 2.0}
        row["times_floor"] = 4.0
        error = {"id": "y", "ranks": 2, "peer": "petsc", "error": "answers differ"}
        expected = {"x, 2 ranks vs petsc": (2.0, 0.25)}
        self.assertEqual(guard.speeds_of_compare({"rows": [row, error]}), expected)


class Results(unittest.TestCase):
    def test_quick_runs_keep_the_committed_results(self):
        self.assertEqual(sides.results_file("compare.json", False), ROOT / "bench/results/compare.json")
        self.assertFalse(sides.results_file("compare.json", True).is_relative_to(ROOT / "bench"))


class Render(unittest.TestCase):
    """The page has every row, including those that are slower and those that failed."""

    def row(self, **more):
        return {
            "id": "x", "family": "derivatives", "label": "Laplacian", "size": "512²",
            "unit": "apply", "tolerance": 1e-12, "bar": 15, "note": "", "direction": "forward",
            "dtype": "float64", "peer": "pylops_mpi", "ranks": 2, "difference": 1e-16,
            "ours_us": 10.0, "theirs_us": 200.0, "ratio": 20.0, "floor": "copy of 2 arrays",
            "floor_us": 8.0, "times_floor": 1.25, "messages_ours": 1, "messages_theirs": 30, **more,
        }  # fmt: skip

    def page(self, rows):
        about = {
            "date": "2000-01-01",
            "processor": "abacus",
            "cores": 2,
            "versions": {"mpi": "none"},
        }
        return "\n".join(render.cpu_page({**about, "rows": rows}, None, Path("charts")))

    def test_a_row_that_meets_its_target(self):
        page = self.page([self.row(), self.row(size="2048²", ours_us=100.0, theirs_us=3000.0)])
        self.assertIn("| Laplacian | 512² | 2 | 10 µs | 200 µs | 20 | ≥ 15 |", page)
        self.assertNotIn("MISSED", page)
        self.assertIn("laplacian-2.svg", page)

    def test_a_row_that_misses_its_target(self):
        page = self.page([self.row(ratio=0.5)])
        self.assertIn("MISSED", page)
        self.assertIn("Laplacian, 512², 2 ranks misses its target", page)

    def reason(self, **more):
        return reasons.reason_for(self.row(family="collectives", peer="mpi", bar=None, **more))

    def test_a_collective_slower_by_the_overhead_of_a_call(self):
        reason = self.reason(ours_us=0.78, theirs_us=0.64, ratio=0.82)
        self.assertIn("adds 0.14 µs per call", reason)
        self.assertIn("statistics", reason)

    def test_a_collective_slower_by_more(self):
        reason = self.reason(ours_us=4.5, theirs_us=3.3, ratio=0.73)
        self.assertIn("takes 1.2 µs more", reason)
        self.assertIn("at most 0.3 µs", reason)
        self.assertIn("not known", reason)

    def test_a_collective_of_milliseconds_slower_in_single_rounds(self):
        reason = self.reason(ours_us=4857.47, theirs_us=4786.544, ratio=0.947)
        self.assertIn("differ by 70.9 µs (1.5%)", reason)
        self.assertNotIn("statistics", reason)

    def test_a_collective_of_milliseconds_clearly_slower(self):
        reason = self.reason(ours_us=6000.0, theirs_us=4800.0, ratio=0.8)
        self.assertIn("takes 1.2 ms more", reason)
        self.assertIn("not known", reason)

    def test_the_committed_page_matches_the_results(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "benchmarks.md"
            with contextlib.redirect_stdout(None):
                render.main(["--no-charts", "--page", str(page)])
            written = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
            self.assertEqual(page.read_text(encoding="utf-8"), written)

    def test_rows_of_a_gpu(self):
        rows = [self.row(peer=peer, ranks=1) for peer in ("cupy", "mpi_cupy", "nccl")]
        about = {"date": "2000-01-01", "gpu": "abacus", "versions": {"cupy": "1"}}
        page = "\n".join(render.gpu_page({**about, "rows": rows}, None, Path("charts")))
        self.assertEqual(page.count("| Laplacian | 512² | 1 | 10 µs |"), 3)
        self.assertIn("(charts/gpu.svg)", page)

    @unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
    def test_charts_are_the_same_for_the_same_results(self):
        rows = [
            self.row(peer=peer, size=size, family="gpu_derivatives", ranks=ranks)
            for peer in ("pylops_mpi", "cupy", "mpi_cupy", "nccl")
            for size in ("512²", "2048²")
            for ranks in (1, 2)
        ]
        drawn = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                charts = render.chart_module()
                plans = [*render.cpu_charts(rows), *render.gpu_charts(rows)]
                shown = render.draw(plans, charts, Path(folder))
                charts.summary(rows, charts.DARK, Path(folder) / "summary.svg")
                drawn.append({path.name: path.read_text() for path in Path(folder).iterdir()})
        self.assertEqual(len(drawn[0]), len(shown) + 1)
        self.assertIn("laplacian-2.svg", drawn[0])
        self.assertEqual(drawn[0]["gpu.svg"].count("PyLops-MPI with CuPy</text>"), 1)
        self.assertEqual(drawn[0], drawn[1])

    def test_the_summary_counts_slower_rows(self):
        rows = [
            self.row(),
            self.row(ratio=157.1),
            self.row(family="collectives", peer="mpi", ratio=0.7),
        ]
        lines = "\n".join(page_parts.summary(rows))
        self.assertIn("slower in 1 of 3 rows; all of these are single MPI", lines)
        lines = "\n".join(page_parts.summary([*rows, self.row(ratio=0.5)]))
        self.assertIn("slower in 2 of 4 rows; 1 of these are single MPI", lines)

    def test_a_benchmark_over_its_target_is_marked(self):
        rows = [
            {"what": f"laplacian, ({n}, {n})", "baseline": "copy", "ratio": ratio, "bar": 1.25}
            for n, ratio in ((512, 1.1), (1024, 1.3))
        ]
        self.assertEqual(
            own_benchmarks.line("laplacian", rows),
            "| laplacian | copy | **1.1 / 1.2 / 1.3** | ≤ 1.25 | 1 of 2 |",
        )

    def test_a_row_that_failed(self):
        page = self.page([self.row(), {**self.row(), "error": "answers differ by 1e-3"}])
        self.assertIn("**error**: answers differ by 1e-3", page)


if __name__ == "__main__":
    WEFT_SIDE = sys.argv.pop(1)
    unittest.main()
