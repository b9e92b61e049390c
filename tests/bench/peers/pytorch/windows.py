"""Trains a model in PyTorch and prints the examples a second of each window of steps, as JSON.

Options of every script in this folder: --windows=N --window_steps=N --batch_size=N --threads=N
--products=bf16|f32 [--compile]. The first window warms up and is left out. bf16 is by autocast. With
--compile the model and the loss go through torch.compile, which ends in the first window.
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional


def parse_args(parser=None):
    """The arguments of `parser` and those above, and their `dtype`; sets threads and seed."""
    parser = parser or argparse.ArgumentParser()
    for option in ('--windows', '--window_steps', '--batch_size', '--threads'):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    parser.add_argument('--compile', action='store_true')
    args = parser.parse_args()
    args.dtype = torch.bfloat16 if args.products == 'bf16' else torch.float32
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    return args


def initialize(model):
    """Kernels from Glorot's uniform distribution, embeddings from a normal one, no bias."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.trunc_normal_(module.weight, std=0.02)
    return model.train()


def decayed(model, weight_decay, excluded):
    """The parameters as two groups for an optimizer; the parameters `excluded` do not decay."""
    excluded = list(excluded)
    ids = {id(parameter) for parameter in excluded}
    others = [parameter for parameter in model.parameters() if id(parameter) not in ids]
    return [{'params': others, 'weight_decay': weight_decay},
            {'params': excluded, 'weight_decay': 0}]


def cross_entropy(logits, labels):
    """Logits of N or of N and positions, and their labels."""
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def train(args, model, inputs, labels, optimizer, rate_factor=None, loss_function=cross_entropy,
          clip_norm=None):
    """`inputs` and `labels` in memory: tensors of N rows, or tuples of such; rate_factor(step): what
    the learning rate is multiplied by; clip_norm: of all gradients together."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group['params']]
    all_labels = labels if isinstance(labels, tuple) else (labels,)
    num_batches = len(all_labels[0]) // args.batch_size
    schedule = rate_factor and torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor)

    def loss_of(inputs, labels):
        with torch.autocast('cpu', torch.bfloat16, enabled=args.products == 'bf16'):
            return loss_function(model(inputs), labels)

    if args.compile:
        loss_of = torch.compile(loss_of)

    def train_step(step):
        first = step % num_batches * args.batch_size
        rows = slice(first, first + args.batch_size)
        batch_of = lambda of: (tuple(tensor[rows] for tensor in of) if isinstance(of, tuple)
                               else of[rows])
        loss = loss_of(batch_of(inputs), batch_of(labels))
        optimizer.zero_grad()
        loss.backward()
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip_norm, foreach=True)
        optimizer.step()
        if schedule:
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
