#!/usr/bin/env python3
"""Runs the problems of a job with PyLops-MPI.

compare.py writes the job; weft_side reads the same file. Inputs, timing and the names of answers are
those of weft_side.
"""

import argparse
import json
import traceback
from pathlib import Path

import pylops_operators
import pylops_solvers
from peer_session import COMM, RANK, Session

PROBLEMS = pylops_operators.PROBLEMS | pylops_solvers.PROBLEMS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", help="JSON file written by compare.py")
    parser.add_argument("results", help="JSON file to write")
    arguments = parser.parse_args()
    job = json.loads(Path(arguments.job).read_text(encoding="utf-8"))
    session = Session(job)
    results = {}
    for case in job["cases"]:
        session.id = case["id"]
        results[case["id"]] = PROBLEMS[case["problem"]](session, case)
    if RANK == 0:
        Path(arguments.results).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        COMM.Abort(1)  # otherwise the other ranks block forever
