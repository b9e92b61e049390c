"""tests/bench/lstm_bench/model.textproto in JAX: bf16 or f32, time first, noise in memory.

lstm_bench.py takes the options of windows.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

import layers
import optimizers
import windows

CHARACTERS, LENGTH, WIDTH, UNITS = 98, 100, 128, 512


def make(draw):
    """The gates are i f c o, as Keras has them; the bias of f starts at 1."""
    orthogonal, _ = np.linalg.qr(draw.normal(size=(4 * UNITS, UNITS)))
    return {
        'embeddings': jnp.asarray(draw.uniform(-0.05, 0.05, (CHARACTERS, WIDTH)), jnp.float32),
        'kernel': layers.glorot_uniform(draw, (WIDTH, 4 * UNITS)),
        'recurrent_kernel': jnp.asarray(orthogonal.T, jnp.float32),
        'bias': jnp.zeros(4 * UNITS).at[UNITS:2 * UNITS].set(1),
        'logits': layers.make_dense(draw, UNITS, CHARACTERS),
    }


def lstm(p, x):
    """x (time, batch, features): the states (time, batch, UNITS). The memory cell is f32."""
    recurrent_kernel = p['recurrent_kernel'].astype(x.dtype)
    projected = x @ p['kernel'].astype(x.dtype) + p['bias'].astype(x.dtype)

    def step(carried, projected):
        h, c = carried
        i, f, g, o = jnp.split((projected + h @ recurrent_kernel).astype(jnp.float32), 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = (jax.nn.sigmoid(o) * jnp.tanh(c)).astype(x.dtype)
        return (h, c), h

    batch = x.shape[1]
    start = jnp.zeros((batch, UNITS), x.dtype), jnp.zeros((batch, UNITS))
    return jax.lax.scan(step, start, projected)[1]


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(p, statistics, batch, key):
        text = batch.T
        states = lstm(p, p['embeddings'].astype(args.dtype)[text[:-1]])
        return windows.cross_entropy(layers.dense(p['logits'], states), text[1:]), statistics

    text = draw.integers(0, CHARACTERS, (20 * args.batch_size, LENGTH + 1), np.int32)
    windows.train(args, make(draw), loss, optimizers.Adam(lambda step: 0.001), text)


if __name__ == '__main__':
    main()
