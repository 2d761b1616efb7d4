"""Rows of results: the answers and times of both sides for one case."""

import statistics

import numpy as np


def relative_difference(ours, theirs):
    """In the 2-norm over all files of one answer; infinite if files or sizes differ."""
    difference = size = 0.0
    if not ours or [path.name for path in ours] != [path.name for path in theirs]:
        return float("inf")
    for mine, other in zip(ours, theirs):
        a, b = np.load(mine).ravel(), np.load(other).ravel()
        if a.size != b.size:
            return float("inf")
        difference += float(np.linalg.norm((a - b).astype(np.complex128)) ** 2)
        size += float(np.linalg.norm(b) ** 2)
    return (difference / size) ** 0.5 if size > 0 else float("inf")


def answers_of(folder, case_id):
    return sorted(path for path in folder.glob("*.npy") if path.name.startswith(case_id + "."))


def check_answers(cases, folders):
    """The relative difference of the answers to each case, by id."""
    return {
        case["id"]: relative_difference(*(answers_of(each, case["id"]) for each in folders))
        for case in cases
    }


def row_of(case, ranks, peer, rounds, difference):
    row = {
        key: case[key]
        for key in ("id", "family", "label", "size", "unit", "tolerance", "bar", "note")
    }
    row |= {
        "direction": case.get("direction", "forward"),
        "dtype": case.get("dtype", "float64"),
        "peer": peer,
        "ranks": ranks,
        "difference": difference if np.isfinite(difference) else None,
    }
    if not difference <= case["tolerance"]:
        row["error"] = f"answers differ by {difference:.1e}, more than {case['tolerance']:g}"
        return row
    pairs = [
        (each["weft"][case["id"]], each[peer][case["id"]])
        for each in rounds
        if case["id"] in each["weft"]
    ]
    ours = [statistics.median(mine["seconds"]) for mine, _ in pairs]
    theirs = [statistics.median(other["seconds"]) for _, other in pairs]
    floors = [mine["floor_seconds"] for mine, _ in pairs]
    row |= {
        "rounds": len(pairs),
        "ours_us": statistics.median(ours) * 1e6,
        "theirs_us": statistics.median(theirs) * 1e6,
        "ratio": statistics.median(b / a for a, b in zip(ours, theirs)),
        "floor": pairs[0][0]["floor"],
        "floor_us": statistics.median(floors) * 1e6,
        "times_floor": statistics.median(a / f for a, f in zip(ours, floors)),
        "messages_ours": pairs[-1][0]["calls"],
        "bytes_ours": pairs[-1][0]["bytes"],
        "messages_theirs": pairs[-1][1].get("calls"),
        "bytes_theirs": pairs[-1][1].get("bytes"),
    }
    return row


def collective_row(call, size, ranks, peer):
    return {
        "id": f"{call}-{size}".replace(" ", "_"),
        "family": "collectives",
        "label": call,
        "size": size,
        "unit": "call",
        "direction": "forward",
        "dtype": "float64",
        "peer": peer,
        "ranks": ranks,
        "tolerance": 0,
        "difference": None,
        "bar": None,
        "note": "",
    }


def timed_collective(call, measured_row, ranks, peer):
    """The row of a `weft bench --compare raw` result; calls with one buffer are always in place."""
    timed = measured_row["out_of_place"] or measured_row["in_place"]
    row = collective_row(call, f"{measured_row['bytes']} bytes", ranks, peer)
    if timed["wrong"]:
        return {**row, "error": f"{timed['wrong']} wrong values"}
    return {
        **row,
        "difference": 0,
        "rounds": 9,
        "ours_us": timed["time_us"],
        "theirs_us": timed["raw_time_us"],
        "ratio": 1 / timed["ratio"],
        "floor": "the bare call",
        "floor_us": timed["raw_time_us"],
        "times_floor": timed["ratio"],
        "messages_ours": None,
        "messages_theirs": None,
        "bytes_ours": None,
        "bytes_theirs": None,
    }


def show(row):
    name = (
        f"{row['label']} {row['size']} {row['direction'] if row['direction'] == 'adjoint' else ''}"
    )
    if "error" in row:
        print(f"{name:<58}{row['ranks']:>2}  ERROR: {row['error'][-300:]}", flush=True)
        return
    missed = "  MISSED" if row["bar"] and row["ratio"] < row["bar"] else ""
    print(
        f"{name:<58}{row['ranks']:>2}{row['ours_us']:>13.1f}{row['theirs_us']:>13.1f}"
        f"{row['ratio']:>9.2f}{row['bar'] or '':>6}{row['times_floor']:>9.2f}"
        f"{count_of(row['messages_ours']):>9}{count_of(row['messages_theirs']):>7}{missed}",
        flush=True,
    )


def count_of(messages):
    return "" if messages is None else f"{messages:.3g}"
