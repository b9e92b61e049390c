"""models/zoo/char_transformer/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast, values between the products in bf16, or f32; fused AdamW, noise in memory.

char_transformer.py takes the options of windows.py and of attention.py.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional

import attention
import windows

CHARACTERS, LENGTH, WIDTH, HEADS, BLOCKS = 65, 128, 256, 4, 4


class Block(nn.Module):

    def __init__(self, args):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.intermediate, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.how, self.rate = args.attention, args.dropout
        hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        self.bias = torch.zeros(hidden.shape, dtype=args.dtype).masked_fill_(hidden, -torch.inf)

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        attended = attention.attention(self.how, *heads, self.bias, self.rate)
        attended = self.out(attended.transpose(1, 2).flatten(2))
        x = x + attention.dropout(attended, self.rate)
        inner = self.output(functional.gelu(self.intermediate(self.norms[1](x))))
        return x + attention.dropout(inner, self.rate)


class Model(nn.Module):

    def __init__(self, args):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.rate, self.dtype = args.dropout, args.dtype
        self.blocks = nn.Sequential(*(Block(args) for _ in range(BLOCKS)))
        self.norm, self.logits = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CHARACTERS)

    def forward(self, ids):
        x = attention.dropout((self.embedding(ids) + self.position).to(self.dtype), self.rate)
        return self.logits(self.norm(self.blocks(x)))

    def not_decayed(self):
        """The embeddings, and what is a row: biases and normalizations."""
        rows = [parameter for parameter in self.parameters() if parameter.dim() == 1]
        return [self.embedding.weight, self.position, *rows]


def main():
    args = windows.parse_args(attention.add_options(argparse.ArgumentParser()))
    text = torch.randint(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1))
    model = windows.initialize(Model(args))
    optimizer = torch.optim.AdamW(windows.decayed(model, 0.1, model.not_decayed()), lr=0.001,
                                  betas=(0.9, 0.99), fused=True)
    windows.train(args, model, text[:, :-1], text[:, 1:].contiguous(), optimizer,
                  lambda step: min(step / 100, 1), clip_norm=1)


if __name__ == '__main__':
    main()
