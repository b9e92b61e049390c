"""Optimizers that TensorFlow 2.15 has not, with the interface of tf.compat.v1.train's and the names of
their slots."""
import re

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def found(patterns, name):
    return any(re.search(pattern, name) for pattern in patterns)


class AdamW(v1.train.AdamOptimizer):
    """TensorFlow's Adam behind tfa's DecoupledWeightDecayExtension, which subtracts its share of a
    variable before the step. (Adam of tf.keras has its epsilon elsewhere.)"""

    def __init__(self, learning_rate, *args, weight_decay_rate=0.0, exclude_from_weight_decay=()):
        super().__init__(learning_rate, *args)
        self.decay = learning_rate * weight_decay_rate
        self.excluded = exclude_from_weight_decay

    def apply_gradients(self, gradients):
        gradients = list(gradients)
        # Behind the gradients: nothing else keeps the loss from reading a variable that has decayed.
        with tf.control_dependencies([gradient for gradient, _ in gradients]):
            decays = [v1.assign_sub(variable, self.decay * variable) for _, variable in gradients
                      if not found(self.excluded, variable.op.name)]
        with tf.control_dependencies(decays):
            return super().apply_gradients(gradients)


class Lamb:
    """The algorithm of the paper (You et al. 2020, arxiv.org/abs/1904.00962) in numpy's float64;
    variables and slots are float32 from step to step."""

    def __init__(self, learning_rate, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay_rate=0.01,
                 exclude_from_weight_decay=(), exclude_from_layer_adaptation=()):
        self.learning_rate, self.epsilon = learning_rate, epsilon
        self.betas = np.float64(np.float32([beta1, beta2]))
        self.decay, self.not_decayed = weight_decay_rate, exclude_from_weight_decay
        self.not_adapted = exclude_from_layer_adaptation or exclude_from_weight_decay

    def step(self, name, rate, powers, variable, gradient, means):
        """The variable and its means behind a step."""
        moments = gradient, np.square(gradient)
        means = [beta * mean + (1 - beta) * moment
                 for beta, mean, moment in zip(self.betas, means, moments)]
        m, v = (mean / (1 - power) for mean, power in zip(means, powers))
        step = m / (np.sqrt(v) + self.epsilon)
        if not found(self.not_decayed, name):
            step = step + self.decay * variable
        of_variable, of_step = np.sqrt(np.sum(variable ** 2)), np.sqrt(np.sum(step ** 2))
        if of_variable > 0 and of_step > 0 and not found(self.not_adapted, name):
            rate = rate * of_variable / of_step
        return [variable - rate * step, *means]

    def minimize(self, loss, global_step):
        variables = v1.trainable_variables()
        gradients = [tf.convert_to_tensor(one) for one in tf.gradients(loss, variables)]
        with tf.control_dependencies([self.apply_gradients(zip(gradients, variables))]):
            return v1.assign_add(global_step, 1)

    def apply_gradients(self, gradients):
        powers = [v1.Variable(np.float32(beta), name=f'beta{i}_power')
                  for i, beta in enumerate(self.betas, 1)]
        assigned = []
        for gradient, variable in gradients:
            name = variable.op.name
            means = [v1.Variable(np.zeros(variable.shape, np.float32), name=f'{name}/{slot}')
                     for slot in ('LAMB', 'LAMB_1')]

            def step(*read, name=name):
                rate, beta1_power, beta2_power, value, gradient, *old = map(np.float64, read)
                after = self.step(name, rate, (beta1_power, beta2_power), value, gradient, old)
                return [np.float32(one) for one in after]

            read = [self.learning_rate, *powers, variable, gradient, *means]
            results = tf.numpy_function(step, [tf.convert_to_tensor(one) for one in read],
                                        [tf.float32] * 3)
            assigned += [(old, tf.ensure_shape(new, variable.shape))
                         for old, new in zip([variable, *means], results)]
        with tf.control_dependencies([new for _, new in assigned]):
            assigned += [(power, power * np.float32(beta))
                         for power, beta in zip(powers, self.betas)]
        with tf.control_dependencies([new for _, new in assigned]):
            return tf.group(*(v1.assign(old, new) for old, new in assigned))
