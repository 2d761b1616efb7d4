"""The problems of the comparison without solvers, by PyLops-MPI."""

import math

import numpy as np

from peer_inputs import noise_of
from peer_session import COMM
from pylops_arrays import DistributedArray, my_share, pylops, pylops_mpi, replicated, scattered


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


def stack(make, model, data):
    """A block operator over ranks; `model` and `data` are `scattered` or `replicated`."""

    def run(session, options):
        n, blocks = options["n"], options["blocks"]
        mine = [
            pylops.MatrixMult(noise_of(np.float64, 0, n * n, 10 + block).reshape(n, n))
            for block in range(*my_share(blocks))
        ]
        is_adjoint = options.get("direction") == "adjoint"
        side = data if is_adjoint else model
        x = side(n * blocks if side is scattered else n)
        return session.time_apply(options, make(ops=mine), x)

    return run


def matrix_mult(session, options):
    """On the largest square number of ranks; the others are idle."""
    from pylops_mpi.basicoperators.MatrixMult import MPIMatrixMult, active_grid_comm

    n, k, m = options["n"], options["k"], options["m"]
    dtype = np.dtype(options["dtype"])
    comm, rank, row, column, is_active = active_grid_comm(COMM, n, m)
    if not is_active:
        return take_idle_part(session)
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
    """One tile of a matrix on a grid of row_count x column_count tiles, by default a square one."""
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


def take_idle_part(session):
    """The collective calls of Session.time() on a rank that has no part in the problem."""
    once, _ = session.lap(lambda: None, 1)
    if once < 1:
        once, _ = session.lap(lambda: None, 1)
    for _ in range(1 if once > 1 else session.loops):
        session.lap(lambda: None, 1)
    return session.result([0.0], (0, 0), 1)


def kernel_of(options, dtype):
    slices, nx, ny = options["shape"]
    first, last = my_share(slices)
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
}
