"""convert imagenet: its records, as TensorFlow reads them, have the pixels that TensorFlow's own conversion of
ImageNet makes of JPEGs in CMYK and of PNGs, and the features that it writes."""
import os
import shutil
import tempfile
import unittest

import numpy as np

import examples
from classifier import tf

CMYK = os.path.abspath('testdata/cmyk')
SYNSET = 'n01440764'


def official_jpeg(content):
    """What build_imagenet_data.py writes of a PNG or a JPEG in CMYK."""
    if content.startswith(b'\x89PNG'):
        image = tf.io.decode_png(content, channels=3)
    else:
        image = tf.io.decode_jpeg(content, channels=0)
    return tf.io.encode_jpeg(image, format='rgb', quality=100)


class ImagenetTest(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.folder = os.path.join(self.directory, 'train', SYNSET)
        os.makedirs(self.folder)
        self.content = {}
        for name in os.listdir(CMYK):
            if name.endswith('.jpg'):
                with open(os.path.join(CMYK, name), 'rb') as file:
                    self.content[name] = file.read()
        pixels = np.random.default_rng(1).integers(0, 256, [19, 23, 4], np.uint8)
        self.content['png.JPEG'] = tf.io.encode_png(pixels).numpy()
        self.content['grey_png.JPEG'] = tf.io.encode_png(pixels[:, :, :1]).numpy()
        for name, content in self.content.items():
            with open(os.path.join(self.folder, name), 'wb') as file:
                file.write(content)

    def test_pixels_and_features(self):
        synsets, boxes = (os.path.join(self.directory, name) for name in ('synsets.txt', 'boxes.csv'))
        with open(synsets, 'w') as file:
            file.write(f'n01443537\tgoldfish\n{SYNSET}\ttench, Tinca tinca\n')
        with open(boxes, 'w') as file:
            file.write('png.JPEG,0.0060,0.2620,0.7545,0.9940\n')
        output = os.path.join(self.directory, 'out')
        examples.run('convert', 'imagenet', os.path.dirname(self.folder), f'--output={output}',
                     f'--synsets={synsets}', f'--bounding_boxes={boxes}')
        text = tf.io.FixedLenFeature([], tf.string)
        number = tf.io.FixedLenFeature([], tf.int64)
        numbers = tf.io.VarLenFeature(tf.float32)
        spec = {'image/encoded': text, 'image/format': text, 'image/colorspace': text, 'image/filename': text,
                'image/class/synset': text, 'image/class/text': text, 'image/class/label': number,
                'image/height': number, 'image/width': number, 'image/channels': number,
                'image/object/bbox/label': tf.io.VarLenFeature(tf.int64),
                **{f'image/object/bbox/{side}': numbers for side in ('xmin', 'xmax', 'ymin', 'ymax')}}
        found = set()
        for record in tf.data.TFRecordDataset(output):
            self.assertEqual(set(tf.train.Example.FromString(record.numpy()).features.feature), set(spec))
            features = tf.io.parse_single_example(record, spec)
            name = features['image/filename'].numpy().decode()
            found.add(name)
            pixels = tf.io.decode_jpeg(features['image/encoded'], channels=3).numpy()
            want = tf.io.decode_jpeg(official_jpeg(self.content[name]), channels=3).numpy()
            np.testing.assert_array_equal(pixels, want, name)
            self.assertEqual([features[f'image/{side}'].numpy() for side in ('height', 'width', 'channels')],
                             list(want.shape))
            self.assertEqual([features[f'image/{side}'].numpy() for side in ('format', 'colorspace')], [b'JPEG', b'RGB'])
            self.assertEqual(features['image/class/label'].numpy(), 2)
            self.assertEqual(features['image/class/synset'].numpy(), SYNSET.encode())
            self.assertEqual(features['image/class/text'].numpy(), b'tench, Tinca tinca')
            box = [features[f'image/object/bbox/{side}'].values.numpy() for side in ('xmin', 'ymin', 'xmax', 'ymax')]
            want_box = [[0.006], [0.262], [0.7545], [0.994]] if name == 'png.JPEG' else [[]] * 4
            np.testing.assert_array_equal(box, np.array(want_box, np.float32))
            self.assertEqual(list(features['image/object/bbox/label'].values.numpy()), [2] * len(want_box[0]))
        self.assertEqual(found, set(self.content))


if __name__ == '__main__':
    unittest.main()
