#!/usr/bin/env python3
"""Prints the seconds that torch takes to select the largest elements of gradient + residual."""

import sys

import torch


def main():
    n, density = int(sys.argv[1]), float(sys.argv[2])
    k = max(1, int(n * density))
    gradient = torch.randn(n, device="cuda")
    residual = torch.zeros(n, device="cuda")

    def select():
        residual.add_(gradient)
        _, index = torch.topk(residual.abs(), k, sorted=False)
        value = residual.gather(0, index)
        residual.index_fill_(0, index, 0)
        return value, index

    for _ in range(3):
        select()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    repeats = 10
    begin.record()
    for _ in range(repeats):
        select()
    end.record()
    torch.cuda.synchronize()
    print(begin.elapsed_time(end) / 1e3 / repeats)


main()
