#!/usr/bin/env python3
"""Measures Weft side by side with PyLops and PyLops-MPI on CuPy, and with NCCL, on a GPU.

Needs no network: the peers are what scripts/compare-peers has left in build/compare/packages; CuPy,
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
from compare import (
    HERE,
    ROOT,
    SideFailed,
    about,
    check_answers,
    collective_row,
    families,
    fresh,
    row_of,
    show,
    timed_collective,
)

PEERS = {"cupy": "pylops", "mpi_cupy": "pylops_mpi"}
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(command, more=None):
    done = subprocess.run(
        [str(each) for each in command],
        env={**os.environ, **ROOT_MAY, **(more or {})},
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
        # NCCL needs a communicator of its own, which one rank has no use for.
        packages = os.pathsep.join([str(options.packages), os.environ.get("PYTHONPATH", "")])
        run(
            [sys.executable, HERE / "gpu_side.py", job_file, out_file]
            + ["--library", PEERS[side], "--engine", options.engine],
            {"PYTHONPATH": packages, "NCCL_PYLOPS_MPI": "0"},
        )
    return json.loads(out_file.read_text(encoding="utf-8"))


def measure_family(cases, options):
    """Rounds of ours and each of theirs in turn; rows of one peer after the other."""
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
    """Two ranks; those that share a GPU must pass for two hosts, or NCCL refuses them."""
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
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/compare_gpu.json")
    parser.add_argument("--work", type=Path, default=ROOT / "build/compare/work_gpu")
    parser.add_argument("--packages", type=Path, default=ROOT / "build/compare/packages")
    parser.add_argument("--rounds", type=int, default=3, help="of ours and theirs in turn")
    parser.add_argument(
        "--loops", type=int, default=5, help="times per round, of which the median counts"
    )
    parser.add_argument("--seconds", type=float, default=0.1, help="that a loop takes, about")
    parser.add_argument("--device", default="cuda", help="of Weft; cpu to try it out")
    parser.add_argument("--engine", default="cupy", help="of PyLops; numpy to try it out")
    parser.add_argument("--quick", action="store_true", help="small problems only")
    options = parser.parse_args()
    options.build, options.work = options.build.resolve(), options.work.resolve()
    return options


def main():
    options = parse_arguments()
    if not options.packages.is_dir():
        print(
            f"compare_gpu.py: no {options.packages}; run scripts/compare-peers where there is a "
            "network, and bring that folder along",
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
    options.out.write_text(
        json.dumps({**about(), "gpu": gpu, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )
    errors = sum("error" in row for row in rows)
    print(f"{len(rows)} rows, {errors} errors; written to {options.out}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
