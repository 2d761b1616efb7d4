#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets npy, arguments and environment into corpus/. Those of checkpoints are made by
weft_checkpoint_seeds."""

import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def npy(descr, shape, elements, fortran=False, version=(1, 0), text=None, after=b""):
    """A file as NumPy writes it, unless `text` is another header."""
    if text is None:
        text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    before = 10 if version[0] == 1 else 12
    header = text.encode("latin1")
    header += b" " * (-(before + len(header) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header + elements + after


def numbers(code, *values):
    return struct.pack(f"<{len(values)}{code}", *values)


GOOD_NPY = {
    "f8_c": npy("<f8", "(2, 3)", numbers("d", 1, -2.5, 3e300, float("nan"), 0, -0.0)),
    "f8_fortran": npy("<f8", "(2, 3)", numbers("d", 1, 2, 3, 4, 5, 6), fortran=True),
    "f8_big_endian": npy(">f8", "(2,)", struct.pack(">2d", 1, -2.5)),
    "f4": npy("<f4", "(3,)", numbers("f", 1, 0.1, float("inf"))),
    "f2": npy("<f2", "(2, 2)", bytes.fromhex("003c00c0017c0100"), fortran=True),
    "c8": npy("<c8", "(1, 2)", numbers("f", 1, 2, 3, 4)),
    "c16_big_endian": npy(">c16", "(1,)", struct.pack(">2d", 1, -2.5)),
    "b1": npy("|b1", "(3,)", b"\1\0\1"),
    "i1": npy("|i1", "(2,)", b"\x80\x7f"),
    "u2": npy("<u2", "(2,)", numbers("H", 65535, 3)),
    "i4_big_endian": npy(">i4", "(2,)", struct.pack(">2i", -5, 7)),
    "i8_too_long": npy("<i8", "(2,)", numbers("q", 2**53 + 1, 1)),
    "u8": npy("<u8", "(1,)", numbers("Q", 2**63)),
    "number": npy("<f8", "()", numbers("d", 7)),
    "empty": npy("<f8", "(0, 4)", b""),
    "version_2": npy("<f8", "(1,)", numbers("d", 7), version=(2, 0)),
    "version_3": npy("<f8", "(1,)", numbers("d", 7), version=(3, 0)),
    "python_2": npy("", "", numbers("d", 7), text="{\"shape\":( 1L ,),'fortran_order':False, 'descr' : '=f8'}"),
    "two_arrays": npy("<f8", "(1,)", numbers("d", 7), after=npy("<f4", "(1,)", numbers("f", 1))),
}
BAD_NPY = {
    "bad_rubbish": npy("", "", b"", text="{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }rubbish"),
    "bad_minor": npy("<f8", "(1,)", numbers("d", 7), version=(1, 7)),
    "bad_twice": npy("", "", b"", text="{'descr': '<f8', 'fortran_order': False, 'shape': (0,), 'shape': (1,)}"),
    "bad_no_tuple": npy("<f8", "(1)", numbers("d", 7)),
    "bad_huge": npy("<f8", "(4611686018427387904, 4611686018427387904)", b""),
    "bad_negative": npy("<f8", "(-1,)", numbers("d", 7)),
    "bad_records": npy("", "", b"", text="{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,)}"),
    "bad_length": b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
    "bad_short": b"\x93NUMPY\x01\x00\x76",
}

ARGUMENTS = {
    "launch": ["--ranks", "3", "--comm", "thread", "--device", "debug", "rest", "--other=1"],
    "launch_equals": ["--ranks=3", "--device=cuda:1", "--", "--ranks", "4"],
    "launch_help": ["--help"],
    "launch_bad": ["--ranks", "-1"],
    "launch_huge": ["--ranks", "99999999999999999999", "--comm", "pigeon"],
    "launch_device": ["--device", "cuda:99999999999"],
    "launch_missing": ["--ranks"],
    "bench": ["bench", "allreduce", "--min", "8", "--max", "1M", "--factor", "4", "--dtype", "f32", "f64"],
    "bench_all": ["bench", "allreduce", "--dtype", "all", "--op", "all", "--root", "all", "--json", "x.json"],
    "bench_sizes": ["bench", "broadcast", "--min", "1K", "--max", "2.5G", "--iters", "5", "--warmup", "0"],
    "bench_huge": ["bench", "all_gather", "--min", "1", "--max", "9223372036854775807", "--factor", "2"],
    "bench_forms": ["bench", "reduce", "--in-place", "both", "--graph", "8", "--check", "0", "--compare", "raw"],
    "demo": ["demo", "poststack", "--shape", "8,24,96", "--iterations", "5", "--noise", "0.1", "--quiet"],
    "demo_report": ["demo", "--report=", "--quiet"],
    "selftest": ["selftest", "--shape", "8", "8", "8", "--ranks", "2"],
    "info": ["info", "--json"],
    "empty": [""],
    "unknown": ["dance", "--fast"],
}

ENVIRONMENT = {
    "open_mpi": ["OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3"],
    "hydra": ["PMI_SIZE=4", "PMI_RANK=1", "MPI_LOCALNRANKS=4", "MPI_LOCALRANKID=1"],
    "slurm": ["SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=8", "SLURM_NTASKS=8", "SLURM_JOB_ID=17"],
    "nested": ["SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=8", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0"],
    "gpus": ["WEFT_GPUS=0,1,0", "CUDA_VISIBLE_DEVICES=0,1"],
    "gpus_bad": ["WEFT_GPUS=0,,99999999999,-1"],
    "check": ["WEFT_CHECK=1", "WEFT_QUIET=1", "OMP_NUM_THREADS=2"],
    "check_bad": ["WEFT_CHECK=maybe", "WEFT_TIMEOUT=nan"],
    "route": ["WEFT_DEVICE_COMM=staged", "WEFT_TIMEOUT=1e300"],
    "route_bad": ["WEFT_DEVICE_COMM=foo", "WEFT_TIMEOUT=-1"],
    "devices": ["A=cpu", "B=cuda:3", "C=cuda:-1", "D=debug:1", "E=cuda:99999999999", "F="],
    "numbers": ["OMPI_COMM_WORLD_SIZE=99999999999", "OMPI_COMM_WORLD_RANK=-7", "PMI_SIZE=x"],
}


def main():
    files = {f"npy/{name}": data for name, data in {**GOOD_NPY, **BAD_NPY}.items()}
    for folder, seeds in [("arguments", ARGUMENTS), ("environment", ENVIRONMENT)]:
        files |= {f"{folder}/{name}": "\n".join(lines).encode() for name, lines in seeds.items()}
    for name, data in files.items():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
