"""Times a problem on a peer's side with the same steps as compare::Session in measure.cpp."""

import ctypes
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK = COMM.Get_rank()
SIZE = COMM.Get_size()
SINGLE_RUN_SECONDS = 5  # longer work is not repeated


def counter():
    """A function that returns the totals of mpi_counter; zeros if it is not preloaded."""
    try:
        read = ctypes.CDLL(None).weft_mpi_counter_read
    except AttributeError:
        return lambda: (0, 0)
    calls, sent = ctypes.c_longlong(), ctypes.c_longlong()

    def traffic():
        read(ctypes.byref(calls), ctypes.byref(sent))
        return calls.value, sent.value

    return traffic


class Session:
    """Measures the cases of a job."""

    def __init__(self, job):
        self.seconds = job.get("seconds", 0.1)
        self.loops = job.get("loops", 3)
        self.answers = job.get("answers", "")
        self.traffic = counter()
        self.id = ""

    def lap(self, work, repeats):
        COMM.Barrier()
        before = self.traffic()
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        mine = time.perf_counter() - start
        after = self.traffic()
        slowest = COMM.allreduce(mine, op=MPI.MAX)
        return slowest / repeats, [(b - a) / repeats for a, b in zip(before, after)]

    def result(self, seconds, traffic, units):
        return {
            "seconds": [each / units for each in seconds],
            "calls": traffic[0] / units,
            "bytes": traffic[1] / units,
        }

    def time(self, work):
        once, traffic = self.lap(work, 1)
        if once < 1:
            once, traffic = self.lap(work, 1)
        loops = 1 if once > 1 else self.loops
        repeats = int(min(max(self.seconds / once, 1), 1e5))
        seconds = []
        for _ in range(loops):
            each, traffic = self.lap(work, repeats)
            seconds.append(each)
        return self.result(seconds, traffic, 1)

    def time_with_setup(self, setup, work, units):
        setup()
        once, traffic = self.lap(work, 1)
        if once > SINGLE_RUN_SECONDS:
            return self.result([once], traffic, units)
        seconds = []
        for _ in range(1 if once > 1 else self.loops):
            setup()
            each, traffic = self.lap(work, 1)
            seconds.append(each)
        return self.result(seconds, traffic, units)

    def answer(self, values):
        """Writes an answer; one file per part of a stacked array."""
        if not self.answers:
            return
        if hasattr(values, "distarrays"):
            for part, each in enumerate(values.distarrays):
                self.save(f"{self.id}.{part}.npy", each.asarray())
        elif hasattr(values, "asarray"):
            self.save(f"{self.id}.npy", values.asarray())
        else:
            self.save(f"{self.id}.npy", np.atleast_1d(values))

    def save(self, name, values):
        if RANK == 0:
            np.save(Path(self.answers) / name, values)

    def time_apply(self, options, operator, x):
        """Times an operator, or its adjoint, on x."""
        apply = operator.rmatvec if options.get("direction") == "adjoint" else operator.matvec
        y = None

        def work():
            nonlocal y
            y = apply(x)

        result = self.time(work)
        self.answer(y)
        return result
