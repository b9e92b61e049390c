"""testdata/iris/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast or
f32, fused Adagrad, noise in memory.

iris.py takes the options of windows.py.
"""
import torch
from torch import nn

import windows


def iris():
    return nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 3))


def main():
    args = windows.parse_args()
    flowers, species = torch.rand(20 * args.batch_size, 4), torch.randint(3, (20 * args.batch_size,))
    model = windows.initialize(iris())
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1, initial_accumulator_value=0.1, eps=0,
                                    fused=True)
    windows.train(args, model, flowers, species, optimizer)


if __name__ == '__main__':
    main()
