"""What PyTorch's kernels take alone: the milliseconds of one shape after another, with nothing between them that a
training computes.

alone.py --threads=N --products=bf16|f32 SHAPE...; a SHAPE is conv:N,H,W,C,KERNEL,FILTERS,STRIDE (square kernel, pads
"same", channels last) or matmul:M,K,N. A line for each: forward, gradient of the operand, gradient of the weights. A
time is the median of 9 repetitions of at least 50 ms.
"""
import argparse
import statistics
import time

import torch
from torch import nn


def milliseconds(run):
    """The median of 9 repetitions, each of as many runs as take 50 ms."""
    run()
    begin = time.perf_counter()
    run()
    runs = max(1, round(0.05 / (time.perf_counter() - begin)))
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(runs):
            run()
        times.append((time.perf_counter() - begin) / runs * 1000)
    return statistics.median(times)


def conv(dtype, n, h, w, c, kernel, filters, stride):
    make = lambda *dims: torch.randn(*dims).to(dtype).to(memory_format=torch.channels_last)
    x, weights, pad = make(n, c, h, w), make(filters, c, kernel, kernel), (kernel - 1) // 2
    forward = lambda: nn.functional.conv2d(x, weights, stride=stride, padding=pad)
    dy = make(*forward().shape)
    backward = lambda of_x, of_weights: torch.ops.aten.convolution_backward(
        dy, x, weights, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, [of_x, of_weights, False])
    return forward, lambda: backward(True, False), lambda: backward(False, True)


def matmul(dtype, m, k, n):
    x, weights, dy = (torch.randn(*dims).to(dtype) for dims in ((m, k), (k, n), (m, n)))
    return lambda: x @ weights, lambda: dy @ weights.t(), lambda: x.t() @ dy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--threads', type=int, required=True)
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    parser.add_argument('shape', nargs='+')
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dtype = torch.bfloat16 if args.products == 'bf16' else torch.float32
    for shape in args.shape:
        kind, sizes = shape.split(':')
        runs = {'conv': conv, 'matmul': matmul}[kind](dtype, *map(int, sizes.split(',')))
        print(shape, *(f'{milliseconds(run):.2f}' for run in runs), flush=True)


if __name__ == '__main__':
    main()
