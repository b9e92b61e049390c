"""What golden files of optimizers, schedules and clipping expect (tests/optimizers/golden_test.cc),
by tf.compat.v1.train and reference_optimizers.py."""
import numpy as np
import tensorflow as tf

import golden_case
import reference_optimizers
import textproto
from golden_text import number, shortest, tensor

v1 = tf.compat.v1
train = v1.train


def only(message):
    """Its one field and that field's value."""
    (field, (value,)), = message.items()
    return field, value


def linear_warmup(args, step):
    rate, steps = learning_rate(args.get('schedule'), step), args.get('warmup_steps')
    share = tf.cast(step, tf.float32) / steps
    return tf.where(step < steps, rate * share, rate)


SCHEDULES = {
    'constant': lambda rate, step: tf.constant(rate, tf.float32),
    'cosine_decay': lambda args, step: train.cosine_decay(
        args.get('initial_learning_rate'), step, args.get('decay_steps'), args.get('alpha', 0.0)),
    'exponential_decay': lambda args, step: train.exponential_decay(
        args.get('initial_learning_rate'), step, args.get('decay_steps'), args.get('decay_rate'),
        args.get('staircase', False)),
    'linear_warmup': linear_warmup,
    'piecewise_constant': lambda args, step: train.piecewise_constant(
        step, args.all('boundaries'), list(map(float, args.all('values')))),
    'polynomial_decay': lambda args, step: train.polynomial_decay(
        float(args.get('initial_learning_rate')), step, args.get('decay_steps'),
        float(args.get('end_learning_rate', 1e-4)), float(args.get('power', 1)),
        args.get('cycle', False)),
}


def learning_rate(schedule, step):
    kind, args = only(schedule)
    rate = SCHEDULES[kind](args, step)
    return rate() if callable(rate) else rate


class ScheduleInTf:

    def __init__(self, case):
        self.schedule = textproto.parse(case.get('schedule'))

    def told(self, key, _):
        if key.startswith('expect '):
            step = tf.constant(int(key.removeprefix('expect ')), tf.int64)
            return number(learning_rate(self.schedule, step))
        return None

    def more(self):
        return {}


OPTIMIZERS = {
    'adagrad': lambda rate, args: train.AdagradOptimizer(
        rate, args.get('initial_accumulator_value', 0.1)),
    'adam': lambda rate, args: train.AdamOptimizer(
        rate, *(float(args.get(*field)) for field in (
            ('beta1', 0.9), ('beta2', 0.999), ('epsilon', 1e-8)))),
    'adamw': lambda rate, args: reference_optimizers.AdamW(
        rate, *(float(args.get(*field)) for field in (
            ('beta1', 0.9), ('beta2', 0.999), ('epsilon', 1e-8))),
        weight_decay_rate=float(args.get('weight_decay_rate', 0)),
        exclude_from_weight_decay=args.all('exclude_from_weight_decay')),
    'gradient_descent': lambda rate, args: train.GradientDescentOptimizer(rate),
    'lamb': lambda rate, args: reference_optimizers.Lamb(
        rate, *(float(args.get(*field)) for field in (
            ('beta1', 0.9), ('beta2', 0.999), ('epsilon', 1e-6), ('weight_decay_rate', 0.01))),
        args.all('exclude_from_weight_decay'), args.all('exclude_from_layer_adaptation')),
    'momentum': lambda rate, args: train.MomentumOptimizer(
        rate, float(args.get('momentum')), use_nesterov=args.get('use_nesterov', False)),
    'rms_prop': lambda rate, args: train.RMSPropOptimizer(
        rate, *(float(args.get(*field)) for field in (
            ('decay', 0.9), ('momentum', 0), ('epsilon', 1e-10))),
        centered=args.get('centered', False)),
}


class OptimizerInTf:
    """Makes the steps of one case and tells what they lead to."""

    def __init__(self, case):
        optimizer = textproto.parse(case.get('optimizer'))
        kind = next(field for field in optimizer if field in OPTIMIZERS)
        averaged = case.get('moving_average')
        (name, value), = case.tensors('variable').items()
        self.session = v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            rate = learning_rate(optimizer.get('learning_rate'), tf.constant(0, tf.int64))
            variable = v1.Variable(value, name=name)
            self.gradient = v1.placeholder(tf.float32, value.shape)
            self.step = OPTIMIZERS[kind](rate, optimizer.get(kind)).apply_gradients(
                [(self.gradient, variable)])
            self.variables = {v.op.name: v for v in v1.global_variables()}
            slots = [slot for slot in self.variables if slot != name]
            if averaged:
                self.average(textproto.parse(averaged), variable)
            self.session.run(v1.global_variables_initializer())
            self.slots = ''.join(map(self.slot, slots))

    def average(self, args, variable):
        """Makes a step count itself, and then update the average."""
        with tf.control_dependencies([self.step]):
            global_step = v1.train.create_global_step()
            count = v1.assign_add(global_step, 1)
        with tf.control_dependencies([count]):
            num_updates = global_step if args.get('num_updates_is_global_step') else None
            average = train.ExponentialMovingAverage(float(args.get('decay')), num_updates)
            self.step = average.apply([variable])
        self.variables[average.average_name(variable)] = average.average(variable)

    def slot(self, name):
        start = np.unique(self.value(name))
        dims = ','.join(map(str, self.variables[name].shape))
        return f'\n  "{name}" f32[{dims}] constant({shortest(float(start.item()))})'

    def value(self, name):
        return self.session.run(self.variables[name])

    def told(self, key, value):
        kind, _, name = key.partition(' ')
        if kind == 'gradient':
            self.session.run(self.step, {self.gradient: golden_case.tensor(value)})
        if kind != 'expect':
            return None
        return self.slots if name == 'slots' else tensor(self.value(name))

    def more(self):
        return {'expect slots': self.slots}


CLIPPING = {
    'clip_by_value': lambda gradients, most: [tf.clip_by_value(g, -most, most) for g in gradients],
    'clip_by_norm': lambda gradients, most: [tf.clip_by_norm(g, most) for g in gradients],
    'clip_by_global_norm': lambda gradients, most: tf.clip_by_global_norm(gradients, most)[0],
}


class ClippingInTf:

    def __init__(self, case):
        optimizer, gradients = textproto.parse(case.get('optimizer')), case.tensors('gradient')
        clipped = list(gradients.values())
        for kind, clip in CLIPPING.items():
            if kind in optimizer:
                clipped = clip(clipped, float(optimizer.get(kind)))
        self.clipped = dict(zip(gradients, clipped))

    def told(self, key, _):
        name = key.removeprefix('expect ')
        return tensor(np.array(self.clipped[name])) if name != key else None

    def more(self):
        return {}
