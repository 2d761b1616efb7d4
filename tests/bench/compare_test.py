"""Tests what compares Weft with others, as far as that needs no others: our side of every problem at
a small size, the judgement of bench-guard, and the page that results become.

usage: compare_test.py WEFT_SIDE
"""

import contextlib
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
import render  # noqa: E402

WEFT_SIDE = ""

# What makes a case small, by problem.
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
    """Our side runs every problem, and leaves a time and an answer."""

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
    """A ratio that has fallen by more than a quarter fails, unless it was a disturbance."""

    def test_small_changes_pass(self):
        committed = {"a": (4.0,), "b": (1.0,)}
        self.assertEqual(guard.worse(committed, {"a": (3.01,), "b": (2.0,)}), [])

    def test_a_fall_by_more_than_a_quarter_fails(self):
        committed = {"a": (4.0,), "b": (1.0,)}
        self.assertEqual(guard.worse(committed, {"a": (2.9,), "b": (1.0,)}), ["a"])

    def test_a_fall_of_all_ratios_fails(self):
        self.assertEqual(guard.worse({"a": (40.0, 0.9)}, {"a": (29.0, 0.6)}), ["a"])

    def test_a_peer_that_has_become_faster_does_not(self):
        self.assertEqual(guard.worse({"a": (40.0, 0.9)}, {"a": (20.0, 0.9)}), [])

    def test_rows_that_only_one_has_are_left_out(self):
        self.assertEqual(guard.worse({"a": (4.0,)}, {"b": (0.1,)}), [])

    def test_a_disturbance_is_forgiven(self):
        runs = iter([{"a": (1.0,)}, {"a": (3.9,), "b": (1.0,)}])
        measured, failures = guard.judge({"a": (4.0,)}, lambda: next(runs))
        self.assertEqual((measured, failures), ({"a": (3.9,), "b": (1.0,)}, []))

    def test_a_lasting_fall_is_not(self):
        runs = iter([{"a": (1.0,)}, {"a": (1.2,)}, {"a": (1.1,)}])
        measured, failures = guard.judge({"a": (4.0,)}, lambda: next(runs))
        self.assertEqual((measured, failures), ({"a": (1.2,)}, ["a"]))

    def test_benchmarks_have_their_time_over_the_baseline(self):
        row = {"what": "axpy", "baseline": "loop", "ours_us": 50, "ratio": 2.0}
        count = {"what": "messages", "value": 3, "bar": 3}
        self.assertEqual(guard.speeds_of_bench({"rows": [row, count]}), {"axpy vs loop": (0.5,)})

    def test_comparisons_have_theirs_and_the_floor_over_ours(self):
        row = {"id": "x", "ranks": 2, "peer": "petsc", "ours_us": 50, "ratio": 2.0}
        row["times_floor"] = 4.0
        error = {"id": "y", "ranks": 2, "peer": "petsc", "error": "answers differ"}
        expected = {"x, 2 ranks vs petsc": (2.0, 0.25)}
        self.assertEqual(guard.speeds_of_compare({"rows": [row, error]}), expected)


class Render(unittest.TestCase):
    """The page has every row, those that are lost and those that failed included."""

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
        with tempfile.TemporaryDirectory() as folder:
            return "\n".join(render.cpu_page({**about, "rows": rows}, Path(folder)))

    def test_a_row_that_meets_its_bar(self):
        page = self.page([self.row(), self.row(size="2048²", ours_us=100.0, theirs_us=3000.0)])
        self.assertIn("| Laplacian | 512² | 2 | 10 µs | 200 µs | 20 | ≥ 15 |", page)
        self.assertNotIn("MISSED", page)
        self.assertIn("laplacian-2.svg", page)

    def test_a_row_that_misses_its_bar(self):
        page = self.page([self.row(ratio=0.5)])
        self.assertIn("MISSED", page)
        self.assertIn("Laplacian, 512², 2 ranks misses its bar", page)

    def reason(self, **more):
        return render.reason_for(self.row(family="collectives", peer="mpi", bar=None, **more))

    def test_a_collective_that_loses_by_the_cost_of_a_call(self):
        reason = self.reason(ours_us=0.78, theirs_us=0.64, ratio=0.82)
        self.assertIn("adds 0.14 µs per call", reason)
        self.assertIn("statistics", reason)

    def test_a_collective_that_loses_by_more(self):
        reason = self.reason(ours_us=4.5, theirs_us=3.3, ratio=0.73)
        self.assertIn("takes 1.2 µs more", reason)
        self.assertIn("at most 0.3 µs", reason)
        self.assertIn("not known", reason)

    def test_a_collective_of_milliseconds_that_loses_in_single_rounds(self):
        reason = self.reason(ours_us=4857.47, theirs_us=4786.544, ratio=0.947)
        self.assertIn("differ by 70.9 µs (1.5%)", reason)
        self.assertNotIn("statistics", reason)

    def test_a_collective_of_milliseconds_that_loses_clearly(self):
        reason = self.reason(ours_us=6000.0, theirs_us=4800.0, ratio=0.8)
        self.assertIn("takes 1.2 ms more", reason)
        self.assertIn("not known", reason)

    def test_the_page_is_that_of_the_results(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "benchmarks.md"
            with contextlib.redirect_stdout(None):
                render.main(["--page", str(page)])
            written = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
            self.assertEqual(page.read_text(encoding="utf-8"), written)

    def test_rows_of_a_gpu(self):
        rows = [self.row(peer=peer, ranks=1) for peer in ("cupy", "mpi_cupy", "nccl")]
        about = {"date": "2000-01-01", "gpu": "abacus", "versions": {"cupy": "1"}}
        with tempfile.TemporaryDirectory() as folder:
            page = "\n".join(render.gpu_page({**about, "rows": rows}, Path(folder)))
            drawn = (Path(folder) / "gpu.svg").read_text(encoding="utf-8")
        self.assertEqual(page.count("| Laplacian | 512² | 1 | 10 µs |"), 3)
        self.assertEqual(drawn.count("PyLops-MPI + CuPy"), 1)

    def test_a_row_that_failed(self):
        page = self.page([self.row(), {**self.row(), "error": "answers differ by 1e-3"}])
        self.assertIn("**error**: answers differ by 1e-3", page)


if __name__ == "__main__":
    WEFT_SIDE = sys.argv.pop(1)
    unittest.main()
