#!/usr/bin/env python3
"""The other side of the comparison: runs the problems of a job with PyLops-MPI.

A job, which compare.py writes, is the same file that weft_side reads. Inputs, the way in which
things are timed and the names of answers are those of weft_side, inputs.hpp and measure.cpp.
"""

import argparse
import ctypes
import json
import math
import sys
import time
import traceback
import types
from pathlib import Path

import numpy as np
from mpi4py import MPI

# PyLops-MPI imports matplotlib when it is imported, to offer plots. None are made here, and to load
# it takes longer than many a problem.
sys.modules.setdefault("matplotlib", types.ModuleType("matplotlib"))
if not hasattr(sys.modules["matplotlib"], "pyplot"):
    sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib.pyplot")
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]

import pylops  # noqa: E402
import pylops_mpi  # noqa: E402
from pylops_mpi import DistributedArray, Partition  # noqa: E402

COMM = MPI.COMM_WORLD
RANK = COMM.Get_rank()
SIZE = COMM.Get_size()
LONG_ENOUGH = 5  # seconds that make a first run good enough


# Inputs ------------------------------------------------------------------------------------------


def noise(at, seed):
    """Between -1/2 and 1/2 for each of an array of positions; as in inputs.hpp."""
    mask = np.uint64(0xFFFFFFFF)
    h = (at.astype(np.uint64) * np.uint64(2654435761) + np.uint64(seed * 40503 + 1)) & mask
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & mask
    h ^= h >> np.uint64(13)
    h = (h * np.uint64(3266489917)) & mask
    h ^= h >> np.uint64(16)
    return h.astype(np.float64) / 4294967296.0 - 0.5


def noise_of(dtype, first, last, seed):
    """Elements [first, last) of an array of noise."""
    at = np.arange(first, last)
    if np.dtype(dtype).kind == "c":
        values = np.empty(last - first, np.complex128)
        values.real = noise(2 * at, seed)
        values.imag = noise(2 * at + 1, seed)
        return values.astype(dtype)
    return noise(at, seed).astype(dtype)


def share(count, rank=RANK, size=SIZE):
    """The positions of `count` that a rank has: the first ranks have one more."""
    part, more = divmod(count, size)
    first = rank * part + min(rank, more)
    return first, first + part + (rank < more)


def scattered(count, dtype=np.float64, seed=1):
    """Noise, cut evenly over the ranks."""
    x = DistributedArray(global_shape=count, dtype=dtype)
    x[:] = noise_of(dtype, *share(count), seed)
    return x


def replicated(count, dtype=np.float64, seed=1):
    """Noise, all of it on all ranks."""
    x = DistributedArray(global_shape=count, partition=Partition.BROADCAST, dtype=dtype)
    x[:] = noise_of(dtype, 0, count, seed)
    return x


def wavelet():
    x = math.pi * 15 * 0.004 * np.arange(-20, 21)
    return (1 - 2 * x * x) * np.exp(-x * x)


def background_of(shape, ny, first):
    z = np.arange(shape[2])
    return np.broadcast_to(8 + 0.4 * z / shape[2], (ny, shape[1], shape[2])).copy()


def log_impedance_of(shape, ny, first):
    y = np.arange(first, first + ny)[:, None, None]
    x = np.arange(shape[1])[None, :, None]
    z = np.arange(shape[2])[None, None, :]
    layers = noise((z + x // 4 + y // 2) // 25, 3)
    return background_of(shape, ny, first) + 0.2 * layers


# Timing ------------------------------------------------------------------------------------------


def counter():
    """Reads what mpi_counter has seen so far; zeros if it is not preloaded."""
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
    """Measures as compare::Session does."""

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
        if once > LONG_ENOUGH:
            return self.result([once], traffic, units)
        seconds = []
        for _ in range(1 if once > 1 else self.loops):
            setup()
            each, traffic = self.lap(work, 1)
            seconds.append(each)
        return self.result(seconds, traffic, units)

    def answer(self, values):
        """Of arrays that are stacked, one file for each."""
        if not self.answers:
            return
        if isinstance(values, pylops_mpi.StackedDistributedArray):
            for part, each in enumerate(values.distarrays):
                self.save(f"{self.id}.{part}.npy", each.asarray())
        elif isinstance(values, DistributedArray):
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


# Arrays ------------------------------------------------------------------------------------------


def axpy(session, options):
    count = math.prod(options["shape"])
    x, y = scattered(count, seed=1), scattered(count, seed=2)
    y += 0.5 * x
    session.answer(y)

    def work():
        nonlocal y
        y += 1e-3 * x

    return session.time(work)


def dot(session, options):
    count = math.prod(options["shape"])
    x, y = scattered(count, seed=1), scattered(count, seed=2)
    session.answer(x.dot(y))
    return session.time(lambda: x.dot(y))


def norm(session, options):
    x = scattered(math.prod(options["shape"]))
    session.answer(x.norm())
    return session.time(x.norm)


# Derivatives -------------------------------------------------------------------------------------


def derivative(make):
    def run(session, options):
        dims = tuple(options["shape"])
        dtype = np.dtype(options.get("dtype", "float64"))
        operator = make(dims, dtype)
        return session.time_apply(options, operator, scattered(math.prod(dims), dtype))

    return run


def laplacian(dims, dtype):
    axes = tuple(range(len(dims)))
    ones = (1,) * len(dims)
    return pylops_mpi.MPILaplacian(dims, axes=axes, weights=ones, sampling=ones, dtype=dtype)


def gradient(session, options):
    dims = tuple(options["shape"])
    dtype = np.dtype(options.get("dtype", "float64"))
    operator = pylops_mpi.MPIGradient(dims, dtype=dtype)
    count = math.prod(dims)
    if options.get("direction") == "adjoint":
        parts = [scattered(count, dtype, 1 + axis) for axis in range(len(dims))]
        x = pylops_mpi.StackedDistributedArray(parts)
    else:
        x = scattered(count, dtype)
    return session.time_apply(options, operator, x)


# Matrices ----------------------------------------------------------------------------------------


def stack(make, model, data):
    """Blocks over ranks; model and data are `scattered` or `replicated`."""

    def run(session, options):
        n, blocks = options["n"], options["blocks"]
        mine = [
            pylops.MatrixMult(noise_of(np.float64, 0, n * n, 10 + block).reshape(n, n))
            for block in range(*share(blocks))
        ]
        is_adjoint = options.get("direction") == "adjoint"
        side = data if is_adjoint else model
        x = side(n * blocks if side is scattered else n)
        return session.time_apply(options, make(ops=mine), x)

    return run


def matrix_mult(session, options):
    """On the largest square number of ranks; the others wait."""
    from pylops_mpi.basicoperators.MatrixMult import MPIMatrixMult, active_grid_comm

    n, k, m = options["n"], options["k"], options["m"]
    dtype = np.dtype(options["dtype"])
    comm, rank, row, column, is_active = active_grid_comm(COMM, n, m)
    if not is_active:
        return wait_for_others(session)
    grid = math.isqrt(comm.Get_size())
    a = noise_of(dtype, 0, n * k, 10).reshape(n, k)
    is_adjoint = options.get("direction") == "adjoint"
    rows = n if is_adjoint else k
    x = noise_of(dtype, 0, rows * m, 1).reshape(rows, m)
    if options["kind"] == "summa":
        a_part = tile(a, row, column, grid)
        x_part = tile(x, row, column, grid)
    else:
        a_part = tile(a, column, 0, grid, 1)
        x_part = tile(x, 0, row, 1, grid)
    operator = MPIMatrixMult(
        a_part.copy(), m, saveAt=True, base_comm=comm, kind=options["kind"], dtype=dtype
    )
    sizes = comm.allgather(x_part.size)
    x = DistributedArray(
        global_shape=sum(sizes),
        base_comm=comm,
        local_shapes=sizes,
        mask=[i % grid for i in range(comm.Get_size())] if options["kind"] == "block" else None,
        dtype=dtype,
    )
    x[:] = x_part.ravel()
    y = None

    def work():
        nonlocal y
        y = operator.rmatvec(x) if is_adjoint else operator.matvec(x)

    result = session.time(work)
    rows = k if is_adjoint else n
    parts = comm.allgather(y.local_array)
    if session.answers:
        session.save(f"{session.id}.npy", assembled(parts, rows, m, grid, options["kind"]))
    return result


def tile(matrix, row, column, row_count, column_count=None):
    """One tile of a matrix on a grid, of as many columns as rows unless said otherwise."""
    column_count = row_count if column_count is None else column_count
    height = math.ceil(matrix.shape[0] / row_count)
    width = math.ceil(matrix.shape[1] / column_count)
    return matrix[row * height : (row + 1) * height, column * width : (column + 1) * width]


def assembled(parts, rows, columns, grid, kind):
    result = np.empty((rows, columns), parts[0].dtype)
    for rank, part in enumerate(parts):
        row, column = divmod(rank, grid)
        if kind == "summa":
            there = tile(result, row, column, grid)
        else:
            there = tile(result, 0, row, 1, grid)
        there[:] = part.reshape(there.shape)
    return result


def wait_for_others(session):
    """What a rank does that has no part in a problem: the calls that time() makes on all."""
    once, _ = session.lap(lambda: None, 1)
    if once < 1:
        once, _ = session.lap(lambda: None, 1)
    for _ in range(1 if once > 1 else session.loops):
        session.lap(lambda: None, 1)
    return session.result([0.0], (0, 0), 1)


def kernel_of(options, dtype):
    slices, nx, ny = options["shape"]
    first, last = share(slices)
    values = noise_of(dtype, first * nx * ny, last * nx * ny, 10) / math.sqrt(nx)
    return values.astype(dtype).reshape(last - first, nx, ny)


def fredholm1(session, options):
    from pylops_mpi.signalprocessing import MPIFredholm1

    dtype = np.dtype("complex64")
    slices, nx, ny = options["shape"]
    nz = options["nz"]
    operator = MPIFredholm1(kernel_of(options, dtype), nz, saveGt=True, usematmul=True, dtype=dtype)
    rows = nx if options.get("direction") == "adjoint" else ny
    return session.time_apply(options, operator, replicated(slices * rows * nz, dtype))


def mdc_operator(options):
    from pylops_mpi.waveeqprocessing import MPIMDC

    return MPIMDC(
        kernel_of(options, np.dtype("complex64")),
        nt=options["nt"],
        nv=1,
        nfreq=options["shape"][0],
        twosided=True,
        fftengine="scipy",
        prescaled=True,
    )


def mdc(session, options):
    _, nx, ny = options["shape"]
    rows = nx if options.get("direction") == "adjoint" else ny
    x = replicated(options["nt"] * rows, np.dtype("float32"))
    return session.time_apply(options, mdc_operator(options), x)


def fftnd(session, options):
    from pylops_mpi.signalprocessing import MPIFFTND

    dims = tuple(options["shape"])
    dtype = np.dtype(options["dtype"])
    operator = MPIFFTND(
        dims, axes=tuple(range(len(dims))), norm="none", real=dtype.kind == "f", dtype=dtype
    )
    is_adjoint = options.get("direction") == "adjoint"
    count = operator.shape[0] if is_adjoint else operator.shape[1]
    x = scattered(count, np.complex128 if is_adjoint else dtype)
    return session.time_apply(options, operator, x)


# Solvers -----------------------------------------------------------------------------------------


def time_steps(session, options, make):
    """make() returns the first iterate and a function from an iterate to the next."""
    steps = options["steps"]
    state = {}

    def setup():
        state["x"], state["step"] = make()

    def work():
        x, step = state["x"], state["step"]
        for _ in range(steps):
            x = step(x)
        state["x"] = x

    result = session.time_with_setup(setup, work, steps)
    x = state["x"]
    session.answer(x[0] if isinstance(x, tuple) else x)
    return result


def start_cgls(operator, y, x0):
    solver = pylops_mpi.optimization.cls_basic.CGLS(operator)
    return solver.setup(y=y, x0=x0, tol=0), solver.step


def zeros(count, dtype=np.float64, partition=Partition.SCATTER):
    x = DistributedArray(global_shape=count, partition=partition, dtype=dtype)
    x[:] = 0
    return x


def cgls_first_derivative(session, options):
    dims = tuple(options["shape"])
    dtype = np.dtype(options.get("dtype", "float64"))
    operator = pylops_mpi.MPIFirstDerivative(dims, dtype=dtype)
    count = math.prod(dims)
    y = scattered(count, dtype)
    return time_steps(session, options, lambda: start_cgls(operator, y, zeros(count, dtype)))


class Poststack:
    """The problem of the tutorials on post-stack and on reflectivity inversion."""

    def __init__(self, shape):
        self.shape = tuple(shape)
        first, last = share(shape[0])
        self.local = (last - first,) + self.shape[1:]
        self.model = self.distributed(log_impedance_of(shape, last - first, first))
        self.start = self.distributed(background_of(shape, last - first, first))

    def distributed(self, values):
        sizes = [
            (last - first) * self.shape[1] * self.shape[2]
            for first, last in (share(self.shape[0], rank) for rank in range(SIZE))
        ]
        x = DistributedArray(global_shape=math.prod(self.shape), local_shapes=sizes)
        x[:] = values.ravel()
        return x

    def modelling(self):
        ny, nx, nz = self.local
        traces = pylops.avo.poststack.PoststackLinearModelling(wavelet(), nt0=nz, spatdims=(ny, nx))
        transpose = pylops.Transpose((ny, nx, nz), (2, 0, 1))
        return pylops_mpi.MPIBlockDiag(ops=[transpose.H @ traces @ transpose])

    def convolution(self):
        convolve = pylops.signalprocessing.Convolve1D(self.local, wavelet(), offset=20, axis=-1)
        return pylops_mpi.MPIBlockDiag(ops=[convolve])

    def derivative(self):
        return pylops_mpi.MPIBlockDiag(ops=[pylops.FirstDerivative(self.local, axis=-1)])


def poststack_cgls(session, options):
    problem = Poststack(options["shape"])
    operator = problem.modelling()
    data = operator @ problem.model
    return time_steps(session, options, lambda: start_cgls(operator, data, problem.start))


def poststack_cg(session, options):
    problem = Poststack(options["shape"])
    operator = problem.modelling()
    roughness = laplacian(problem.shape, np.float64)
    normal = operator.H @ operator + 1e2 * roughness.H @ roughness
    data = operator.H @ (operator @ problem.model)

    def start():
        solver = pylops_mpi.optimization.cls_basic.CG(normal)
        return solver.setup(y=data, x0=problem.start, tol=0), solver.step

    return time_steps(session, options, start)


def poststack_end_to_end(session, options):
    problem = Poststack(options["shape"])
    x = None

    def work():
        nonlocal x
        operator = problem.modelling()
        data = operator @ problem.model
        x = pylops_mpi.cgls(operator, data, x0=problem.start, niter=options["steps"], tol=0)[0]

    result = session.time_with_setup(lambda: None, work, 1)
    session.answer(x)
    return result


def reflectivity(name):
    def run(session, options):
        problem = Poststack(options["shape"])
        operator = problem.convolution()
        data = operator @ (problem.derivative() @ problem.model)
        x0 = problem.distributed(np.zeros(problem.local))

        def start():
            solver = getattr(pylops_mpi.optimization.cls_sparsity, name)(operator)
            x = solver.setup(
                y=data,
                x0=x0,
                niter=options["steps"],
                eps=options["eps"],
                alpha=options["step"],
                tol=0,
            )
            if name == "FISTA":
                return (x, x.copy()), lambda state: solver.step(*state)[:2]
            return x, lambda state: solver.step(state)[0]

        return time_steps(session, options, start)

    return run


def mdd_cgls(session, options):
    _, _, ny = options["shape"]
    operator = mdc_operator(options)
    count = options["nt"] * ny
    data = operator @ replicated(count, np.dtype("float32"))
    x0 = zeros(count, np.dtype("complex64"), Partition.BROADCAST)  # as in the tutorial
    return time_steps(session, options, lambda: start_cgls(operator, data, x0))


PROBLEMS = {
    "axpy": axpy,
    "dot": dot,
    "norm": norm,
    "first_derivative": derivative(lambda dims, t: pylops_mpi.MPIFirstDerivative(dims, dtype=t)),
    "second_derivative": derivative(lambda dims, t: pylops_mpi.MPISecondDerivative(dims, dtype=t)),
    "laplacian": derivative(laplacian),
    "gradient": gradient,
    "block_diag": stack(pylops_mpi.MPIBlockDiag, scattered, scattered),
    "vstack": stack(pylops_mpi.MPIVStack, replicated, scattered),
    "hstack": stack(pylops_mpi.MPIHStack, scattered, replicated),
    "matrix_mult": matrix_mult,
    "fredholm1": fredholm1,
    "mdc": mdc,
    "fftnd": fftnd,
    "cgls_first_derivative": cgls_first_derivative,
    "poststack_cgls": poststack_cgls,
    "poststack_cg": poststack_cg,
    "poststack_end_to_end": poststack_end_to_end,
    "reflectivity_ista": reflectivity("ISTA"),
    "reflectivity_fista": reflectivity("FISTA"),
    "mdd_cgls": mdd_cgls,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", help="JSON file that compare.py has written")
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
        COMM.Abort(1)  # else other ranks would wait for this one for ever
