"""The rows of bench/results/compare.json and compare_gpu.json: their names and what they show."""

FAMILIES = {
    "arrays": "Arrays",
    "derivatives": "Derivatives",
    "blocks": "Block operators",
    "matrices": "Products with a distributed matrix",
    "integrals": "Fredholm integrals and multi-dimensional convolution",
    "fourier": "Fourier transforms",
    "cgls": "CGLS on derivatives",
    "tutorials": "Solvers on the tutorials' problems",
    "tutorials_x10": "Solvers on problems ten times as large",
    "end_to_end": "An inversion from end to end",
    "petsc": "Conjugate gradients",
    "collectives": "Collectives",
    "gpu_derivatives": "Derivatives on a GPU",
    "gpu_cgls": "CGLS on a GPU",
    "gpu_collectives": "Collectives on a GPU",
}
PEERS = {
    "pylops_mpi": "PyLops-MPI",
    "petsc": "PETSc",
    "mpi": "MPI",
    "cupy": "PyLops with CuPy",
    "mpi_cupy": "PyLops-MPI with CuPy",
    "nccl": "NCCL",
}
# Two runs of the same program differ by up to 3 %.
SAME_SPEED = 0.97


def name_of(row):
    adjoint = ", adjoint" if row["direction"] == "adjoint" else ""
    dtype = "" if row["dtype"] == "float64" else f", {row['dtype']}"
    return f"{row['label']}{adjoint}{dtype}"


def ranks_of(row):
    return f"{row['ranks']} rank{'s' if row['ranks'] > 1 else ''}"


def duration(microseconds):
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= unit:
            return f"{microseconds / unit:.3g} {name}"
    return f"{microseconds:.3g} µs"


def misses_target(row):
    return bool(row["bar"] and row["ratio"] < row["bar"])


def is_slower(row):
    return row["ratio"] < SAME_SPEED


def valid(rows):
    """The rows whose answers agree."""
    return [row for row in rows if "error" not in row]


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
