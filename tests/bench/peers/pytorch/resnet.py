"""The layers that resnet_cifar.py and resnet50.py share: ResNet v1.5, the stride in the 3x3 convolution.

A convolution with strides pads both sides alike, as PyTorch's own models do; that shifts what SAME
padding computes by a pixel.
"""
import math

from torch import nn
from torch.nn import functional

import windows


def conv(inputs, outputs, size, strides):
    return nn.Conv2d(inputs, outputs, size, strides, padding=size // 2, bias=False)


class Block(nn.Module):
    """relu(f(x) + shortcut(x)); f is convolutions of (outputs, size) each, the last but one with the
    strides, a norm after each and a relu between them."""

    def __init__(self, inputs, convs, strides, project):
        super().__init__()
        layers = []
        channels = inputs
        for index, (outputs, size) in enumerate(convs):
            layers += [conv(channels, outputs, size, strides if index == len(convs) - 2 else 1),
                       nn.BatchNorm2d(outputs), nn.ReLU()]
            channels = outputs
        self.layers = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Sequential(conv(inputs, channels, 1, strides),
                                      nn.BatchNorm2d(channels)) if project else nn.Identity()

    def forward(self, x):
        return functional.relu(self.layers(x) + self.shortcut(x))


def resnet(stem, inputs, groups, classes):
    """`groups`: convs, strides and the number of blocks of each; `stem` gives so many `inputs`."""
    layers = [*stem]
    for convs, strides, blocks in groups:
        for index in range(blocks):
            layers.append(Block(inputs, convs, 1 if index else strides, project=index == 0))
            inputs = convs[-1][0]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
    windows.initialize(model)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):  # variance_scaling { scale: 2 }
            fan_in = module.weight[0].numel()
            nn.init.trunc_normal_(module.weight, std=math.sqrt(2 / fan_in))
    return model


def norms(model):
    """The parameters of batch normalization."""
    return [parameter for module in model.modules() if isinstance(module, nn.BatchNorm2d)
            for parameter in module.parameters()]
