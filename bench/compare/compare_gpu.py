#!/usr/bin/env python3
"""Compares Weft with PyLops and PyLops-MPI on CuPy arrays, and with NCCL, on a GPU.

Needs no network: the peers are in build/compare/packages, where scripts/compare-peers puts them; CuPy,
mpi4py, NumPy and SciPy are those of the machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cases import gpu_cases
from compare import families, fresh
from machine import about
from measured_rows import check_answers, collective_row, row_of, show, timed_collective
from sides import HERE, ROOT, SideFailed, results_file

PEERS = {"cupy": "pylops", "mpi_cupy": "pylops_mpi"}
ALLOW_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(command, more=None):
    done = subprocess.run(
        [str(each) for each in command],
        env={**os.environ, **ALLOW_ROOT, **(more or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SideFailed((done.stderr or done.stdout).strip()[-2000:])
    return done.stdout


def run_side(side, options, job):
    job_file = options.work / f"{side}.job.json"
    out_file = options.work / f"{side}.results.json"
    out_file.unlink(missing_ok=True)
    job_file.write_text(json.dumps(job), encoding="utf-8")
    if side == "weft":
        command = [options.build / "bench/compare/weft_side", job_file, out_file, "--ranks", "1"]
        run(command + ["--device", options.device])
    else:
        # One rank needs no NCCL communicator.
        packages = os.pathsep.join([str(options.packages), os.environ.get("PYTHONPATH", "")])
        run(
            [sys.executable, HERE / "gpu_side.py", job_file, out_file]
            + ["--library", PEERS[side], "--engine", options.engine],
            {"PYTHONPATH": packages, "NCCL_PYLOPS_MPI": "0"},
        )
    return json.loads(out_file.read_text(encoding="utf-8"))


def measure_family(cases, options):
    """Runs rounds of Weft and each peer in turn; yields the rows of one peer after the other."""
    sides = ["weft", *PEERS]
    folders = {side: fresh(options.work / "answers" / side) for side in sides}
    rounds = []
    for number in range(options.rounds):
        job = {"cases": cases, "seconds": options.seconds, "loops": options.loops}
        results = {}
        for side in sides if number % 2 == 0 else reversed(sides):
            if number == 0:
                job["answers"] = str(folders[side])
            results[side] = run_side(side, options, job)
        rounds.append(results)
    for peer in PEERS:
        differences = check_answers(cases, [folders["weft"], folders[peer]])
        for case in cases:
            yield row_of(case, 1, peer, rounds, differences[case["id"]])
    for folder in folders.values():
        shutil.rmtree(folder)


def gpus():
    try:
        names = run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    except (SideFailed, FileNotFoundError):
        return []
    return names.strip().splitlines()


def nccl_command(options):
    """Two ranks. Ranks that share a GPU must look like two hosts, or NCCL rejects them."""
    bench = [
        options.build / "apps/weft",
        "bench",
        "allreduce",
        "--device",
        "cuda",
        "--compare",
        "raw",
    ]
    bench += ["--min", "8", "--max", "256M", "--factor", "32", "--in-place", "no", "--json"]
    bench.append(options.work / "nccl.json")
    start = ["mpirun", "-n", "2", "--bind-to", "none"]
    if len(gpus()) > 1:
        return start + bench
    words = " ".join(str(each) for each in bench)
    return start + ["sh", "-c", f"NCCL_HOSTID=$OMPI_COMM_WORLD_RANK exec {words}"]


def measure_nccl(options):
    more = {
        "family": "gpu_collectives",
        "dtype": "float32",
        "note": "two ranks share one GPU" if len(gpus()) == 1 else "",
    }
    try:
        run(nccl_command(options), {"WEFT_DEVICE_COMM": "nccl", "NCCL_SOCKET_IFNAME": "lo"})
        results = json.loads((options.work / "nccl.json").read_text(encoding="utf-8"))
    except SideFailed as failure:
        yield {**collective_row("allreduce", "", 2, "nccl"), **more, "error": str(failure)}
        return
    for each in results["rows"]:
        yield {**timed_collective("allreduce", each, 2, "nccl"), **more}


def measured(cases, options):
    try:
        yield from measure_family(cases, options)
    except SideFailed as failure:
        for peer in PEERS:
            for case in cases:
                yield {**row_of(case, 1, peer, [], float("inf")), "error": str(failure)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/cuda", help="build folder")
    parser.add_argument("--out", type=Path, help="file for the results (default: in bench/results; with --quick, in build/compare/quick)")
    parser.add_argument("--work", type=Path, default=ROOT / "build/compare/work_gpu")
    parser.add_argument("--packages", type=Path, default=ROOT / "build/compare/packages")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all sides (default 3)")
    parser.add_argument(
        "--loops", type=int, default=5, help="timed loops per round; the median counts (default 5)"
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="approximate time of a loop (default 0.1)")
    parser.add_argument("--device", default="cuda", help="device of Weft; cpu for tests")
    parser.add_argument("--engine", default="cupy", help="engine of PyLops; numpy for tests")
    parser.add_argument("--quick", action="store_true", help="small problems only")
    options = parser.parse_args()
    options.out = options.out or results_file("compare_gpu.json", options.quick)
    options.build, options.work = options.build.resolve(), options.work.resolve()
    return options


def main():
    options = parse_arguments()
    if not options.packages.is_dir():
        print(
            f"compare_gpu.py: {options.packages} does not exist; run scripts/compare-peers on a machine with "
            "a network and copy that folder",
            file=sys.stderr,
        )
        return 2
    options.work.mkdir(parents=True, exist_ok=True)
    rows = []
    sources = [measured(cases, options) for cases in families(gpu_cases(options.quick)).values()]
    if options.device == "cuda":
        sources.append(measure_nccl(options))
    for source in sources:
        for row in source:
            show(row)
            rows.append(row)
    sys.path.insert(0, str(options.packages))  # for their versions
    gpu = gpus()[0] if gpus() else "no GPU"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps({**about(), "gpu": gpu, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )
    errors = sum("error" in row for row in rows)
    print(f"{len(rows)} rows, {errors} errors; wrote {options.out}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
