#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its plots from the results of compare.py and compare_gpu.py."""

import argparse
import json
import sys
from pathlib import Path

import svg
from reasons import reason_for

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "arrays": "Arrays",
    "derivatives": "Derivatives",
    "blocks": "Blocks of matrices",
    "matrices": "Products with a distributed matrix",
    "integrals": "Fredholm integrals and multi-dimensional convolution",
    "fourier": "Fourier transforms",
    "cgls": "CGLS on derivatives",
    "tutorials": "Solvers on the tutorials' problems",
    "tutorials_x10": "The same at ten times the size",
    "end_to_end": "An inversion from end to end",
    "petsc": "Conjugate gradients against PETSc",
    "collectives": "Collectives against bare MPI",
}
PEERS = {
    "pylops_mpi": "PyLops-MPI",
    "petsc": "PETSc",
    "mpi": "bare MPI",
    "cupy": "PyLops + CuPy",
    "mpi_cupy": "PyLops-MPI + CuPy",
    "nccl": "NCCL",
}


def name_of(row):
    adjoint = ", adjoint" if row["direction"] == "adjoint" else ""
    dtype = "" if row["dtype"] == "float64" else f", {row['dtype']}"
    return f"{row['label']}{adjoint}{dtype}"


def missed(row):
    return bool(row["bar"] and row["ratio"] < row["bar"])


def lost(row):
    """Slower than the peer, by more than what two runs of the same program differ."""
    return row["ratio"] < 0.97


def messages(value):
    return "" if value is None else f"{value:.3g}"


def agreement(row):
    if row["tolerance"] == 0:
        return "all bits"
    return f"{row['tolerance']:.0e}".replace("e-0", "e-")


def table(rows):
    out = [
        "| problem | size | ranks | Weft | theirs | times faster | bar | floor | × floor | messages"
        " | theirs | agree to |",
        "|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        start = f"| {name_of(row)} | {row['size']} | {row['ranks']} "
        if "error" in row:
            out.append(start + f"| **error**: {row['error'].splitlines()[-1]} | | | | | | | | |")
            continue
        bar = f"≥ {row['bar']:g}" if row["bar"] else ""
        ratio = f"{row['ratio']:.3g}"
        if missed(row):
            ratio, bar = f"**{ratio}**", bar + " MISSED"
        elif lost(row):
            ratio = f"**{ratio}**"
        out.append(
            start + f"| {svg.duration(row['ours_us'])} | {svg.duration(row['theirs_us'])} "
            f"| {ratio} | {bar} | {row['floor']}: {svg.duration(row['floor_us'])} "
            f"| {row['times_floor']:.2f} | {messages(row['messages_ours'])} "
            f"| {messages(row['messages_theirs'])} | {agreement(row)} |"
        )
    return out


def notes(rows):
    """What rows of a section say about themselves, each once."""
    said = {}
    for row in rows:
        if row["note"]:
            said.setdefault(row["note"], []).append(row["label"])
    return [f"{', '.join(dict.fromkeys(labels))}: {note}." for note, labels in said.items()]


def losses(rows):
    """A list of the rows that are lost, or miss their bars, and why."""
    out = []
    for row in rows:
        if "error" in row or not (missed(row) or lost(row)):
            continue
        what = "misses its bar" if missed(row) else "is lost"
        ranks = f"{row['ranks']} rank{'s' if row['ranks'] > 1 else ''}"
        out.append(
            f"- {name_of(row)}, {row['size']}, {ranks} {what} ({row['ratio']:.3g} times as fast):"
            f" {reason_for(row)}"
        )
    return out


def summary(rows):
    """The worst row of each promise."""
    groups = {}
    for row in rows:
        if row["bar"]:
            kind = {"apply": "an apply", "iteration": "an iteration", "solution": "end to end"}
            key = (FAMILIES.get(row["family"], row["family"]), row["bar"], kind[row["unit"]])
            groups.setdefault(key, []).append(row)
    out = ["| promised | of | bar | worst | best | met by |", "|---|---|--:|--:|--:|--:|"]
    for (family, bar, unit), each in groups.items():
        good = [row["ratio"] for row in each if "error" not in row]
        if not good:
            continue
        met = sum(ratio >= bar for ratio in good)
        out.append(
            f"| {family} | {unit} | ≥ {bar:g} | {min(good):.3g} | {max(good):.3g} | {met} of {len(each)} |"
        )
    return out


def good_rows(rows):
    return [row for row in rows if "error" not in row]


def count_of(row):
    """Elements of a size such as 512² or 256³."""
    base, power = (row["size"][:-1], row["size"][-1])
    return int(base) ** {"²": 2, "³": 3}[power]


def plot_sizes(rows, label, ranks):
    """Time against size for one operator."""
    mine = [
        r
        for r in rows
        if r["label"] == label
        and r["ranks"] == ranks
        and r["direction"] == "forward"
        and r["size"].endswith("²")
    ]
    if len(mine) < 2:
        return None
    series = [
        (
            PEERS[mine[0]["peer"]],
            svg.COLORS["peer"],
            "",
            [(count_of(r), r["theirs_us"]) for r in mine],
        ),
        ("Weft", svg.COLORS["weft"], "", [(count_of(r), r["ours_us"]) for r in mine]),
        ("floor: a copy", svg.COLORS["floor"], "4 3", [(count_of(r), r["floor_us"]) for r in mine]),
    ]
    title = f"{label}, {ranks} rank{'s' if ranks > 1 else ''}: time per {mine[0]['unit']}"
    return svg.lines(title, "elements", series, [(count_of(r), r["size"]) for r in mine])


def by_name(rows):
    """(name, [rows]) where rows differ in the number of ranks, or the peer, only."""
    groups = {}
    for row in rows:
        groups.setdefault(f"{name_of(row)} {row['size']}", []).append(row)
    return groups


RANKS = ("1 rank", "2 ranks", lambda row: row["ranks"] == 1)


def plot_dots(title, subtitle, rows, value, kinds=RANKS, bars=False):
    """`kinds`: what hollow and full dots stand for, and which rows have hollow ones."""
    hollow, full, is_hollow = kinds
    dots = [
        (
            name,
            [(value(r), svg.COLORS["weft"], is_hollow(r)) for r in each],
            each[0]["bar"] if bars else None,
        )
        for name, each in by_name(rows).items()
    ]
    legend = [(hollow, svg.COLORS["weft"], True), (full, svg.COLORS["weft"], False)]
    return svg.dots(title, subtitle, dots, legend, 1)


def plot_messages(rows):
    dots = [
        (
            name,
            [
                (max(r["messages_theirs"], 0.5), svg.COLORS["peer"], False),
                (max(r["messages_ours"], 0.5), svg.COLORS["weft"], False),
            ],
            None,
        )
        for name, (r,) in by_name(rows).items()
    ]
    legend = [("Weft", svg.COLORS["weft"], False), ("PyLops-MPI", svg.COLORS["peer"], False)]
    return svg.dots(
        "Messages per apply or iteration, on 2 ranks",
        "Calls of MPI that a rank makes to talk to others. The leftmost place stands for none.",
        dots,
        legend,
    )


def plots_of(rows):
    """(file name, SVG, words for those who do not see it)."""
    for label in ("FirstDerivative", "Laplacian"):
        for ranks in (1, 2):
            drawn = plot_sizes(rows, label, ranks)
            if drawn:
                yield (
                    f"{label.lower()}-{ranks}.svg",
                    drawn,
                    f"time per apply of {label} against size",
                )
    peers = [r for r in rows if r["peer"] == "pylops_mpi"]
    if peers:
        yield (
            "ratio.svg",
            plot_dots(
                "Times faster than PyLops-MPI",
                "Further right is better. Brown marks are bars.",
                peers,
                lambda r: r["ratio"],
                bars=True,
            ),
            "ratio to PyLops-MPI for each problem",
        )
    floors = [r for r in rows if r["peer"] != "mpi"]
    if floors:
        yield (
            "floor.svg",
            plot_dots(
                "Time over the floor",
                "1 is the time to move the bytes, or the bare call: further left is better.",
                floors,
                lambda r: r["times_floor"],
            ),
            "ratio to the floor for each problem",
        )
    talk = [r for r in peers if r["ranks"] == 2 and r["messages_theirs"]]
    if talk:
        yield "messages.svg", plot_messages(talk), "messages per apply and iteration"


def environment(results):
    versions = results["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "mpi")
    words = [
        f"{results['date']}, {results['cores']} cores of an {results['processor']}; "
        f"{versions.get('mpi', '')}; {known}. One process per core, each of one thread."
    ]
    core = results.get("environment", {}).get("OPENBLAS_CORETYPE")
    if core:
        words.append(
            f"The system's OpenBLAS does not know this processor and would run code for the oldest "
            f"one; both sides were told to take that for {core} (`OPENBLAS_CORETYPE`)."
        )
    return words


INTRODUCTION = """# Benchmarks

Weft side by side with what people use today: the same problems, the same number of ranks, in turn, on one machine.
`make compare` sets up the peers in a folder of their own, repeats all of it, and writes this page.
[How it is measured, and what that does not show](measuring.md).

A row counts only if both answers agree, to the tolerance in its last column (of the relative difference, in the
2-norm). *Times faster* is their time by ours within a round, the median of rounds. The *floor* is the least time
that the problem could take: to copy the bytes that must move, or the bare call of BLAS, FFTW or MPI that does
the work; *× floor* is our time by that. *Messages* are calls of MPI by which a rank talks to others, per apply or
iteration, counted in the same way on both sides."""

GPU_INTRODUCTION = """## On a GPU

By `make compare-gpu`, on one GPU: PyLops with CuPy arrays, and PyLops-MPI with CuPy arrays on one rank. Times are those
of the wall clock until the GPU is done. The floor is a copy on the device. Selection of the largest elements
(`torch.topk`) is not compared, since Weft does not have it yet."""


def cpu_page(results, folder):
    rows = results["rows"]
    good = good_rows(rows)
    out = [
        INTRODUCTION,
        "",
        *environment(results),
        "",
        "## What was promised",
        "",
        *summary(rows),
        "",
    ]
    found = losses(good)
    if found:
        out += ["## Rows that are lost, or miss their bars", "", *found, ""]
    out += ["## Plots", ""]
    for name, drawn, words in plots_of(good):
        (folder / name).write_text(drawn, encoding="utf-8")
        out.append(f"![{words}]({folder.name}/{name})")
    out.append("")
    for family, title in FAMILIES.items():
        mine = [row for row in rows if row["family"] == family]
        if mine:
            peers = " and ".join(PEERS[peer] for peer in dict.fromkeys(row["peer"] for row in mine))
            out += [
                f"## {title}",
                "",
                f"Against {peers}, per {mine[0]['unit']}.",
                "",
                *table(mine),
                "",
            ]
            out += [*notes(mine), ""] if notes(mine) else []
    return out


def plot_gpu(rows):
    return plot_dots(
        "Times faster than PyLops and PyLops-MPI on CuPy",
        "One GPU, one rank. Further right is better. Brown marks are bars.",
        [r for r in rows if r["peer"] != "nccl"],
        lambda r: r["ratio"],
        kinds=(PEERS["cupy"], PEERS["mpi_cupy"], lambda row: row["peer"] == "cupy"),
        bars=True,
    )


def gpu_page(results, folder):
    known = ", ".join(
        f"{name} {version}" for name, version in results["versions"].items() if name != "mpi"
    )
    out = [GPU_INTRODUCTION, "", f"{results['date']}, {results['gpu']}; {known}.", ""]
    found = losses(good_rows(results["rows"]))
    if found:
        out += ["Rows that are lost, or miss their bars:", "", *found, ""]
    (folder / "gpu.svg").write_text(plot_gpu(good_rows(results["rows"])), encoding="utf-8")
    out += [f"![ratio to peers on a GPU for each problem]({folder.name}/gpu.svg)", ""]
    for peer in dict.fromkeys(row["peer"] for row in results["rows"]):
        mine = [row for row in results["rows"] if row["peer"] == peer]
        out += [f"### Against {PEERS[peer]}", "", *table(mine), ""]
    return out


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/compare.json")
    parser.add_argument("--gpu-results", type=Path, default=ROOT / "bench/results/compare_gpu.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md")
    options = parser.parse_args(arguments)
    folder = options.page.parent / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    if options.results.exists():
        out += cpu_page(json.loads(options.results.read_text(encoding="utf-8")), folder)
    if options.gpu_results.exists():
        out += gpu_page(json.loads(options.gpu_results.read_text(encoding="utf-8")), folder)
    if not out:
        print("render.py: no results; run make compare", file=sys.stderr)
        return 1
    options.page.write_text("\n".join(out).rstrip() + "\n", encoding="utf-8")
    print(f"written to {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
