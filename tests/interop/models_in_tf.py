"""What golden files of models expect (tests/models/golden_test.cc), by TensorFlow 1.x."""
import re

import numpy as np
import tensorflow as tf
from tensorflow_estimator.python.estimator.canned import head as canned_head

import textproto
from golden_text import number, tensor
from layers_in_tf import Layers
from metrics_in_tf import METRICS, accuracy, areas, auc, r2_score, targets

MODES = {'TRAIN': tf.estimator.ModeKeys.TRAIN, 'EVAL': tf.estimator.ModeKeys.EVAL,
         'PREDICT': tf.estimator.ModeKeys.PREDICT}
# All but accuracy.
BINARY_METRICS = ('accuracy_baseline', 'average_loss', 'label/mean', 'prediction/mean', 'auc',
                  'auc_precision_recall',
                  'precision', 'recall')

v1 = tf.compat.v1
losses, metrics = v1.losses, v1.metrics

# Grappler would rewrite each graph before its only run: make_goldens took 210 s with it, 141 without.
AS_BUILT = v1.ConfigProto()
AS_BUILT.graph_options.rewrite_options.disable_meta_optimizer = True


@tf.function(jit_compile=True)
def sparse_cross_entropy(labels, logits):
    """As compiled for TPUs: NaN where a label is no class; the kernel for CPUs refuses it."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def smoothing(args):
    return args.get('label_smoothing', 0.0)


def sparse(labels, logits, args):
    labels = tf.reshape(labels, tf.shape(logits)[:-1])
    if smoothing(args) == 0:
        return sparse_cross_entropy(labels, logits)
    return losses.softmax_cross_entropy(tf.one_hot(labels, logits.shape[-1]), logits,
                                        label_smoothing=smoothing(args), reduction='none')


def sigmoid(labels, logits, args):
    """losses.sigmoid_cross_entropy, with a pos_weight."""
    labels = targets(labels, logits)
    if not args.all('pos_weight'):
        return losses.sigmoid_cross_entropy(labels, logits, label_smoothing=smoothing(args),
                                            reduction='none')
    labels = labels * (1 - smoothing(args)) + 0.5 * smoothing(args)
    return tf.nn.weighted_cross_entropy_with_logits(labels, logits,
                                                    np.float32(args.all('pos_weight')))


def log_cosh(labels, predictions, _):
    # Of each element: Keras takes the mean over the last axis.
    values = tf.keras.losses.LogCosh(reduction='none')
    return values(targets(labels, predictions)[..., None], predictions[..., None])


def pinball(labels, predictions, args):
    d, tau = targets(labels, predictions) - predictions, np.float32(args.all('tau') or [0.5])
    return tf.where(d >= 0, tau * d, (tau - 1) * d)


LOSSES = {
    'absolute_difference': lambda y, p, _: losses.absolute_difference(
        targets(y, p), p, reduction='none'),
    'hinge_loss': lambda y, z, _: losses.hinge_loss(targets(y, z), z, reduction='none'),
    'huber_loss': lambda y, p, args: losses.huber_loss(
        targets(y, p), p, delta=args.get('delta', 1.0), reduction='none'),
    'mean_squared_error': lambda y, p, _: losses.mean_squared_error(
        targets(y, p), p, reduction='none'),
    'log_cosh': log_cosh,
    'pinball_loss': pinball,
    'sigmoid_cross_entropy': sigmoid,
    'softmax_cross_entropy': lambda y, z, args: losses.softmax_cross_entropy(
        targets(y, z), z, label_smoothing=smoothing(args), reduction='none'),
    'sparse_softmax_cross_entropy': sparse,
}


def weights_like(weights, elements):
    """One of each element, or of each row."""
    if weights is None:
        return 1.0
    weights = tf.cast(weights, tf.float32)
    if weights.shape[1:].num_elements() == elements.shape[1:].num_elements():
        return tf.reshape(weights, tf.shape(elements))
    return tf.reshape(weights, [-1] + [1] * (elements.shape.rank - 1))


def masks_of(tensors):
    return [mask for mask in (getattr(x, '_keras_mask', None) for x in tensors) if mask is not None]


def masked(weights, tensors, elements):
    """Of the elements, 0 where a mask of the tensors is."""
    for mask in masks_of(tensors):
        weights *= tf.reshape(tf.cast(mask, tf.float32), tf.shape(elements))
    return weights


def without_noise(gradients):
    """0 in the place of what is nothing but roundings, as of a bias of keys, which no softmax notices."""
    largest = max((np.abs(value).max() for value in gradients.values() if value.size), default=0)
    return {key: np.zeros_like(value) if np.abs(value).max(initial=0) <= 1e-7 * largest else value
            for key, value in gradients.items()}


class ModelInTf:
    """Tells the numbers of one case."""

    def __init__(self, case):
        self.case, self.spec = case, textproto.parse(case.get('model'))
        self.mode = case.get('mode')
        self.fed, self.values = case.tensors('feed'), case.tensors('variable')
        kept = self.fed.pop('row_weight', None)
        if kept is not None:  # the others are padding
            self.fed = {name: array[kept > 0] for name, array in self.fed.items()}
        self.losses, self.metrics, self.predictions = {}, {}, {}  # losses without their factors
        self.factors = {}
        with tf.Graph().as_default(), v1.Session(config=AS_BUILT) as self.session:
            self.build()
            self.expected = self.run()

    def build(self):
        self.feeds = {name: v1.placeholder(array.dtype, (None, *array.shape[1:]))
                      for name, array in self.fed.items()}
        on_tpu = self.case.get('use_tpu') == 'true'
        rows = len(next(iter(self.fed.values())))
        self.layers = Layers(self.spec, dict(self.feeds), self.values, rows, self.mode == 'TRAIN', on_tpu)
        self.tensors = self.layers.tensors
        for label in self.spec.all('label'):
            if 'ignore_class' in label and label.get('name') in self.tensors:
                self.ignore(label.get('name'), label.get('ignore_class'))
        for loss in self.spec.all('loss'):
            self.add_loss(loss)
        for head in self.spec.all('head'):
            kind, = set(head) - {'name', 'loss_weight'}
            prefix = head.get('name') + '/' if head.get('name') else ''
            self.factors[prefix[:-1] or kind] = head.get('loss_weight', 1.0)
            getattr(self, kind)(head.get(kind), prefix)
        if self.mode == 'EVAL':
            for metric in self.spec.all('eval_metric'):
                kind, = set(metric) - {'name', 'by', 'num_groups'}
                self.metrics[metric.get('name')] = self.metric(kind, metric)
        if self.mode != 'TRAIN':
            for prediction in self.spec.all('prediction'):
                name = prediction.get('name')
                self.predictions[name] = self.tensors[prediction.get('tensor', name)]

    def ignore(self, name, ignored):
        """As Keras' losses and metrics with an ignore_class: a mask, and some class in its place."""
        fed = self.tensors[name]
        counted = tf.not_equal(fed, ignored)
        self.tensors[name] = tf.where(counted, fed, 0)
        self.tensors[name]._keras_mask, self.tensors[name]._fed = counted, fed

    def loss_of(self, kind, args, labels, predictions):
        """Its elements and their weights."""
        elements = LOSSES[kind](labels, predictions, args)
        weights = weights_like(self.tensors.get(args.get('weights')), elements)
        return elements, masked(weights, [labels, predictions], elements)

    def add_loss(self, loss):
        kind, = set(loss) - {'name', 'weight', 'reduction'}
        args = loss.get(kind)
        labels = self.tensors.get(args.get('labels'))
        if labels is None:
            return
        elements, weights = self.loss_of(kind, args, labels,
                                         self.tensors[args.get('logits', args.get('predictions'))])
        self.tensors[loss.get('name')] = elements
        reduction = loss.get('reduction', 'SUM_BY_NONZERO_WEIGHTS')
        if reduction == 'NONE':
            self.tensors[loss.get('name')] = losses.compute_weighted_loss(
                elements, weights, reduction=losses.Reduction.NONE)
            return
        self.losses[loss.get('name')] = losses.compute_weighted_loss(
            elements, weights, reduction=getattr(losses.Reduction, reduction))
        self.factors[loss.get('name')] = loss.get('weight', 1.0)

    def head(self, kind, args, key):
        """The logits, and where there are labels them and their weights."""
        logits, labels = self.tensors[args.get('logits')], self.tensors.get(args.get('label'))
        if labels is None or self.mode == 'PREDICT':
            return logits, None, None
        elements, weights = self.loss_of(kind, args, labels, logits)
        self.losses[key] = losses.compute_weighted_loss(elements * self.class_weights(args, elements),
                                                        weights)
        return logits, labels, weights

    def class_weights(self, args, elements):
        """Keras' class_weight, in training alone."""
        if self.mode != 'TRAIN' or not args.all('class_weight'):
            return 1.0
        labels = tf.reshape(self.tensors[args.get('label')], tf.shape(elements))
        return tf.gather(np.float32(args.all('class_weight')), labels)

    def classification(self, args, prefix):
        if self.tensors[args.get('logits')].shape[-1] == 1:
            return self.binary_classification(args, prefix)
        logits, labels, weights = self.head('sparse_softmax_cross_entropy', args,
                                            prefix[:-1] or 'classification')
        probabilities = tf.nn.softmax(logits)
        if self.mode == 'EVAL':
            self.metrics[prefix + 'accuracy'] = accuracy(labels, logits, weights)
            average_loss = metrics.mean(LOSSES['sparse_softmax_cross_entropy'](labels, logits, args), weights)
            of_two = self.of_two_classes(tf.reshape(labels, [-1]), probabilities[:, 1], weights,
                                         average_loss) if logits.shape[-1] == 2 else {}
            self.metrics |= {prefix + key: value
                             for key, value in (of_two or {'average_loss': average_loss}).items()}
        if self.mode != 'TRAIN':
            ids = tf.argmax(logits, 1)[:, None]
            self.predictions |= {prefix + 'class_ids': ids, **self.classes(args, prefix, ids),
                                 prefix + 'probabilities': probabilities, prefix + 'logits': logits}

    @staticmethod
    def classes(args, prefix, ids):
        """Golden files have the ids in the place of the names."""
        return {prefix + 'classes': ids} if args.all('label_vocabulary') else {}

    @staticmethod
    def of_two_classes(labels, probability, weights, average_loss):
        """BINARY_METRICS of labels and of the probability of class 1."""
        if isinstance(weights, float):
            weights = None
        predicted = tf.cast(probability > 0.5, tf.int64)
        mean, update = metrics.mean(labels, weights)
        return {'accuracy_baseline': (tf.maximum(mean, 1 - mean), update),
                'average_loss': average_loss,
                'label/mean': metrics.mean(labels, weights),
                'prediction/mean': metrics.mean(probability, weights),
                **areas(labels, probability, weights),
                'precision': metrics.precision(labels, predicted, weights),
                'recall': metrics.recall(labels, predicted, weights)}

    def binary_classification(self, args, prefix):
        """By the Estimator's own head."""
        def loss_of(labels, logits):
            elements = LOSSES['sigmoid_cross_entropy'](labels, logits, args)
            return elements * self.class_weights(args, elements)

        head = canned_head._binary_logistic_head_with_sigmoid_cross_entropy_loss(
            weight_column=args.get('weights'), loss_fn=loss_of,
            loss_reduction=losses.Reduction.SUM_BY_NONZERO_WEIGHTS)
        spec = head.create_estimator_spec(
            features=dict(self.tensors), mode=MODES[self.mode], logits=self.tensors[args.get('logits')],
            labels=None if self.mode == 'PREDICT' else self.tensors[args.get('label')],
            train_op_fn=lambda loss: tf.no_op())
        if spec.loss is not None:
            self.losses[prefix[:-1] or 'classification'] = spec.loss
        if self.mode == 'EVAL':
            labels, logistic = self.tensors[args.get('label')], spec.predictions['logistic']
            weights = weights_like(self.tensors.get(args.get('weights')), logistic)
            # As tf.estimator.BinaryClassHead: the older head takes trapezoids, and warns of them.
            of_head = {**spec.eval_metric_ops, 'auc_precision_recall': auc(
                tf.reshape(labels, tf.shape(logistic)), logistic, weights * tf.ones(tf.shape(logistic)),
                {'curve': 'PR'})}
            self.metrics |= {prefix + key: of_head[key] for key in ('accuracy', *BINARY_METRICS)}
        if self.mode != 'TRAIN':
            told = spec.predictions
            self.predictions |= {prefix + 'class_ids': told['class_ids'],
                                 **self.classes(args, prefix, told['class_ids'])}
            self.predictions |= {prefix + key: told[key]
                                 for key in ('probabilities', 'logits', 'logistic')}

    def multi_label(self, args, prefix):
        """As tf.estimator.MultiLabelHead, whose loss without smoothing and factors is its own."""
        logits, labels = self.tensors[args.get('logits')], self.tensors.get(args.get('label'))
        head = tf.estimator.MultiLabelHead(logits.shape[-1], weight_column=args.get('weights'))
        if labels is not None and self.mode != 'PREDICT':
            labels = tf.cast(labels, tf.int64)
            elements = tf.reduce_mean(LOSSES['sigmoid_cross_entropy'](labels, logits, args), axis=-1,
                                      keepdims=True)
            weights = weights_like(self.tensors.get(args.get('weights')), elements)
            loss = losses.compute_weighted_loss(elements, weights)
            if not args.all('pos_weight') and smoothing(args) == 0 and isinstance(weights, float):
                loss = head.loss(labels, logits, self.tensors, MODES[self.mode])
            self.losses[prefix[:-1] or 'multi_label'] = loss
            if self.mode == 'EVAL':
                probabilities = tf.sigmoid(logits)
                of_classes = None if isinstance(weights, float) else tf.broadcast_to(
                    weights, tf.shape(logits))
                self.metrics |= {
                    prefix + 'average_loss': metrics.mean(elements, weights),
                    **{prefix + name: value
                       for name, value in areas(labels, probabilities, of_classes).items()}}
        if self.mode != 'TRAIN':
            told = head.predictions(logits)
            self.predictions |= {prefix + key: told[key] for key in ('probabilities', 'logits')}

    def sequence(self, args, prefix):
        logits, labels, weights = self.head('sparse_softmax_cross_entropy', args,
                                            prefix[:-1] or 'sequence')
        if self.mode == 'EVAL':
            weights *= tf.ones(tf.shape(logits)[:-1])
            average, cross_entropy = (metrics.mean(LOSSES['sparse_softmax_cross_entropy'](
                labels, logits, of), weights) for of in (args, {}))
            mean, update = cross_entropy
            self.metrics |= {
                prefix + 'accuracy': accuracy(labels, logits, tf.reshape(weights, [-1])),
                prefix + 'average_loss': average,
                prefix + 'perplexity': (tf.exp(mean), update),
                prefix + 'bits_per_character': (mean / tf.math.log(2.0), update)}
        if self.mode != 'TRAIN':
            self.predictions |= {prefix + 'class_ids': tf.argmax(logits, -1),
                                 prefix + 'probabilities': tf.nn.softmax(logits),
                                 prefix + 'logits': logits}

    def regression(self, args, prefix):
        """The loss is of the normalized label, the metrics are of the label itself."""
        logits, labels = self.tensors[args.get('logits')], self.tensors.get(args.get('label'))
        mean, stddev = (np.float32(args.all(name) or other) for name, other in
                        (('label_mean', 0), ('label_stddev', 1)))
        predictions = logits * stddev + mean
        if labels is not None and self.mode != 'PREDICT':
            labels = targets(labels, logits)
            elements, weights = self.loss_of('mean_squared_error', args, (labels - mean) / stddev, logits)
            self.losses[prefix[:-1] or 'regression'] = losses.compute_weighted_loss(elements, weights)
            if self.mode == 'EVAL':
                self.metrics |= {
                    prefix + 'average_loss': metrics.mean(elements, weights),
                    prefix + 'label/mean': metrics.mean(labels, weights),
                    prefix + 'mean_absolute_error': metrics.mean_absolute_error(
                        labels, predictions, weights),
                    prefix + 'prediction/mean': metrics.mean(predictions, weights),
                    prefix + 'root_mean_squared_error': metrics.root_mean_squared_error(
                        labels, predictions, weights),
                    prefix + 'r2_score': r2_score(
                        labels, predictions, None if isinstance(weights, float) else weights[:, 0], args)}
        if self.mode != 'TRAIN':
            self.predictions[prefix + 'predictions'] = predictions

    def named(self, name):
        """What a metric reads: a tensor of the model, or what a head gives, with the mask of logits."""
        if name in self.tensors:
            return self.tensors[name]
        prefix, _, _ = name.rpartition('/')
        head, = (head for head in self.spec.all('head') if head.get('name', '') == prefix)
        kind, = set(head) - {'name'}
        given = tf.identity(self.predictions[name])
        mask = getattr(self.tensors[head.get(kind).get('logits')], '_keras_mask', None)
        if mask is not None:
            given._keras_mask = mask
        return given

    def metric(self, kind, metric):
        """(value, update); with `by` of the rows of each group, NaN where there are none."""
        args = metric.get(kind)
        names = ['values'] if kind == 'mean' else ['labels', 'predictions']
        operands = [self.named(args.get(name)) for name in names]
        weights = self.tensors.get(args.get('weights'))
        masks = masks_of(operands)
        if masks:
            weights = masked(weights_like(weights, masks[0]), operands, masks[0])
        build = (lambda values, weights, _: metrics.mean(values, weights)) if kind == 'mean' else METRICS[kind]
        if not metric.get('by'):
            return build(*operands, weights, args)
        group_of = self.tensors[metric.get('by')]
        group_of = tf.reshape(tf.cast(getattr(group_of, '_fed', group_of), tf.int32), [-1])
        values, updates = [], []
        for group in range(metric.get('num_groups')):
            rows = tf.equal(group_of, group)
            value, update = build(*(tf.boolean_mask(x, rows) for x in operands),
                                  None if weights is None else tf.boolean_mask(weights, rows), args)
            count, counted = metrics.mean(tf.cast(rows, tf.float32))
            values.append(tf.where(count > 0, tf.cast(value, tf.float32), np.nan))
            updates += [update, counted]
        return tf.stack(values), tf.group(*updates)

    def loss(self):
        """Of all losses and l2; None without losses."""
        if not self.losses:
            return None
        total = tf.add_n([self.factors.get(name, 1.0) * value for name, value in self.losses.items()])
        l2 = self.spec.get('regularization', textproto.Message()).get('l2')
        if l2 is not None:
            of = [variable for name, variable in self.layers.handles.items()
                  if self.layers.variables[name].endswith(' trainable')
                  and not any(re.search(pattern, name) for pattern in l2.all('exclude'))]
            self.losses['regularization'] = l2.get('scale') * tf.add_n(
                [tf.nn.l2_loss(variable) for variable in of])
            total += self.losses['regularization']
        return total

    def gradients(self, loss):
        """Of the loss, or of the sum of the squares of the predictions."""
        squares = [tf.reduce_sum(tf.square(value)) for value in self.predictions.values()
                   if value.dtype == tf.float32]
        if loss is None and squares:
            loss = tf.add_n(squares)
        features = {feature.get('name'): self.feeds[feature.get('name')]
                    for feature in self.spec.all('feature')}
        by = {name: value for name, value in {**features, **self.layers.handles}.items()
              if value.dtype == tf.float32}
        if loss is None or self.mode == 'EVAL' or self.layers.rounds:
            return {}
        found = tf.gradients(loss, list(by.values()))
        return {name: tf.convert_to_tensor(gradient)  # of a table: rows
                for name, gradient in zip(by, found) if gradient is not None}

    def run(self):
        """{key: the text expected}."""
        loss = self.loss()
        gradients = self.gradients(loss)
        updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        self.session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        initializers = {name: variable.initializer for name, variable in self.layers.handles.items()}
        self.session.run(initializers, {initializer.inputs[1]: self.values[name]
                                        for name, initializer in initializers.items()})
        feeds = {self.feeds[name]: array for name, array in self.fed.items()}
        fetches = {f'prediction {name}': value for name, value in self.predictions.items()}
        fetches |= {f'gradient {name}': value for name, value in gradients.items()}
        if loss is not None:
            fetches['metric loss' if self.mode == 'EVAL' else 'loss'] = loss
        apart = {f'metric losses/{name}': value for name, value in self.losses.items()
                 if self.mode == 'EVAL' and len(self.losses) > 1}
        told, _ = self.session.run([fetches | apart, updates], feeds)
        told |= without_noise({key: told[key] for key in told if key.startswith('gradient ')})
        told |= self.session.run({f'update {name}': variable
                                  for name, variable in self.layers.handles.items()})
        rows = len(next(iter(self.fed.values())))
        for part in (slice(0, (rows + 1) // 2), slice((rows + 1) // 2, None)):
            self.session.run([update for _, update in self.metrics.values()],
                             {place: array[part] for place, array in feeds.items()})
        told |= {f'metric {name}': self.session.run(value)
                 for name, (value, _) in self.metrics.items()}
        names = (['loss'] if self.losses else []) + [key.removeprefix('metric ') for key in apart]
        names += list(self.metrics)
        lines = [f'\n  {line}' for line in self.layers.variables.values()]
        return {'expect metrics': ' '.join(names), 'expect predictions': ' '.join(self.predictions),
                'expect variables': ''.join(lines),
                **{f'expect {key}': tensor(value) if value.ndim else number(value)
                   for key, value in told.items()}}

    def told(self, key, _):
        return self.expected.get(key)

    def more(self):
        return {key: value for key, value in self.expected.items() if key.startswith('expect gradient ')}
