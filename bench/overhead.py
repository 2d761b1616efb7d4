#!/usr/bin/env python3
"""What Comm adds to the bare call of MPI, for small messages on two processes.

usage: bench/overhead.py BUILD [--json FILE] [--mpirun COMMAND]

Runs `weft bench` for every collective, without the allreduces through shared memory, and prints the
difference in microseconds between calls through Comm and bare calls: the median over rounds of both in
turn, and of several runs. Ends with 1 if one is above the limit.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

COLLECTIVES = ["allreduce", "broadcast", "reduce", "reduce_scatter", "all_gather", "gather", "scatter", "all_to_all"]
LIMIT_US = 0.06
RUNS = 3


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return "unknown"


def measure(weft, mpirun, collective):
    """A list of (bytes, microseconds of Comm, of the bare call, difference)."""
    environment = dict(os.environ, WEFT_FAST="0", WEFT_QUIET="1", OMP_NUM_THREADS="1",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        command = mpirun.split() + ["-n", "2", str(weft), "bench", collective, "--compare", "raw", "--max", "8K",
                                    "--factor", "4", "--iters", "1000", "--check", "0", "--json", str(results)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(results.read_text())["rows"]
    forms = [(row["bytes"], row.get("out_of_place") or row["in_place"]) for row in rows]
    return [(size, form["time_us"], form["raw_time_us"], form["difference_us"]) for size, form in forms]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder with apps/weft")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="file for the results")
    parser.add_argument("--mpirun", metavar="COMMAND", default="mpirun --bind-to core",
                        help="command that starts processes (default: %(default)s)")
    arguments = parser.parse_args()
    rows = []
    for collective in COLLECTIVES:
        runs = [measure(arguments.build / "apps/weft", arguments.mpirun, collective) for _ in range(RUNS)]
        for cells in zip(*runs):
            size = cells[0][0]
            ours, bare, difference = (statistics.median(cell[i] for cell in cells) for i in (1, 2, 3))
            missed = "" if difference <= LIMIT_US else "  MISSED"
            print(f"{collective:<16}{size:>8} B{ours:>10.3f} us{bare:>10.3f} us{difference:>+10.3f} us{missed}", flush=True)
            rows.append({"what": f"{collective}, {size} B", "ours_us": ours, "baseline_us": bare,
                         "difference_us": difference, "bar_us": LIMIT_US})
    if arguments.json:
        arguments.json.write_text(json.dumps({
            "title": "What Comm adds to bare calls of MPI on 2 processes", "date": str(datetime.date.today()),
            "processor": processor(), "cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")
    sys.exit(any(row["difference_us"] > LIMIT_US for row in rows))


if __name__ == "__main__":
    main()
