"""PyLops-MPI and its distributed arrays, filled with the inputs of the comparison."""

import sys
import types

import numpy as np

from peer_inputs import noise_of, share
from peer_session import RANK, SIZE

# PyLops-MPI imports matplotlib for its plots. None are made here, and loading it takes longer than many
# problems.
sys.modules.setdefault("matplotlib", types.ModuleType("matplotlib"))
if not hasattr(sys.modules["matplotlib"], "pyplot"):
    sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib.pyplot")
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]

import pylops  # noqa: E402, F401
import pylops_mpi  # noqa: E402, F401
from pylops_mpi import DistributedArray, Partition  # noqa: E402


def my_share(count):
    return share(count, RANK, SIZE)


def scattered(count, dtype=np.float64, seed=1):
    """Noise, distributed evenly over the ranks."""
    x = DistributedArray(global_shape=count, dtype=dtype)
    x[:] = noise_of(dtype, *my_share(count), seed)
    return x


def replicated(count, dtype=np.float64, seed=1):
    """Noise, replicated on all ranks."""
    x = DistributedArray(global_shape=count, partition=Partition.BROADCAST, dtype=dtype)
    x[:] = noise_of(dtype, 0, count, seed)
    return x


def zeros(count, dtype=np.float64, partition=Partition.SCATTER):
    x = DistributedArray(global_shape=count, partition=partition, dtype=dtype)
    x[:] = 0
    return x
