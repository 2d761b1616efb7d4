"""Why rows are lost, or miss their bars, as far as it is known."""


def is_about(row, *words):
    return any(word in row["label"] for word in words)


REASONS = [
    (
        lambda row: row["family"] == "gpu_collectives",
        "both are the same call of NCCL; processes that share a GPU take turns, for milliseconds "
        "each, and here the turns differed.",
    ),
    (
        lambda row: row["family"] == "collectives",
        "Weft checks the arguments and keeps statistics of each call, which takes a fraction of a "
        "microsecond.",
    ),
    (
        lambda row: is_about(row, "MDC", "MDD"),
        "two thirds of the time are the product of a vector with the kernel, which is read from memory "
        "once; both sides leave it to OpenBLAS.",
    ),
    (
        lambda row: is_about(row, "post-stack", "reflectivity"),
        "a good part of the time is arithmetic: the convolution with a wavelet of 41 samples, forth "
        "and back.",
    ),
    (
        lambda row: is_about(row, "PETSc AIJ"),
        "Weft has no Laplacian with zeros beyond the grid: the array is padded before and cropped "
        "after, which takes as long as the rest. A function that does it in one pass, as in the "
        "rows of the shell, is twice as fast.",
    ),
    (
        lambda row: is_about(row, "of MatrixMult", "Fredholm1") and row["times_floor"] < 1.2,
        "the time is that of the bare call of BLAS; NumPy brings a newer one along than the system.",
    ),
    (
        lambda row: row["times_floor"] < 1.3,
        "the time is that of reading and writing what must be read and written: Weft is at the floor.",
    ),
]


def reason_for(row):
    for applies, reason in REASONS:
        if applies(row):
            return reason
    return "not known."
