"""Trains a model in PyTorch and prints the examples a second of each window of steps, as JSON.

--windows=N --window_steps=N --batch_size=N --threads=N; the first window warms up and is left out.
"""
import json
import time

import torch
from torch.nn import functional


def parse_args(parser):
    """The arguments of `parser` and those above; sets threads and seed."""
    for option in ('--windows', '--window_steps', '--batch_size', '--threads'):
        parser.add_argument(option, type=int, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    return args


def cross_entropy(logits, labels):
    """Logits of N or of N and positions, and their labels."""
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def train(args, model, inputs, labels, optimizer, schedule, bf16, loss_function=cross_entropy,
          clip_norm=None):
    """`inputs` and `labels` in memory: tensors of N rows, or tuples of such; bf16: by autocast;
    clip_norm: of all gradients together."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group['params']]
    all_labels = labels if isinstance(labels, tuple) else (labels,)
    num_batches = len(all_labels[0]) // args.batch_size

    def train_step(step):
        first = step % num_batches * args.batch_size
        rows = slice(first, first + args.batch_size)
        batch_of = lambda of: (tuple(tensor[rows] for tensor in of) if isinstance(of, tuple)
                               else of[rows])
        with torch.autocast('cpu', torch.bfloat16, enabled=bf16):
            loss = loss_function(model(batch_of(inputs)), batch_of(labels))
        optimizer.zero_grad()
        loss.backward()
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip_norm, foreach=True)
        optimizer.step()
        schedule.step()
        return loss

    examples_per_second = []
    for window in range(args.windows + 1):
        start = time.perf_counter()
        for step in range(window * args.window_steps, (window + 1) * args.window_steps):
            loss = train_step(step)
        loss = loss.item()
        seconds = time.perf_counter() - start
        if window:
            examples_per_second.append(args.window_steps * args.batch_size / seconds)
    print(json.dumps({'examples_per_second': examples_per_second, 'loss': loss}))
