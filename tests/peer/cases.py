"""Cases of the comparison with PyLops: an operator of Weft, its options, and the same operator of PyLops."""

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import pylops
from pylops import signalprocessing as sp


@dataclass
class Case:
    operator: str  # a name in the C++ files of this folder
    peer: Callable[[], Any]  # makes the operator of PyLops
    shape: tuple
    options: dict = field(default_factory=dict)
    dtype: str = "float64"
    layout: str = "scatter"
    differs: str = ""  # why the two must differ, if they do


RANDOM = np.random.default_rng(7)


def values(*shape, dtype="float64"):
    """Random numbers, that is an array of options."""
    real = RANDOM.standard_normal(shape)
    return real + 1j * RANDOM.standard_normal(shape) if dtype == "complex128" else real


COMPLEX_FILTER = "the adjoint of PyLops does not conjugate complex filters, and fails its own dot test"

SHAPES = [(11,), (6, 5), (4, 3, 5)]
DTYPES = ["float64", "complex128"]


def over_axes():
    for dtype in DTYPES:
        for shape in SHAPES:
            for axis in range(len(shape)):
                yield dtype, shape, axis


def basic():
    for dtype in DTYPES:
        for shape in SHAPES:
            n = int(np.prod(shape))
            yield Case("identity", lambda n=n, t=dtype: pylops.Identity(n, dtype=t), shape, {}, dtype)
            yield Case("zero", lambda n=n, t=dtype: pylops.Zero(n, dtype=t), shape, {}, dtype)
            widths = [(1, 2), (0, 3), (2, 0)][: len(shape)]
            yield Case("pad", lambda s=shape, w=widths, t=dtype: pylops.Pad(s, w, dtype=t), shape,
                       {"widths": widths}, dtype)  # fmt: skip
    for dtype, shape, axis in over_axes():
        d = values(shape[axis], dtype=dtype)
        yield Case("diagonal", lambda d=d, s=shape, a=axis, t=dtype: pylops.Diagonal(d, dims=s, axis=a, dtype=t),
                   shape, {"axis": axis, "diagonal": d}, dtype)  # fmt: skip
        indices = [0, 2, shape[axis] - 1]
        yield Case("restriction",
                   lambda s=shape, i=indices, a=axis, t=dtype: pylops.Restriction(s, i, axis=a, dtype=t),
                   shape, {"axis": axis, "indices": indices}, dtype)  # fmt: skip
        if len(shape) > 1:
            yield Case("sum_along", lambda s=shape, a=axis, t=dtype: pylops.Sum(s, axis=a, dtype=t), shape,
                       {"axis": axis}, dtype)  # fmt: skip
    repeated = [1, 1, 4]
    yield Case("restriction", lambda: pylops.Restriction((6,), repeated), (6,), {"indices": repeated})
    for axes in [(1, 0), (2, 0, 1)]:
        shape = (4, 3, 5)[: len(axes)]
        yield Case("transpose_axes", lambda s=shape, a=axes: pylops.Transpose(s, a), shape, {"axes": axes})
    for name, peer in [("real_part", pylops.Real), ("imag_part", pylops.Imag), ("conjugation", pylops.Conj)]:
        yield Case(name, lambda p=peer: p((6, 5)), (6, 5), {}, "complex128")


def derivatives():
    for dtype, shape, axis in over_axes():
        for kind in ("forward", "backward", "centered"):
            for edge in (False, True):
                if kind != "centered" and edge:
                    continue
                common = {"axis": axis, "sampling": 0.5, "kind": kind, "edge": edge}
                orders = (3, 5) if kind == "centered" and shape[axis] > 4 else (3,)
                for order in orders:
                    yield Case("first_derivative",
                               lambda s=shape, c=common, o=order, t=dtype: pylops.FirstDerivative(s, order=o, dtype=t, **c),
                               shape, {**common, "order": order}, dtype)  # fmt: skip
                yield Case("second_derivative",
                           lambda s=shape, c=common, t=dtype: pylops.SecondDerivative(s, dtype=t, **c),
                           shape, common, dtype)  # fmt: skip
    for axes in [(0, 1), (-2, -1), (0, 2)]:
        options = {"axes": axes, "weights": (1, 2), "sampling": (1, 0.5)}
        yield Case("laplacian", lambda o=options: pylops.Laplacian((5, 4, 6), **o), (5, 4, 6), options)
        yield Case("laplacian", lambda o=options: pylops.Laplacian((5, 4, 6), edge=True, **o), (5, 4, 6),
                   {**options, "edge": True})  # fmt: skip
    for kind in ("forward", "backward", "centered"):
        yield Case("gradient", lambda k=kind: pylops.Gradient((6, 5), sampling=(1, 0.5), kind=k), (6, 5),
                   {"kind": kind, "sampling": (1, 0.5)})  # fmt: skip


def signals():
    for dtype, shape, axis in over_axes():
        for norm in ("ortho", "none", "1/n"):
            for nfft in (shape[axis], 16):
                real = dtype == "float64"
                peer = lambda s=shape, a=axis, n=nfft, m=norm, r=real, t=dtype: sp.FFT(  # noqa: E731
                    s, axis=a, nfft=n, norm=m, real=r, dtype=t)  # fmt: skip
                yield Case("fft", peer, shape, {"axis": axis, "nfft": nfft, "norm": norm}, dtype)
    for shift in (False, True):
        yield Case("fft", lambda b=shift: sp.FFT((9, 6), axis=0, ifftshift_before=b, fftshift_after=True, dtype="complex128"),
                   (9, 6), {"axis": 0, "ifftshift_before": shift, "fftshift_after": True}, "complex128")  # fmt: skip
    yield Case("fftnd", lambda: sp.FFT2D((6, 5), dtype="complex128"), (6, 5), {}, "complex128")
    yield Case("fftnd", lambda: sp.FFT2D((6, 5), real=True), (6, 5), {})
    yield Case("fftnd", lambda: sp.FFTND((4, 3, 5), axes=(0, 2), nffts=(8, 5), dtype="complex128"), (4, 3, 5),
               {"axes": (0, 2), "nfft": (8, 5)}, "complex128")  # fmt: skip
    for dtype, shape, axis in over_axes():
        for length, offset in [(3, 1), (4, 0), (5, 3)]:
            if length > shape[axis]:
                continue
            h = values(length, dtype=dtype)
            for method in ("direct", "fft"):
                yield Case("convolve1d",
                           lambda s=shape, h=h, o=offset, a=axis, t=dtype: sp.Convolve1D(s, h, offset=o, axis=a, dtype=t),
                           shape, {"axis": axis, "filter": h, "offset": offset, "method": method}, dtype,
                           differs="" if dtype == "float64" else COMPLEX_FILTER)  # fmt: skip
    filters = values(3, 5)
    yield Case("non_stationary_convolve1d",
               lambda: sp.NonStationaryConvolve1D((11, 3), filters, (2, 5, 8), axis=0), (11, 3),
               {"filters": filters, "positions": (2, 5, 8), "axis": 0})  # fmt: skip


def matrices():
    for dtype in DTYPES:
        a = values(7, 5, dtype=dtype)
        for columns in (0, 3):
            other = None if columns == 0 else (columns,)
            yield Case("matrix_mult", lambda a=a, o=other, t=dtype: pylops.MatrixMult(a, otherdims=o, dtype=t), (5,),
                       {"matrix": a, "matrix_shape": a.shape, "columns": columns}, dtype)  # fmt: skip
        g = values(4, 3, 5, dtype=dtype)
        yield Case("fredholm1", lambda g=g, t=dtype: sp.Fredholm1(g, nz=2, dtype=t), (4, 5, 2),
                   {"matrix": g, "matrix_shape": g.shape, "nz": 2}, dtype)  # fmt: skip
    kernel = values(5, 3, 4, dtype="complex128")
    for twosided, nt in [(True, 9), (False, 8)]:
        options = {"nt": nt, "nv": 2, "dt": 0.5, "dr": 2.0, "twosided": twosided}
        yield Case("mdc", lambda o=options: pylops.waveeqprocessing.MDC(kernel, **o), (nt, 4, 2),
                   {**options, "matrix": kernel, "matrix_shape": kernel.shape})  # fmt: skip


FAMILIES = [basic, derivatives, signals, matrices]
