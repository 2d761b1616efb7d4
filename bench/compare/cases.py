"""The problems of the comparison and their targets.

A case is a dictionary that both sides read. Besides the options of its problem it has:
  id         names files and rows; the same in every run
  family     cases of a family run in one process
  problem    its name in weft_side and pylops_side.py
  label      the row's name in tables, together with `size`
  peer       what Weft is compared with: pylops_mpi, petsc or mpi
  unit       the timed unit: apply, iteration or solution
  tolerance  of the relative difference of the two answers, in the 2-norm
  bar        the target: how many times faster Weft should be, or None
  quick      whether quick runs include it
  note       a note for readers of the row
  rounds     the largest number of rounds, for long cases
"""

import math

DERIVATIVES = {
    "first_derivative": "FirstDerivative",
    "second_derivative": "SecondDerivative",
    "laplacian": "Laplacian",
    "gradient": "Gradient",
}
TUTORIAL = [20, 267, 550]  # per rank in the tutorials on post-stack data; here, in all
TUTORIAL_MDD = [400, 201, 121]
TEN_TIMES = "ten times the tutorial's size"
SQUARE_RANKS = "PyLops-MPI's MatrixMult takes a square number of ranks: of 2 it uses 1"
REPLICATED = (
    "PyLops-MPI has model and data on all ranks and gathers each result; "
    "Weft leaves them cut along frequencies"
)


def case(family, problem, label, size, **more):
    result = {
        "family": family,
        "problem": problem,
        "label": label,
        "size": size,
        "peer": "pylops_mpi",
        "unit": "apply",
        "tolerance": 1e-12,
        "bar": None,
        "quick": False,
        "note": "",
        "rounds": 99,
    }
    result.update(more)
    direction = result.get("direction", "forward")
    parts = [label, size, result.get("dtype", "")] + (["adjoint"] if direction == "adjoint" else [])
    result["id"] = result.get("id") or "-".join(part for part in parts if part).replace(
        " ", "_"
    ).replace("×", "x").replace(",", "").replace("²", "^2").replace("³", "^3")
    return result


def size_of(shape):
    if len(set(shape)) == 1 and len(shape) in (2, 3):
        return f"{shape[0]}{'²' if len(shape) == 2 else '³'}"
    return "×".join(str(n) for n in shape)


def arrays():
    for problem in ("axpy", "dot", "norm"):
        for n in (2**16, 2**22):
            yield case(
                "arrays", problem, problem, f"{n}", shape=[n], quick=n == 2**16, tolerance=1e-12
            )


def derivatives():
    for n in (512, 1024, 2048, 4096):
        for problem, label in DERIVATIVES.items():
            for direction in ("forward", "adjoint"):
                if direction == "adjoint" and n not in (512, 2048):
                    continue
                yield case(
                    "derivatives",
                    problem,
                    label,
                    size_of([n, n]),
                    shape=[n, n],
                    direction=direction,
                    bar=15 if n in (512, 2048) else None,
                    quick=n == 512,
                    rounds=1 if n == 4096 else 99,
                )
    for problem in ("laplacian", "gradient"):
        yield case("derivatives", problem, DERIVATIVES[problem], "256³", shape=[256] * 3, rounds=1)


def blocks():
    for n in (256, 1024):
        for problem, label in (
            ("block_diag", "BlockDiag"),
            ("vstack", "VStack"),
            ("hstack", "HStack"),
        ):
            for direction in ("forward", "adjoint"):
                yield case(
                    "blocks",
                    problem,
                    f"{label} of MatrixMult",
                    f"4 of {n}×{n}",
                    n=n,
                    blocks=4,
                    direction=direction,
                    quick=n == 256,
                )


def matrices():
    for kind in ("block", "summa"):
        for dtype, bar in (("float64", None), ("complex128", 8)):
            for n in (512, 1024):
                for direction in ("forward", "adjoint"):
                    if direction == "adjoint" and n == 1024:
                        continue
                    yield case(
                        "matrices",
                        "matrix_mult",
                        f"MatrixMult {kind}",
                        f"{n}×{n}×64",
                        n=n,
                        k=n,
                        m=64,
                        kind=kind,
                        dtype=dtype,
                        direction=direction,
                        bar=bar,
                        quick=n == 512 and dtype == "complex128",
                        note=SQUARE_RANKS,
                        rounds=1 if n == 1024 else 99,
                    )


def integrals():
    for layout, note in (
        ("cut", REPLICATED),
        ("replicated", "both have model and data on all ranks"),
    ):
        for direction in ("forward", "adjoint"):
            yield case(
                "integrals",
                "fredholm1",
                f"Fredholm1, {layout}",
                "128×128×128, nz 16",
                shape=[128] * 3,
                nz=16,
                layout=layout,
                direction=direction,
                tolerance=1e-5,
                quick=direction == "forward",
                note=note,
            )
    for direction in ("forward", "adjoint"):
        yield case(
            "integrals",
            "mdc",
            "MDC",
            size_of(TUTORIAL_MDD),
            shape=TUTORIAL_MDD,
            nt=1599,
            direction=direction,
            tolerance=1e-5,
            note=REPLICATED,
        )


def fourier():
    for shape in ([512, 512], [2048, 2048], [128] * 3):
        for dtype in ("complex128", "float64"):
            yield case(
                "fourier",
                "fftnd",
                "FFT2D" if len(shape) == 2 else "FFTND",
                size_of(shape),
                shape=shape,
                dtype=dtype,
                tolerance=1e-12,
                quick=shape == [512, 512],
                rounds=1 if shape == [2048, 2048] else 99,
            )


def iterations(problem, label, size, **more):
    options = {"unit": "iteration", "tolerance": 1e-8}
    options.update(more)
    return case(options.pop("family"), problem, label, size, **options)


def solvers():
    for n in (512, 2048, 4096):
        yield iterations(
            "cgls_first_derivative",
            "CGLS, FirstDerivative",
            size_of([n, n]),
            shape=[n, n],
            steps=10 if n < 4096 else 2,
            rounds=99 if n < 4096 else 1,
            bar=20,
            quick=n == 512,
            family="cgls",
        )
    wavelet = [
        (1 - 2 * x * x) * math.exp(-x * x) for x in (0.06 * math.pi * i for i in range(-20, 21))
    ]
    step = 1 / sum(abs(w) for w in wavelet) ** 2  # certainly below 1 / |A|²
    for scale in (1, 10):
        shape = [TUTORIAL[0] * scale] + TUTORIAL[1:]
        common = {
            "shape": shape,
            "steps": 10 if scale == 1 else 3,
            "rounds": 1,
            "note": TEN_TIMES if scale == 10 else "tutorial's size",
            "family": "tutorials" if scale == 1 else "tutorials_x10",
        }
        size = size_of(shape)
        yield iterations("poststack_cgls", "CGLS, post-stack", size, bar=20, **common)
        yield iterations("poststack_cg", "CG, post-stack, smooth", size, **common)
        sparse = {"eps": 2e-2, "step": step, **common}
        yield iterations("reflectivity_ista", "ISTA, reflectivity", size, **sparse)
        yield iterations("reflectivity_fista", "FISTA, reflectivity", size, **sparse)
        receivers = 1 if scale == 1 else math.sqrt(10)
        mdd = [TUTORIAL_MDD[0]] + [round(n * receivers) for n in TUTORIAL_MDD[1:]]
        common["shape"] = mdd
        yield iterations(
            "mdd_cgls", "CGLS, MDD", size_of(mdd), bar=20, nt=1599, **{**common, "tolerance": 1e-4}
        )
    yield case(
        "end_to_end",
        "poststack_end_to_end",
        "post-stack inversion",
        size_of(TUTORIAL),
        shape=TUTORIAL,
        steps=30,
        unit="solution",
        tolerance=1e-8,
        bar=10,
        rounds=1,
        note="operators, data and 30 iterations of CGLS",
    )


def petsc():
    for n in (64, 128, 192):
        for kind, bar, how in (("aij", 1.5, "pad"), ("shell", 1.0, "function")):
            yield case(
                "petsc",
                "cg_laplacian",
                f"CG, Laplacian, PETSc {kind.upper() if kind == 'aij' else kind}",
                size_of([n] * 3),
                shape=[n] * 3,
                steps=30,
                operator=how,
                peer="petsc",
                peer_problem=f"petsc_{kind}",
                unit="iteration",
                tolerance=1e-10,
                bar=bar,
                quick=n == 64,
                note="Weft by its pad and laplacian"
                if how == "pad"
                else "both by a function that the user writes",
            )


def all_cases(quick=False):
    result = []
    for family in (arrays, derivatives, blocks, matrices, integrals, fourier, solvers, petsc):
        result += [each for each in family() if each["quick"] or not quick]
    names = [each["id"] for each in result]
    assert len(set(names)) == len(names), "two cases with one name"
    return result


def gpu_cases(quick=False):
    """Problems of the GPU section, which run on one rank."""
    result = []
    for dtype in ("float64", "float32"):
        for n in (512, 2048, 4096)[: 1 if quick else None]:
            for problem, label in DERIVATIVES.items():
                result.append(
                    case(
                        "gpu_derivatives",
                        problem,
                        label,
                        size_of([n, n]),
                        shape=[n, n],
                        dtype=dtype,
                        bar=3,
                        tolerance=1e-12 if dtype == "float64" else 1e-5,
                    )
                )
            result.append(
                case(
                    "gpu_cgls",
                    "cgls_first_derivative",
                    "CGLS, FirstDerivative",
                    size_of([n, n]),
                    shape=[n, n],
                    dtype=dtype,
                    steps=20,
                    unit="iteration",
                    bar=5,
                    tolerance=1e-8 if dtype == "float64" else 1e-3,
                )
            )
    return result
