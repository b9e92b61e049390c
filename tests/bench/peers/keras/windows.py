"""Trains a Keras model of TensorFlow 2.15 and prints the examples a second of each window of steps, as
JSON.

Options of every script in this folder: --windows=N --window_steps=N --batch_size=N --threads=N
--products=bf16|f32. The first window warms up and is left out. bf16 is the policy mixed_bfloat16. A
window is one call of a tf.function that loops over its steps. The optimizers are Keras' legacy ones,
each update of a variable one fused kernel.
"""
import argparse
import json
import os
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')  # nothing but errors
import tensorflow as tf


def parse_args(parser=None):
    """The arguments of `parser` and those above; sets threads, seed and policy."""
    parser = parser or argparse.ArgumentParser()
    for option in ('--windows', '--window_steps', '--batch_size', '--threads'):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument('--products', choices=('bf16', 'f32'), required=True)
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    tf.keras.utils.set_random_seed(1)
    if args.products == 'bf16':
        tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')
    return args


class Rate(tf.keras.optimizers.schedules.LearningRateSchedule):
    """The learning rate `of` a step, a float32 scalar."""

    def __init__(self, of):
        super().__init__()
        self.of = of

    def __call__(self, step):
        return self.of(tf.cast(step, tf.float32))


def cross_entropy(labels, logits):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.cast(logits, tf.float32))
    return tf.reduce_mean(losses)


def in_batches(args, tensors):
    """(batches, batch_size, ...) each, whatever is over left out."""
    count = len(tensors[0]) // args.batch_size
    return [tf.reshape(tensor[:count * args.batch_size], [count, args.batch_size, *tensor.shape[1:]])
            for tensor in tensors]


def train(args, model, inputs, labels, optimizer, loss_function=cross_entropy, clip_norm=None, l2=0.0,
          weight_decay=0.0, decays=lambda variable: True):
    """`inputs` and `labels` in memory: tensors of N rows, or tuples of such. Of the variables that
    `decays` tells, l2 times each is added to its gradient, and weight_decay times each and the
    learning rate is subtracted first, as in AdamW. clip_norm: of all gradients together."""
    single = not isinstance(labels, tuple)
    inputs, labels = (in_batches(args, of if isinstance(of, tuple) else (of,))
                      for of in (inputs, labels))
    num_batches = len(labels[0])
    variables = model.trainable_variables
    decayed = [variable for variable in variables if decays(variable)]

    def train_step(step):
        batch_of = lambda tensors: tuple(tensor[step % num_batches] for tensor in tensors)
        batch_inputs, batch_labels = batch_of(inputs), batch_of(labels)
        with tf.GradientTape() as tape:
            logits = model(batch_inputs[0] if len(inputs) == 1 else batch_inputs, training=True)
            loss = loss_function(batch_labels[0] if single else batch_labels, logits)
        # As dense tensors, also of embeddings whose rows are gathered.
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]
        if l2:
            gradients = [gradient + l2 * variable if decays(variable) else gradient
                         for gradient, variable in zip(gradients, variables)]
        if clip_norm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
        if weight_decay:
            rate = optimizer.learning_rate
            rate = rate(optimizer.iterations) if callable(rate) else rate
            for variable in decayed:
                variable.assign_sub(weight_decay * rate * variable)
        optimizer.apply_gradients(zip(gradients, variables))
        return loss

    @tf.function
    def train_window(first):
        loss = tf.constant(0.0)
        for step in tf.range(first, first + args.window_steps):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            loss = train_step(step)
        return loss

    optimizer.iterations  # variables are made before the function that uses them
    optimizer._create_all_weights(variables)
    examples_per_second = []
    for window in range(args.windows + 1):
        start = time.perf_counter()
        loss = train_window(tf.constant(window * args.window_steps)).numpy().item()
        seconds = time.perf_counter() - start
        if window:
            examples_per_second.append(args.window_steps * args.batch_size / seconds)
    print(json.dumps({'examples_per_second': examples_per_second, 'loss': loss}))
