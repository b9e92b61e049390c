"""Trains a model with TensorFlow's TPUEstimator on the CPU (use_tpu=False) and prints the examples a second
of each window of steps, as JSON.

Arguments of every script in this folder, after its own: MODEL_DIR --windows=N --window_steps=N
--batch_size=N --threads=N. The first window, which builds the graph, is left out.
"""
import json
import os
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')  # nothing but errors
import tensorflow as tf

v1 = tf.compat.v1
tpu = v1.estimator.tpu


def parse_args(parser):
    parser.add_argument('model_dir')
    for option in ('--windows', '--window_steps', '--batch_size', '--threads'):
        parser.add_argument(option, type=int, required=True)
    return parser.parse_args()


class Clock(v1.train.SessionRunHook):
    """The times of the last step of each window, and the last loss."""

    def __init__(self, loss, window_steps):
        self.loss, self.window_steps = loss, window_steps
        self.steps, self.times, self.last_loss = 0, [], None

    def before_run(self, run_context):
        return v1.train.SessionRunArgs(self.loss)

    def after_run(self, run_context, run_values):
        self.steps += 1
        self.last_loss = run_values.results
        if self.steps % self.window_steps == 0:
            self.times.append(time.perf_counter())


def train(args, input_fn, loss_of, optimizer_of):
    """loss_of(features, labels, training), optimizer_of(global_step)."""
    clocks = []

    def model_fn(features, labels, mode, params):
        loss = loss_of(features, labels, training=mode == tf.estimator.ModeKeys.TRAIN)
        step = v1.train.get_global_step()
        clocks.append(Clock(loss, args.window_steps))
        return tpu.TPUEstimatorSpec(mode, loss=loss, training_hooks=clocks[-1:],
                                    train_op=optimizer_of(step).minimize(loss, global_step=step))

    session = v1.ConfigProto(intra_op_parallelism_threads=args.threads,
                             inter_op_parallelism_threads=args.threads)
    steps = (args.windows + 1) * args.window_steps
    config = tpu.RunConfig(model_dir=args.model_dir, session_config=session,
                           save_checkpoints_steps=steps, log_step_count_steps=None,
                           save_summary_steps=None, tpu_config=tpu.TPUConfig(num_shards=8))
    estimator = tpu.TPUEstimator(model_fn=model_fn, config=config, use_tpu=False,
                                 train_batch_size=args.batch_size)
    estimator.train(input_fn, max_steps=steps)
    times = clocks[-1].times
    examples = args.window_steps * args.batch_size
    print(json.dumps({'examples_per_second': [examples / (end - start)
                                              for start, end in zip(times, times[1:])],
                      'loss': float(clocks[-1].last_loss)}))
