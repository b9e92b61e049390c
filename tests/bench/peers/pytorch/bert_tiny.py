"""models/zoo/bert_tiny/model.textproto in PyTorch, as fast as PyTorch trains it on a CPU: bf16 by autocast,
values between the products in bf16, or f32; fused AdamW, noise in memory.

bert_tiny.py takes the options of windows.py and of attention.py.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional

import attention
import windows

VOCABULARY, LENGTH, MASKED, WIDTH, HEADS, BLOCKS = 64, 128, 20, 128, 2, 2


def norm():
    return nn.LayerNorm(WIDTH, eps=1e-12)


class Block(nn.Module):

    def __init__(self, args):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.intermediate, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.attention_norm, self.output_norm = norm(), norm()
        self.how, self.rate = args.attention, args.dropout

    def forward(self, x, bias):
        heads = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        attended = attention.attention(self.how, *heads, bias, self.rate)
        attended = self.out(attended.transpose(1, 2).flatten(2))
        x = self.attention_norm(x + attention.dropout(attended, self.rate))
        inner = self.output(functional.gelu(self.intermediate(x)))
        return self.output_norm(x + attention.dropout(inner, self.rate))


class Model(nn.Module):

    def __init__(self, args):
        super().__init__()
        self.rate, self.dtype = args.dropout, args.dtype
        self.words, self.types = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(2, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.embeddings_norm = norm()
        self.blocks = nn.ModuleList(Block(args) for _ in range(BLOCKS))
        self.transform, self.transform_norm = nn.Linear(WIDTH, WIDTH), norm()
        self.logits_bias = nn.Parameter(torch.zeros(VOCABULARY))
        self.pooler, self.next_sentence = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, inputs):
        """Logits (batch, MASKED, VOCABULARY) of the masked words and (batch, 2) of the next sentence."""
        ids, mask, segments, masked_positions = inputs
        bias = torch.zeros(mask.shape, dtype=self.dtype).masked_fill(mask == 0, -torch.inf)
        bias = bias[:, None, None, :]
        x = self.embeddings_norm(self.words(ids) + self.types(segments) + self.position)
        x = attention.dropout(x.to(self.dtype), self.rate)
        for block in self.blocks:
            x = block(x, bias)
        masked = x.gather(1, masked_positions[:, :, None].expand(-1, -1, WIDTH))
        masked = self.transform_norm(functional.gelu(self.transform(masked)))
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return (functional.linear(masked, self.words.weight, self.logits_bias),
                self.next_sentence(pooled))


def both_losses(logits, labels):
    masked_logits, next_logits = logits
    masked_ids, weights, next_sentence = labels
    losses = functional.cross_entropy(masked_logits.flatten(0, 1), masked_ids.flatten(), reduction='none')
    masked_loss = (losses * weights.flatten()).sum() / weights.sum()
    return masked_loss + functional.cross_entropy(next_logits, next_sentence)


def noise(examples):
    """Inputs and labels with the lengths and masked positions of `convert synthetic sentence_pairs`."""
    lengths = torch.randint(LENGTH // 2 + 2, LENGTH + 1, (examples, 1))
    places = torch.arange(LENGTH).expand(examples, LENGTH)
    segments = (places >= lengths // 2) & (places < lengths)
    masked_places = torch.arange(MASKED).expand(examples, MASKED)
    counts = (0.15 * lengths).round().clamp_(max=MASKED)
    inputs = (torch.randint(VOCABULARY, (examples, LENGTH)), (places < lengths).long(), segments.long(),
              masked_places * lengths // MASKED)
    return inputs, (torch.randint(VOCABULARY, (examples, MASKED)), (masked_places < counts).float(),
                    torch.randint(2, (examples,)))


def rate_factor(step):
    """100 steps of linear warm-up times a linear decay over 3000."""
    return min(step / 100, 1) * (1 - min(step, 3000) / 3000)


def main():
    args = windows.parse_args(attention.add_options(argparse.ArgumentParser()))
    inputs, labels = noise(20 * args.batch_size)
    model = windows.initialize(Model(args))
    rows = [parameter for parameter in model.parameters() if parameter.dim() == 1]
    optimizer = torch.optim.AdamW(windows.decayed(model, 0.01, excluded=rows), lr=0.001, eps=1e-6,
                                  fused=True)
    windows.train(args, model, inputs, labels, optimizer, rate_factor, both_losses, clip_norm=1)


if __name__ == '__main__':
    main()
