#!/usr/bin/env python3
"""Measures Weft side by side with what people use today.

Runs the same problems by Weft and by PyLops-MPI, PETSc or bare MPI, in turn, on the same number of
ranks; checks that the answers agree before any time counts; and writes a table of ratios as JSON,
which render.py makes a page of. docs/measuring.md says how and why.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np

from cases import all_cases

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

COLLECTIVES = ["allreduce", "all_gather", "broadcast", "reduce_scatter", "all_to_all"]
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


# OpenBLAS chooses its code by the model of the processor, and takes the oldest if it does not know it.
OLD_CORES = {"Prescott", "Core2", "Generic", "Nehalem", "Katmai", "Northwood", "Banias"}


def blas_core():
    """The code that the system's OpenBLAS chooses here, by name."""
    ask = (
        "import ctypes; f = ctypes.CDLL('libopenblas.so.0').openblas_get_corename;"
        "f.restype = ctypes.c_char_p; print(f().decode())"
    )
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def better_core():
    """What to tell OpenBLAS, on both sides, if it does not know this processor; else nothing."""
    if "OPENBLAS_CORETYPE" in os.environ or blas_core() not in OLD_CORES:
        return {}
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= set(flags):
        return {"OPENBLAS_CORETYPE": "SkylakeX"}
    return {"OPENBLAS_CORETYPE": "Haswell"} if "avx2" in flags else {}


class SideFailed(Exception):
    """A program ended with an error; the text is the end of what it said."""


class Sides:
    """Starts the programs that are compared, each in the same way."""

    def __init__(self, build, work):
        self.environment = {**ENVIRONMENT, **better_core()}
        self.programs = {
            "weft": [str(build / "bench/compare/weft_side")],
            "pylops_mpi": [sys.executable, str(HERE / "pylops_side.py")],
            "petsc": [str(build / "bench/compare/petsc_side")],
        }
        self.weft = str(build / "apps/weft")
        self.counter = build / "bench/compare/libmpi_counter.so"
        self.work = work

    def mpirun(self, ranks, command, preload=True):
        full = ["mpirun", "-n", str(ranks), "--bind-to", "core"]
        if preload:
            full += ["-x", f"LD_PRELOAD={self.counter}"]
        done = subprocess.run(
            full + command,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SideFailed((done.stderr or done.stdout).strip()[-2000:])

    def run(self, side, ranks, job):
        job_file = self.work / f"{side}.job.json"
        out_file = self.work / f"{side}.results.json"
        out_file.unlink(missing_ok=True)
        job_file.write_text(json.dumps(job), encoding="utf-8")
        self.mpirun(ranks, self.programs[side] + [str(job_file), str(out_file)])
        return json.loads(out_file.read_text(encoding="utf-8"))


def relative_difference(ours, theirs):
    """Over all files of one answer, which must be the same ones; infinite if shapes differ."""
    difference = size = 0.0
    if not ours or [path.name for path in ours] != [path.name for path in theirs]:
        return float("inf")
    for mine, other in zip(ours, theirs):
        a, b = np.load(mine).ravel(), np.load(other).ravel()
        if a.size != b.size:
            return float("inf")
        difference += float(np.linalg.norm((a - b).astype(np.complex128)) ** 2)
        size += float(np.linalg.norm(b) ** 2)
    return (difference / size) ** 0.5 if size > 0 else float("inf")


def answers_of(folder, case_id):
    return sorted(path for path in folder.glob("*.npy") if path.name.startswith(case_id + "."))


def check_answers(cases, folders):
    """The difference of the answers to each case, by id."""
    return {
        case["id"]: relative_difference(*(answers_of(each, case["id"]) for each in folders))
        for case in cases
    }


def job_for(case, side):
    """What a side is told about a case."""
    if side == "petsc":
        return {**case, "problem": case["peer_problem"]}
    return case


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def measure_family(sides, cases, ranks, options):
    """Rounds of ours and theirs in turn. Yields one row per case, some of which are errors."""
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


def row_of(case, ranks, peer, rounds, difference):
    row = {
        key: case[key]
        for key in ("id", "family", "label", "size", "unit", "tolerance", "bar", "note")
    }
    row |= {
        "direction": case.get("direction", "forward"),
        "dtype": case.get("dtype", "float64"),
        "peer": peer,
        "ranks": ranks,
        "difference": difference if np.isfinite(difference) else None,
    }
    if not difference <= case["tolerance"]:
        row["error"] = f"answers differ by {difference:.1e}, more than {case['tolerance']:g}"
        return row
    pairs = [
        (each["weft"][case["id"]], each[peer][case["id"]])
        for each in rounds
        if case["id"] in each["weft"]
    ]
    ours = [statistics.median(mine["seconds"]) for mine, _ in pairs]
    theirs = [statistics.median(other["seconds"]) for _, other in pairs]
    floors = [mine["floor_seconds"] for mine, _ in pairs]
    row |= {
        "rounds": len(pairs),
        "ours_us": statistics.median(ours) * 1e6,
        "theirs_us": statistics.median(theirs) * 1e6,
        "ratio": statistics.median(b / a for a, b in zip(ours, theirs)),
        "floor": pairs[0][0]["floor"],
        "floor_us": statistics.median(floors) * 1e6,
        "times_floor": statistics.median(a / f for a, f in zip(ours, floors)),
        "messages_ours": pairs[-1][0]["calls"],
        "bytes_ours": pairs[-1][0]["bytes"],
        "messages_theirs": pairs[-1][1].get("calls"),
        "bytes_theirs": pairs[-1][1].get("bytes"),
    }
    return row


def measure_collectives(sides, ranks, quick):
    """`weft bench` times bare MPI in turn by itself, and compares all bits of the results."""
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


def collective_row(call, size, ranks, peer):
    return {
        "id": f"{call}-{size}".replace(" ", "_"),
        "family": "collectives",
        "label": call,
        "size": size,
        "unit": "call",
        "direction": "forward",
        "dtype": "float64",
        "peer": peer,
        "ranks": ranks,
        "tolerance": 0,
        "difference": None,
        "bar": None,
        "note": "",
    }


def timed_collective(call, measured_row, ranks, peer):
    """A row of `weft bench --compare raw`; calls with one buffer are always in place."""
    timed = measured_row["out_of_place"] or measured_row["in_place"]
    row = collective_row(call, f"{measured_row['bytes']} bytes", ranks, peer)
    if timed["wrong"]:
        return {**row, "error": f"{timed['wrong']} wrong values"}
    return {
        **row,
        "difference": 0,
        "rounds": 9,
        "ours_us": timed["time_us"],
        "theirs_us": timed["raw_time_us"],
        "ratio": 1 / timed["ratio"],
        "floor": "the bare call",
        "floor_us": timed["raw_time_us"],
        "times_floor": timed["ratio"],
        "messages_ours": None,
        "messages_theirs": None,
        "bytes_ours": None,
        "bytes_theirs": None,
    }


def show(row):
    name = (
        f"{row['label']} {row['size']} {row['direction'] if row['direction'] == 'adjoint' else ''}"
    )
    if "error" in row:
        print(f"{name:<58}{row['ranks']:>2}  ERROR: {row['error'][-300:]}", flush=True)
        return
    missed = "  MISSED" if row["bar"] and row["ratio"] < row["bar"] else ""
    print(
        f"{name:<58}{row['ranks']:>2}{row['ours_us']:>13.1f}{row['theirs_us']:>13.1f}"
        f"{row['ratio']:>9.2f}{row['bar'] or '':>6}{row['times_floor']:>9.2f}"
        f"{count_of(row['messages_ours']):>9}{count_of(row['messages_theirs']):>7}{missed}",
        flush=True,
    )


def count_of(messages):
    return "" if messages is None else f"{messages:.3g}"


def first_line(*command):
    """Of what a program says, if it is there."""
    if not shutil.which(command[0]):
        return None
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return said.stdout.splitlines()[0] if said.returncode == 0 and said.stdout else None


def versions():
    """Of the packages beside this interpreter, of MPI and of PETSc, as far as they are there."""
    found = {"mpi": first_line("mpirun", "--version"), "python": platform.python_version()}
    for name in (
        "numpy",
        "scipy",
        "mpi4py",
        "pylops",
        "pylops-mpi",
        "cupy-cuda12x",
        "cupy-cuda13x",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    found["petsc"] = first_line("pkg-config", "--modversion", "PETSc")
    return {name: version for name, version in found.items() if version}


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def about():
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "versions": versions(),
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/compare.json")
    parser.add_argument("--work", type=Path, default=ROOT / "build/compare/work")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="of ours and theirs in turn")
    parser.add_argument(
        "--loops", type=int, default=3, help="times per round, of which the median counts"
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="that a loop takes, about")
    parser.add_argument(
        "--only", nargs="+", metavar="FAMILY", help="families to run; other rows stay"
    )
    parser.add_argument("--quick", action="store_true", help="small problems only, one round")
    parser.add_argument("--list", action="store_true", help="list families and cases, and stop")
    options = parser.parse_args()
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
    """Rows of other families that are in the file already, where only some are measured."""
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
        f"{'':<58}{'P':>2}{'ours us':>13}{'theirs us':>13}{'ratio':>9}{'bar':>6}{'x floor':>9}"
        f"{'msgs':>9}{'theirs':>7}"
    )
    kept = rows_to_keep(options, names)
    rows = []
    for name in names:
        for ranks in options.ranks:
            for row in measured(sides, name, chosen.get(name), ranks, options):
                show(row)
                rows.append(row)
        # What there is, should the run be interrupted.
        save(options.out, sides, sorted(kept + rows, key=lambda row: known.index(row["family"])))
    errors = sum("error" in row for row in rows)
    missed = sum(bool(r.get("ratio") and r["bar"] and r["ratio"] < r["bar"]) for r in rows)
    print(f"{len(rows)} rows, {missed} bars missed, {errors} errors; written to {options.out}")
    return 1 if errors else 0


def measured(sides, name, cases, ranks, options):
    """Rows of a family; if a side fails, a row that says so for each case."""
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
