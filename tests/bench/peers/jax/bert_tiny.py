"""models/zoo/bert_tiny/model.textproto in JAX: bf16 or f32, noise in memory.

bert_tiny.py takes the options of windows.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

import layers
import optimizers
import windows

VOCABULARY, LENGTH, MASKED, WIDTH, HEADS, BLOCKS = 64, 128, 20, 128, 2, 2
DROPOUT, EPSILON = 0.1, 1e-12


def make(draw):
    norm = lambda: layers.make_layer_norm(WIDTH)
    embeddings = lambda rows: layers.normal(draw, (rows, WIDTH), 0.02)
    return {
        'word_embeddings': embeddings(VOCABULARY),
        'type_embeddings': embeddings(2),
        'position_embeddings': embeddings(LENGTH),
        'embeddings_norm': norm(),
        'blocks': [{'attention': layers.make_attention(draw, WIDTH), 'attention_norm': norm(),
                    'ffn': layers.make_feed_forward(draw, WIDTH), 'output_norm': norm()}
                   for _ in range(BLOCKS)],
        'transform': layers.make_dense(draw, WIDTH, WIDTH),
        'transform_norm': norm(),
        'masked_logits': {'bias': jnp.zeros(VOCABULARY)},
        'pooler': layers.make_dense(draw, WIDTH, WIDTH),
        'next_sentence': layers.make_dense(draw, WIDTH, 2),
    }


def logits(p, batch, key, dtype):
    """(batch, MASKED, VOCABULARY) of the masked words and (batch, 2) of the next sentence."""
    keys = iter(jax.random.split(key, 1 + 3 * BLOCKS))
    dropout = lambda x: layers.dropout(next(keys), x, DROPOUT)
    norm = lambda p, x: layers.layer_norm(p, x, EPSILON)
    seen = (batch['mask'] > 0)[:, None, None, :]
    x = p['word_embeddings'][batch['ids']] + p['type_embeddings'][batch['segments']]
    x = norm(p['embeddings_norm'], x + p['position_embeddings'])
    x = dropout(x.astype(dtype))
    for block in p['blocks']:
        attended = layers.attention(block['attention'], next(keys), x, HEADS, seen, DROPOUT)
        x = norm(block['attention_norm'], x + dropout(attended))
        x = norm(block['output_norm'], x + dropout(layers.feed_forward(block['ffn'], x)))
    masked = jnp.take_along_axis(x, batch['positions'][:, :, None], axis=1)
    masked = norm(p['transform_norm'], layers.gelu(layers.dense(p['transform'], masked)))
    tied = {'kernel': p['word_embeddings'].T, **p['masked_logits']}
    pooled = jnp.tanh(layers.dense(p['pooler'], x[:, 0]))
    return layers.dense(tied, masked), layers.dense(p['next_sentence'], pooled)


def both_losses(logits, batch):
    masked_logits, next_logits = logits
    log_probabilities = jax.nn.log_softmax(masked_logits.astype(jnp.float32))
    losses = -jnp.take_along_axis(log_probabilities, batch['masked_ids'][..., None], axis=-1)[..., 0]
    weights = batch['weights']
    masked_loss = (losses * weights).sum() / weights.sum()
    return masked_loss + windows.cross_entropy(next_logits, batch['next_sentence'])


def noise(draw, examples):
    """Rows with the lengths and masked positions of `convert synthetic sentence_pairs`."""
    integers = lambda high, *shape: draw.integers(0, high, (examples, *shape), np.int32)
    lengths = draw.integers(LENGTH // 2 + 2, LENGTH + 1, (examples, 1))
    places, masked_places = np.arange(LENGTH)[None], np.arange(MASKED)[None]
    counts = np.minimum(np.round(0.15 * lengths), MASKED)
    segments = (places >= lengths // 2) & (places < lengths)
    return {'ids': integers(VOCABULARY, LENGTH), 'mask': (places < lengths).astype(np.int32),
            'segments': segments.astype(np.int32),
            'positions': (masked_places * lengths // MASKED).astype(np.int32),
            'masked_ids': integers(VOCABULARY, MASKED),
            'weights': (masked_places < counts).astype(np.float32), 'next_sentence': integers(2)}


def rate(step):
    """100 steps of linear warm-up times a linear decay over 3000."""
    return 0.001 * jnp.minimum(step / 100, 1) * (1 - jnp.minimum(step, 3000) / 3000)


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(p, statistics, batch, key):
        return both_losses(logits(p, batch, key, args.dtype), batch), statistics

    optimizer = optimizers.Adam(rate, epsilon=1e-6, weight_decay=0.01,
                                decays=lambda path: path.endswith(('kernel', 'embeddings')))
    windows.train(args, make(draw), loss, optimizer, noise(draw, 20 * args.batch_size), clip_norm=1)


if __name__ == '__main__':
    main()
