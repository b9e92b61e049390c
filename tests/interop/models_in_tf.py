"""What golden files of models expect (tests/models/golden_test.cc), by TensorFlow 1.x."""
import re

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.metrics_impl import _streaming_confusion_matrix
from tensorflow_estimator.python.estimator.canned import head as canned_head

import textproto
from golden_text import number, tensor
from layers_in_tf import Layers

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


def targets(labels, predictions):
    return tf.cast(tf.reshape(labels, tf.shape(predictions)), tf.float32)


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


def class_ids(labels, predictions):
    if predictions.dtype == tf.float32:
        predictions = tf.argmax(predictions, -1)
    return [tf.reshape(tf.cast(x, tf.int64), [-1]) for x in (labels, predictions)]


def accuracy(labels, predictions, weights):
    """One weight for each label."""
    if weights is not None:
        weights = tf.reshape(weights, [-1])
    return metrics.accuracy(*class_ids(labels, predictions), weights)


def confusion_matrix(labels, predictions, weights, classes):
    matrix, update = _streaming_confusion_matrix(
        *class_ids(labels, predictions), classes or predictions.shape[-1], weights)
    return tf.cast(matrix, tf.float32), update


def in_top_k(labels, predictions, weights, args):
    """At every position."""
    classes = int(predictions.shape[-1])
    hits = tf.nn.in_top_k(tf.reshape(labels, [-1]), tf.reshape(predictions, [-1, classes]), args.get('k', 1))
    return metrics.mean(tf.reshape(hits, tf.shape(predictions)[:-1]), weights)


def auc(labels, predictions, weights, args):
    curve = args.get('curve', 'ROC')
    if 'class_id' in args:
        labels, predictions = of_class(labels, predictions, args)
    return metrics.auc(labels, predictions, weights, args.get('num_thresholds', 200), curve=curve,
                       summation_method='trapezoidal' if curve == 'ROC' else 'careful_interpolation')


def of_class(labels, predictions, args):
    """Whether the label is the class, and what is predicted of it."""
    class_id = args.get('class_id')
    if len(predictions.shape) == 2:
        predictions = predictions[:, class_id]
    else:
        predictions = tf.equal(tf.cast(predictions, tf.int64), class_id)
    return tf.equal(tf.cast(labels, tf.int64), class_id), predictions


def areas(labels, predictions, weights):
    """Under both curves, as heads of two classes have them."""
    return {'auc': auc(labels, predictions, weights, {}),
            'auc_precision_recall': auc(labels, predictions, weights, {'curve': 'PR'})}


def of_keras(metric, labels, predictions, weights):
    """A metric of Keras as those of tf.metrics are: (value, update)."""
    if isinstance(metric, (tf.keras.metrics.FBetaScore, tf.keras.metrics.R2Score)):
        metric.build(labels.shape, predictions.shape)

    @tf.function  # which runs assignments that update_state does not return
    def updated(labels, predictions, weights):
        metric.update_state(labels, predictions, sample_weight=weights)
        return tf.constant(0)

    update = updated(labels, predictions, weights)
    for variable in metric.variables:
        v1.add_to_collection(v1.GraphKeys.LOCAL_VARIABLES, variable)
    return metric.result(), update


def one_hot_classes(labels, predictions, args):
    """One-hot labels and predictions, one position after the other."""
    classes = args.get('num_classes') or int(predictions.shape[-1])
    return [tf.one_hot(ids, classes) for ids in class_ids(labels, predictions)]


def flat(weights):
    return None if weights is None else tf.reshape(weights, [-1])


def decisions(keras_metric, tf_metric):
    """precision and recall."""
    def build(labels, predictions, weights, args):
        thresholds = args.all('thresholds')
        thresholds = thresholds[0] if len(thresholds) == 1 else thresholds
        if 'class_id' in args:
            if not thresholds:  # the largest decides
                labels, predictions = one_hot_classes(labels, predictions, textproto.Message(args, num_classes=[8]))
                thresholds = 0.5
            else:
                labels = tf.one_hot(tf.reshape(labels, [-1]), predictions.shape[-1])
            return of_keras(keras_metric(thresholds, class_id=args.get('class_id')), labels, predictions,
                            weights)
        if thresholds:
            return of_keras(keras_metric(thresholds), labels, predictions, weights)
        return tf_metric(labels, predictions, weights)
    return build


def f1_score(labels, predictions, weights, args):
    average, thresholds = args.get('average', 'BINARY'), args.all('thresholds')
    if average != 'BINARY':
        average = {'NONE': None}.get(average, average.lower())
        return of_keras(tf.keras.metrics.F1Score(average), *one_hot_classes(labels, predictions, args),
                        flat(weights))
    if 'class_id' in args:
        if not thresholds and len(predictions.shape) == 2:
            predictions = tf.argmax(predictions, axis=1)
        labels, predictions = of_class(labels, predictions, args)
        if not thresholds:
            predictions = tf.cast(predictions, tf.float32)
    if not thresholds:
        predictions, thresholds = tf.cast(tf.not_equal(predictions, 0), tf.float32), [0.5]
    labels, predictions = (tf.reshape(tf.cast(x, tf.float32), [-1, 1]) for x in (labels, predictions))
    scores = [of_keras(tf.keras.metrics.F1Score(threshold=threshold), labels, predictions, flat(weights))
              for threshold in thresholds]
    value = tf.concat([score for score, _ in scores], 0)
    return value if len(thresholds) > 1 else value[0], tf.group(*(update for _, update in scores))


def matthews_correlation(labels, predictions, weights, args):
    """The correlation of one-hot labels and predictions, from its definition (Gorodkin 2004)."""
    labels, predictions = one_hot_classes(labels, predictions, args)
    weights = tf.ones(tf.shape(labels)[:1]) if weights is None else flat(weights)
    sums = {}
    for name, value in {'n': weights, 'y': labels * weights[:, None], 'p': predictions * weights[:, None],
                        'yp': tf.reduce_sum(labels * predictions, 1) * weights}.items():
        total = tf.reduce_sum(value, 0)
        kept = v1.get_local_variable(f'matthews_{len(v1.local_variables())}', total.shape,
                                     initializer=v1.zeros_initializer())
        sums[name] = kept, v1.assign_add(kept, total)
    n, y, p, yp = (sums[name][0] for name in ('n', 'y', 'p', 'yp'))

    def covariance(of_both, x, z):
        return of_both / n - tf.reduce_sum(x / n * z / n)

    variances = covariance(n, y, y) * covariance(n, p, p)
    return (tf.math.divide_no_nan(covariance(yp, y, p), tf.sqrt(variances)),
            tf.group(*(update for _, update in sums.values())))


def binary_crossentropy(labels, predictions, weights, args):
    # Of each element: Keras takes the mean over the last axis.
    elements = tf.keras.losses.binary_crossentropy(targets(labels, predictions)[..., None],
                                                   predictions[..., None])
    return metrics.mean(elements, weights)


def sparse_categorical_crossentropy(labels, predictions, weights, args):
    labels = tf.reshape(labels, tf.shape(predictions)[:-1])
    return of_keras(tf.keras.metrics.SparseCategoricalCrossentropy(), labels, predictions, weights)


def mean_iou(labels, predictions, weights, args):
    classes = args.get('num_classes') or int(predictions.shape[-1])
    return metrics.mean_iou(*class_ids(labels, predictions), classes, flat(weights))


def r2_score(labels, predictions, weights, args):
    labels, predictions = (x[:, None] if x.shape.rank == 1 else x
                           for x in (targets(labels, predictions), predictions))
    return of_keras(tf.keras.metrics.R2Score(), labels, predictions, weights)


# metric(labels, predictions, weights, args) -> (value, update)
METRICS = {
    'accuracy': lambda y, p, weights, _: accuracy(y, p, weights),
    'auc': auc,
    'binary_crossentropy': binary_crossentropy,
    'confusion_matrix': lambda y, p, weights, args: confusion_matrix(
        y, p, flat(weights), args.get('num_classes')),
    'cosine_similarity': lambda y, p, weights, _: of_keras(
        tf.keras.metrics.CosineSimilarity(), targets(y, p), p, weights),
    'f1_score': f1_score,
    'in_top_k': in_top_k,
    'matthews_correlation': matthews_correlation,
    'mean_absolute_error': lambda y, p, weights, _: metrics.mean_absolute_error(
        targets(y, p), tf.cast(p, tf.float32), weights),
    'mean_iou': mean_iou,
    'mean_squared_error': lambda y, p, weights, _: metrics.mean_squared_error(
        targets(y, p), tf.cast(p, tf.float32), weights),
    'precision': decisions(tf.keras.metrics.Precision, metrics.precision),
    'r2_score': r2_score,
    'recall': decisions(tf.keras.metrics.Recall, metrics.recall),
    'root_mean_squared_error': lambda y, p, weights, _: metrics.root_mean_squared_error(y, p, weights),
    'sparse_categorical_crossentropy': sparse_categorical_crossentropy,
}


def weights_like(weights, elements):
    """One of each element, or of each row."""
    if weights is None:
        return 1.0
    weights = tf.cast(weights, tf.float32)
    if weights.shape[1:].num_elements() == elements.shape[1:].num_elements():
        return tf.reshape(weights, tf.shape(elements))
    return tf.reshape(weights, [-1] + [1] * (elements.shape.rank - 1))


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

    def loss_of(self, kind, args, labels, predictions):
        """Its elements and their weights."""
        elements = LOSSES[kind](labels, predictions, args)
        weights = weights_like(self.tensors.get(args.get('weights')), elements)
        mask = getattr(predictions, '_keras_mask', None)
        return elements, weights if mask is None else weights * tf.cast(mask, tf.float32)

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
            weights *= tf.ones(tf.shape(labels))
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
        weights, mask = self.tensors.get(args.get('weights')), getattr(operands[-1], '_keras_mask', None)
        if mask is not None:
            mask = tf.cast(mask, tf.float32)
            weights = mask if weights is None else mask * weights_like(weights, mask)
        build = (lambda values, weights, _: metrics.mean(values, weights)) if kind == 'mean' else METRICS[kind]
        if not metric.get('by'):
            return build(*operands, weights, args)
        group_of = tf.reshape(tf.cast(self.tensors[metric.get('by')], tf.int32), [-1])
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
