"""The problems of the comparison with solvers, by PyLops-MPI."""

import math

import numpy as np

from peer_inputs import background_of, log_impedance_of, share, wavelet
from peer_session import SIZE
from pylops_arrays import (
    DistributedArray,
    Partition,
    my_share,
    pylops,
    pylops_mpi,
    replicated,
    scattered,
    zeros,
)
from pylops_operators import laplacian, mdc_operator


def time_steps(session, options, make):
    """Times iterations; make() returns the first iterate and a function from one iterate to the next."""
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


def cgls_first_derivative(session, options):
    dims = tuple(options["shape"])
    dtype = np.dtype(options.get("dtype", "float64"))
    operator = pylops_mpi.MPIFirstDerivative(dims, dtype=dtype)
    count = math.prod(dims)
    y = scattered(count, dtype)
    return time_steps(session, options, lambda: start_cgls(operator, y, zeros(count, dtype)))


class Poststack:
    """The model and the operators of the post-stack and reflectivity tutorials."""

    def __init__(self, shape):
        self.shape = tuple(shape)
        first, last = my_share(shape[0])
        self.local = (last - first,) + self.shape[1:]
        self.model = self.distributed(log_impedance_of(shape, last - first, first))
        self.start = self.distributed(background_of(shape, last - first, first))

    def distributed(self, values):
        sizes = [
            (last - first) * self.shape[1] * self.shape[2]
            for first, last in (share(self.shape[0], rank, SIZE) for rank in range(SIZE))
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
    "cgls_first_derivative": cgls_first_derivative,
    "poststack_cgls": poststack_cgls,
    "poststack_cg": poststack_cg,
    "poststack_end_to_end": poststack_end_to_end,
    "reflectivity_ista": reflectivity("ISTA"),
    "reflectivity_fista": reflectivity("FISTA"),
    "mdd_cgls": mdd_cgls,
}
