"""Starts the compared programs, all in the same way."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

# OpenBLAS selects kernels by the processor model, and the oldest ones if it does not know the model.
OLD_CORES = {"Prescott", "Core2", "Generic", "Nehalem", "Katmai", "Northwood", "Banias"}


def results_file(name, quick):
    """Where results go by default. Quick runs have few rows and must not replace the committed results."""
    return ROOT / ("build/compare/quick" if quick else "bench/results") / name


def blas_core():
    """The name of the kernels that the system's OpenBLAS selects here."""
    code = (
        "import ctypes; f = ctypes.CDLL('libopenblas.so.0').openblas_get_corename;"
        "f.restype = ctypes.c_char_p; print(f().decode())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def better_core():
    """Settings for both sides if OpenBLAS does not know this processor; otherwise none."""
    if "OPENBLAS_CORETYPE" in os.environ or blas_core() not in OLD_CORES:
        return {}
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= set(flags):
        return {"OPENBLAS_CORETYPE": "SkylakeX"}
    return {"OPENBLAS_CORETYPE": "Haswell"} if "avx2" in flags else {}


class SideFailed(Exception):
    """A program failed; the text is the end of its output."""


class Sides:
    """The programs of both sides."""

    def __init__(self, build, work):
        self.environment = {**ENVIRONMENT, **better_core()}
        self.programs = {
            "weft": [str(build / "bench/compare/weft_side")],
            "pylops_mpi": [sys.executable, str(HERE / "pylops_side.py")],
            "petsc": [str(build / "bench/compare/petsc_side")],
        }
        self.weft = str(build / "apps/weft")
        self.counter = build / "bench/compare/libmpi_counter.so"
        self.work = work

    def mpirun(self, ranks, command, preload=True):
        full = ["mpirun", "-n", str(ranks), "--bind-to", "core"]
        if preload:
            full += ["-x", f"LD_PRELOAD={self.counter}"]
        done = subprocess.run(
            full + command,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SideFailed((done.stderr or done.stdout).strip()[-2000:])

    def run(self, side, ranks, job):
        job_file = self.work / f"{side}.job.json"
        out_file = self.work / f"{side}.results.json"
        out_file.unlink(missing_ok=True)
        job_file.write_text(json.dumps(job), encoding="utf-8")
        self.mpirun(ranks, self.programs[side] + [str(job_file), str(out_file)])
        return json.loads(out_file.read_text(encoding="utf-8"))
