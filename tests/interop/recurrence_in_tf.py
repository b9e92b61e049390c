"""Recurrent cells in plain TensorFlow ops, as Keras' cells compute them, with the rounding of a TPU's
products. x is (N, T, gates): the product of the input with its kernel, and the bias."""
import tensorflow as tf

FUNCTIONS = {'linear': tf.identity, 'relu': tf.nn.relu, 'tanh': tf.tanh, 'sigmoid': tf.sigmoid,
             'softplus': tf.math.softplus, 'elu': tf.nn.elu}


def rounded(x):
    """To bfloat16 and back."""
    return tf.cast(tf.cast(x, tf.bfloat16), tf.float32)


@tf.custom_gradient
def rounded_product(x, w):
    """Of operands in bfloat16, as those of its gradients are."""
    x, w = rounded(x), rounded(w)

    def gradients(dy):
        dy = rounded(dy)
        return tf.matmul(dy, w, transpose_b=True), tf.matmul(x, dy, transpose_a=True)
    return tf.matmul(x, w), gradients


def product(precision):
    return rounded_product if precision == 0 else tf.matmul


def lstm_cell(precision, activation, recurrent_activation):
    a, s = FUNCTIONS[activation], FUNCTIONS[recurrent_activation]

    def step(x, kernels, states):
        h, c = states
        i, f, g, o = tf.split(x + product(precision)(h, kernels[0]), 4, axis=1)
        i, f, g, o = s(i), s(f), a(g), s(o)
        c = f * c + i * g
        return [o * a(c), c], tf.concat([i, f, g, o], axis=1)
    return step


def gru_cell(precision, activation, recurrent_activation, reset_after=False, bias=None):
    """`kernels`: one of all gates, or that of z and r and the candidate's."""
    a, s, times = FUNCTIONS[activation], FUNCTIONS[recurrent_activation], product(precision)

    def step(x, kernels, states):
        (h,), (x_z, x_r, x_h) = states, tf.split(x, 3, axis=1)
        of_h = times(h, kernels[0]) + (0.0 if bias is None else bias)
        z, r, *q = tf.split(of_h, 3 if reset_after else 2, axis=1)
        z, r = s(x_z + z), s(x_r + r)
        candidate = a(x_h + (r * q[0] if reset_after else times(r * h, kernels[1])))
        return [z * h + (1 - z) * candidate], tf.concat([z, r, candidate, *q], axis=1)
    return step


def simple_cell(precision, activation):
    def step(x, kernels, states):
        h, = states
        h = FUNCTIONS[activation](x + product(precision)(h, kernels[0]))
        return [h], h
    return step


def unrolled(step, x, kernels, states, mask=None, go_backwards=False):
    """[each state of every step (N, T, U)] and what the cell keeps of it (N, T, ...)."""
    steps = x.shape[1]
    times = reversed(range(steps)) if go_backwards else range(steps)
    made, kept = [[] for _ in states], []
    for time in times:
        new, keeps = step(x[:, time], kernels, states)
        if mask is not None:
            on = tf.cast(mask[:, time, None], tf.bool)
            new = [tf.where(on, y, y_before) for y, y_before in zip(new, states)]
            keeps = tf.where(on, keeps, 0.0)
        states = new
        for all_of, state in zip(made, states):
            all_of.append(state)
        kept.append(keeps)
    return [tf.stack(all_of, 1) for all_of in made], tf.stack(kept, 1)


INVERSES = {'linear': tf.identity, 'tanh': tf.atanh, 'sigmoid': lambda y: tf.math.log(y) - tf.math.log1p(-y),
            'softplus': lambda y: tf.math.log(tf.math.expm1(y)),
            'elu': lambda y: tf.where(y > 0, y, tf.math.log1p(y))}


def lstm(x, kernel, h0, c0, mask=None, go_backwards=False, **attrs):
    (h, c), gates = unrolled(lstm_cell(**attrs), x, [kernel], [h0, c0], mask, go_backwards)
    return h, c, gates


def lstm_before_gates(gates, precision, activation, recurrent_activation):
    """What the gates are functions of."""
    i, f, g, o = tf.split(gates, 4, axis=1)
    inverse = INVERSES[recurrent_activation]
    return tf.concat([inverse(i), inverse(f), INVERSES[activation](g), inverse(o)], axis=1)


def input_of_gates(gates, h, kernel, h0, mask, go_backwards, before, precision, **attrs):
    """The x (N, T, gates) that a cell has made these of; 0 where a step is masked."""
    xs, steps = [], gates.shape[1]
    for step in range(steps):
        h_before = h0 if step == 0 else h[:, step - 1]
        x = before(gates[:, step], precision, **attrs) - product(precision)(h_before, kernel)
        if mask is not None:
            x = tf.where(mask[:, steps - 1 - step if go_backwards else step, None] > 0, x, 0.0)
        xs.append(x)
    return tf.stack(xs[::-1] if go_backwards else xs, 1)


def optional(more):
    """(mask, dc), each None where it is not there."""
    found = {operand.ndim: operand for operand in more}
    return found.get(2), found.get(3)


def lstm_states(c, gates, h0, mask, go_backwards, activation):
    """The h of every step (N, T, U) that a cell has made with these."""
    states, steps = [], gates.shape[1]
    for step in range(steps):
        h = tf.split(gates[:, step], 4, axis=1)[3] * FUNCTIONS[activation](c[:, step])
        if mask is not None:
            on = mask[:, steps - 1 - step if go_backwards else step, None] > 0
            h = tf.where(on, h, states[-1] if states else h0)
        states.append(h)
    return tf.stack(states, 1)


def lstm_grad(dh, kernel, c0, c, gates, *more, go_backwards=False, **attrs):
    """Of any h0: what the gates are functions of is made for one of zeros."""
    mask, dc = optional(more)
    h0, c0 = tf.zeros_like(c0), tf.constant(c0)
    h = lstm_states(c, gates, h0, mask, go_backwards, attrs['activation'])
    x = input_of_gates(gates, h, kernel, h0, mask, go_backwards, lstm_before_gates, **attrs)
    with tf.GradientTape() as tape:
        tape.watch([x, h0, c0])
        made_h, made_c, _ = lstm(x, kernel, h0, c0, mask, go_backwards, **attrs)
        loss = tf.reduce_sum(made_h * dh) + (0.0 if dc is None else tf.reduce_sum(made_c * dc))
    dx, dh0, dc0 = tape.gradient(loss, [x, h0, c0])
    return dx, dh0, dc0, tf.reduce_sum(dx, 1)


def gru(x, kernel, h0, *more, reset_after=False, go_backwards=False, **attrs):
    kernels, (bias, mask) = gru_operands(kernel, more, reset_after)
    (h,), kept = unrolled(gru_cell(reset_after=reset_after, bias=bias, **attrs), x, kernels, [h0], mask,
                          go_backwards)
    return h, kept


def gru_operands(kernel, more, reset_after):
    """The kernels, (bias, mask)."""
    more = list(more)
    kernels = [kernel] if reset_after else [kernel, more.pop(0)]
    found = {operand.ndim: operand for operand in more}
    return kernels, (found.get(1), found.get(2))


def gru_grad(dh, kernel, h0, h, kept, *more, reset_after=False, go_backwards=False, precision, **attrs):
    """The bias is in the product that is kept; what it was changes no gradient."""
    kernels, (_, mask) = gru_operands(kernel, more, reset_after)
    units, times = h0.shape[1], product(precision)
    inverses = [INVERSES[attrs['recurrent_activation']]] * 2 + [INVERSES[attrs['activation']]]
    steps = kept.shape[1]
    order = list(range(steps))[::-1] if go_backwards else list(range(steps))
    xs, gaps = [None] * steps, [None] * steps
    for step, time in enumerate(order):
        h_before = h0 if step == 0 else h[:, step - 1]
        z, r, candidate, *q = tf.split(kept[:, step], kept.shape[2] // units, axis=1)
        of_h = times(h_before, kernels[0])
        gap = tf.zeros_like(of_h)
        if q:
            gap = tf.concat([tf.zeros_like(of_h[:, :2 * units]), q[0] - of_h[:, 2 * units:]], axis=1)
        of_candidate = r * q[0] if q else times(r * h_before, kernels[1])
        x = tf.concat([inverses[0](z) - of_h[:, :units], inverses[1](r) - of_h[:, units:2 * units],
                       inverses[2](candidate) - of_candidate], axis=1)
        if mask is not None:
            x = tf.where(mask[:, time, None] > 0, x, 0.0)
        xs[time], gaps[step] = x, gap
    x, h0, zeros = tf.stack(xs, 1), tf.constant(h0), [tf.zeros_like(gap) for gap in gaps]
    with tf.GradientTape() as tape:
        tape.watch([x, h0, *zeros])
        states, made, lefts_of_candidate = [h0], [], [None] * steps
        for step, time in enumerate(order):
            bias = gaps[step] + zeros[step]
            new, keeps = gru_cell(precision, reset_after=reset_after, bias=bias, **attrs)(
                x[:, time], kernels, states)
            on = tf.ones([1, 1], tf.bool) if mask is None else mask[:, time, None] > 0
            r = tf.where(on, keeps[:, units:2 * units], 0.0)
            lefts_of_candidate[time] = r * states[0]
            states = [tf.where(on, new[0], states[0])]
            made.append(states[0])
        loss = tf.reduce_sum(tf.stack(made, 1) * dh)
    dx, dh0, dproducts = tape.gradient(loss, [x, h0, zeros])
    last = tf.stack([dproducts[order.index(time)] for time in range(steps)], 1) if reset_after \
        else tf.stack(lefts_of_candidate, 1)
    return dx, dh0, last, tf.reduce_sum(dx, 1)


def simple_rnn(x, kernel, h0, mask=None, go_backwards=False, **attrs):
    return unrolled(simple_cell(**attrs), x, [kernel], [h0], mask, go_backwards)[0][0]


def simple_rnn_grad(dh, kernel, h0, h, mask=None, go_backwards=False, **attrs):
    x = input_of_gates(h, h, kernel, h0, mask, go_backwards,
                       lambda h, _, activation: INVERSES[activation](h), **attrs)
    h0 = tf.constant(h0)
    with tf.GradientTape() as tape:
        tape.watch([x, h0])
        made = simple_rnn(x, kernel, h0, mask, go_backwards, **attrs)
        loss = tf.reduce_sum(made * dh)
    dx, dh0 = tape.gradient(loss, [x, h0])
    return dx, dh0, tf.reduce_sum(dx, 1)
