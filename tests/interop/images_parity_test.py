"""Training on JPEG files, cropped, resized and mirrored at random, as TensorFlow does with the same windows."""
import os
import unittest

import numpy as np

import classifier
import examples
import resnet50_parity_test
import transforms_in_tf
import written
import zoo_models
from classifier import v1
from zoo_models import Model, ZooCase

STEPS = 10
BATCH = 16
# Small: at larger rates a value at the edge of a ReLU, which falls on either side of it, makes the losses of
# later steps differ.
RATE = 0.00003
# Fewer than the steps take: the second epoch has other windows.
IMAGES = 100
INPUT = """
transformation_func {{
  name: "parse"
  transform {{ parse_example {{ feature {{ name: "image/encoded" bytes {{}} }}
                              feature {{ name: "image/class/label" int64 {{}} }} }} }}
  transform {{ cast {{ feature: "image/class/label" output: "label" dtype: INT32 }} }}
  transform {{ decode_image {{ feature: "image/encoded" output: "image" channels: 3 }} }}
}}
train {{ max_steps: 10 input {{
  source {{ tfrecord {{ file: "train.tfrecord" }} }}
  transform {{ repeat {{ count: 2 }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
  transform {{ sample_distorted_bounding_box {{ feature: "image" area_range: [0.3, 1] }} }}
  transform {{ resize {{ feature: "image" size: {size} method: {method} }} }}
  transform {{ random_flip_left_right {{ feature: "image" }} }}
  transform {{ normalize {{ feature: "image" mean: [120, 115, 105] stddev: [58, 57, 56] }} }}
  transform {{ batch {{ drop_remainder: true }} }}
}} }}
"""


class ImagesParityTest(ZooCase):

    def batches(self, text):
        """What TensorFlow makes of the input: images and labels of each step."""
        case = f'config:\n{text}\nargs: mode=train batch_size={BATCH} features=image f32[1] label s32[]\n'
        data = transforms_in_tf.Input(case, self.directory).dataset().take(STEPS)
        return [(batch['image'].numpy(), batch['label'].numpy()) for batch in data]

    def train(self, example, initial):
        example.train(
            self.model_dir, '--use_tpu=false', '--set', 'tpu_config.iterations_per_loop=1',
            '--save_summary_steps=1', f'--max_steps={STEPS}', f'--train_batch_size={BATCH}',
            '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}', '--set',
            f'model.optimizer=[{{ momentum {{ momentum: 0.9 }} learning_rate {{ constant: {RATE} }} }}]')
        losses = written.scalars(written.read_events(self.model_dir), 'loss')
        return np.array([losses[step] for step in range(1, STEPS + 1)])

    def compare(self, name, net, size, method, value_of=None):
        example = self.example(f'models/zoo/{name}')
        text = INPUT.format(size=size, method=method)
        with open(example.config, 'w', encoding='utf-8') as file:
            file.write('model_file: "model.textproto"\n' + text)
        examples.run('convert', 'synthetic', 'shapes', f'--examples={IMAGES}', '--seed=3',
                     f'--size={size * 5 // 4}', '--encode=JPEG', f'--output={self.records}')
        batches = self.batches(text)
        self.assertEqual(len(batches), STEPS)
        self.assertEqual(len({image.tobytes() for images, _ in batches for image in images}),
                         STEPS * BATCH)
        model = Model(net, (size, size, 3), label_smoothing=0.1, l2=1e-4,
                      optimizer=lambda step: v1.train.MomentumOptimizer(RATE, 0.9))
        if value_of:
            model.assign(value_of)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want = [model.train(*batch) for batch in batches]
        got = self.train(example, initial)
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {error:.1e}')
        self.assertLess(error, 1e-4)

    def test_resnet_images(self):
        self.compare('resnet_images', zoo_models.resnet_images, 64, 'BILINEAR')

    @unittest.skipUnless(os.environ.get('RESNET50'), 'minutes; by hand with --test_env=RESNET50=1')
    def test_resnet50(self):
        self.compare('resnet50', zoo_models.resnet50, 224, 'BICUBIC', resnet50_parity_test.draw())


if __name__ == '__main__':
    unittest.main()
