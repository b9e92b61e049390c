"""Encoded images: records made of files, transforms of images whose bits depend on the configuration
alone, and files that are no images."""
import json
import os
import re
import resource
import shutil
import signal
import struct
import time
import zlib

from program import DIGITS, ProgramTest, RandomKills, checkpoint_files, latest_step, read, sanitizer, write
from records import frame, parse, payloads

STEPS = 60
RUN = """
model_file: "model.textproto"
train_batch_size: 16
eval_batch_size: 32
save_checkpoints_steps: 5
log_step_count_steps: 5
tpu_config {{ iterations_per_loop: "5" }}
transformation_func {{
  name: "parse"
  transform {{ parse_example {{ feature {{ name: "image/encoded" bytes {{}} }}
                              feature {{ name: "image/class/label" int64 {{}} }} }} }}
  transform {{ cast {{ feature: "image/class/label" output: "label" dtype: INT32 }} }}
  transform {{ decode_image {{ feature: "image/encoded" output: "image" channels: 3 }} }}
}}
train {{
  max_steps: {steps}
  input {{
    source {{ tfrecord {{ file: "train.tfrecord*" num_parallel_reads: 2 }} }}
    transform {{ apply {{ transformation_func: "parse" }} }}
    {before}
    transform {{ shuffle {{ buffer_size: 30 }} }}
    transform {{ repeat {{}} }}
    transform {{ sample_distorted_bounding_box {{ feature: "image" area_range: [0.3, 1] }} }}
    transform {{ resize {{ feature: "image" size: 16 method: BICUBIC }} }}
    transform {{ random_flip_left_right {{ feature: "image" }} }}
    transform {{ random_brightness {{ feature: "image" max_delta: 0.3 }} }}
    transform {{ normalize {{ feature: "image" mean: 127.5 stddev: 64 }} }}
    {fields}
  }}
}}
evaluate {{ input {{
  source {{ tfrecord {{ file: "test.tfrecord" }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
  transform {{ central_crop {{ feature: "image" size: 16 padding: 2 }} }}
  transform {{ resize {{ feature: "image" size: 16 }} }}
  transform {{ normalize {{ feature: "image" mean: 127.5 stddev: 64 }} }}
}} }}
"""
MODEL = """
feature { name: "image" dtype: FLOAT32 shape: [16, 16, 3] }
label { name: "label" dtype: INT32 }
layer { input: "image" conv2d { filters: 8 kernel_size: 3 strides: 2 activation: RELU } }
layer { flatten {} }
layer { name: "logits" dense { units: 10 } }
head { classification { logits: "logits" label: "label" } }
optimizer { adam {} learning_rate { constant: 0.003 } }
"""
# Of drawings of 24x24 pixels.
WHOLE = 'transform { resize_with_crop_or_pad { feature: "pixels" size: 24 } }'


class ImagesTest(ProgramTest):

    def setUp(self):
        super().setUp()
        for name, examples, seed, shards in (('train', 90, 1, 2), ('test', 50, 2, 1)):
            self.succeed('convert', 'synthetic', 'shapes', f'--examples={examples}', f'--seed={seed}',
                         f'--shards={shards}', '--size=24', '--encode=JPEG',
                         f'--output={self.path(name + ".tfrecord")}')
        write(self.path('model.textproto'), MODEL)
        self.configure()

    def configure(self, before='', fields='', steps=STEPS):
        write(self.path('run.textproto'), RUN.format(before=before, fields=fields, steps=steps))

    def arguments(self, verb, model_dir, *flags):
        return (verb, f'--config={self.path("run.textproto")}', f'--model_dir={self.path(model_dir)}', *flags)

    def final(self, model_dir, *flags):
        self.succeed(*self.arguments('train', model_dir, *flags))
        return checkpoint_files(self.path(model_dir, f'model.ckpt-{STEPS}'))

    def losses(self, model_dir):
        done = self.succeed(*self.arguments('train', model_dir))
        return re.findall(r'loss = ([-0-9.e]+), step', done.err) + [json.loads(done.out)['loss']]

    # ---- the same bits

    def test_threads_and_loops(self):
        want = self.final('reference')
        self.assertNotEqual(self.final('seed', '--tf_random_seed=2'), want)
        for threads in (1, 2, 4, 8):
            self.configure(fields=f'num_parallel_calls: {threads}')
            self.assertEqual(self.final(f'threads{threads}', '--worker_threads=1'), want)
        self.configure()
        self.assertEqual(self.final('loops', '--set', 'tpu_config.iterations_per_loop=7'), want)

    def test_a_cache_ahead_of_what_is_random(self):
        want = self.losses('streamed')
        self.assertGreater(len(want), 10)
        self.configure(before='transform { cache {} }')
        self.assertEqual(self.losses('cached'), want)
        self.configure(before='transform { cache {} }', fields='num_parallel_calls: 3')
        self.assertEqual(self.losses('cached3'), want)

    def test_a_pipeline_a_core(self):
        """A core's pipeline draws for its elements what one pipeline draws for them."""
        shuffle = 'transform { shuffle { buffer_size: 30 } }'
        text = RUN.replace(shuffle.replace('{', '{{').replace('}', '}}'), '')
        write(self.path('run.textproto'), text.format(before='', fields='', steps=STEPS))
        want = self.losses('one')
        # Row i of a batch is of element 8 i + core: of the same elements, in another order.
        per_core = self.succeed(*self.arguments(
            'train', 'eight', '--set', 'tpu_config.per_host_input_for_training=PER_SHARD_V1',
            '--max_steps=1'))
        self.assertAlmostEqual(json.loads(per_core.out)['loss'], self.first_loss(), places=5)
        self.assertGreater(len(want), 10)

    def first_loss(self):
        done = self.succeed(*self.arguments('train', 'first', '--max_steps=1'))
        return json.loads(done.out)['loss']

    def test_kills_at_random_moments(self):
        start = time.monotonic()
        want = self.final('whole')
        kills = RandomKills(time.monotonic() - start, reach=1.0)
        for _ in range(8):
            process = self.start(*self.arguments('train', 'killed'))
            kills.kill(process)
            self.finish(process)
            if latest_step(self.path('killed')) == STEPS:
                shutil.rmtree(self.path('killed'))
        self.assertEqual(self.final('killed'), want, f'KILL_SEED={kills.seed}')

    def test_an_interrupt_ends_at_once(self):
        """In the midst of a batch whose images take minutes."""
        self.succeed('convert', 'synthetic', 'shapes', '--examples=4', '--seed=1', '--size=2048',
                     '--encode=PNG', f'--output={self.path("train.tfrecord-large")}')
        for name in os.listdir(self.path()):
            if re.match('train.tfrecord-0000', name):
                os.remove(self.path(name))
        self.configure(steps=100000)
        process = self.start(*self.arguments('train', 'model', '--train_batch_size=4096'))
        time.sleep(2)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        self.assertLess(time.monotonic() - began, 20)

    def test_batches_of_an_evaluation(self):
        self.final('model')
        found = [json.loads(self.succeed(*self.arguments('evaluate', 'model', f'--eval_batch_size={size}')).out)
                 for size in (8, 32, 56)]
        for one in found:
            del one['loss_shard_0']  # that of the first core's rows
        self.assertEqual(found[0]['examples'], 50)
        self.assertEqual(found[1:], found[:1] * 2)

    # ---- what is no image

    def with_bytes(self, *images):
        """Records of these bytes, of which the test file consists."""
        def list_field(number, payload):
            return bytes([number << 3 | 2]) + varint(len(payload)) + payload
        records = b''
        for image in images:
            value = list_field(2, list_field(1, list_field(1, image)))
            entry = list_field(1, list_field(1, b'image/encoded') + value)
            label = list_field(1, list_field(1, b'image/class/label') + b'\x12\x05\x1a\x03\x0a\x01\x03')
            records += frame(list_field(1, entry + label))
        write(self.path('test.tfrecord'), records)

    def evaluate(self, *flags):
        if not os.path.exists(self.path('model')):
            self.succeed(*self.arguments('train', 'model', '--max_steps=5'))
        return self.call(*self.arguments('evaluate', 'model', *flags))

    def images(self):
        """A JPEG and a PNG of two drawings."""
        made = []
        for seed, kind in ((1, 'JPEG'), (2, 'PNG')):
            path = self.path(kind + '.tfrecord')
            self.succeed('convert', 'synthetic', 'shapes', '--examples=1', '--size=24', f'--encode={kind}',
                         f'--seed={seed}', f'--output={path}')
            record = read(path)
            first, last, more = (b'\xff\xd8\xff', b'\xff\xd9', 2) if kind == 'JPEG' else (b'\x89PNG', b'IEND', 8)
            made.append(record[record.index(first):record.rindex(last) + more])
        return made

    def expect_refused(self, image, message):
        jpeg, _ = self.images()
        self.with_bytes(jpeg, image)
        done = self.evaluate()
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertRegex(done.messages[0],
                         r'record 1 of .*test\.tfrecord \(offset \d+\): feature "image/encoded": ' + message)

    def test_what_is_no_image(self):
        jpeg, png = self.images()
        self.with_bytes(jpeg, png, jpeg)
        self.assertEqual(self.evaluate().code, 0)
        self.expect_refused(b'', 'got no bytes, want a JPEG or a PNG')
        self.expect_refused(b'GIF89a' + bytes(20), 'got a GIF, want a JPEG or a PNG')
        self.expect_refused(jpeg[:len(jpeg) * 3 // 4], 'a JPEG whose last bytes are missing')
        self.expect_refused(png[:len(png) // 2], 'a damaged PNG: its last bytes are missing')
        self.expect_refused(b'<html>', 'got text: HTML, XML or SVG, want a JPEG or a PNG')

    def test_an_image_that_claims_to_be_huge(self):
        jpeg, _ = self.images()
        frame_at = jpeg.index(b'\xff\xc0')
        huge = jpeg[:frame_at + 5] + b'\xfd\xe8\xfd\xe8' + jpeg[frame_at + 9:]
        message = r'an image of 65000 x 65000 pixels with 3 channels, want 1 to 2\^28 values'
        self.expect_refused(huge, message)
        if not sanitizer():  # whose own memory counts
            limit = (600 << 20,) * 2
            done = self.call(*self.arguments('evaluate', 'model'),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
            self.assertEqual(done.code, 65, str(done))

    def test_what_is_no_image_is_left_out(self):
        jpeg, png = self.images()
        good = [jpeg, png] * 20
        self.with_bytes(*good)
        want = json.loads(self.evaluate().out)
        self.assertEqual(want['examples'], 40)
        bad = (b'', b'GIF89a' + bytes(20), jpeg[:len(jpeg) // 2], b'<html>')
        mixed = list(good)
        for index, one in zip((0, 7, 31, 40), bad):
            mixed.insert(index, one)
        self.with_bytes(*mixed)
        skip = '--set', 'evaluate.0.input.on_error=SKIP'
        for threads in (1, 3):
            done = self.evaluate(*skip, '--set', f'evaluate.0.input.num_parallel_calls={threads}')
            self.assertEqual(json.loads(done.out), want)
            first = r'record 0 of .*test\.tfrecord \(offset 0\): feature "image/encoded": got no bytes, '
            self.assertRegex('\n'.join(done.warnings), r'on_error: SKIP leaves out an element: ' + first)
            self.assertRegex('\n'.join(done.warnings),
                             r'on_error: SKIP has left out 4 elements; the first: ' + first)
        # A file that is cut off is no such element.
        write(self.path('test.tfrecord'), read(self.path('test.tfrecord'))[:-3])
        done = self.evaluate(*skip)
        self.assertEqual(done.code, 65, str(done))
        self.assertRegex(done.messages[0], 'test.tfrecord: truncated')

    # ---- records of files

    def photos(self):
        """A folder of two classes with 10 images each; their bytes."""
        jpeg, png = self.images()
        for name, image in (('cats', jpeg), ('dogs', png)):
            os.makedirs(self.path('photos', name))
            for i in range(10):
                # With something of their own behind the end of the image.
                write(self.path('photos', name, f'{i}.jpg'), image + f'#{name}{i}'.encode())
        os.makedirs(self.path('photos', '.hidden'))
        write(self.path('photos', '.hidden', 'x.jpg'), b'no image')
        return self.path('photos')

    def convert(self, *arguments, output='photos.tfrecord'):
        return self.call('convert', 'images', *arguments, f'--output={self.path(output)}')

    def test_a_folder_a_class(self):
        folder = self.photos()
        done = self.convert(folder)
        self.assertEqual(json.loads(done.out)['records'], 20)
        self.assertEqual(read(self.path('classes.txt')), b'cats\ndogs\n')
        marks = re.findall(rb'#(?:cats|dogs)\d', read(self.path('photos.tfrecord')))
        self.assertEqual(len(set(marks)), 20)
        self.assertNotEqual(marks, sorted(marks))
        parts = []
        for output, flags in (('a', ['--end=0.9']), ('b', ['--begin=0.9'])):
            self.assertEqual(self.convert(folder, *flags, output=output).code, 0)
            parts += re.findall(rb'#(?:cats|dogs)\d', read(self.path(output)))
        self.assertEqual(parts, marks)
        self.convert(folder, '--seed=7', output='other')
        self.assertNotEqual(re.findall(rb'#(?:cats|dogs)\d', read(self.path('other'))), marks)
        shown = json.loads(self.succeed('inspect', self.path('a'), '--limit=1', '--format=json').out.splitlines()[0])
        self.assertEqual(shown['values']['image/height'], [24])

    def test_bounding_boxes(self):
        """Names are below the folder, or those of the table: two classes may have files of one name."""
        folder = self.photos()
        write(self.path('boxes.csv'), 'cats/3.jpg,0.25,0.5,0.75,1\ncats/3.jpg,-1,0.5,0.5,0.25\n'
                                      'dogs/3.jpg,0,0.125,1,0.5\ndogs/3.jpg,0.5,0,2,1\n')
        done = self.convert(folder, f'--bounding_boxes={self.path("boxes.csv")}')
        self.assertEqual((done.code, done.warnings), (0, []), str(done))
        sides = 'xmin', 'ymin', 'xmax', 'ymax', 'label'
        want = {'cats3': [[0.25], [0.5], [0.75], [1], [0]],
                'dogs3': [[0, 0.5], [0.125, 0], [1, 1], [0.5, 1], [1, 1]]}
        found = [parse(payload) for payload in payloads(read(self.path('photos.tfrecord')))]
        self.assertEqual(len(found), 20)
        for features in found:
            name = features['image/encoded'][0].rpartition(b'#')[2].decode()
            self.assertEqual([features[f'image/object/bbox/{side}'] for side in sides], want.get(name, [[]] * 5), name)
        rows = [f'photos/{name}/3.jpg,{name}' for name in ('cats', 'dogs')]
        write(self.path('labels.csv'), '\n'.join(rows) + '\n')
        boxes = f'--bounding_boxes={self.path("boxes.csv")}'
        done = self.convert(self.path('labels.csv'), boxes)
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertIn('boxes.csv: has boxes of none of the images: cats/3.jpg is not in ', done.messages[0])
        write(self.path('boxes.csv'), 'photos/dogs/3.jpg,0,0.125,1,0.5\nphotos/dogs/x.jpg,0,0,1,1\na,0,0,1,1\n')
        done = self.convert(self.path('labels.csv'), boxes)
        self.assertEqual((done.code, len(done.warnings)), (0, 1), str(done))
        self.assertIn('boxes.csv: has boxes of 2 names that no image has, such as a.', done.warnings[0])
        found = [parse(payload) for payload in payloads(read(self.path('photos.tfrecord')))]
        self.assertEqual(sorted(features['image/object/bbox/ymax'] for features in found), [[], [0.5]])

    def test_an_exif_orientation_is_told(self):
        folder = self.photos()
        exif = b'Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0'
        turned = []
        for name in ('3.jpg', '7.jpg'):
            path = os.path.join(folder, 'cats', name)
            content = read(path)
            write(path, content[:2] + b'\xff\xe1' + struct.pack('>H', len(exif) + 2) + exif + content[2:])
            turned.append(path)
        cure = (r'viewers turn or mirror them, decode_image does not, as in TensorFlow; turn the files first, for '
                r'example by `mogrify -auto-orient`')
        done = self.convert(folder)
        self.assertEqual((done.code, len(done.warnings)), (0, 1), str(done))
        self.assertRegex(done.warnings[0],
                         r'2 images have an EXIF orientation, such as .*cats/3\.jpg \(6\): ' + cure)
        done = self.call('init', 'images', folder, f'--output={self.path("out")}')
        self.assertEqual((done.code, len(done.warnings)), (0, 1), str(done))
        self.assertRegex(done.warnings[0], r'EXIF orientation, such as .*cats/[37]\.jpg \(6\): ' + cure)
        config = f'--config={self.path("out", "run.textproto")}'
        for verb, flags in (('train', ['--max_steps=5']), ('predict', [f'--input={",".join(turned)}'])):
            done = self.call(verb, config, *flags)
            told = [line for line in done.warnings if 'EXIF' in line]
            self.assertEqual((done.code, len(told)), (0, 1), str(done))
            self.assertRegex(told[0], r'run\.textproto:\d+:32: decode_image: images have an EXIF orientation, the first of '
                                      r'them 6: ' + cure)

    def test_a_table_of_names_and_classes(self):
        self.photos()
        rows = [f'photos/{name}/{i}.jpg,{number}' for name, number in (('cats', 10), ('dogs', 9)) for i in range(3)]
        write(self.path('labels.csv'), 'file,class\n' + '\n'.join(rows) + '\n')
        done = self.convert(self.path('labels.csv'), '--skip_lines=1')
        self.assertEqual(json.loads(done.out)['records'], 6)
        self.assertEqual(read(self.path('classes.txt')), b'9\n10\n')
        done = self.convert(self.path('labels.csv'))
        self.assertEqual((done.code, len(done.messages)), (66, 1), str(done))
        self.assertIn('labels.csv:1: there is no file', done.messages[0])

    def test_init_of_a_folder(self):
        folder = self.photos()
        init = json.loads(self.succeed('init', 'images', folder, f'--output={self.path("out")}').out)
        self.assertEqual((init['classes'], init['train_examples'], init['eval_examples']), (2, 18, 2))
        self.assertEqual(init['features'], ['image/encoded'])
        self.assertEqual(sorted(os.listdir(self.path('out'))),
                         ['classes.txt', 'examples.tfrecord', 'model.textproto', 'run.textproto'])
        config = f'--config={self.path("out", "run.textproto")}'
        self.succeed('train', config, '--max_steps=30')
        evaluated = json.loads(self.succeed('evaluate', config).out)
        self.assertEqual((evaluated['examples'], evaluated['accuracy']), (2, 1))
        self.assertEqual(len(self.succeed('predict', config).out.splitlines()), 2)
        # Of records that hold images, too.
        self.convert(folder, output='photos.tfrecord')
        again = json.loads(self.succeed('init', 'tfrecord', self.path('photos.tfrecord'),
                                        f'--output={self.path("again")}').out)
        self.assertEqual(again['features'], ['image/encoded'])
        # But for the names of the classes, which the folders have and the records have not.
        of_folder, of_records = (read(self.path(made, 'model.textproto')).decode() for made in ('out', 'again'))
        self.assertIn('label_vocabulary: ["', of_folder)
        head = re.compile(r'^head \{.*?\}\n(?=\n)', re.MULTILINE | re.DOTALL)
        self.assertEqual(*(head.sub('', text) for text in (of_folder, of_records)))
        self.assertIn('head { classification { logits: "logits" label: "image/class/label" } }', of_records)

    def test_init_of_what_is_no_folder_of_images(self):
        os.makedirs(self.path('empty'))
        done = self.call('init', 'images', self.path('empty'), f'--output={self.path("out")}')
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertIn('want a folder for each class with its images', done.messages[0])
        self.assertFalse(os.path.exists(self.path('out')))
        done = self.call('init', 'images', self.photos(), '--label=x', f'--output={self.path("out")}')
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))

    def test_wrong_folders(self):
        folder = self.photos()
        write(self.path('photos', 'cats', 'notes.txt'), b'not an image')
        done = self.convert(folder)
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertRegex(done.messages[0], r'cats/notes\.txt: got 12 bytes that begin with "not an i", want a JPEG')
        self.assertFalse(os.path.exists(self.path('photos.tfrecord')))
        self.assertFalse(os.path.exists(self.path('classes.txt')))
        done = self.convert(os.path.join(folder, 'dogs'))
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('want a folder for each class with its images', done.messages[0])
        os.remove(self.path('photos', 'cats', 'notes.txt'))
        name = self.path('photos', 'cats', sorted(os.listdir(self.path('photos', 'cats')))[0])
        whole = read(name)
        write(name, whole[:len(whole) // 2])
        done = self.convert(folder)
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertRegex(done.messages[0], r'cats/.*: a (JPEG|PNG) whose last bytes are missing')
        write(name, whole)
        self.assertEqual(self.convert(folder).code, 0)
        os.rename(self.path('photos', 'dogs'), self.path('photos', 'wolves'))
        done = self.convert(folder)
        self.assertEqual(done.code, 2, str(done))
        self.assertRegex(done.messages[0], r'the class "wolves" of .*wolves/\d\.jpg is not in .*classes\.txt, '
                                           r'which has the classes of other images')

    def test_what_file_managers_put_into_folders(self):
        folder = self.photos()
        want = self.convert(folder).out
        for name in ('Thumbs.db', 'desktop.ini', '.DS_Store'):
            for path in ((name,), ('cats', name), ('dogs', name)):
                write(self.path('photos', *path), b'no image')
        bytes_of = read(self.path('photos.tfrecord'))
        self.assertEqual(self.convert(folder).out, want)
        self.assertEqual(read(self.path('photos.tfrecord')), bytes_of)
        init = json.loads(self.succeed('init', 'images', folder, f'--output={self.path("out")}').out)
        self.assertEqual((init['classes'], init['train_examples'], init['eval_examples']), (2, 18, 2))

    def test_predict_of_image_files(self):
        """The predictions are those of records of the same files."""
        folder = self.photos()
        self.convert(folder)
        self.succeed('init', 'images', folder, f'--output={self.path("out")}')
        config = f'--config={self.path("out", "run.textproto")}'
        self.succeed('train', config, '--max_steps=30')
        names = [os.path.join(folder, name, f'{i}.jpg') for name in ('cats', 'dogs') for i in range(10)]

        def predict(*files, keys='classes,probabilities'):
            out = self.succeed('predict', config, f'--input={",".join(files)}', f'--keys={keys}').out
            return [json.loads(line) for line in out.splitlines()]

        rows = predict(*names)
        self.assertEqual([list(row) for row in rows], [['file', 'classes', 'probabilities']] * 20)
        self.assertEqual([row['file'] for row in rows], names)
        self.assertEqual([row['classes'] for row in rows], [['cats']] * 10 + [['dogs']] * 10)
        of_records = predict(self.path('photos.tfrecord'))
        self.assertEqual(sorted(row['probabilities'] for row in of_records),
                         sorted(row['probabilities'] for row in rows))
        self.assertEqual(predict(names[13], names[2]), [rows[13], rows[2]])
        self.assertEqual(predict(os.path.join(folder, 'dogs', '[3-5].jpg')), rows[13:16])
        # A folder, without what is hidden in it; a name without an ending.
        write(os.path.join(folder, 'Thumbs.db'), b'no image')
        self.assertEqual(predict(folder), rows)
        shutil.copy(names[0], self.path('photo'))
        self.assertEqual(predict(self.path('photo')), [{**rows[0], 'file': self.path('photo')}])
        self.succeed('predict', config, f'--input={folder}', f'--output={self.path("rows.tfrecord")}')
        self.assertIn('file', self.succeed('inspect', self.path('rows.tfrecord')).out)
        # What is no image.
        notes = os.path.join(folder, 'cats', 'notes.txt')
        write(notes, b'not an image')
        for given, code, message in (
                (folder, 65, r'cats/notes\.txt: feature "image/encoded": got 12 bytes that begin with "not an i", '
                             'want a JPEG or a PNG$'),
                (f'{names[0]},{notes}', 65, r'cats/notes\.txt: feature'),
                (os.path.join(folder, 'none.png'), 66, r'none\.png'),
                (os.path.join(folder, '.hidden', '*'), 65, r'x\.jpg: feature "image/encoded": got 8 bytes')):
            done = self.call('predict', config, f'--input={given}')
            self.assertEqual((done.code, len(done.messages)), (code, 1), str(done))
            self.assertRegex(done.messages[0], message)
        done = self.call('evaluate', config, f'--input={names[0]}')
        self.assertEqual((done.code, done.out, len(done.messages)), (2, '', 1), str(done))
        self.assertRegex(done.messages[0], r'--input: .*cats/0\.jpg: want TFRecord files, which have labels too; tpurun '
                                           'convert images makes them$')
        done = self.call('predict', config, names[0], names[1])
        self.assertEqual((done.code, done.out, len(done.messages)), (2, '', 1), str(done))
        self.assertIn(f'stray word "{names[0]}" after predict; rows of other files: --input={names[0]}; see ',
                      done.messages[0])
        os.makedirs(self.path('none'))
        done = self.call('predict', config, f'--input={self.path("none")}')
        self.assertEqual((done.code, done.out), (2, ''), str(done))
        self.assertRegex(done.messages[0], '--input: .*none has no files, want images$')

    def test_predict_of_image_files_by_records_of_pixels(self):
        """digits has pixels in its records, not files."""
        done = self.call('predict', f'--config={DIGITS}/run.textproto', f'--input={self.photos()}/cats/0.jpg')
        self.assertEqual((done.code, done.out, len(done.messages)), (2, '', 1), str(done))
        self.assertRegex(done.messages[0], r'--input: .*cats/0\.jpg: want TFRecord files; predict\.input '
                                           r'\(.*run\.textproto:\d+:\d+\) has no decode_image, so its records are no image files$')

    def test_a_part_of_the_classes_has_their_labels(self):
        folder = self.photos()
        self.assertEqual(self.convert(folder).code, 0)
        shutil.copytree(os.path.join(folder, 'dogs'), self.path('held_out', 'dogs'))
        done = self.convert(self.path('held_out'), output='test')
        self.assertEqual(done.code, 0, str(done))
        shown = json.loads(self.succeed('inspect', self.path('test'), '--limit=1', '--format=json').out.splitlines()[0])
        self.assertEqual(shown['values']['image/class/label'], [1])
        self.assertEqual(read(self.path('classes.txt')), b'cats\ndogs\n')

    def test_init_with_a_folder_to_evaluate_with(self):
        folder = self.photos()
        shutil.copytree(os.path.join(folder, 'dogs'), self.path('held_out', 'dogs'))
        for name in os.listdir(self.path('held_out', 'dogs')):
            with open(self.path('held_out', 'dogs', name), 'ab') as file:
                file.write(b'another')
        init = json.loads(self.succeed('init', 'images', folder, f'--eval={self.path("held_out")}',
                                       f'--output={self.path("out")}').out)
        self.assertEqual((init['classes'], init['train_examples'], init['eval_examples']), (2, 20, 10))
        config = f'--config={self.path("out", "run.textproto")}'
        self.succeed('train', config, '--max_steps=30')
        evaluated = json.loads(self.succeed('evaluate', config).out)
        self.assertEqual((evaluated['examples'], evaluated['accuracy']), (10, 1))
        os.rename(self.path('held_out', 'dogs'), self.path('held_out', 'wolves'))
        done = self.call('init', 'images', folder, f'--eval={self.path("held_out")}', f'--output={self.path("other")}')
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('the class "wolves" of ', done.messages[0])
        self.assertFalse(os.path.exists(self.path('other')))

    # ---- contact sheets

    def sheet(self, *flags, config='sheet.textproto'):
        """The sheet's pixels by (y, x) and what is said of it and of its rows."""
        done = self.succeed('inspect', f'--png={self.path("sheet.png")}', f'--config={self.path(config)}',
                            '--format=json', *flags)
        about, *rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual((about['rows'], about['bytes']), (len(rows), os.path.getsize(self.path('sheet.png'))))
        width, height, channels, pixels = decode_png(read(self.path('sheet.png')))
        self.assertEqual((width, height, channels), (about['width'], about['height'], (about['shape'] + [1])[2]))
        return pixels, about, rows

    def drawings(self, kind, examples, channels):
        """Records of drawings as PNG files; [((width, height, channels, pixels by (y, x)), label)]."""
        self.succeed('convert', 'synthetic', kind, f'--examples={examples}', '--seed=5', '--size=24',
                     '--encode=PNG', f'--output={self.path("drawn.tfrecord")}')
        self.succeed('convert', 'synthetic', kind, '--examples=1', '--seed=5', '--size=24', '--encode=PNG',
                     f'--output={self.path("one.tfrecord")}')
        data = read(self.path('drawn.tfrecord'))
        images = [decode_png(data[found.start():]) for found in re.finditer(rb'\x89PNG\r\n\x1a\n', data)]
        shown = self.succeed('inspect', self.path('drawn.tfrecord'), f'--limit={examples}', '--format=json').out
        values = [json.loads(line)['values'] for line in shown.splitlines()]
        for (width, height, depth, _), value in zip(images, values):
            encoded, = value['image/encoded']
            self.assertEqual((width, height, depth), (24, 24, channels))
            self.assertEqual((encoded['format'], encoded['width'], encoded['height'], encoded['channels']),
                             ('PNG', 24, 24, channels))
        self.assertEqual(len(images), examples)
        return list(zip(images, [value['image/class/label'][0] for value in values]))

    def configure_sheet(self, channels, side=24, train=WHOLE, scale=1, offset=0, more=''):
        """The model has the feature image, FLOAT32, made of the UINT8 pixels."""
        source = 'source {{ tfrecord {{ file: "{}" }} }} transform {{ apply {{ transformation_func: "parse" }} }}'
        cast = ('transform { cast { feature: "pixels" output: "image" dtype: FLOAT32 '
                f'scale: {scale} offset: {offset} }} }}')
        write(self.path('sheet.textproto'), f"""
            model_dir: "model" model_file: "sheet_model.textproto" train_batch_size: 8 eval_batch_size: 8
            transformation_func {{
              name: "parse"
              transform {{ parse_example {{ feature {{ name: "image/encoded" bytes {{}} }}
                                          feature {{ name: "image/class/label" int64 {{}} }} }} }}
              transform {{ cast {{ feature: "image/class/label" output: "label" dtype: INT32 }} }}
              transform {{ decode_image {{ feature: "image/encoded" output: "pixels" channels: {channels} }} }}
            }}
            train {{ max_steps: 1 input {{ {source.format('one.tfrecord')} {train} {cast} }} }}
            evaluate {{ input {{ {source.format('drawn.tfrecord')} {WHOLE} {cast} }} }}
            """)
        write(self.path('sheet_model.textproto'), more + MODEL.replace('16, 16, 3', f'{side}, {side}, {channels}'))

    def expect_tiles(self, pixels, about, rows, images, as_pixel):
        """Each row's tile is its image, enlarged."""
        factor = about['image_width'] // 24
        self.assertEqual((about['image_width'], about['image_height']), (120, 120))
        for row, (_, _, _, image) in zip(rows, images):
            self.assertEqual((row['x'], row['y']), (2 + 122 * row['column'], 2 + 134 * row['line']))
            for y in range(120):
                for x in range(120):
                    want = tuple(map(as_pixel, image[y // factor, x // factor]))
                    self.assertEqual(pixels[row['y'] + y, row['x'] + x], want, (row, y, x))

    def test_a_sheet_of_the_decoded_records(self):
        """More rows than a batch has, and fewer than asked for."""
        for kind, channels in (('shapes', 3), ('digits', 1)):
            with self.subTest(kind):
                drawn = self.drawings(kind, 11, channels)
                images = [image for image, _ in drawn]
                self.configure_sheet(channels, scale=-0.5, offset=3)
                values = [3 - value / 2 for image in images for pixel in image[3].values() for value in pixel]
                least, most = min(values), max(values)
                pixels, about, rows = self.sheet('--mode=evaluate', '--limit=20')
                self.assertEqual([row['label'] for row in rows], [label for _, label in drawn])
                self.assertEqual([(row['line'], row['column']) for row in rows],
                                 [divmod(i, about['columns']) for i in range(11)])
                self.assertEqual((about['black'], about['white']), (least, most))
                self.assertRegex(rows[10]['origin'], r'^record 10 of .*drawn\.tfrecord \(offset \d+\)$')
                self.expect_tiles(pixels, about, rows, images,
                                  lambda value: int(255 * (3 - value / 2 - least) / (most - least) + 0.5))
                # The margin.
                self.assertEqual({pixels[0, x] for x in range(about['width'])}, {(64,) * channels})

    def test_a_sheet_of_bytes(self):
        drawn = self.drawings('shapes', 3, 3)
        self.configure_sheet(3, more='feature { name: "pixels" dtype: UINT8 shape: [24, 24, 3] }')
        pixels, about, rows = self.sheet('--mode=evaluate', '--feature=pixels', '--use_tpu=false')
        self.assertEqual((about['dtype'], about['black'], about['white']), ('UINT8', 0, 255))
        self.expect_tiles(pixels, about, rows, [image for image, _ in drawn], lambda value: value)

    def test_a_sheet_of_random_crops(self):
        """Each epoch of the one record has another window, and each window is one of the image."""
        (_, _, _, image), _ = self.drawings('shapes', 1, 3)[0]
        self.configure_sheet(3, side=16, train='transform { random_crop { feature: "pixels" size: 16 } }')
        pixels, about, rows = self.sheet('--limit=12')
        self.assertEqual(about['image_width'], 128)
        low, high = about['black'], about['white']

        def window(top, left):
            return [tuple(int(255 * (value - low) / (high - low) + 0.5) for value in image[top + y, left + x])
                    for y in range(16) for x in range(16)]

        windows = {tuple(window(top, left)): (top, left) for top in range(9) for left in range(9)}
        found = []
        for row in rows:
            tile = tuple(pixels[row['y'] + 8 * y, row['x'] + 8 * x] for y in range(16) for x in range(16))
            self.assertIn(tile, windows)
            found.append(windows[tile])
        self.assertGreater(len(set(found)), 6)
        # The same bytes again, also on standard output; others of another seed.
        png = read(self.path('sheet.png'))
        self.assertEqual(self.sheet('--limit=12')[2], rows)
        self.assertEqual(read(self.path('sheet.png')), png)
        process = self.start('inspect', '--png=-', f'--config={self.path("sheet.textproto")}', '--limit=12')
        self.assertEqual(process.communicate()[0], png)
        self.sheet('--limit=12', '--tf_random_seed=7')
        self.assertNotEqual(read(self.path('sheet.png')), png)

    def test_a_sheet_names_classes(self):
        self.succeed('init', 'images', self.photos(), f'--output={self.path("out")}')
        done = self.succeed('inspect', f'--png={self.path("photos.png")}', '--limit=9',
                            f'--config={self.path("out", "run.textproto")}')
        lines = done.out.splitlines()
        self.assertRegex(lines[0], r'photos\.png: 9 rows of feature "image/encoded" FLOAT32 \[\d+,\d+,3\], shown as '
                                   r'\d+x\d+ pixels in 3 columns$')
        self.assertRegex(lines[1], r'^black is -?[\d.]+, white is [\d.]+$')
        self.assertRegex(lines[2], '^row  line  column  label  class  origin$')
        for line in lines[3:]:
            self.assertRegex(line, r'^  \d +[0-2] +[0-2] +(0  cats |1  dogs ) +record \d+ of .*examples\.tfrecord ')
        self.assertEqual(len(lines), 12)

    def test_a_sheet_replaces_files_alone(self):
        self.drawings('shapes', 3, 3)
        self.configure_sheet(3)
        config = f'--config={self.path("sheet.textproto")}'
        os.mkfifo(self.path('pipe'))
        before = {name: read(self.path(name)) for name in ('sheet.textproto', 'one.tfrecord')}
        for name, code in (('pipe', 74), ('iris', 74), ('none/x.png', 74), ('sheet.textproto', 2), ('one.tfrecord', 2)):
            done = self.call('inspect', f'--png={self.path(name)}', config)
            self.assertEqual((done.code, done.out, len(done.messages)), (code, '', 1), str(done))
        for name, content in before.items():
            self.assertEqual(read(self.path(name)), content)
        # A damaged record: nothing is written.
        write(self.path('old.png'), 'old')
        write(self.path('one.tfrecord'), before['one.tfrecord'][:-20])
        done = self.call('inspect', f'--png={self.path("old.png")}', config)
        self.assertEqual((done.code, done.out, len(done.messages)), (65, '', 1), str(done))
        self.assertEqual(read(self.path('old.png')), b'old')
        self.assertFalse([name for name in os.listdir(self.path()) if name.startswith('.')])


def decode_png(data):
    """(width, height, channels, {(y, x): pixel}) of a PNG of 8 bits without interlacing."""
    at, image = 8, b''
    while True:
        length, kind = struct.unpack('>I4s', data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        if zlib.crc32(kind + content) != struct.unpack('>I', data[at + 8 + length:at + 12 + length])[0]:
            raise AssertionError(f'a wrong checksum of {kind}')
        at += 12 + length
        if kind == b'IHDR':
            width, height, depth, color, _, _, interlaced = struct.unpack('>IIBBBBB', content)
        elif kind == b'IDAT':
            image += content
        elif kind == b'IEND':
            break
    channels = {0: 1, 2: 3, 6: 4}[color]
    if (depth, interlaced) != (8, 0):
        raise AssertionError(f'{depth} bits, interlaced {interlaced}')
    image, stride, above, pixels = zlib.decompress(image), width * channels, bytes(width * channels), {}
    for y in range(height):
        kind, line = image[y * (stride + 1)], bytearray(image[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, corner = (line[i - channels], above[i - channels]) if i >= channels else (0, 0)
            line[i] = (line[i] + predicted(kind, left, above[i], corner)) & 255
        for x in range(width):
            pixels[y, x] = tuple(line[x * channels:(x + 1) * channels])
        above = line
    return width, height, channels, pixels


def predicted(kind, left, above, corner):
    """What the filter of a line of a PNG predicts (RFC 2083, 6)."""
    if kind < 4:
        return (0, left, above, (left + above) // 2)[kind]
    return min((left, above, corner), key=lambda value: abs(left + above - corner - value))


def varint(number):
    made = b''
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])
