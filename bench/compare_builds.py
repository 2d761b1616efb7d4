#!/usr/bin/env python3
"""Runs benchmarks of two builds in turn, and compares their times row by row:

  bench/compare_builds.py BUILD REFERENCE [BENCHMARK...] [--only TEXT] [--rounds N] [--again M] [--bar RATIO] [--json FILE]

A row is the median over N rounds of time in BUILD / time in REFERENCE. Rows beyond the bar are measured M times more,
since most of them are noise. Ends with the number of rows that stay beyond it."""

import argparse
import datetime
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BENCHMARKS = ["derivative_bench", "vector_bench", "solver_bench"]


def times(build, benchmark, only):
    """The time of each row in one run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [build / "bench" / benchmark, "--json", file.name, *(["--only", only] if only else [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        result = json.loads(Path(file.name).read_text())
    return {row["what"]: row.get("ours_us", row.get("value")) for row in result["rows"]}


def processor():
    """By its own name."""
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return names[0] if names else "unknown"


def compare(options, benchmark, rounds, ratios, only):
    """Adds the ratios of each row in these rounds; each build goes first in every other one."""
    for round_ in range(rounds):
        builds = [options.build, options.reference]
        runs = [times(build, benchmark, only) for build in (builds if round_ % 2 == 0 else builds[::-1])]
        ours, theirs = runs if round_ % 2 == 0 else runs[::-1]
        for what, time in ours.items():
            ratios.setdefault(what, []).append(time / theirs[what])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--only", default="", help="rows of derivative_bench whose names contain this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", type=int, default=6)
    parser.add_argument("--bar", type=float, default=1.05)
    parser.add_argument("--json", type=Path, help="where the ratios are written")
    parser.add_argument("benchmarks", nargs="*", default=BENCHMARKS)
    options = parser.parse_args()

    rows = []
    for benchmark in options.benchmarks:
        ratios = {}
        compare(options, benchmark, options.rounds, ratios, options.only)
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
        result = {"date": datetime.date.today().isoformat(), "processor": processor(), "bar": options.bar, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(rows)} rows, median {middle:.3f}, {beyond} beyond {options.bar}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
