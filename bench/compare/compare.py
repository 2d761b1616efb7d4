#!/usr/bin/env python3
"""Compares Weft with PyLops-MPI, PETSc and MPI.

Runs the same problems with Weft and with a peer, in turn, on the same number of ranks; checks that the
answers agree; and writes a table of ratios as JSON, from which render.py makes a page.
docs/measuring.md describes the method.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from cases import all_cases
from machine import about, processor
from measured_rows import check_answers, collective_row, row_of, show, timed_collective
from sides import ROOT, SideFailed, Sides, results_file

COLLECTIVES = ["allreduce", "all_gather", "broadcast", "reduce_scatter", "all_to_all"]


def job_for(case, side):
    """The case as a side reads it."""
    if side == "petsc":
        return {**case, "problem": case["peer_problem"]}
    return case


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def measure_family(sides, cases, ranks, options):
    """Runs rounds of both sides in turn. Yields one row per case; rows may be errors."""
    peer = cases[0]["peer"]
    names = ["weft", peer]
    folders = [fresh(sides.work / "answers" / name) for name in names]
    rounds = []
    differences = {}
    for number in range(options.rounds):
        running = [case for case in cases if case["rounds"] > number and agrees(case, differences)]
        if not running:
            break
        results = {}
        for side in names if number % 2 == 0 else reversed(names):
            job = {
                "cases": [job_for(case, side) for case in running],
                "seconds": options.seconds,
                "loops": options.loops,
            }
            if number == 0:
                job["answers"] = str(folders[names.index(side)])
            results[side] = sides.run(side, ranks, job)
        rounds.append(results)
        if number == 0:
            differences = check_answers(cases, folders)
            for folder in folders:
                shutil.rmtree(folder)
    for case in cases:
        yield row_of(case, ranks, peer, rounds, differences[case["id"]])


def agrees(case, differences):
    return differences.get(case["id"], 0) <= case["tolerance"]


def measure_collectives(sides, ranks, quick):
    """`weft bench` times bare MPI in turn, and compares all bits of the results."""
    out = sides.work / "collective.json"
    for call in COLLECTIVES[: 1 if quick else None]:
        command = [sides.weft, "bench", call, "--compare", "raw", "--dtype", "f64"]
        sizes = ["--min", "8", "--max", "8M", "--factor", "1024"]
        try:
            sides.mpirun(ranks, command + sizes + ["--json", str(out)], preload=False)
        except SideFailed as failure:
            yield {**collective_row(call, "", ranks, "mpi"), "error": str(failure)}
            continue
        for each in json.loads(out.read_text(encoding="utf-8"))["rows"]:
            yield timed_collective(call, each, ranks, "mpi")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--out", type=Path, help="file for the results (default: in bench/results; with --quick, in build/compare/quick)")
    parser.add_argument("--work", type=Path, default=ROOT / "build/compare/work")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both sides (default 3)")
    parser.add_argument(
        "--loops", type=int, default=3, help="timed loops per round; the median counts (default 3)"
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="approximate time of a loop (default 0.1)")
    parser.add_argument(
        "--only", nargs="+", metavar="FAMILY", help="families to run; rows of others are kept"
    )
    parser.add_argument("--quick", action="store_true", help="small problems only, one round")
    parser.add_argument("--list", action="store_true", help="list families and cases, and stop")
    options = parser.parse_args()
    options.out = options.out or results_file("compare.json", options.quick)
    if options.quick:
        options.rounds = 1
        options.seconds = min(options.seconds, 0.05)
    return options


def families(cases):
    found = {}
    for case in cases:
        found.setdefault(case["family"], []).append(case)
    return found


def rows_to_keep(options, names):
    """With --only, the rows of other families that are already in the file."""
    if not (options.only and options.out.exists()):
        return []
    before = json.loads(options.out.read_text(encoding="utf-8"))
    if before["processor"] != processor():
        return []
    return [row for row in before["rows"] if row["family"] not in names]


def save(path, sides, rows):
    results = {**about(), "environment": sides.environment, "rows": rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def main():
    options = parse_arguments()
    chosen = families(all_cases(options.quick))
    if options.list:
        for family, cases in chosen.items():
            print(family)
            for case in cases:
                print(f"  {case['id']}")
        print("collectives")
        return 0
    known = [*chosen, "collectives"]
    names = options.only or known
    unknown = set(names) - set(known)
    if unknown:
        print(f"compare.py: no family {', '.join(sorted(unknown))}; see --list", file=sys.stderr)
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    sides = Sides(options.build.resolve(), options.work.resolve())
    print(
        f"{'':<58}{'P':>2}{'ours us':>13}{'theirs us':>13}{'ratio':>9}{'target':>7}{'x floor':>9}"
        f"{'msgs':>9}{'theirs':>7}"
    )
    kept = rows_to_keep(options, names)
    rows = []
    for name in names:
        for ranks in options.ranks:
            for row in measured(sides, name, chosen.get(name), ranks, options):
                show(row)
                rows.append(row)
        # After each family, so that an interrupted run keeps its rows.
        save(options.out, sides, sorted(kept + rows, key=lambda row: known.index(row["family"])))
    errors = sum("error" in row for row in rows)
    missed = sum(bool(r.get("ratio") and r["bar"] and r["ratio"] < r["bar"]) for r in rows)
    print(f"{len(rows)} rows, {missed} targets missed, {errors} errors; wrote {options.out}")
    return 1 if errors else 0


def measured(sides, name, cases, ranks, options):
    """Rows of a family; an error row for each case if a side fails."""
    if name == "collectives":
        if ranks > 1:
            yield from measure_collectives(sides, ranks, options.quick)
        return
    try:
        yield from measure_family(sides, cases, ranks, options)
    except SideFailed as failure:
        for case in cases:
            yield {**row_of(case, ranks, case["peer"], [], float("inf")), "error": str(failure)}


if __name__ == "__main__":
    sys.exit(main())
