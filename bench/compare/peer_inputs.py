"""Inputs of the problems as formulas of the index: the same values as inputs.hpp computes."""

import math

import numpy as np


def noise(at, seed):
    """A value from -1/2 to 1/2 for each position in an array."""
    mask = np.uint64(0xFFFFFFFF)
    h = (at.astype(np.uint64) * np.uint64(2654435761) + np.uint64(seed * 40503 + 1)) & mask
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & mask
    h ^= h >> np.uint64(13)
    h = (h * np.uint64(3266489917)) & mask
    h ^= h >> np.uint64(16)
    return h.astype(np.float64) / 4294967296.0 - 0.5


def noise_of(dtype, first, last, seed):
    """Elements [first, last) of an array of noise."""
    at = np.arange(first, last)
    if np.dtype(dtype).kind == "c":
        values = np.empty(last - first, np.complex128)
        values.real = noise(2 * at, seed)
        values.imag = noise(2 * at + 1, seed)
        return values.astype(dtype)
    return noise(at, seed).astype(dtype)


def share(count, rank, size):
    """The range of `count` positions that a rank owns; the first ranks own one more."""
    part, more = divmod(count, size)
    first = rank * part + min(rank, more)
    return first, first + part + (rank < more)


def wavelet():
    x = math.pi * 15 * 0.004 * np.arange(-20, 21)
    return (1 - 2 * x * x) * np.exp(-x * x)


def background_of(shape, ny, first):
    z = np.arange(shape[2])
    return np.broadcast_to(8 + 0.4 * z / shape[2], (ny, shape[1], shape[2])).copy()


def log_impedance_of(shape, ny, first):
    y = np.arange(first, first + ny)[:, None, None]
    x = np.arange(shape[1])[None, :, None]
    z = np.arange(shape[2])[None, None, :]
    layers = noise((z + x // 4 + y // 2) // 25, 3)
    return background_of(shape, ny, first) + 0.2 * layers
