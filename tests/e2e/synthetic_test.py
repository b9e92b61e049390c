"""Drawn pictures in the place of real ones: the MNIST example learns digits that nobody wrote."""
import math
import os
import statistics
import struct

from program import ProgramTest, read

CONFIG = (f'--config={os.path.abspath("testdata/mnist")}/run.textproto', '--model_dir=model')


def masked(records):
    """image_raw, mask_raw and label of each record: the bytes behind their names."""
    while records:
        length, = struct.unpack('<Q', records[:8])
        record, records = records[12:12 + length], records[16 + length:]

        def of(name, size):
            end = record.index(name) + len(name)
            start = record.index(b'\x0a', record.index(b'\x0a', end) + 1)
            while record[start + 1] & 0x80:
                start += 1
            return record[start + 2:start + 2 + size]
        label = record[record.index(b'label') + len(b'label'):]
        yield of(b'image_raw', 4800), of(b'mask_raw', 1600), label[label.index(b'\x0a') + 2]


class SyntheticTest(ProgramTest):

    def test_the_net_of_mnist_learns_drawn_digits(self):
        for name, seed, examples in (('train', 1, 6400), ('test', 2, 1000)):
            done = self.succeed('convert', 'synthetic', 'digits', f'--seed={seed}',
                                f'--examples={examples}', f'--output={name}.tfrecord')
            self.assertEqual(self.result(done)['records'], examples)
        self.succeed('train', *CONFIG, '--max_steps=100', '--tf_random_seed=1', '--set',
                     'train.input.source.tfrecord.file=train.tfrecord')
        done = self.succeed('evaluate', *CONFIG, '--set',
                            'evaluate.0.input.source.tfrecord.file=test.tfrecord')
        # A linear model reaches 0.6.
        self.assertGreater(self.result(done)['accuracy'], 0.9)

    def test_a_mask_is_of_the_figure_s_pixels(self):
        self.succeed('convert', 'synthetic', 'shapes', '--masks', '--examples=20', '--seed=3', '--size=40',
                     '--output=shapes')
        for image, mask, label in masked(read(self.path('shapes'))):
            self.assertEqual(set(mask), {0, label + 1})
            pixels = [image[3 * i:3 * i + 3] for i in range(1600)]
            # Two colours with noise: each pixel is of the colour of its side.
            means = [[statistics.mean(p[c] for p, m in zip(pixels, mask) if bool(m) == side) for c in range(3)]
                     for side in (False, True)]
            right = sum(math.dist(p, means[m > 0]) < math.dist(p, means[m == 0]) for p, m in zip(pixels, mask))
            self.assertGreater(right, 1500)

    def test_masks_are_of_records_of_pixels(self):
        for flags, message in ((['shapes', '--encode=PNG'], '--masks is for records without --encode; leave out one of '
                                'them'), (['sentence_pairs'], '--masks is for convert synthetic digits or shapes, got '
                                          'sentence_pairs')):
            done = self.call('convert', 'synthetic', *flags, '--masks', '--examples=1', '--output=out')
            self.assertEqual(done.code, 2)
            self.assertIn(message, done.messages[0])

    def test_the_output_may_have_the_subject_s_name(self):
        for _ in range(2):
            self.succeed('convert', 'synthetic', 'shapes', '--examples=5', '--output=shapes')
        self.assertIn('image_raw=bytes[1] label=int64[1]', self.succeed('inspect', 'shapes').out)

    def test_standard_input_is_read_once(self):
        record = bytes([7]) + bytes(3072)
        done = self.succeed('convert', 'cifar', '-', '--classes=10', '--output=out',
                            given=3 * record)
        self.assertEqual(self.result(done)['records'], 3)
