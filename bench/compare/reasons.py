"""Known reasons why rows are slower than the peer or miss their targets."""

from rows import SAME_SPEED, duration

# Upper bound of what argument checks and statistics add to a call, measured with messages of a few bytes.
CALL_OVERHEAD_US = 0.3


def is_about(row, *words):
    return any(word in row["label"] for word in words)


def collective_reason(row):
    """Both sides make the same MPI call; the reason depends on the size of the difference."""
    more = row["ours_us"] - row["theirs_us"]
    if 0 < more <= CALL_OVERHEAD_US:
        return f"Weft adds {duration(more)} per call for argument checks and statistics."
    if row["theirs_us"] >= SAME_SPEED * row["ours_us"]:
        return (
            f"both make the same MPI call; the medians of all rounds differ by {duration(abs(more))} "
            f"({abs(more) / row['theirs_us']:.1%}), the ratios of single rounds by more."
        )
    return (
        f"Weft takes {duration(more)} more. Argument checks and statistics explain at most "
        f"{duration(CALL_OVERHEAD_US)} of it; the reason for the rest is not known."
    )


REASONS = [
    (
        lambda row: row["family"] == "gpu_collectives" and row["ours_us"] >= 1000,
        "both make the same NCCL call; processes that share a GPU run in time slices of milliseconds, "
        "and the slices differed.",
    ),
    (lambda row: row["family"] == "collectives", collective_reason),
    (
        lambda row: is_about(row, "MDC", "MDD"),
        "two thirds of the time is the product of the kernel with a vector, which is limited by memory "
        "bandwidth; both sides call OpenBLAS for it.",
    ),
    (
        lambda row: is_about(row, "post-stack", "reflectivity"),
        "much of the time is arithmetic: the convolution with a wavelet of 41 samples and its adjoint.",
    ),
    (
        lambda row: is_about(row, "PETSc AIJ"),
        "Weft has no Laplacian with zeros beyond the grid: the array is padded before and cropped "
        "after, which takes as long as the rest. A function operator that does it in one pass, as in "
        "the shell rows, is twice as fast.",
    ),
    (
        lambda row: is_about(row, "of MatrixMult", "Fredholm1") and row["times_floor"] < 1.2,
        "the time is that of the BLAS call; NumPy ships a newer OpenBLAS than the system.",
    ),
    (
        lambda row: row["times_floor"] < 1.3,
        "Weft is at the floor: the time is that of reading and writing the data once.",
    ),
]


def reason_for(row):
    for applies, reason in REASONS:
        if applies(row):
            return reason(row) if callable(reason) else reason
    return "not known."
