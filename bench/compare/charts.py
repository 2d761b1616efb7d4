"""Draws the charts of docs/benchmarks.md and of the README with matplotlib, as SVG."""

import statistics

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402

from rows import FAMILIES, PEERS, SAME_SPEED, duration, grouped, name_of, ranks_of  # noqa: E402

LIGHT = {"ink": "#24292f", "faint": "#d8dee4", "page": "#ffffff", "weft": "#0969da", "peer": "#cf222e"}
DARK = {"ink": "#e6edf3", "faint": "#30363d", "page": "#0d1117", "weft": "#58a6ff", "peer": "#ff7b72"}
TARGET = "#9a6700"
FLOOR = "#6e7781"
SHORT_NAMES = {
    "matrices": "Distributed matrix products",
    "integrals": "Fredholm integrals, MDC",
    "tutorials": "Tutorial problems",
    "tutorials_x10": "Tutorial problems, 10 times the size",
    "end_to_end": "Inversion from end to end",
}
# The same results give the same file: no date, and ids that do not depend on the run.
METADATA = {"Date": None}


def use(colors):
    pyplot.rcdefaults()
    pyplot.rcParams.update(
        {
            "svg.hashsalt": "weft",
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 9,
            "text.color": colors["ink"],
            "axes.labelcolor": colors["ink"],
            "axes.edgecolor": colors["faint"],
            "axes.facecolor": colors["page"],
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlesize": 10,
            "axes.axisbelow": True,
            "figure.facecolor": colors["page"],
            "savefig.facecolor": colors["page"],
            "xtick.color": colors["ink"],
            "ytick.color": colors["ink"],
            "grid.color": colors["faint"],
            "legend.frameon": False,
        }
    )


def save(figure, path):
    figure.savefig(path, metadata=METADATA, bbox_inches="tight", pad_inches=0.12)
    pyplot.close(figure)


def number(value, _=None):
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def log_axis(axis, formatter, subs=(1,)):
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(formatter))


def element_count(row):
    """Elements of a size such as 512² or 256³."""
    base, power = row["size"][:-1], row["size"][-1]
    return int(base) ** {"²": 2, "³": 3}[power]


def time_against_size(rows, path):
    """Rows of one operator that differ in size only."""
    use(LIGHT)
    figure, axes = pyplot.subplots(figsize=(4.6, 3))
    sizes = [element_count(row) for row in rows]
    peer = PEERS[rows[0]["peer"]]
    axes.loglog(sizes, [row["theirs_us"] for row in rows], "o-", color=LIGHT["peer"], label=peer)
    axes.loglog(sizes, [row["ours_us"] for row in rows], "o-", color=LIGHT["weft"], label="Weft")
    axes.loglog(sizes, [row["floor_us"] for row in rows], "--", color=FLOOR, label="copy (floor)")
    axes.set_title(f"{rows[0]['label']}, {ranks_of(rows[0])}: time per {rows[0]['unit']}")
    axes.set_xticks(sizes, [row["size"] for row in rows])
    axes.xaxis.set_minor_locator(NullLocator())
    log_axis(axes.yaxis, lambda value, _: duration(value))
    axes.grid()
    axes.legend()
    save(figure, path)


def dots(title, series, labels, path, reference=None, targets=None):
    """One line per label. series: (name, color, filled, {label: value})."""
    use(LIGHT)
    figure, axes = pyplot.subplots(figsize=(7.2, 0.6 + 0.19 * len(labels)))
    for name, color, filled, values in series:
        places = [at for at, label in enumerate(labels) if label in values]
        axes.scatter(
            [values[labels[at]] for at in places],
            places,
            s=22,
            facecolors=color if filled else LIGHT["page"],
            edgecolors=color,
            label=name,
            zorder=3,
        )
    for at, label in enumerate(labels):
        if targets and targets.get(label):
            axes.scatter(targets[label], at, marker="|", s=80, color=TARGET, linewidths=2)
    if targets and any(targets.values()):
        axes.scatter([], [], marker="|", s=80, color=TARGET, linewidths=2, label="target")
    if reference:
        axes.axvline(reference, color=LIGHT["ink"], linewidth=1)
    axes.set_xscale("log")
    log_axis(axes.xaxis, number, (1, 2, 5))
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set_title(title)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def full_name(row):
    return f"{name_of(row)} {row['size']}"


def values_of(rows, value):
    return {full_name(row): value(row) for row in rows}


def labels_of(rows):
    return list(dict.fromkeys(map(full_name, rows)))


def speedups(rows, path):
    """Times faster than PyLops-MPI, for each problem on 1 and 2 ranks."""
    series = [
        (ranks_of(each[0]), LIGHT["weft"], ranks > 1, values_of(each, lambda row: row["ratio"]))
        for ranks, each in grouped(rows, lambda row: row["ranks"]).items()
    ]
    targets = values_of(rows, lambda row: row["bar"])
    dots("Times faster than PyLops-MPI", series, labels_of(rows), path, 1, targets)


def times_floor(rows, path):
    series = [
        (ranks_of(each[0]), LIGHT["weft"], ranks > 1, values_of(each, lambda row: row["times_floor"]))
        for ranks, each in grouped(rows, lambda row: row["ranks"]).items()
    ]
    dots("Time divided by the floor", series, labels_of(rows), path, 1)


def messages(rows, path):
    """MPI calls on 2 ranks; 0 is drawn at 0.5, since the axis is logarithmic."""
    series = [
        (name, color, True, values_of(rows, lambda row, key=key: max(row[key], 0.5)))
        for name, color, key in (
            ("PyLops-MPI", LIGHT["peer"], "messages_theirs"),
            ("Weft", LIGHT["weft"], "messages_ours"),
        )
    ]
    title = "MPI calls per apply or iteration, on 2 ranks (0.5: none)"
    dots(title, series, labels_of(rows), path)


def gpu_speedups(rows, path):
    """Times faster than PyLops and PyLops-MPI with CuPy arrays, on one GPU and one rank."""
    series = [
        (PEERS[peer], LIGHT["weft"], peer == "mpi_cupy", values_of(each, lambda row: row["ratio"]))
        for peer, each in grouped(rows, lambda row: row["peer"]).items()
    ]
    targets = values_of(rows, lambda row: row["bar"])
    dots("Times faster on one GPU", series, labels_of(rows), path, 1, targets)


def summary(rows, colors, path):
    """Each family of problems as the range of its ratios, with the median."""
    use(colors)
    families = list(grouped(rows, lambda row: (row["family"], row["peer"])).items())
    figure, axes = pyplot.subplots(figsize=(7.2, 0.5 + 0.24 * len(families)))
    labels = []
    for at, ((family, peer), each) in enumerate(families):
        ratios = [row["ratio"] for row in each]
        middle = statistics.median(ratios)
        color = colors["peer"] if middle < SAME_SPEED else colors["weft"]
        axes.plot([min(ratios), max(ratios)], [at, at], color=color, linewidth=6, alpha=0.35,
                  solid_capstyle="round")  # fmt: skip
        axes.plot(middle, at, "o", color=color, markersize=6)
        axes.annotate(f"{middle:.2g}", (max(ratios), at), xytext=(9, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip
        labels.append(f"{SHORT_NAMES.get(family, FAMILIES[family])} ({PEERS[peer]})")
    axes.axvline(1, color=colors["ink"], linewidth=1)
    axes.set_xscale("log")
    log_axis(axes.xaxis, number, (1, 2, 5))
    axes.set_xlim(0.5, 400)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(length=0)
    axes.grid(axis="x")
    axes.set_title("Times faster than the library in parentheses: range and median")
    save(figure, path)
