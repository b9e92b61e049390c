"""The milliseconds that a layer of tests/bench/layers.py takes in PyTorch, forward and backward: layers.py LAYER."""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

BATCH = 64
IMAGE, SEQUENCE = (64, 32, 32), (128, 128)


class States(nn.Module):
    """Of a recurrence, all of them."""

    def __init__(self, recurrence):
        super().__init__()
        self.recurrence = recurrence(128, 128, batch_first=True)

    def forward(self, x):
        return self.recurrence(x)[0]


class Attention(nn.Module):
    def __init__(self, heads, key_dim, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.projections = nn.Linear(128, 3 * heads * key_dim)
        self.output = nn.Linear(heads * key_dim, 128)

    def forward(self, x):
        q, k, v = self.projections(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.output(y.transpose(1, 2).flatten(2))


class Causal(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x):
        return self.conv(functional.pad(x, (self.pad, 0)))


class Excited(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 16), nn.ReLU(),
                                    nn.Linear(16, 64), nn.Sigmoid())

    def forward(self, x):
        return x * self.factor(x)[:, :, None, None]


def depthwise(channels, size, **more):
    return nn.Conv2d(channels, channels, size, padding=size // 2, groups=channels, **more)


LAYERS = {
    'conv 3x3': (IMAGE, lambda: nn.Conv2d(64, 64, 3, padding=1)),
    'conv 1x1': (IMAGE, lambda: nn.Conv2d(64, 64, 1)),
    'conv 5x5': (IMAGE, lambda: nn.Conv2d(64, 64, 5, padding=2)),
    'conv 3x3 stride 2': (IMAGE, lambda: nn.Conv2d(64, 128, 3, stride=2, padding=1)),
    'conv 3x3 dilation 2': (IMAGE, lambda: nn.Conv2d(64, 64, 3, padding=2, dilation=2)),
    'conv 3x3 4 groups': (IMAGE, lambda: nn.Conv2d(64, 64, 3, padding=1, groups=4)),
    'conv 7x7 of 3 channels, stride 2': ((3, 96, 96), lambda: nn.Conv2d(3, 32, 7, stride=2, padding=3)),
    'conv 3x3 to 3 channels': ((32, 64, 64), lambda: nn.Conv2d(32, 3, 3, padding=1)),
    'conv 1x7': ((128, 17, 17), lambda: nn.Conv2d(128, 128, (1, 7), padding=(0, 3))),
    'depthwise 3x3': (IMAGE, lambda: depthwise(64, 3)),
    'depthwise 3x3 stride 2': ((144, 56, 56), lambda: depthwise(144, 3, stride=2)),
    'depthwise 5x5': ((240, 14, 14), lambda: depthwise(240, 5)),
    'depthwise 7x7': ((96, 28, 28), lambda: depthwise(96, 7)),
    'transposed 3x3 stride 2': (
        (64, 16, 16), lambda: nn.ConvTranspose2d(64, 64, 3, stride=2, padding=1, output_padding=1)),
    'transposed 4x4 to 3 channels': (
        (64, 32, 32), lambda: nn.ConvTranspose2d(64, 3, 4, stride=2, padding=1)),
    'conv1d 5': ((64, 256), lambda: nn.Conv1d(64, 64, 5, padding=2)),
    'conv1d causal, dilation 4': ((64, 256), lambda: Causal(64, 4)),
    'max pool 2x2': (IMAGE, lambda: nn.MaxPool2d(2)),
    'max pool 3x3 stride 1': (IMAGE, lambda: nn.MaxPool2d(3, 1, 1)),
    'average pool 2x2': (IMAGE, lambda: nn.AvgPool2d(2)),
    'average pool 3x3 stride 1': (IMAGE, lambda: nn.AvgPool2d(3, 1, 1)),
    'up sampling, nearest': ((64, 16, 16), lambda: nn.Upsample(scale_factor=2)),
    'up sampling, bilinear': ((64, 16, 16), lambda: nn.Upsample(scale_factor=2, mode='bilinear')),
    'batch normalization': (IMAGE, lambda: nn.BatchNorm2d(64)),
    'group normalization, 8 groups': (IMAGE, lambda: nn.GroupNorm(8, 64)),
    'separable 3x3': (IMAGE, lambda: nn.Sequential(depthwise(64, 3, bias=False), nn.Conv2d(64, 64, 1))),
    'a factor for each channel': (IMAGE, Excited),
    'dense 128 to 512': (SEQUENCE, lambda: nn.Linear(128, 512)),
    'dense 4096 to 4096': ((4096,), lambda: nn.Linear(4096, 4096)),
    'lstm': (SEQUENCE, lambda: States(nn.LSTM)),
    'gru': (SEQUENCE, lambda: States(nn.GRU)),
    'simple_rnn': (SEQUENCE, lambda: States(nn.RNN)),
    'attention, 4 heads': (SEQUENCE, lambda: Attention(4, 32, False)),
    'attention, causal, 512 positions': ((512, 128), lambda: Attention(8, 16, True)),
}


def milliseconds(module, x):
    """The median of 9 steps of the module alone."""
    dy = torch.randn_like(module(x))
    times = []
    for _ in range(11):
        x.grad = None
        module.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        module(x).backward(dy)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times[2:])


def main():
    torch.manual_seed(0)
    shape, make = LAYERS[sys.argv[1]]
    layouts = [torch.contiguous_format] + [torch.channels_last] * (len(shape) == 3)
    best = float('inf')
    for layout in layouts:
        x = torch.randn(BATCH, *shape).contiguous(memory_format=layout).requires_grad_()
        best = min(best, milliseconds(make().to(memory_format=layout), x))
    print(best)


if __name__ == '__main__':
    main()
