#!/usr/bin/env python3
"""Runs derivatives and CGLS with PyLops, or with PyLops-MPI on one rank, on CuPy arrays.

Reads the same job as weft_side, and times in the same way. With --engine numpy it runs on the host, for
tests without a GPU.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np

import peer_session
from peer_inputs import noise_of
from pylops_arrays import pylops, pylops_mpi
from pylops_operators import laplacian
from pylops_solvers import start_cgls, time_steps


class Session(peer_session.Session):
    """Synchronizes with the GPU before it reads the clock."""

    def __init__(self, job, engine):
        super().__init__(job)
        self.engine = engine
        self.module = np
        if engine == "cupy":
            import cupy

            self.module = cupy

    def synchronize(self):
        if self.engine == "cupy":
            self.module.cuda.Device().synchronize()

    def lap(self, work, repeats):
        def repeated():
            for _ in range(repeats):
                work()
            self.synchronize()

        self.synchronize()
        seconds, traffic = super().lap(repeated, 1)
        return seconds / repeats, traffic

    def time(self, work):
        work()  # compiles kernels
        return super().time(work)

    def time_with_setup(self, setup, work, units):
        setup()
        work()
        return super().time_with_setup(setup, work, units)

    def answer(self, values):
        if hasattr(values, "asarray") or hasattr(values, "distarrays"):
            super().answer(values)
        elif self.answers:
            self.save(f"{self.id}.npy", values)

    def save(self, name, values):
        super().save(name, values.get() if hasattr(values, "get") else values)

    def noise(self, count, dtype, seed=1):
        return self.module.asarray(noise_of(dtype, 0, count, seed))

    def distributed(self, values):
        return pylops_mpi.DistributedArray(
            global_shape=values.size, local_array=values, engine=self.engine, dtype=values.dtype
        )


def local_operator(problem, dims, dtype):
    if problem == "first_derivative":
        return pylops.FirstDerivative(dims, axis=0, dtype=dtype)
    if problem == "second_derivative":
        return pylops.SecondDerivative(dims, axis=0, dtype=dtype)
    if problem == "gradient":
        return pylops.Gradient(dims, dtype=dtype)
    ones = (1,) * len(dims)
    return pylops.Laplacian(
        dims, axes=tuple(range(len(dims))), weights=ones, sampling=ones, dtype=dtype
    )


def distributed_operator(problem, dims, dtype):
    if problem == "first_derivative":
        return pylops_mpi.MPIFirstDerivative(dims, dtype=dtype)
    if problem == "second_derivative":
        return pylops_mpi.MPISecondDerivative(dims, dtype=dtype)
    if problem == "gradient":
        return pylops_mpi.MPIGradient(dims, dtype=dtype)
    return laplacian(dims, dtype)


def answer_parts(session, y, parts):
    """Writes an answer that consists of consecutive arrays; one file for each, as Weft does."""
    if parts == 1:
        session.answer(y)
        return
    for part, each in enumerate(y.reshape(parts, -1)):
        if session.answers:
            session.save(f"{session.id}.{part}.npy", each)


def apply(session, case, dims, dtype, is_distributed):
    x = session.noise(math.prod(dims), dtype)
    make = distributed_operator if is_distributed else local_operator
    operator = make(case["problem"], dims, dtype)
    if is_distributed:
        return session.time_apply(case, operator, session.distributed(x))
    y = operator.matvec(x)
    answer_parts(session, y, y.size // x.size)
    return session.time(lambda: operator.matvec(x))


def cgls(session, case, dims, dtype, is_distributed):
    y = session.noise(math.prod(dims), dtype)
    zeros = session.module.zeros_like(y)
    if is_distributed:
        operator = distributed_operator("first_derivative", dims, dtype)
        y = session.distributed(y)
        return time_steps(
            session, case, lambda: start_cgls(operator, y, session.distributed(zeros.copy()))
        )
    operator = local_operator("first_derivative", dims, dtype)

    def start():
        solver = pylops.optimization.cls_basic.CGLS(operator)
        return solver.setup(y=y, x0=zeros.copy(), niter=case["steps"], tol=0), solver.step

    return time_steps(session, case, start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", help="JSON file written by compare_gpu.py")
    parser.add_argument("results", help="JSON file to write")
    parser.add_argument("--library", choices=["pylops", "pylops_mpi"], required=True)
    parser.add_argument("--engine", choices=["cupy", "numpy"], default="cupy")
    options = parser.parse_args()
    job = json.loads(Path(options.job).read_text(encoding="utf-8"))
    session = Session(job, options.engine)
    results = {}
    for case in job["cases"]:
        session.id = case["id"]
        run = cgls if case["problem"] == "cgls_first_derivative" else apply
        results[case["id"]] = run(
            session,
            case,
            tuple(case["shape"]),
            np.dtype(case["dtype"]),
            options.library == "pylops_mpi",
        )
    Path(options.results).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
