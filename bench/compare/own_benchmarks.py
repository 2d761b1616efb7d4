"""The part of docs/benchmarks.md on Weft's own benchmarks (make bench, weft bench)."""

import json
import statistics

INTRODUCTION = """## Weft's own benchmarks

Each ratio is the time of Weft divided by that of a baseline, timed in turn in the same process: below 1, Weft is faster.
`make bench` runs them; [measuring.md](measuring.md#wefts-own-benchmarks) describes them. Where a line covers several rows, it has
the lowest, the median and the highest ratio. Bold: over the target."""

PROCESSES = [
    "processes_bench",
    "processes_bench_16_on_2",
    "processes_bench_intel",
    "processes_bench_mpich",
]
# How the rows of large files are grouped; the rows of the others are listed one by one.
GROUPS = {
    "axis_bench": lambda row: row["what"].split(",")[0],
    "derivative_bench": lambda row: row["what"].split(", (")[0],
    "derivative_bench_intel": lambda row: row["what"].split(", (")[0],
    "threads_bench_intel": lambda row: "all operators and array functions",
    "allreduce_bench": lambda row: "8 B to 64 MiB",
    **dict.fromkeys(PROCESSES, lambda row: row["what"].split(",")[0]),
}
FILES = [
    "vector_bench",
    "array_bench",
    "allreduce_bench",
    "axis_bench",
    "derivative_bench",
    "derivative_bench_intel",
    "solver_bench",
    "fft_bench",
    "matrix_bench",
    "threads_bench_intel",
    "device_bench",
    *PROCESSES,
    "fast_gpu_bench",
    "sparse_bench",
    "sparse_gpu_bench",
    "compile_bench",
]
BUILDS = ["plain_against_native_amd", "plain_against_native_intel"]
COLLECTIVES = ["weft_bench_allreduce_mpi", "weft_bench_allreduce_nccl"]


def value_of(row):
    return row.get("ratio", row.get("value"))


def within_target(row):
    return value_of(row) <= row["bar"]


def decimal(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def line(name, rows):
    values = sorted(map(value_of, rows))
    shown = {decimal(each) for each in (values[0], statistics.median(values), values[-1])}
    text = " / ".join(sorted(shown, key=float))
    met = sum(map(within_target, rows))
    text = text if met == len(rows) else f"**{text}**"
    targets = " or ".join(f"≤ {decimal(bar)}" for bar in sorted({row["bar"] for row in rows}))
    return f"| {name} | {rows[0].get('baseline', '')} | {text} | {targets} | {met} of {len(rows)} |"


def link(name):
    return f"[{name}.json](../bench/results/{name}.json)"


def machine(results):
    return f"{results['date']}, {results['cores']} cores of {results['processor']}"


def heading(name, results):
    """Benchmarks that were run on two machines are told apart by the processor."""
    on = f", {results['processor']}" if name.startswith("derivative_bench") else ""
    return results["title"] + on


def section(name, results):
    group = GROUPS.get(name, lambda row: row["what"])
    groups = {}
    for row in results["rows"]:
        groups.setdefault((group(row), row.get("baseline")), []).append(row)
    return [
        f"### {heading(name, results)}",
        "",
        f"{link(name)}: {machine(results)}.",
        "",
        "| row | baseline | ratio or value | target | met by |",
        "|---|---|--:|--:|--:|",
        *(line(key, rows) for (key, _), rows in groups.items()),
        "",
    ]


def builds_section(files):
    """A build without options against one for the processor of the machine (-D WEFT_NATIVE=ON)."""
    out = [
        "### A build without options against a native one",
        "",
        "| results | processor | lowest / median / highest ratio | target | met by |",
        "|---|---|--:|--:|--:|",
    ]
    for name, results in files:
        ratios = sorted(row["ratio"] for row in results["rows"])
        met = sum(ratio <= results["bar"] for ratio in ratios)
        out.append(
            f"| {link(name)} | {results['processor']} | {ratios[0]:.2f} / {statistics.median(ratios):.2f} /"
            f" {ratios[-1]:.2f} | ≤ {results['bar']:g} | {met} of {len(ratios)} |"
        )
    return [*out, ""]


def collectives_section(files):
    out = [
        "### `weft bench allreduce --compare raw`",
        "",
        "| results | against | ranks | worst ratio from 64 KiB on | worst difference below 64 KiB |",
        "|---|---|---|--:|--:|",
    ]
    for name, results in files:
        out.append(
            f"| {link(name)} | {results['compared_with']} | {results['devices']} |"
            f" {results['worst_ratio_large']:.2f} | {results['worst_difference_small_us']:+.1f} µs |"
        )
    return [*out, ""]


def page(folder):
    """The section on the results in a folder; nothing if there are none."""

    def read(names):
        paths = [(name, folder / f"{name}.json") for name in names]
        return [
            (name, json.loads(path.read_text(encoding="utf-8"))) for name, path in paths if path.exists()
        ]

    out = []
    for name, results in read(FILES):
        out += section(name, results)
    for make, names in ((builds_section, BUILDS), (collectives_section, COLLECTIVES)):
        files = read(names)
        out += make(files) if files else []
    return [INTRODUCTION, "", *out] if out else []
