#!/usr/bin/env python3
"""Compares operators of Weft with those of PyLops on the same inputs, forward and adjoint.

usage: peer_check.py --program WEFT_PEER [--page docs/operators.md] [--only OPERATOR]

Writes the inputs and options of all cases to a folder, runs WEFT_PEER on one rank and on three, and compares.
With --page, replaces the table between the marks of that page.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pylops

from cases import FAMILIES, RANDOM

TOLERANCE = 1e-11  # the wavelets of PyWavelets are tables of 12 digits
BEGIN, END = "<!-- begin of peer-check -->", "<!-- end of peer-check -->"


def noise(count, dtype):
    real = RANDOM.standard_normal(count)
    return real + 1j * RANDOM.standard_normal(count) if np.issubdtype(dtype, np.complexfloating) else real


def option_for_json(value, name, folder):
    """Arrays go to files; the option is the name of the file."""
    if isinstance(value, np.ndarray):
        np.save(folder / f"{name}.npy", np.ascontiguousarray(value).ravel())
        return f"{name}.npy"
    return value


def write_case(case, number, folder):
    """Writes inputs; returns the JSON object of the case, and what PyLops computes."""
    peer = case.peer()
    x = noise(peer.shape[1], np.dtype(case.dtype))
    forward = np.asarray(peer.matvec(x)).ravel()
    # Spectra of real arrays and parts of complex ones have another type than the input.
    range_dtype = RANGE_TYPES.get((case.operator, case.dtype), case.dtype)
    y = noise(peer.shape[0], np.dtype(range_dtype))
    adjoint = np.asarray(peer.rmatvec(y)).ravel()
    ident = f"case{number}"
    np.save(folder / f"{ident}-x.npy", x)
    np.save(folder / f"{ident}-y.npy", y)
    options = {key: option_for_json(value, f"{ident}-{key}", folder) for key, value in case.options.items()}
    described = {"id": ident, "operator": case.operator, "shape": case.shape, "dtype": case.dtype,
                 "layout": case.layout, "options": options}  # fmt: skip
    return described, forward, adjoint


RANGE_TYPES = {
    ("fft", "float64"): "complex128",
    ("fftnd", "float64"): "complex128",
    ("real_part", "complex128"): "float64",
    ("imag_part", "complex128"): "float64",
}


def difference(ours, theirs):
    """The largest difference, relative to the largest element."""
    if ours.shape != theirs.shape:
        return np.inf
    largest = np.abs(theirs).max(initial=0) or 1
    return float(np.abs(ours - theirs).max(initial=0) / largest)


def compare(program, cases, ranks):
    """(case, difference of forward, difference of adjoint) of all cases."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = [write_case(case, number, folder) for number, case in enumerate(cases)]
        (folder / "cases.json").write_text(json.dumps([each[0] for each in written]), encoding="utf-8")
        subprocess.run([program, str(folder), "--ranks", str(ranks)], check=True)
        for case, (described, forward, adjoint) in zip(cases, written):
            results = [np.load(folder / f"{described['id']}-{what}.npy") for what in ("forward", "adjoint")]
            yield case, difference(results[0], forward), difference(results[1], adjoint)


def table(results):
    """Rows of the page, and the number of unexplained differences."""
    rows = defaultdict(lambda: [0, 0.0, set()])
    wrong = 0
    for case, forward, adjoint in results:
        row = rows[case.operator]
        row[0] += 1
        if case.differs:
            row[2].add(case.differs)
            if max(forward, adjoint) <= TOLERANCE:
                print(f"no difference, but one was expected: {case.operator} {case.options}: {case.differs}")
                wrong += 1
            continue
        row[1] = max(row[1], forward, adjoint)
        if not max(forward, adjoint) <= TOLERANCE:
            print(f"{case.operator}, {case.dtype} {case.shape}, {case.options}: forward {forward:.1e}, adjoint {adjoint:.1e}")
            wrong += 1
    lines = ["| operator | cases | largest difference | differences that are meant |", "|---|--:|--:|---|"]
    for name in sorted(rows):
        count, largest, reasons = rows[name]
        shown = "0" if largest == 0 else f"{largest:.0e}"
        lines.append(f"| `{name}` | {count} | {shown} | {'; '.join(sorted(reasons))} |")
    return lines, wrong


def replace_table(page, lines):
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="path of weft_peer")
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    parser.add_argument("--only", help="compare only this operator")
    options = parser.parse_args()
    cases = [case for family in FAMILIES for case in family() if options.only in (None, case.operator)]
    if not cases:
        parser.error(f"no case of an operator '{options.only}'")
    results = [each for ranks in (1, 3) for each in compare(options.program, cases, ranks)]
    lines, wrong = table(results)
    heading = f"PyLops {pylops.__version__}, float64 and complex128, each case on 1 and on 3 ranks."
    print("\n".join([heading, *lines]))
    if options.page:
        replace_table(options.page, [heading, "", *lines])
    print(f"{len(results)} comparisons, {wrong} differences without explanation")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
