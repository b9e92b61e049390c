"""The metrics of a ModelSpec by TensorFlow 1.x and Keras."""
import tensorflow as tf
from tensorflow.python.ops.metrics_impl import _streaming_confusion_matrix

import textproto

v1 = tf.compat.v1
metrics = v1.metrics


def targets(labels, predictions):
    return tf.cast(tf.reshape(labels, tf.shape(predictions)), tf.float32)


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
