"""testdata/mnist/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast
or f32, channels_last, fused SGD, data in memory.

mnist_pytorch.py IMAGES LABELS --products=bf16|f32 and the options of pytorch_windows.py.
"""
import argparse
import gzip

import torch
from torch import nn
from torch.nn import functional

import pytorch_windows


def read_idx(path, header_bytes):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        return torch.frombuffer(bytearray(file.read()[header_bytes:]), dtype=torch.uint8)


class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv2d = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2d_1 = nn.Conv2d(32, 64, 5, padding=2)
        self.dense = nn.Linear(7 * 7 * 64, 128)
        self.dropout = nn.Dropout(0.4)
        self.logits = nn.Linear(128, 10)
        for name, parameter in self.named_parameters():
            nn.init.zeros_(parameter) if name.endswith('bias') else nn.init.xavier_uniform_(parameter)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv2d(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2d_1(x)), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # no copy: the memory is (N, H, W, C)
        return self.logits(self.dropout(functional.relu(self.dense(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('images')
    parser.add_argument('labels')
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    args = pytorch_windows.parse_args(parser)

    images = read_idx(args.images, 16).reshape(-1, 1, 28, 28).float().div_(255).sub_(0.5)
    images = images.contiguous(memory_format=torch.channels_last)
    model = Model().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.96**(1 / 100000))
    pytorch_windows.train(args, model, images, read_idx(args.labels, 8).long(), optimizer, schedule,
                          bf16=args.products == 'bf16')


if __name__ == '__main__':
    main()
