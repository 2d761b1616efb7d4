#!/usr/bin/env python3
"""Runs benchmarks of two builds in turn, and compares their times row by row:

  bench/compare_builds.py BUILD REFERENCE [BENCHMARK...] [--only TEXT] [--rounds N] [--again M] [--bar RATIO] [--json FILE]

A row is the median over N rounds of time in BUILD / time in REFERENCE. Rows beyond the bar are measured M times more,
since most of them are noise; rows that noise has put below the bar are not. Ends with the number of rows that stay
beyond it."""

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BENCHMARKS = ["derivative_bench", "vector_bench", "solver_bench"]


def run(build, benchmark, only):
    """The time of each row in one run, and the processor."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [build / "bench" / benchmark, "--json", file.name, *(["--only", only] if only else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        result = json.loads(Path(file.name).read_text())
    return {row["what"]: row.get("ours_us", row.get("value")) for row in result["rows"]}, result["processor"]


def compare(options, benchmark, rounds, ratios, only):
    """Adds the ratios of each row in these rounds, and returns the processor."""
    processor = None
    for round_ in range(rounds):
        builds = [options.build, options.reference]
        order = slice(None, None, -1 if round_ % 2 else 1)  # each goes first in every other round
        (ours, processor), (theirs, _) = [run(build, benchmark, only) for build in builds[order]][order]
        for what, time in ours.items():
            ratios.setdefault(what, []).append(time / theirs[what])
    return processor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build folder that is measured")
    parser.add_argument("reference", type=Path, help="build folder that it is compared with")
    parser.add_argument(
        "--only", default="", help="rows whose names contain this; derivative_bench and threads_bench select rows"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of both (default 3)")
    parser.add_argument("--again", type=int, default=6, help="more runs for rows beyond the bar (default 6)")
    parser.add_argument("--bar", type=float, default=1.05, help="largest ratio allowed (default 1.05)")
    parser.add_argument("--json", type=Path, help="where the ratios are written")
    parser.add_argument("benchmarks", nargs="*", default=BENCHMARKS, help=f"default: {' '.join(BENCHMARKS)}")
    options = parser.parse_args()

    rows = []
    for benchmark in options.benchmarks:
        ratios = {}
        processor = compare(options, benchmark, options.rounds, ratios, options.only)
        beyond = [what for what, values in ratios.items() if statistics.median(values) > options.bar]
        print(f"{benchmark}: {len(ratios)} rows, {len(beyond)} to be measured again", flush=True)
        if benchmark == "derivative_bench":  # it can measure single rows
            for what in beyond:
                compare(options, benchmark, options.again, ratios, only=what.removesuffix(", adjoint"))
        elif beyond:
            compare(options, benchmark, options.again, ratios, options.only)
        for what, values in ratios.items():
            ratio = statistics.median(values)
            rows.append({"what": f"{benchmark}: {what}", "ratio": round(ratio, 3), "rounds": len(values)})
            print(f"{benchmark + ': ' + what:<90}{ratio:9.3f}{'  BEYOND' if ratio > options.bar else ''}", flush=True)

    beyond = sum(row["ratio"] > options.bar for row in rows)
    middle = statistics.median(row["ratio"] for row in rows)
    if options.json:
        result = {"date": datetime.date.today().isoformat(), "processor": processor, "bar": options.bar, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(rows)} rows, median {middle:.3f}, {beyond} beyond {options.bar}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
