#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its charts from the files in bench/results.

The charts need matplotlib, which scripts/compare-peers installs into build/compare/venv. Without it
the page is written and the charts stay as they are.
"""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import own_benchmarks
from page_parts import family_sections, peer_sections, shortfalls, summary, targets
from rows import valid

ROOT = Path(__file__).resolve().parents[2]
HEADING = "# Benchmarks"
SUMMARY_CHART = """<picture>
  <source media="(prefers-color-scheme: dark)" srcset="benchmarks/summary-dark.svg">
  <img alt="times faster than other libraries, for each family of problems" src="benchmarks/summary-light.svg">
</picture>"""

INTRODUCTION = """## How to read the tables

`make compare` runs the same problems with Weft and with a peer, in turn, on the same ranks of one machine, and writes this
page. [measuring.md](measuring.md) describes the method and its limits.

- A row counts only if both answers agree: the last column is the tolerance of the relative difference in the 2-norm.
- *Times faster* is the peer's time divided by Weft's within one round; the median of the rounds.
- The *floor* is a lower bound of the time: a copy of the bytes that must move, or the call of BLAS, FFTW or MPI that does
  the work. *× floor* is Weft's time divided by it.
- *Calls* are the MPI calls with which a rank communicates, per apply or iteration, counted in the same way on both sides."""

GPU_INTRODUCTION = """## On a GPU

`make compare-gpu` measures PyLops with CuPy arrays, and PyLops-MPI with CuPy arrays on one rank. Times are wall-clock times until
the GPU is idle. The floor is a copy on the device."""


def chart_module():
    """The module that draws; None without matplotlib."""
    if not importlib.util.find_spec("matplotlib"):
        return None
    import charts

    return charts


def cpu_charts(rows):
    """(file, alternative text, function that draws it with charts.py to a path) of each chart."""
    for label in ("FirstDerivative", "Laplacian"):
        for ranks in (1, 2):
            chosen = [
                row
                for row in rows
                if row["label"] == label
                and row["ranks"] == ranks
                and row["direction"] == "forward"
                and row["size"].endswith("²")
            ]
            if len(chosen) > 1:
                yield (
                    f"{label.lower()}-{ranks}.svg",
                    f"time per apply of {label} against size",
                    lambda charts, path, chosen=chosen: charts.time_against_size(chosen, path),
                )
    peers = [row for row in rows if row["peer"] == "pylops_mpi"]
    if peers:
        yield (
            "ratio.svg",
            "speed relative to PyLops-MPI for each problem",
            lambda charts, path: charts.speedups(peers, path),
        )
    floors = [row for row in rows if row["peer"] != "mpi"]
    if floors:
        yield (
            "floor.svg",
            "time relative to the floor for each problem",
            lambda charts, path: charts.times_floor(floors, path),
        )
    on_two = [row for row in peers if row["ranks"] == 2 and row["messages_theirs"]]
    if on_two:
        yield (
            "messages.svg",
            "MPI calls per apply or iteration",
            lambda charts, path: charts.messages(on_two, path),
        )


def gpu_charts(rows):
    peers = [row for row in rows if row["peer"] != "nccl"]
    if peers:
        yield (
            "gpu.svg",
            "speed relative to peers on a GPU for each problem",
            lambda charts, path: charts.gpu_speedups(peers, path),
        )


def draw(list_of_charts, charts, folder):
    """Draws charts unless `charts` is None, and returns the lines that show them."""
    out = []
    for name, text, function in list_of_charts:
        if charts:
            function(charts, folder / name)
        out.append(f"![{text}]({folder.name}/{name})")
    return out


def environment(results):
    versions = results["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "mpi")
    out = [
        f"{results['date']}, {results['cores']} cores of an {results['processor']}; "
        f"{versions.get('mpi', '')}; {known}. One process per core, one thread per process."
    ]
    core = results.get("environment", {}).get("OPENBLAS_CORETYPE")
    if core:
        out.append(
            "The system's OpenBLAS does not know this processor and would select its oldest kernels; "
            f"both sides ran with `OPENBLAS_CORETYPE={core}`."
        )
    return out


def cpu_page(results, charts, folder):
    rows = results["rows"]
    out = [INTRODUCTION, "", *environment(results), "", "## Targets", "", *targets(rows), ""]
    found = shortfalls(rows)
    if found:
        out += ["## Rows that are slower or miss their targets", "", *found, ""]
    shown = draw(cpu_charts(valid(rows)), charts, folder)
    return [*out, "## Charts", "", *shown, "", *family_sections(rows)]


def gpu_page(results, charts, folder):
    known = ", ".join(
        f"{name} {version}" for name, version in results["versions"].items() if name != "mpi"
    )
    out = [GPU_INTRODUCTION, "", f"{results['date']}, {results['gpu']}; {known}.", ""]
    found = shortfalls(results["rows"])
    if found:
        out += ["Rows that are slower or miss their targets:", "", *found, ""]
    out += [*draw(gpu_charts(valid(results["rows"])), charts, folder), ""]
    return [*out, *peer_sections(results["rows"])]


def page(cpu, gpu, own, charts, folder):
    """The whole page; `cpu` and `gpu` are results or None, `own` the folder of Weft's own benchmarks."""
    rows = [row for each in (cpu, gpu) if each for row in valid(each["rows"])]
    if charts:
        charts.summary(rows, charts.LIGHT, folder / "summary-light.svg")
        charts.summary(rows, charts.DARK, folder / "summary-dark.svg")
    out = [HEADING, "", *summary(rows), "", SUMMARY_CHART, ""]
    out += cpu_page(cpu, charts, folder) if cpu else []
    out += gpu_page(gpu, charts, folder) if gpu else []
    return out + own_benchmarks.page(own)


def read(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results", help="folder to read")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md", help="file to write")
    parser.add_argument("--no-charts", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    cpu, gpu = read(options.results / "compare.json"), read(options.results / "compare_gpu.json")
    if not (cpu or gpu):
        print("render.py: no results; run make compare", file=sys.stderr)
        return 1
    charts = None if options.no_charts else chart_module()
    if not (charts or options.no_charts):
        print("render.py: matplotlib is not installed; the charts are not drawn again", file=sys.stderr)
    folder = options.page.parent / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    out = page(cpu, gpu, options.results, charts, folder)
    options.page.write_text("\n".join(out).rstrip() + "\n", encoding="utf-8")
    print(f"wrote {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
