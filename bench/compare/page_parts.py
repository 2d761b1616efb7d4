"""Tables and lists of docs/benchmarks.md, from the rows of the comparison."""

from reasons import reason_for
from rows import (
    FAMILIES,
    PEERS,
    duration,
    grouped,
    is_slower,
    misses_target,
    name_of,
    ranks_of,
    valid,
)

UNITS = {"apply": "apply", "iteration": "iteration", "solution": "whole solution", "call": "call"}


def count(value):
    return "" if value is None else f"{value:.3g}"


def agreement(row):
    if row["tolerance"] == 0:
        return "all bits"
    return f"{row['tolerance']:.0e}".replace("e-0", "e-")


def table(rows):
    out = [
        "| problem | size | ranks | Weft | peer | times faster | target | floor | × floor | calls"
        " | peer's calls | agree to |",
        "|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        start = f"| {name_of(row)} | {row['size']} | {row['ranks']} "
        if "error" in row:
            out.append(start + f"| **error**: {row['error'].splitlines()[-1]} | | | | | | | | |")
            continue
        target = f"≥ {row['bar']:g}" if row["bar"] else ""
        ratio = f"{row['ratio']:.3g}"
        if misses_target(row):
            target += " MISSED"
        if misses_target(row) or is_slower(row):
            ratio = f"**{ratio}**"
        out.append(
            start + f"| {duration(row['ours_us'])} | {duration(row['theirs_us'])} "
            f"| {ratio} | {target} | {row['floor']}: {duration(row['floor_us'])} "
            f"| {row['times_floor']:.2f} | {count(row['messages_ours'])} "
            f"| {count(row['messages_theirs'])} | {agreement(row)} |"
        )
    return out


def notes(rows):
    """The notes of a section's rows, each once."""
    labels = {}
    for row in rows:
        if row["note"]:
            labels.setdefault(row["note"], []).append(row["label"])
    return [f"{', '.join(dict.fromkeys(each))}: {note}." for note, each in labels.items()]


def shortfalls(rows):
    """A list of the rows that are slower than the peer or miss their targets, with the reasons."""
    return [
        f"- {name_of(row)}, {row['size']}, {ranks_of(row)}"
        f" {'misses its target' if misses_target(row) else 'is slower'} ({row['ratio']:.3g} times as fast):"
        f" {reason_for(row)}"
        for row in valid(rows)
        if misses_target(row) or is_slower(row)
    ]


def targets(rows):
    """The lowest and highest ratio of each target."""
    out = ["| problems | per | target | lowest | highest | met by |", "|---|---|--:|--:|--:|--:|"]
    with_target = [row for row in rows if row["bar"]]
    key = lambda row: (FAMILIES[row["family"]], row["bar"], UNITS[row["unit"]])  # noqa: E731
    for (family, bar, unit), each in grouped(with_target, key).items():
        ratios = [row["ratio"] for row in valid(each)]
        if ratios:
            met = sum(ratio >= bar for ratio in ratios)
            out.append(
                f"| {family} | {unit} | ≥ {bar:g} | {min(ratios):.3g} | {max(ratios):.3g} "
                f"| {met} of {len(each)} |"
            )
    return out


def span(rows):
    ratios = [row["ratio"] for row in rows]
    low, high = (f"{each:.1f}" if each < 10 else f"{each:.0f}" for each in (min(ratios), max(ratios)))
    return f"{low} to {high}"


def of_these(some, rows):
    return "all of these are" if len(some) == len(rows) else f"{len(some)} of these are"


def summary(rows):
    """Five lines on all rows, those on a GPU included."""

    def of(*families, peer=None):
        return [
            row for row in rows if row["family"] in families and (peer is None or row["peer"] == peer)
        ]

    def sentence(text, *each):
        return f"- {text.format(*map(span, each))}" if all(each) else None

    slower = [row for row in rows if is_slower(row)]
    calls = [row for row in slower if "collectives" in row["family"]]
    lines = [
        sentence(
            "Derivatives are {} times as fast as those of PyLops-MPI on 1 and 2 ranks, products with a "
            "distributed matrix {} times.",
            of("derivatives"),
            of("matrices"),
        ),
        sentence(
            "Solvers are {} times as fast per iteration, a post-stack inversion {} times from end to end.",
            of("cgls", "tutorials", "tutorials_x10"),
            of("end_to_end"),
        ),
        sentence("Conjugate gradients are {} times as fast as those of PETSc.", of("petsc")),
        sentence(
            "On one GPU, derivatives are {} times as fast as those of PyLops with CuPy, iterations of CGLS "
            "{} times.",
            of("gpu_derivatives", peer="cupy"),
            of("gpu_cgls", peer="cupy"),
        ),
        f"- Weft is slower in {len(slower)} of {len(rows)} rows; {of_these(calls, slower)} single MPI or NCCL calls.",
    ]
    return [each for each in lines if each]


def family_sections(rows):
    out = []
    for family, each in grouped(rows, lambda row: row["family"]).items():
        peers = " and ".join(PEERS[peer] for peer in dict.fromkeys(row["peer"] for row in each))
        unit = UNITS[each[0]["unit"]]
        out += [f"## {FAMILIES[family]}", "", f"Against {peers}, per {unit}.", "", *table(each), ""]
        out += [*notes(each), ""] if notes(each) else []
    return out


def peer_sections(rows):
    out = []
    for peer, each in grouped(rows, lambda row: row["peer"]).items():
        out += [f"### Against {PEERS[peer]}", "", *table(each), ""]
    return out
