"""tests/bench/lstm_bench/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast, time first, fused Adam, noise in memory.

lstm_pytorch.py takes the options of pytorch_windows.py.
"""
import argparse

import torch
from torch import nn

import pytorch_windows

CHARACTERS, LENGTH = 98, 100


class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, 128)
        self.lstm = nn.LSTM(128, 512)
        self.logits = nn.Linear(512, CHARACTERS)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids.t()))
        return self.logits(states).transpose(0, 1)


def main():
    args = pytorch_windows.parse_args(argparse.ArgumentParser())
    text = torch.randint(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1))
    model = Model().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1)
    pytorch_windows.train(args, model, text[:, :-1], text[:, 1:].contiguous(), optimizer, schedule,
                          bf16=True)


if __name__ == '__main__':
    main()
