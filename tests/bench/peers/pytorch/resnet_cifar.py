"""models/zoo/resnet_cifar/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast or f32, channels_last, fused Adam, noise in memory (it trains as fast as images).

resnet_cifar.py takes the options of windows.py.
"""
import math

import torch
from torch import nn

import resnet
import windows


def resnet20():
    stem = resnet.conv(3, 16, 3, 1), nn.BatchNorm2d(16), nn.ReLU()
    groups = [([(filters, 3)] * 2, strides, 3) for filters, strides in ((16, 1), (32, 2), (64, 2))]
    return resnet.resnet(stem, 16, groups, classes=10)


def rate_factor(step):
    """200 steps of linear warm-up times a cosine over 1000."""
    return min(step / 200, 1) * (1 + math.cos(math.pi * min(step, 1000) / 1000)) / 2


def main():
    args = windows.parse_args()
    count = 16 * args.batch_size
    images = (torch.rand(count, 3, 32, 32) - 0.5).to(memory_format=torch.channels_last)
    model = resnet20().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(windows.decayed(model, 1e-4, resnet.norms(model)), lr=0.005,
                                 fused=True)
    windows.train(args, model, images, torch.randint(0, 10, (count,)), optimizer, rate_factor)


if __name__ == '__main__':
    main()
