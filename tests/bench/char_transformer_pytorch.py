"""models/zoo/char_transformer/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast, scaled_dot_product_attention, fused AdamW, noise in memory.

char_transformer_pytorch.py takes the options of pytorch_windows.py, and --dropout=RATE.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional

import pytorch_windows

CHARACTERS, LENGTH, WIDTH, HEADS, BLOCKS = 65, 128, 256, 4, 4


class Block(nn.Module):

    def __init__(self, dropout):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.intermediate, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.rate, self.dropout = dropout, nn.Dropout(dropout)

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(
            *heads, dropout_p=self.rate if self.training else 0.0, is_causal=True)
        x = x + self.dropout(self.out(attended.transpose(1, 2).flatten(2)))
        inner = functional.gelu(self.intermediate(self.norms[1](x)))
        return x + self.dropout(self.output(inner))


class Model(nn.Module):

    def __init__(self, dropout):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(dropout) for _ in range(BLOCKS)))
        self.norm, self.logits = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CHARACTERS)

    def forward(self, ids):
        x = self.dropout(self.embedding(ids) + self.position)
        return self.logits(self.norm(self.blocks(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dropout', type=float, default=0.1)
    args = pytorch_windows.parse_args(parser)
    text = torch.randint(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1))
    model = Model(args.dropout).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001, betas=(0.9, 0.99), fused=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=100)
    pytorch_windows.train(args, model, text[:, :-1], text[:, 1:].contiguous(), optimizer, schedule,
                          bf16=True)


if __name__ == '__main__':
    main()
