"""Trains a model in JAX and prints the examples a second of each window of steps, as JSON.

Options of every script in this folder: --windows=N --window_steps=N --batch_size=N --threads=N
--products=bf16|f32 [--devices=8]. The first window warms up and is left out. A window is one call of a
jitted scan over its steps. With bf16 the values and the copies of the parameters that products read are
bf16. With --devices=8 JAX makes that many devices of the CPU; each trains on its share of a batch, and
gradients are averaged.
"""
import argparse
import functools
import json
import os
import time

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec


def parse_args(parser=None):
    """The arguments of `parser` and those above, and their `dtype`. Sets the threads: before JAX's first
    operation, when XLA counts the processors."""
    parser = parser or argparse.ArgumentParser()
    for option in ('--windows', '--window_steps', '--batch_size', '--threads'):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    parser.add_argument('--devices', type=int, default=1)
    args = parser.parse_args()
    args.dtype = jnp.bfloat16 if args.products == 'bf16' else jnp.float32
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
    os.environ['NPROC'] = str(args.threads)  # threads of XLA's pool
    os.environ['JAX_PLATFORMS'] = 'cpu'
    flags = os.environ.get('XLA_FLAGS', '')
    os.environ['XLA_FLAGS'] = f'{flags} --xla_force_host_platform_device_count={args.devices}'
    return args


def cross_entropy(logits, labels, label_smoothing=0.0):
    """The mean of all positions, in f32."""
    log_probabilities = jax.nn.log_softmax(logits.astype(jnp.float32))
    losses = -jnp.take_along_axis(log_probabilities, labels[..., None], axis=-1).mean()
    if not label_smoothing:
        return losses
    return (1 - label_smoothing) * losses - label_smoothing * log_probabilities.mean()


def in_batches(args, tensor):
    """(batches, batch_size, ...), whatever is over left out."""
    count = len(tensor) // args.batch_size
    return tensor[:count * args.batch_size].reshape(count, args.batch_size, *tensor.shape[1:])


def train(args, parameters, loss_function, optimizer, data, statistics=(), clip_norm=None):
    """loss_function(parameters, statistics, batch, key) is the loss and the new statistics (moving means,
    which are not trained); `data`: a tree of tensors of N rows, in memory; clip_norm: of all gradients
    together."""
    data = jax.tree.map(functools.partial(in_batches, args), data)
    num_batches = len(jax.tree.leaves(data)[0])
    several = args.devices > 1

    def train_step(data, carried, step):
        parameters, statistics, slots = carried
        batch = jax.tree.map(lambda tensor: tensor[step % num_batches], data)
        key = jax.random.fold_in(jax.random.key(1), step)
        if several:
            key = jax.random.fold_in(key, jax.lax.axis_index('device'))
        (loss, statistics), gradients = jax.value_and_grad(loss_function, has_aux=True)(
            parameters, statistics, batch, key)
        if several:
            loss, statistics, gradients = jax.lax.pmean((loss, statistics, gradients), 'device')
        if clip_norm is not None:
            squares = sum(jnp.sum(gradient**2) for gradient in jax.tree.leaves(gradients))
            scale = clip_norm / jnp.maximum(jnp.sqrt(squares), clip_norm)
            gradients = jax.tree.map(lambda gradient: gradient * scale, gradients)
        parameters, slots = optimizer.update(step, gradients, parameters, slots)
        return (parameters, statistics, slots), loss

    def train_window(carried, first, data):
        steps = first + jnp.arange(args.window_steps)
        carried, losses = jax.lax.scan(functools.partial(train_step, data), carried, steps)
        return carried, losses[-1]

    if several:
        all_, of_batch = PartitionSpec(), PartitionSpec(None, 'device')
        mesh = jax.make_mesh((args.devices,), ('device',))
        sharding = jax.sharding.NamedSharding(mesh, of_batch)
        data = jax.device_put(data, sharding)
        train_window = jax.shard_map(train_window, mesh=mesh, in_specs=(all_, all_, of_batch),
                                     out_specs=(all_, all_), check_vma=False)
    train_window = jax.jit(train_window, donate_argnums=0)

    # A Python number's weak type would make the second window compile again.
    carried = jax.tree.map(lambda value: jnp.asarray(value, jnp.float32),
                           (parameters, statistics, optimizer.slots(parameters)))
    if several:
        carried = jax.device_put(carried, jax.sharding.NamedSharding(mesh, all_))
    examples_per_second = []
    for window in range(args.windows + 1):
        start = time.perf_counter()
        carried, loss = train_window(carried, window * args.window_steps, data)
        loss = loss.item()
        seconds = time.perf_counter() - start
        if window:
            examples_per_second.append(args.window_steps * args.batch_size / seconds)
    print(json.dumps({'examples_per_second': examples_per_second, 'loss': loss}))
