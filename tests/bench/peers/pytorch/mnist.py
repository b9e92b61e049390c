"""testdata/mnist/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast
or f32, channels_last, fused SGD, data in memory.

mnist.py [IMAGES LABELS] and the options of windows.py. Without the two idx files, .gz or not, it trains
on noise.
"""
import argparse
import gzip

import torch
from torch import nn
from torch.nn import functional

import windows


def read_idx(path, header_bytes):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        return torch.frombuffer(bytearray(file.read()[header_bytes:]), dtype=torch.uint8)


def read(args):
    """Images (N, 1, 28, 28) with values of -0.5 to 0.5, and labels (N)."""
    if args.images:
        images, labels = read_idx(args.images, 16), read_idx(args.labels, 8)
    else:
        count = 20 * args.batch_size
        images = torch.randint(0, 256, (count * 28 * 28,), dtype=torch.uint8)
        labels = torch.randint(0, 10, (count,))
    images = images.reshape(-1, 1, 28, 28).float().div_(255).sub_(0.5)
    return images.contiguous(memory_format=torch.channels_last), labels.long()


class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv2d = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2d_1 = nn.Conv2d(32, 64, 5, padding=2)
        self.dense = nn.Linear(7 * 7 * 64, 128)
        self.dropout = nn.Dropout(0.4)
        self.logits = nn.Linear(128, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv2d(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2d_1(x)), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # no copy: the memory is (N, H, W, C)
        return self.logits(self.dropout(functional.relu(self.dense(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('images', nargs='?')
    parser.add_argument('labels', nargs='?')
    args = windows.parse_args(parser)
    images, labels = read(args)
    model = windows.initialize(Model()).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)
    windows.train(args, model, images, labels, optimizer, lambda step: 0.96**(step / 100000))


if __name__ == '__main__':
    main()
