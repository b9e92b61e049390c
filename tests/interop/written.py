"""What a run of tpurun wrote, as TensorFlow and TensorBoard read it."""
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator


def read_checkpoint(prefix):
    """Every tensor of a checkpoint, through TensorFlow, which verifies each checksum."""
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def read_events(directory):
    """TensorBoard's view of a run."""
    events = event_accumulator.EventAccumulator(
        directory, size_guidance={event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0})
    return events.Reload()


def scalars(events, tag):
    """{step: value} of a tag; two values at one step are an error."""
    points = events.Scalars(tag)
    values = {point.step: point.value for point in points}
    assert len(values) == len(points), f'{tag}: steps {[point.step for point in points]}'
    return values
