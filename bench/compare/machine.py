"""The machine and the versions of the compared libraries, for the results."""

import datetime
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path


def first_line(*command):
    """The first line of a program's output; None if it does not exist or fails."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else None


def versions():
    """Versions of MPI, of PETSc and of the Python packages, where they are installed."""
    found = {"mpi": first_line("mpirun", "--version"), "python": platform.python_version()}
    for name in (
        "numpy",
        "scipy",
        "mpi4py",
        "pylops",
        "pylops-mpi",
        "cupy-cuda12x",
        "cupy-cuda13x",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    found["petsc"] = first_line("pkg-config", "--modversion", "PETSc")
    return {name: version for name, version in found.items() if version}


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def about():
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "versions": versions(),
    }
