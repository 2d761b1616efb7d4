#!/usr/bin/env python3
"""Fails when a ratio has become worse by more than a quarter against the committed results.

Runs the cheap benchmarks again and compares their ratios, each measured within one run, with those
in bench/results. A benchmark that is worse is repeated, twice at most, and its best run counts, so
that a disturbance of the machine does not fail. If the peers are set up (make compare), the small
problems of compare.py run as well.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# The benchmarks and their options.
BENCHMARKS = {"vector_bench": [], "derivative_bench": ["--quick"], "solver_bench": []}
ALLOWED = 0.75  # of the committed speed
ATTEMPTS = 3
TOO_SHORT_US = 5  # shorter times measure the clock rather than the program


def speeds_of_bench(results):
    """Baseline's time divided by ours, by name. Values that are not ratios are left out."""
    return {
        f"{row['what']} vs {row['baseline']}": (1 / row["ratio"],)
        for row in results["rows"]
        if row.get("ratio") and row["ours_us"] >= TOO_SHORT_US
    }


def speeds_of_compare(results):
    """The peer's time and the floor, both divided by our time."""
    return {
        f"{row['id']}, {row['ranks']} ranks vs {row['peer']}": (
            row["ratio"],
            1 / row["times_floor"],
        )
        for row in results["rows"]
        if row.get("ratio") and row["ours_us"] >= TOO_SHORT_US
    }


def better(a, b):
    """The faster of two runs, row by row."""
    return {
        name: tuple(map(max, a.get(name, b.get(name)), b.get(name, a.get(name)))) for name in a | b
    }


def change(committed, measured):
    """The factor by which a row is faster than committed: the largest over its ratios. If only one ratio
    falls, the other side has changed."""
    return max(now / before for now, before in zip(measured, committed))


def worse(committed, measured, allowed=ALLOWED):
    """Names of rows below the allowed speed."""
    return [
        name
        for name in sorted(committed.keys() & measured.keys())
        if change(committed[name], measured[name]) < allowed
    ]


def evaluate(committed, measure, attempts=ATTEMPTS):
    """Measures until no row is worse, `attempts` times at most. Returns the speeds and the worse rows."""
    measured = measure()
    for _ in range(attempts - 1):
        if not worse(committed, measured):
            break
        measured = better(measured, measure())
    return measured, worse(committed, measured)


def show(title, committed, measured, failures):
    print(f"{title}\n{'':<72}{'committed':>11}{'now':>9}{'change':>9}")
    for name in sorted(committed.keys() & measured.keys()):
        before, now = committed[name], measured[name]
        mark = "  WORSE" if name in failures else ""
        print(f"{name:<72}{before[0]:>11.3f}{now[0]:>9.3f}{change(before, now) - 1:>+9.0%}{mark}")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def run(command):
    """Runs a command without its output. Ends this program if the command fails."""
    text = " ".join(map(str, command))
    try:
        status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    except OSError as error:
        sys.exit(f"guard.py: cannot run {text}: {error.strerror}")
    if status != 0:
        sys.exit(f"guard.py: {text} failed with exit status {status}")


def run_bench(program, arguments, out):
    run([program, *arguments, "--json", out])
    return speeds_of_bench(read(out))


def run_compare(build, out):
    python = ROOT / "build/compare/venv/bin/python"
    run([python, HERE / "compare.py", "--quick", "--build", build, "--out", out])
    return speeds_of_compare(read(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--no-peers", action="store_true", help="Weft's own benchmarks only")
    options = parser.parse_args()
    scratch = ROOT / "build/guard"
    scratch.mkdir(parents=True, exist_ok=True)

    checks = []
    for name, arguments in BENCHMARKS.items():
        bench = [options.build / "bench" / name, arguments, scratch / f"{name}.json"]
        committed = speeds_of_bench(read(options.results / f"{name}.json"))
        checks.append((name, committed, lambda bench=bench: run_bench(*bench)))
    has_peers = (ROOT / "build/compare/venv/complete").exists()
    if not options.no_peers and has_peers and (options.results / "compare.json").exists():
        committed = speeds_of_compare(read(options.results / "compare.json"))
        out = scratch / "compare.json"
        checks.append(("comparison with peers", committed, lambda: run_compare(options.build, out)))

    failed = 0
    for title, committed, measure in checks:
        measured, failures = evaluate(committed, measure)
        show(title, committed, measured, failures)
        failed += len(failures)
        if not committed.keys() & measured.keys():
            print(f"{title}: nothing to compare with", file=sys.stderr)
            failed += 1
    print(
        f"{failed} rows are worse by more than a quarter"
        if failed
        else "no row is worse by more than a quarter"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
