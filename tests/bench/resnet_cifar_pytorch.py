"""models/zoo/resnet_cifar/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by
autocast, channels_last, fused Adam, noise in memory (it trains as fast as images).

resnet_cifar_pytorch.py takes the options of pytorch_windows.py.
"""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional

import pytorch_windows


def conv(inputs, outputs, size, strides):
    return nn.Conv2d(inputs, outputs, size, strides, padding=size // 2, bias=False)


class Block(nn.Module):

    def __init__(self, inputs, outputs, strides, project):
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, outputs, 3, strides), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential(conv(inputs, outputs, 1, strides),
                                      nn.BatchNorm2d(outputs)) if project else nn.Identity()

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet20():
    layers = [conv(3, 16, 3, 1), nn.BatchNorm2d(16), nn.ReLU()]
    inputs = 16
    for outputs, strides in ((16, 1), (32, 2), (64, 2)):
        for index in range(3):
            layers.append(Block(inputs, outputs, 1 if index else strides, project=index == 0))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


def learning_rate(step):
    """Of 0.005: 200 steps of linear warm-up, then a cosine over 1000."""
    return step / 200 if step < 200 else (1 + math.cos(math.pi * min(step, 1000) / 1000)) / 2


def main():
    args = pytorch_windows.parse_args(argparse.ArgumentParser())
    images = (torch.rand(2048, 3, 32, 32) - 0.5).to(memory_format=torch.channels_last)
    model = resnet20().to(memory_format=torch.channels_last).train()
    norms = [parameter for module in model.modules() if isinstance(module, nn.BatchNorm2d)
             for parameter in module.parameters()]
    kept = {id(parameter) for parameter in norms}
    others = [parameter for parameter in model.parameters() if id(parameter) not in kept]
    optimizer = torch.optim.Adam([{'params': norms}, {'params': others, 'weight_decay': 1e-4}],
                                 lr=0.005, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
    pytorch_windows.train(args, model, images, torch.randint(0, 10, (2048,)), optimizer, schedule,
                          bf16=True)


if __name__ == '__main__':
    main()
