"""models/zoo/resnet50/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast
or f32, channels_last, fused SGD with Nesterov's momentum, noise in memory.

resnet50.py takes the options of windows.py.
"""
import torch
from torch import nn
from torch.nn import functional

import resnet
import windows


def resnet50():
    stem = resnet.conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)
    groups = [([(filters, 1), (filters, 3), (4 * filters, 1)], strides, blocks)
              for filters, strides, blocks in ((64, 1, 3), (128, 2, 4), (256, 2, 6), (512, 2, 3))]
    model = resnet.resnet(stem, 64, groups, classes=1000)
    nn.init.trunc_normal_(model[-1].weight, std=0.01)
    for module in model.modules():
        if isinstance(module, resnet.Block):  # a block starts as its shortcut
            nn.init.zeros_(module.layers[-1].weight)
    return model


def rate_factor(step):
    """6255 steps of linear warm-up times a tenth at each of three boundaries."""
    return min(step / 6255, 1) * 0.1**sum(step > boundary for boundary in (37530, 75060, 100080))


def smoothed_loss(logits, labels):
    return functional.cross_entropy(logits, labels, label_smoothing=0.1)


def main():
    args = windows.parse_args()
    count = 4 * args.batch_size
    images = torch.randn(count, 3, 224, 224).to(memory_format=torch.channels_last)
    model = resnet50().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(windows.decayed(model, 1e-4, resnet.norms(model)), lr=0.4,
                                momentum=0.9, nesterov=True, fused=True)
    windows.train(args, model, images, torch.randint(0, 1000, (count,)), optimizer, rate_factor,
                  smoothed_loss)


if __name__ == '__main__':
    main()
