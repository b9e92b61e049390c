"""Records that cannot be: one message with file, record and offset, exit code 65, little memory, and
what was trained before is untouched.
"""
import gzip
import os
import shutil
import struct
import subprocess
import zlib

import records
from program import BINARY, MESSAGE, ProgramTest, checkpoint_files, read, sanitizer, write
from records import digit, example, frame, header

MAX_KILOBYTES = {None: 100, 'address': 400, 'thread': 500}[sanitizer()] * 1024
GOOD = [frame(digit(label % 10)) for label in range(200)]
FRAME_BYTES = len(GOOD[0])


class BadRecordsTest(ProgramTest):

    def setUp(self):
        super().setUp()
        shutil.copytree('testdata/digits', self.path('digits'))

    def run_measured(self, *arguments):
        """(exit code, messages of standard error, kilobytes used at most)."""
        # Without the address sanitizer's second stacks: 47 MB of what is measured.
        options = os.environ.get('ASAN_OPTIONS', '') + ':detect_stack_use_after_return=0'
        with open(self.path('stderr'), 'w+b') as stderr:
            process = subprocess.Popen([BINARY, *arguments], cwd=self.dir, stderr=stderr,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       env=os.environ | {'ASAN_OPTIONS': options})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            lines = stderr.read().decode(errors='replace').splitlines()
        messages = [line for line in lines if line.startswith(MESSAGE)]
        return process.returncode, messages, usage.ru_maxrss

    def train(self, source, *flags):
        """Trains for 20 steps of 64 records, straight from the source."""
        return self.run_measured(
            'train', '--config=digits/run.textproto', '--model_dir=model', '--max_steps=20',
            '--set', f'train.input={{ source {{ tfrecord {{ {source} }} }} '
            'transform { apply { transformation_func: "parse" } } transform { repeat {} } '
            'transform { batch { drop_remainder: true } } }', *flags)

    def expect(self, content, pattern, source='file: "digits/bad"', flags=()):
        """The file `bad`, with that content, gives one message that fits the pattern."""
        if content is not None:
            write(self.path('digits', 'bad'), content)
        # One file after another goes by the name that a checkpoint may know.
        code, messages, kilobytes = self.train(source, '--allow_changed_input', *flags)
        self.assertEqual(code, 65, messages)
        self.assertEqual(len(messages), 1, messages)
        self.assertRegex(messages[0], '^tpurun: .*' + pattern)
        self.assertLess(kilobytes, MAX_KILOBYTES)

    def test_the_good_records_train(self):
        write(self.path('digits', 'bad'), b''.join(GOOD))
        code, messages, _ = self.train('file: "digits/bad"')
        self.assertEqual(code, 0, messages)

    def test_truncated(self):
        whole = b''.join(GOOD)
        place = rf'record 199 of digits/bad: truncated: .*\(offset {199 * FRAME_BYTES}\)'
        self.expect(whole[:-1], place)
        self.expect(whole[:-FRAME_BYTES + 5], place)
        packed = gzip.compress(whole)
        self.expect(packed[:-12], r'digits/bad: GZIP data: truncated \(compressed offset \d+\)',
                    'file: "digits/bad" compression: GZIP')

    def test_every_kind_of_flipped_bit(self):
        for name, byte in [('length', 0), ('length', 7), ('length', 8), ('payload', 12),
                           ('payload', FRAME_BYTES - 5), ('payload', FRAME_BYTES - 1)]:
            damaged = bytearray(b''.join(GOOD))
            damaged[70 * FRAME_BYTES + byte] ^= 0x10
            self.expect(bytes(damaged),
                        rf'record 70 of digits/bad: {name} checksum 0x[0-9a-f]{{8}}, want '
                        rf'0x[0-9a-f]{{8}}.* \(offset {70 * FRAME_BYTES}\)')

    def test_a_length_of_2_to_the_62(self):
        content = b''.join(GOOD) + header(1 << 62) + b'some bytes'
        offset = 200 * FRAME_BYTES
        self.expect(content,
                    r'record 200 of digits/bad: truncated: got 10 bytes after its header, want '
                    rf'{(1 << 62) + 4} \(offset {offset}\)')
        for compression, packed in [('GZIP', gzip.compress(content)),
                                    ('ZLIB', zlib.compress(content))]:
            self.expect(packed,
                        rf'record 200 of digits/bad: a payload of {1 << 62} bytes, want at most '
                        rf'33554432 \(offset {offset}\)',
                        f'file: "digits/bad" compression: {compression}')

    def test_oversized_records(self):
        # 1 GB of zeros in a file of 1 MB.
        size = 1 << 30
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
        zeros = bytes(1 << 20)
        packed = squeeze.compress(GOOD[0] + header(size))
        packed += b''.join(squeeze.compress(zeros) for _ in range(size >> 20)) + squeeze.flush()
        self.expect(packed,
                    rf'record 1 of digits/bad: a payload of {size} bytes, want at most 33554432 '
                    rf'\(offset {FRAME_BYTES}\)', 'file: "digits/bad" compression: GZIP')
        # As large as it may be and right, but no tf.Example: 32 MiB of zeros, a hole of the file.
        with open(self.path('digits', 'bad'), 'wb') as file:
            file.write(b''.join(GOOD) + header(32 << 20))
            file.seek(32 << 20, os.SEEK_CUR)
            file.write(struct.pack('<I', 0x7E7BD1E5))
        self.expect(None, rf'record 200 of digits/bad \(offset {200 * FRAME_BYTES}\): '
                    'is not a tf.Example')

    def test_the_wrong_compression(self):
        whole = b''.join(GOOD)
        gzipped, zlibbed = gzip.compress(whole), zlib.compress(whole)
        for content, compression, message in [
                (gzipped, 'NONE', r'record 0 of digits/bad: .*; not a TFRecord file, or of another '
                 r'compression\? \(offset 0\)'),
                (zlibbed, 'NONE', r'record 0 of digits/bad: .*; not a TFRecord file, or of another '
                 r'compression\? \(offset 0\)'),
                (whole, 'GZIP', r'record 0 \(offset 0\): digits/bad: GZIP data: incorrect header '
                 r'check'),
                (zlibbed, 'GZIP', r'record 0 \(offset 0\): digits/bad: GZIP data: incorrect header '
                 r'check'),
                (gzipped, 'ZLIB', r'record 0 \(offset 0\): digits/bad: ZLIB data: incorrect header '
                 r'check')]:
            self.expect(content, message, f'file: "digits/bad" compression: {compression}')

    def test_features_that_do_not_fit(self):
        image = bytes(64)
        for bad, message in [
                (example(image_raw=image), 'feature "label" is missing and has no default_value'),
                (example(label=[1]), 'feature "image_raw" is missing and has no default_value'),
                (example(image_raw=image, label=b'7'),
                 'feature "label" has a list of bytes, want int64'),
                (example(image_raw=[1], label=[1]),
                 'feature "image_raw" has a list of int64, want bytes'),
                (example(image_raw=image, label=[1, 2]),
                 r'feature "label" has 2 values, want 1 of shape \[\]'),
                (example(image_raw=image[:63], label=[1]),
                 r'feature "image_raw" has 63 bytes, want 64 for UINT8 \[8,8,1\]'),
                (b'no example', 'is not a tf.Example'),
                (digit(1)[:-1], 'is not a tf.Example')]:
            self.expect(b''.join(GOOD[:130]) + frame(bad),
                        rf'record 130 of digits/bad \(offset {130 * FRAME_BYTES}\): {message}')

    def test_an_empty_shard(self):
        write(self.path('digits', 'bad-1'), b''.join(GOOD))
        self.expect(b'', 'digits/bad has no records', 'file: "digits/bad*"')

    def test_what_was_trained_stays(self):
        write(self.path('digits', 'bad'), b''.join(GOOD))
        self.assertEqual(self.train('file: "digits/bad"')[0], 0)
        before = checkpoint_files(self.path('model', 'model.ckpt-20'))
        state = read(self.path('model', 'checkpoint'))
        self.expect(b''.join(GOOD) + b'end', 'record 200 of digits/bad: truncated',
                    flags=['--max_steps=40'])
        self.assertEqual(before, checkpoint_files(self.path('model', 'model.ckpt-20')))
        self.assertEqual(state, read(self.path('model', 'checkpoint')))

    def test_the_steps_before_a_bad_record_stay(self):
        self.expect_the_steps_before(example(image_raw=bytes(64)),
                                     'feature "label" is missing and has no default_value')

    def test_the_steps_before_a_label_that_is_no_class_stay(self):
        self.expect_the_steps_before(digit(10), r'label "label" is 10, want a class in \[0, 10\)')

    def expect_the_steps_before(self, payload, mistake):
        """What is trained when record 199, in the fourth batch, is not good."""
        message = rf'record 199 of digits/bad \(offset {199 * FRAME_BYTES}\): {mistake}'
        self.expect(b''.join(GOOD[:199]) + frame(payload),
                    f'step 4: {message}; checkpoint saved: .*/model/model.ckpt-3$')
        want = checkpoint_files(self.path('model', 'model.ckpt-3'))
        # The same bits as of three steps that end well.
        shutil.rmtree(self.path('model'))
        self.assertEqual(self.train('file: "digits/bad"', '--max_steps=3')[0], 0)
        self.assertEqual(checkpoint_files(self.path('model', 'model.ckpt-3')), want)
        # It goes on where it stopped when the records are mended.
        self.expect(None, message + '$')
        write(self.path('digits', 'bad'), b''.join(GOOD))
        code, messages, _ = self.train('file: "digits/bad"')
        self.assertEqual(code, 2, messages)
        self.assertRegex(messages[0], 'digits/bad is not the file .*--allow_changed_input')
        code, messages, _ = self.train('file: "digits/bad"', '--allow_changed_input')
        self.assertEqual(code, 0, messages)
        resumed = checkpoint_files(self.path('model', 'model.ckpt-20'))
        shutil.rmtree(self.path('model'))
        self.assertEqual(self.train('file: "digits/bad"')[0], 0)
        self.assertEqual(checkpoint_files(self.path('model', 'model.ckpt-20')), resumed)

    def test_a_bad_record_behind_a_step_that_cannot_be_saved(self):
        # The first loss is finite, the weights after it are not; record 70 is in the second batch.
        bad = frame(example(image_raw=bytes(64)))
        config = read(self.path('digits', 'run.textproto'))
        write(self.path('digits', 'run.textproto'), config.replace(b'scale: 0.0625', b'scale: 500'))
        weights = ('--set', 'model.optimizer={ momentum { momentum: 0.99 use_nesterov: true } '
                   'learning_rate { constant: 3.4e38 } cross_shard { reduction: SUM } }')
        write(self.path('digits', 'bad'), b''.join(GOOD[:70]) + bad + b''.join(GOOD[70:]))
        code, messages, _ = self.train('file: "digits/bad"', *weights)
        self.assertEqual(code, 1, messages)
        self.assertRegex(messages[0], r'^tpurun: NaN or infinity in the weights at step 1: variable ')
        self.assertIn('(the batch ends with record 63 of digits/bad', messages[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_idx_files_that_do_not_match(self):
        write(self.path('images'), struct.pack('>4B3I', 0, 0, 8, 3, 2, 2, 2) + b'abcdefgh')
        write(self.path('labels'), struct.pack('>4BI', 0, 0, 8, 1, 3) + b'123')
        code, messages, _ = self.run_measured('convert', 'idx', 'images', 'labels', '--output=out')
        self.assertEqual((code, messages),
                         (65, ['tpurun: images has 2 images, labels has 3 labels, want as many']))
        # A header that lies, in a small compressed file.
        write(self.path('images'),
              gzip.compress(struct.pack('>4B3I', 0, 0, 8, 3, 3, 4096, 4096) + bytes(100)))
        code, messages, kilobytes = self.run_measured('convert', 'idx', 'images', 'labels',
                                                      '--output=out')
        self.assertEqual(code, 65)
        self.assertEqual(messages,
                         ['tpurun: images: truncated, or its header is wrong: got at most 19608 bytes '
                          'after it (offset 16), want the 50331648 of 3 x 4096 x 4096'])
        self.assertLess(kilobytes, MAX_KILOBYTES)
        self.assertEqual([name for name in os.listdir(self.dir) if 'out' in name], [])
