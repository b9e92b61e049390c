"""testdata/mnist/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast
or f32, channels_last, fused SGD, data in memory. Prints the examples a second of each window as JSON.

mnist_pytorch.py IMAGES LABELS --windows=N --window_steps=N --threads=N --products=bf16|f32; the first
window warms up and is left out.
"""
import argparse
import gzip
import json
import time

import torch
from torch import nn
from torch.nn import functional

BATCH_SIZE = 128


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
    for option in ('--windows', '--window_steps', '--threads'):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    images = read_idx(args.images, 16).reshape(-1, 1, 28, 28).float().div_(255).sub_(0.5)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = read_idx(args.labels, 8).long()
    num_batches = len(labels) // BATCH_SIZE

    model = Model().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.96**(1 / 100000))

    def train(step):
        first = step % num_batches * BATCH_SIZE
        rows = slice(first, first + BATCH_SIZE)
        with torch.autocast('cpu', torch.bfloat16, enabled=args.products == 'bf16'):
            loss = functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    examples_per_second = []
    for window in range(args.windows + 1):
        start = time.perf_counter()
        for step in range(window * args.window_steps, (window + 1) * args.window_steps):
            loss = train(step)
        loss = loss.item()
        seconds = time.perf_counter() - start
        if window:
            examples_per_second.append(args.window_steps * BATCH_SIZE / seconds)
    print(json.dumps({'examples_per_second': examples_per_second, 'loss': loss}))


if __name__ == '__main__':
    main()
