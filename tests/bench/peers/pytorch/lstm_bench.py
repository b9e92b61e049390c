"""tests/bench/lstm_bench/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast or f32, time first, fused Adam, noise in memory.

lstm_bench.py takes the options of windows.py. --compile compiles what is around the LSTM: it has a
kernel of its own.
"""
import torch
from torch import nn

import windows

CHARACTERS, LENGTH = 98, 100


class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, 128)
        self.lstm = nn.LSTM(128, 512)
        self.logits = nn.Linear(512, CHARACTERS)
        # The model has one bias; PyTorch's second one stays 0.
        nn.init.zeros_(self.lstm.bias_hh_l0).requires_grad_(False)

    def forward(self, ids):
        """Logits (time, batch, CHARACTERS)."""
        states, _ = self.lstm(self.embedding(ids.t()))
        return self.logits(states)


def main():
    args = windows.parse_args()
    text = torch.randint(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1))
    model = windows.initialize(Model())
    optimizer = torch.optim.Adam([parameter for parameter in model.parameters()
                                  if parameter.requires_grad], lr=0.001, fused=True)
    windows.train(args, model, text[:, :-1], text[:, 1:].contiguous(), optimizer,
                  loss_function=lambda logits, labels: windows.cross_entropy(logits, labels.t()))


if __name__ == '__main__':
    main()
