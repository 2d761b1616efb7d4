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


def shapes():
    for dtype, shape, axis in over_axes():
        common = {"axis": axis}
        for name, peer in [("flip", pylops.Flip), ("symmetrize", pylops.Symmetrize)]:
            yield Case(name, lambda p=peer, s=shape, a=axis, t=dtype: p(s, axis=a, dtype=t), shape, common, dtype)
        for shift in (2, -3):
            yield Case("roll", lambda s=shape, a=axis, m=shift, t=dtype: pylops.Roll(s, axis=a, shift=m, dtype=t),
                       shape, {"axis": axis, "shift": shift}, dtype)  # fmt: skip
        for kind in ("full", "half", "trapezoidal"):
            for first in (False, True):
                differs = TRAPEZOIDAL if kind == "trapezoidal" and not first else ""
                yield Case("causal_integration",
                           lambda s=shape, a=axis, k=kind, f=first, t=dtype: pylops.CausalIntegration(
                               s, axis=a, sampling=0.5, kind=k, removefirst=f, dtype=t),
                           shape, {"axis": axis, "sampling": 0.5, "kind": kind, "remove_first": first}, dtype,
                           differs=differs)  # fmt: skip
        yield Case("smoothing", lambda s=shape, a=axis, t=dtype: pylops.Smoothing1D(3, s, axis=a, dtype=t), shape,
                   {"lengths": [3], "axes": [axis]}, dtype)  # fmt: skip
    yield Case("smoothing", lambda: pylops.SmoothingND((5, 3, 3), (6, 5, 7), axes=(0, 1, 2)), (6, 5, 7),
               {"lengths": [5, 3, 3], "axes": [0, 1, 2]})  # fmt: skip
    t = values(9)
    for order in (1, 3):
        yield Case("regression", lambda o=order: pylops.Regression(t, o), (order + 1,), {"t": t, "order": order})
    d = values(5)
    yield Case("kronecker", lambda: pylops.Kronecker(pylops.FirstDerivative(6), pylops.Diagonal(d)), (6, 5),
               {"diagonal": d})  # fmt: skip
    # Curves that leave the data are NaN in tables of PyLops, and positions are whole numbers.
    table = RANDOM.integers(0, 9, size=(3, 4, 5)).astype(float)
    table[0, 1, 2] = np.nan
    yield Case("spread", lambda: pylops.Spread((3, 4), (5, 9), table=table), (3, 4),
               {"table": table, "data_shape": (5, 9)})  # fmt: skip


TRAPEZOIDAL = "y[0] is dt x[0] / 2 in forward of PyLops, but not in its adjoint; here it is 0"


def directions():
    for kind in ("forward", "backward", "centered"):
        options = {"sampling": (1, 0.5), "kind": kind}
        for name, peer in [("first_directional_derivative", pylops.FirstDirectionalDerivative),
                           ("second_directional_derivative", pylops.SecondDirectionalDerivative)]:  # fmt: skip
            v = [0.6, -0.8]
            yield Case(name, lambda p=peer, v=v, o=options: p((6, 5), np.array(v), **o), (6, 5), {**options, "v": v})
        field = values(2, 6, 5)
        yield Case("first_directional_derivative in a field",
                   lambda f=field, o=options: pylops.FirstDirectionalDerivative((6, 5), f, **o), (6, 5),
                   {**options, "field": field})  # fmt: skip


def interpolations():
    for shape in SHAPES:
        for axis, n in enumerate(shape):
            positions = [0.3, n - 1.4, 0.45 * n]
            for kind in ("nearest", "linear", "sinc", "cubic_spline"):
                yield Case("interp",
                           lambda s=shape, i=positions, a=axis, k=kind: sp.Interp(s, np.array(i), axis=a, kind=k)[0],
                           shape, {"axis": axis, "positions": positions, "kind": kind})  # fmt: skip
    places = np.array([[0.3, 2.2, 4.9], [1.5, 0.1, 3.7]])
    for shape in [(6, 5), (6, 5, 3)]:
        yield Case("bilinear", lambda s=shape: sp.Bilinear(places, s), shape, {"positions": places.T.tolist()})
    for axis, n in enumerate((6, 5)):
        for shift in (1.3, -2.0):
            for nfft in (16, 17):
                yield Case("shift",
                           lambda a=axis, m=shift, n=nfft: sp.Shift((6, 5), m, axis=a, nfft=n, sampling=0.5, real=True, dtype="float64"),
                           (6, 5), {"axis": axis, "shift": [shift], "sampling": 0.5, "nfft": nfft})  # fmt: skip
                yield Case("shift",
                           lambda a=axis, m=shift, n=nfft: sp.Shift((6, 5), m, axis=a, nfft=n, sampling=0.5),
                           (6, 5), {"axis": axis, "shift": [shift], "sampling": 0.5, "nfft": nfft}, "complex128")  # fmt: skip


def filters():
    for shape, extents, offset, axes in [((6, 5), (3, 2), (1, 0), (0, 1)), ((4, 7, 5), (3, 3), (1, 2), (1, 2)),
                                         ((4, 7, 5), (2, 3), (0, 1), (0, 2))]:  # fmt: skip
        h = values(*extents)
        for method in ("direct", "fft"):
            yield Case("convolve_nd",
                       lambda s=shape, h=h, o=offset, a=axes: sp.ConvolveND(s, h, offset=o, axes=a), shape,
                       {"filter": h, "filter_shape": extents, "offset": offset, "axes": axes, "method": method})  # fmt: skip
    bank = values(2, 3, 3, 5)
    yield Case("non_stationary_convolve2d", lambda: sp.NonStationaryConvolve2D((12, 14), bank, (2, 8), (1, 6, 11)),
               (12, 14), {"filters": bank, "filter_shape": (3, 5), "positions": [(2, 8), (1, 6, 11)]})  # fmt: skip
    signal = values(15)
    yield Case("non_stationary_filters1d", lambda: sp.NonStationaryFilters1D(signal, 5, (2, 7, 12)), (3, 5),
               {"input": signal, "taps": 5, "positions": (2, 7, 12)})  # fmt: skip
    for kind in (1, 2, 3, 4):
        yield Case("dct", lambda k=kind: sp.DCT((6, 5), type=k), (6, 5), {"type": kind})
        yield Case("dct", lambda k=kind: sp.DCT((6, 5), type=k, axes=(0,)), (6, 5), {"type": kind, "axes": (0,)})
    for wavelet in ("haar", "db2", "db4", "sym5"):
        for level in (1, 2):
            options = {"wavelet": wavelet, "level": level}
            yield Case("dwt", lambda o=options: sp.DWT((16, 8), axis=0, **o), (16, 8), {**options, "axis": 0})
        yield Case("dwtnd", lambda w=wavelet: sp.DWTND((4, 16, 8), axes=(1, 2), wavelet=w, level=2), (4, 16, 8),
                   {"wavelet": wavelet, "level": 2, "axes": (1, 2)})  # fmt: skip


PS_FORMULA = "`ps` of PyLops has the angle of the S wave where its own documentation, as here, has that of the P wave"


def imaging():
    for taper in ("hanning", "cosinesquare", None):
        a = values(4, 3)
        options = {"matrix": a, "matrix_shape": a.shape, "window": (4,), "overlap": (2,), "taper": taper or "none",
                   "data_shape": (12,), "axes": (0,)}  # fmt: skip
        yield Case("sliding", lambda a=a, t=taper: sp.Sliding1D(pylops.MatrixMult(a), 15, 12, 4, 2, tapertype=t), (15,), options)
        b = values(20, 6)
        options = {"matrix": b, "matrix_shape": b.shape, "window": (4,), "overlap": (2,), "taper": taper or "none",
                   "data_shape": (12, 5), "axes": (0,)}  # fmt: skip
        yield Case("sliding",
                   lambda b=b, t=taper: sp.Sliding2D(pylops.MatrixMult(b), (15, 2), (12, 5), 4, 2, tapertype=t),
                   (15, 2), options)  # fmt: skip
    wavelet = values(5)
    yield Case("poststack_modelling", lambda: pylops.PoststackLinearModelling(wavelet, 11), (11,), {"wavelet": wavelet})
    yield Case("poststack_modelling", lambda: pylops.PoststackLinearModelling(wavelet, 11, spatdims=(3,)), (11, 3),
               {"wavelet": wavelet})  # fmt: skip
    theta = [5.0, 12.0, 20.0, 31.0]
    for linearization in ("akirich", "fatti", "ps"):
        options = {"theta": theta, "linearization": linearization}
        differs = PS_FORMULA if linearization == "ps" else ""
        yield Case("avo_modelling",
                   lambda m=linearization: pylops.avo.AVOLinearModelling(np.array(theta), nt0=7, linearization=m),
                   (7, 3), options, differs=differs)  # fmt: skip
        yield Case("prestack_modelling",
                   lambda m=linearization: pylops.PrestackLinearModelling(wavelet, np.array(theta), nt0=7, linearization=m),
                   (7, 3), {**options, "wavelet": wavelet}, differs=differs)  # fmt: skip
    h, p = [0.0, 1.0, 2.5, 4.0], [-0.3, 0.0, 0.2]
    for kind in ("linear", "parabolic"):
        times = np.arange(9) * 0.5
        yield Case("fourier_radon2d",
                   lambda k=kind, t=times: sp.FourierRadon2D(t, np.array(h), np.array(p), 16, kind=k), (3, 9),
                   {"offsets": h, "slownesses": p, "parabolic": kind == "parabolic", "dt": 0.5, "nfft": 16})  # fmt: skip


FAMILIES = [basic, derivatives, signals, matrices, shapes, directions, interpolations, filters, imaging]
