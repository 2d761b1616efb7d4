"""Why rows are lost, or miss their bars, as far as it is known."""

import svg

# What argument checks and statistics add to a call, at most: the difference that messages of a few bytes show.
CALL_OVERHEAD_US = 0.3
# Medians that are closer than this differ by less than two runs of the same program.
SAME_TIME = 0.97


def is_about(row, *words):
    return any(word in row["label"] for word in words)


def collective_reason(row):
    """Both sides make the same call of MPI; what the difference can be depends on how large it is."""
    more = row["ours_us"] - row["theirs_us"]
    if 0 < more <= CALL_OVERHEAD_US:
        return f"Weft adds {svg.duration(more)} per call to check the arguments and keep statistics."
    if row["theirs_us"] >= SAME_TIME * row["ours_us"]:
        return (
            f"both make the same call of MPI; the medians of all rounds differ by {svg.duration(abs(more))} "
            f"({abs(more) / row['theirs_us']:.1%}), the ratios of single rounds by more."
        )
    return (
        f"Weft takes {svg.duration(more)} more. Argument checks and statistics explain at most "
        f"{svg.duration(CALL_OVERHEAD_US)} of it; the rest is not known."
    )


REASONS = [
    (
        lambda row: row["family"] == "gpu_collectives" and row["ours_us"] >= 1000,
        "both are the same call of NCCL; processes that share a GPU take turns, for milliseconds "
        "each, and here the turns differed.",
    ),
    (lambda row: row["family"] == "collectives", collective_reason),
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
            return reason(row) if callable(reason) else reason
    return "not known."
