"""models/zoo/char_transformer/model.textproto in JAX: bf16 or f32, noise in memory.

char_transformer.py takes the options of windows.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

import layers
import optimizers
import windows

CHARACTERS, LENGTH, WIDTH, HEADS, BLOCKS = 65, 128, 256, 4, 4
DROPOUT, EPSILON = 0.1, 1e-5


def make(draw):
    return {
        'embeddings': layers.normal(draw, (CHARACTERS, WIDTH), 0.02),
        'position_embeddings': layers.normal(draw, (LENGTH, WIDTH), 0.02),
        'blocks': [{'attention_norm': layers.make_layer_norm(WIDTH),
                    'attention': layers.make_attention(draw, WIDTH),
                    'ffn_norm': layers.make_layer_norm(WIDTH),
                    'ffn': layers.make_feed_forward(draw, WIDTH)} for _ in range(BLOCKS)],
        'norm': layers.make_layer_norm(WIDTH),
        'logits': layers.make_dense(draw, WIDTH, CHARACTERS),
    }


def logits(p, ids, key, dtype):
    keys = iter(jax.random.split(key, 1 + 3 * BLOCKS))
    dropout = lambda x: layers.dropout(next(keys), x, DROPOUT)
    norm = lambda p, x: layers.layer_norm(p, x, EPSILON)
    earlier = jnp.tril(jnp.ones((1, 1, LENGTH, LENGTH), bool))
    x = dropout((p['embeddings'][ids] + p['position_embeddings']).astype(dtype))
    for block in p['blocks']:
        attended = layers.attention(block['attention'], next(keys), norm(block['attention_norm'], x),
                                    HEADS, earlier, DROPOUT)
        x = x + dropout(attended)
        x = x + dropout(layers.feed_forward(block['ffn'], norm(block['ffn_norm'], x)))
    return layers.dense(p['logits'], norm(p['norm'], x))


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(p, statistics, batch, key):
        return windows.cross_entropy(logits(p, batch[:, :-1], key, args.dtype), batch[:, 1:]), statistics

    text = draw.integers(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1), np.int32)
    optimizer = optimizers.Adam(lambda step: 0.001 * jnp.minimum(step / 100, 1), beta2=0.99,
                                weight_decay=0.1, decays=lambda path: path.endswith('kernel'))
    windows.train(args, make(draw), loss, optimizer, text, clip_norm=1)


if __name__ == '__main__':
    main()
