"""What random transforms draw has the distribution of TensorFlow's draws: two samples of 100,000 each, compared
by the test of Kolmogorov and Smirnov."""
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import examples

DRAWS = 100000
HEIGHT, WIDTH = 100, 80
# Of two samples of this size of one distribution, one pair in 20,000 differs by more.
LARGEST = np.sqrt(-np.log(0.00005 / 2) / DRAWS)
BOXES = np.array([[0.1, 0.2, 0.5, 0.9], [0.6, 0.1, 0.95, 0.3]], np.float32)
MODEL = """
name: "none"
feature { name: "one" dtype: FLOAT32 shape: 1 }
label { name: "label" dtype: FLOAT32 }
layer { name: "value" dense { units: 1 } }
head { regression { logits: "value" label: "label" } }
optimizer { gradient_descent {} learning_rate { constant: 0 } }
"""
CONFIG = """
model_file: "model.textproto"
use_tpu: false
train_batch_size: 1
predict_batch_size: 500
transformation_func {
  name: "parse"
  transform { parse_example {
    feature { name: "raw" bytes {} }
    feature { name: "one" float { shape: 1 } }
    feature { name: "label" float {} }
    feature { name: "ymin" float { shape: -1 } }
    feature { name: "xmin" float { shape: -1 } }
    feature { name: "ymax" float { shape: -1 } }
    feature { name: "xmax" float { shape: -1 } }
    feature { name: "colors" float { shape: [1, 2, 3] } }
  } }
}
train { max_steps: 1 input {
  source { tfrecord { file: "record" } }
  transform { apply { transformation_func: "parse" } }
  transform { repeat {} }
} }
predict {
  forward_features: ["corner", "mean", "box_corner", "box_mean", "crop", "lr", "ud", "brightness", "contrast",
                     "saturation", "hue"]
  input {
    source { tfrecord { file: "record" } }
    transform { repeat { count: 100000 } }
    transform { apply { transformation_func: "parse" } }
    transform { decode_raw { feature: "raw" output: "corner" dtype: UINT8 shape: [100, 80, 2] } }
    transform { cast { feature: "corner" output: "mean" } }
    transform { cast { feature: "corner" output: "box_corner" } }
    transform { cast { feature: "corner" output: "box_mean" } }
    transform { cast { feature: "corner" output: "crop" } }
    transform { cast { feature: "corner" output: "lr" } }
    transform { cast { feature: "corner" output: "ud" } }
    transform { sample_distorted_bounding_box { feature: ["corner", "mean"] } }
    transform { sample_distorted_bounding_box {
      feature: ["box_corner", "box_mean"]
      bounding_boxes: ["ymin", "xmin", "ymax", "xmax"]
      min_object_covered: 0.5 aspect_ratio_range: [0.5, 2] area_range: [0.1, 0.8]
    } }
    transform { random_crop { feature: "crop" size: [30, 20] } }
    transform { random_flip_left_right { feature: "lr" } }
    transform { random_flip_up_down { feature: "ud" } }
    transform { resize { feature: ["corner", "box_corner", "crop", "lr", "ud"] size: 1 method: NEAREST_NEIGHBOR
                         half_pixel_centers: false } }
    transform { resize { feature: ["mean", "box_mean"] size: 1 method: AREA } }
    transform { cast { feature: "colors" output: "brightness" } }
    transform { cast { feature: "colors" output: "contrast" } }
    transform { cast { feature: "colors" output: "saturation" } }
    transform { cast { feature: "colors" output: "hue" } }
    transform { random_brightness { feature: "brightness" max_delta: 0.3 } }
    transform { random_contrast { feature: "contrast" lower: 0.5 upper: 1.5 } }
    transform { random_saturation { feature: "saturation" lower: 0.5 upper: 1.5 } }
    transform { random_hue { feature: "hue" max_delta: 0.2 } }
  }
}
"""
COLORS = np.array([[[0.2, 0.5, 0.3], [0.8, 0.1, 0.4]]], np.float32)


def places():
    """An image whose pixels are their places."""
    return np.stack(np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), indexing='ij'), -1).astype(np.uint8)


def distance(first, second):
    """The largest difference of the distributions of two samples."""
    values = np.sort(np.concatenate([first, second]))
    return np.abs(np.searchsorted(np.sort(first), values, 'right') / len(first) -
                  np.searchsorted(np.sort(second), values, 'right') / len(second)).max()


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(values).tolist()))


def drawn_by_tensorflow(function):
    """The results of so many calls."""
    tf.random.set_seed(1)
    data = tf.data.Dataset.range(DRAWS).map(lambda _: function())
    return np.concatenate([np.asarray(batch) for batch in data.batch(1000).as_numpy_iterator()])


def window(boxes, **arguments):
    def draw():
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            [HEIGHT, WIDTH, 2], boxes[tf.newaxis], **arguments)
        return tf.concat([begin[:2], size[:2]], 0)
    return drawn_by_tensorflow(draw)


class DistributionsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)
            for name, text in (('model.textproto', MODEL), ('run.textproto', CONFIG)):
                with open(path(name), 'w', encoding='utf-8') as file:
                    file.write(text)
            feature = {'raw': tf.train.Feature(bytes_list=tf.train.BytesList(value=[places().tobytes()])),
                       'one': floats(1), 'label': floats(0),
                       'colors': floats(COLORS)}
            for i, name in enumerate(('ymin', 'xmin', 'ymax', 'xmax')):
                feature[name] = floats(BOXES[:, i])
            with tf.io.TFRecordWriter(path('record')) as writer:
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
            verbs = f'--config={path("run.textproto")}', f'--model_dir={path("model")}'
            examples.run('train', *verbs)
            rows = examples.run('predict', *verbs)
        assert len(rows) == DRAWS
        cls.drawn = {name: np.array([row[name] for row in rows]).reshape(DRAWS, -1)
                     for name in rows[0] if name != 'predictions'}

    def compare(self, title, got, want):
        for column, one in enumerate(want.reshape(DRAWS, -1).T):
            found = distance(got[:, column], one)
            print(f'{title} {column}: {found:.5f}, at most {LARGEST:.5f}')
            self.assertLess(found, LARGEST, f'{title} {column}')

    def windows(self, corner, mean):
        corner = self.drawn[corner]
        return np.concatenate([corner, np.rint(2 * (self.drawn[mean] - corner)) + 1], 1)

    def test_distorted_windows(self):
        whole = np.array([[0, 0, 1, 1]], np.float32)
        self.compare('window', self.windows('corner', 'mean'),
                     window(whole, min_object_covered=0.1, aspect_ratio_range=[0.75, 1.33]))

    def test_distorted_windows_of_boxes(self):
        self.compare('window of boxes', self.windows('box_corner', 'box_mean'),
                     window(BOXES, min_object_covered=0.5, aspect_ratio_range=[0.5, 2], area_range=[0.1, 0.8]))

    def test_crops(self):
        image = tf.constant(places())
        self.compare('crop', self.drawn['crop'], drawn_by_tensorflow(
            lambda: tf.image.random_crop(image, [30, 20, 2])[0, 0]))

    def test_flips(self):
        image = tf.constant(places())
        self.compare('left and right', self.drawn['lr'], drawn_by_tensorflow(
            lambda: tf.image.random_flip_left_right(image)[0, 0]))
        self.compare('top and bottom', self.drawn['ud'], drawn_by_tensorflow(
            lambda: tf.image.random_flip_up_down(image)[0, 0]))

    def test_colors(self):
        image = tf.constant(COLORS)
        for name, change in (
                ('brightness', lambda: tf.image.random_brightness(image, 0.3)),
                ('contrast', lambda: tf.image.random_contrast(image, 0.5, 1.5)),
                ('saturation', lambda: tf.image.random_saturation(image, 0.5, 1.5)),
                ('hue', lambda: tf.image.random_hue(image, 0.2))):
            # A value that a draw does not change is one step of both distributions.
            want = drawn_by_tensorflow(change).astype(np.float64).round(5)
            self.compare(name, self.drawn[name].round(5), want)


if __name__ == '__main__':
    unittest.main()
