"""convert imagenet, of folders and archives, and conversions of images that go on after a kill."""
import io
import json
import os
import re
import shutil
import signal
import struct
import sys
import tarfile
import time

from file_size_limit import file_size_limit
from program import ProgramTest, RandomKills, read, write
from records import parse, payloads

SYNSETS = {'n01440764': 'tench, Tinca tinca', 'n01443537': 'goldfish', 'n02085620': 'Chihuahua'}
FORMATS = {'ustar': tarfile.USTAR_FORMAT, 'gnu': tarfile.GNU_FORMAT, 'pax': tarfile.PAX_FORMAT}


def archive(files, form=tarfile.GNU_FORMAT):
    """The bytes of a tar archive of {name: bytes}; a folder is None."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w', format=form) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
            info.size = len(content or b'')
            info.mtime = 1234567890.5 if form == tarfile.PAX_FORMAT else 1234567890
            tar.addfile(info, io.BytesIO(content or b''))
    return made.getvalue()


class ImagenetTestBase(ProgramTest):

    def drawn(self, count, kind='JPEG', seed=1):
        """The bytes of so many images of 24 x 24 pixels."""
        path = self.path('drawn.tfrecord')
        self.succeed('convert', 'synthetic', 'shapes', f'--examples={count}', '--size=24', f'--seed={seed}',
                     f'--encode={kind}', f'--output={path}')
        found = [parse(payload)['image/encoded'][0] for payload in payloads(read(path))]
        os.remove(path)
        return found

    def training_set(self, each=5):
        """{synset: {name: bytes}}, written to the folder train, too."""
        images = self.drawn(each * len(SYNSETS))
        found = {}
        for synset in SYNSETS:
            found[synset] = {f'{synset}_{i * 37 % 101}.JPEG': images.pop() for i in range(each)}
        self.write_folders('train', found)
        return found

    def write_folders(self, folder, images):
        for synset, files in images.items():
            os.makedirs(self.path(folder, synset), exist_ok=True)
            for name, content in files.items():
                write(self.path(folder, synset, name), content)

    def convert(self, *arguments, kind='imagenet', output='out', **options):
        return self.call('convert', kind, *arguments, f'--output={output}', **options)

    def records(self, *arguments, output='out', **options):
        done = self.convert(*arguments, output=output, **options)
        self.assertEqual(done.code, 0, str(done))
        files = json.loads(done.out)['files']
        return [parse(payload) for file in files for payload in payloads(read(self.path(file)))]

    def expect_refused(self, message, *arguments, code=65, **options):
        done = self.convert(*arguments, **options)
        self.assertEqual((done.code, len(done.messages)), (code, 1), str(done))
        self.assertRegex(done.messages[0], message)
        self.assertEqual(self.left('out'), [])

    def left(self, prefix, folder=''):
        """The files of a prefix, hidden ones included."""
        return sorted(name for name in os.listdir(self.path(folder))
                      if name.lstrip('.').startswith(prefix))

    def set_of(self, prefix, folder=''):
        return {name: read(self.path(folder, name)) for name in self.left(prefix, folder)}


class ImagenetTest(ImagenetTestBase):

    def test_features(self):
        images = self.training_set()
        os.makedirs(self.path('train', '.hidden'))
        write(self.path('train', 'README'), 'of no class')
        found = self.records('train', '--shards=4')
        self.assertEqual(len(found), 15)
        by_name = {features['image/filename'][0].decode(): features for features in found}
        self.assertNotEqual(list(by_name), sorted(by_name))
        for label, (synset, files) in enumerate(sorted(images.items()), start=1):
            for name, content in files.items():
                self.assertEqual(by_name.pop(name), {
                    'image/encoded': [content], 'image/format': [b'JPEG'], 'image/colorspace': [b'RGB'],
                    'image/channels': [3], 'image/height': [24], 'image/width': [24],
                    'image/filename': [name.encode()], 'image/class/label': [label],
                    'image/class/synset': [synset.encode()]})
        self.assertEqual(by_name, {})

    def test_folders_and_archives_give_the_same_bytes(self):
        images = self.training_set()
        self.records('train', '--shards=2', '--seed=3', output='out')
        want = self.set_of('out')
        self.assertEqual(sorted(want), ['out-00000-of-00002', 'out-00001-of-00002'])
        for number, (form, value) in enumerate(FORMATS.items()):
            os.makedirs(self.path(form))
            tars = {f'{synset}.tar': archive(files, value) for synset, files in images.items()}
            for name, content in tars.items():
                write(self.path(form, name), content)
            write(self.path(form + '.tar'), archive(dict(reversed(tars.items())), value))
            folders = {f'./train/{synset}/{name}': content
                       for synset, files in images.items() for name, content in files.items()}
            # A folder with a name that needs the extension of its format, below which files are.
            deep = 'x' * (90 if form == 'ustar' else 200)
            write(self.path(form + '_folders.tar'), archive(
                {'./train': None, **{f'{deep}/{name}': content for name, content in folders.items()}}, value))
            for i, source in enumerate((form, form + '.tar', form + '_folders.tar')):
                prefix = f'set{number}{i}'
                self.records(source, '--shards=2', '--seed=3', output=prefix)
                found = {name.replace(prefix, 'out'): content for name, content in self.set_of(prefix).items()}
                self.assertEqual(found, want, source)

    def test_a_part_and_a_pipe(self):
        self.training_set()
        whole = self.records('train', output='whole')
        parts = (self.records('train', '--end=0.8', output='a') + self.records('train', '--begin=0.8', output='b'))
        self.assertEqual(parts, whole)
        with open(self.path('piped'), 'wb') as file:
            done = self.call('convert', 'imagenet', 'train', '--output=-', stdout=file)
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(read(self.path('piped')), read(self.path('whole')))

    def test_the_validation_set(self):
        names = [f'ILSVRC2012_val_{i:08}.JPEG' for i in range(1, 10)]
        files = dict(zip(names, self.drawn(9)))
        order = list(SYNSETS)
        synsets = [order[i * 2 % 3] for i in range(9)]
        write(self.path('val_labels.txt'), '\n'.join(synsets) + '\n')
        os.makedirs(self.path('val'))
        for name, content in files.items():
            write(self.path('val', name), content)
        write(self.path('val.tar'), archive(dict(reversed(files.items()))))
        found = self.records('val', '--labels=val_labels.txt', output='a')
        self.assertEqual(self.records('val.tar', '--labels=val_labels.txt', output='b'), found)
        labels = {features['image/filename'][0].decode(): (features['image/class/label'][0],
                                                           features['image/class/synset'][0].decode())
                  for features in found}
        self.assertEqual(labels, {name: (order.index(synset) + 1, synset) for name, synset in zip(names, synsets)})
        # In another order, with words.
        for blank in (' ', '\t'):
            write(self.path('synsets.txt'), ''.join(
                f'{synset}{blank}{words}\r\n' for synset, words in reversed(SYNSETS.items())))
            for features in self.records('val', '--labels=val_labels.txt', '--synsets=synsets.txt', output='c'):
                synset = features['image/class/synset'][0].decode()
                self.assertEqual(features['image/class/text'], [SYNSETS[synset].encode()])
                self.assertEqual(features['image/class/label'], [3 - order.index(synset)])

        self.expect_refused(r'val: has no images in a folder or archive that is named by a synset', 'val')
        self.expect_refused(r'val\.tar: ILSVRC2012_val_00000009\.JPEG: want a folder or archive that is named by '
                            r'a synset, such as n01440764; --labels=FILE has the synsets of flat files', 'val.tar')
        write(self.path('short.txt'), '\n'.join(synsets[1:]))
        self.expect_refused(r'short\.txt: has 8 lines, want 9, a synset for each file of val',
                            'val', '--labels=short.txt')
        write(self.path('words.txt'), '\n'.join(synsets[1:] + ['tench']))
        self.expect_refused(r'words\.txt:9: got "tench", want a synset', 'val', '--labels=words.txt')
        self.expect_refused('absent', 'val', '--labels=absent', code=66)
        write(self.path('twice.txt'), '\n'.join(synsets * 2))
        self.expect_refused(r'val/ILSVRC2012_val_00000001\.JPEG and val\.tar: ILSVRC2012_val_00000001\.JPEG have one '
                            r'name', 'val', 'val.tar', '--labels=twice.txt')

    def test_bounding_boxes(self):
        images = self.training_set()
        first, second, third = sorted(images['n01443537'])[:3]
        write(self.path('boxes.csv'), f'''{first},0.0060,0.2620,0.7545,0.9940
n00007846_64193.JPEG,0.1,0.2,0.3,0.4
{second},-0.25,0.5,1.5,0.75
{first},0.5,0.25,0.75,0.5
{third},0.5,0.25,0.5,0.5
{third},0.5,1.25,0.75,1.5
''')

        def near(*values):
            return [struct.unpack('<f', struct.pack('<f', value))[0] for value in values]

        for features in self.records('train', '--bounding_boxes=boxes.csv'):
            name = features['image/filename'][0].decode()
            boxes = {side: features[f'image/object/bbox/{side}'] for side in ('xmin', 'ymin', 'xmax', 'ymax')}
            want = {side: [] for side in boxes}
            if name == first:
                want = {'xmin': near(0.006, 0.5), 'ymin': near(0.262, 0.25), 'xmax': near(0.7545, 0.75),
                        'ymax': near(0.994, 0.5)}
            if name == second:
                want = {'xmin': [0], 'ymin': [0.5], 'xmax': [1], 'ymax': [0.75]}
            self.assertEqual(boxes, want)
            self.assertEqual(features['image/object/bbox/label'],
                             features['image/class/label'] * len(want['xmin']))
        os.remove(self.path('out'))
        for row, message in ((f'{first},0.1,0.2,0.3', r'got 4 columns, want NAME,XMIN,YMIN,XMAX,YMAX'),
                             (f'{first},0.1,x,0.3,0.4', r'column 2: got "x", want a share of the image, 0 to 1'),
                             (f'{first},0.1,0.2,nan,0.4', r'column 3: got "nan"'),
                             ('other.JPEG,0.1,0.2,0.3,0.4', None)):
            write(self.path('boxes.csv'), row + '\n')
            self.expect_refused(r'boxes\.csv:1: ' + message if message else
                                r'boxes\.csv: has boxes of none of the images: other\.JPEG is not in train',
                                'train', '--bounding_boxes=boxes.csv')
        write(self.path('boxes.csv'), '')
        self.expect_refused(r'boxes\.csv:1: no data rows', 'train', '--bounding_boxes=boxes.csv')

    def test_a_png_that_is_called_jpeg(self):
        images = self.training_set()
        png, = self.drawn(1, 'PNG')
        write(self.path('train', 'n02085620', 'n02105855_2933.JPEG'), png)
        found = self.records('train')
        self.assertEqual(len(found), 16)
        for features in found:
            self.assertEqual((features['image/format'], features['image/channels']), ([b'JPEG'], [3]))
            content, = features['image/encoded']
            name = features['image/filename'][0].decode()
            if name == 'n02105855_2933.JPEG':
                self.assertTrue(content.startswith(b'\xff\xd8\xff') and content.endswith(b'\xff\xd9'))
            else:
                self.assertIn(content, images[name[:9]].values())
        write(self.path('train', 'n02085620', 'n02105855_2934.JPEG'), png[:len(png) // 2])
        os.remove(self.path('out'))
        self.expect_refused(r'train/n02085620/n02105855_2934\.JPEG: a damaged PNG: its last bytes are missing', 'train')

    def test_wrong_synsets(self):
        self.training_set()
        for text, message in (
                ('n01440764\nn01443537\n', r'n02085620 is not one of the 2 synsets of synsets\.txt'),
                ('n01440764\ntench\n', r'synsets\.txt:2: got "tench", want a synset'),
                ('n01440764 tench\nn01443537\n', r'synsets\.txt:2: has no words, want words in every line or in none'),
                ('n01440764\nn01443537 x\n', r'synsets\.txt:2: has words, want words in every line or in none'),
                ('n01440764\nn01443537\nn01440764\n', r'synsets\.txt:3: n01440764 is in line 1 too')):
            write(self.path('synsets.txt'), text)
            self.expect_refused(message, 'train', '--synsets=synsets.txt')
        os.makedirs(self.path('train', 'val'))
        self.expect_refused(r'train/val: want a folder or archive that is named by a synset', 'train')
        self.expect_refused(r'--labels: got "-" \(standard input\), want a file', 'train', '--labels=-', code=2)
        self.expect_refused(r'--synsets is for convert imagenet, got convert images', 'train', '--synsets=x',
                            kind='images', code=2)
        self.expect_refused(r'--skip_lines is for convert csv or images, got convert imagenet', 'train',
                            '--skip_lines=1', code=2)
        self.expect_refused(r'cannot read absent', 'absent', code=66)
        self.expect_refused(r'cannot write absent/out: No such file or directory', 'train', output='absent/out', code=74)

    def test_damaged_archives(self):
        images = self.training_set()
        files = images['n01440764']
        name = 'n01440764.tar'
        whole = archive(files)
        second = whole.index(list(files)[1].encode())
        for content, message in (
                (b'', r'n01440764\.tar: not a tar archive: it is empty \(offset 0\)'),
                (b'\x1f\x8b\x08' + bytes(1000), r'not a tar archive: it begins with "\\037.*decompress it first \('),
                (whole[:second + 100], r'a truncated tar archive: it ends without its end mark \(offset %d\)' % second),
                (whole[:second + 512 + 7], r'a truncated tar archive: it ends 7 bytes after the header of a file of '
                                           r'\d+ bytes \(offset %d\)' % second),
                (whole[:second] + b'm' + whole[second + 1:],
                 r'a damaged tar archive: a header with a wrong sum \(offset %d\)' % second),
                (archive({'n1.JPEG': b'no image'}), r'n01440764\.tar: n1\.JPEG: got 8 bytes that begin with'),
        ):
            write(self.path(name), content)
            self.expect_refused(message, name)
        # Inside another archive, the offset is that of the outer file.
        inner = whole[:second] + b'm' + whole[second + 1:]
        write(self.path('train.tar'), archive({'n01443537.tar': archive(images['n01443537']), name: inner}))
        at = read(self.path('train.tar')).index(inner) + second
        self.expect_refused(r'train\.tar: a damaged tar archive: .* \(offset %d\)' % at, 'train.tar')


    def test_the_zoo_trains_on_the_records(self):
        shutil.copytree(os.path.abspath('models/zoo/resnet50'), self.path('zoo'))
        images = self.training_set()
        self.succeed('convert', 'imagenet', 'train', '--shards=4', '--output=zoo/train')
        labels = []
        os.mkdir(self.path('validation'))
        for synset, files in images.items():
            for content in files.values():
                write(self.path('validation', f'ILSVRC2012_val_{len(labels) + 1:08}.JPEG'), content)
                labels.append(synset)
        write(self.path('labels.txt'), '\n'.join(labels) + '\n')
        self.succeed('convert', 'imagenet', 'validation', '--labels=labels.txt', '--shards=2',
                     '--output=zoo/validation')
        arguments = '--config=zoo/imagenet.textproto', '--model_dir=model'
        trained = self.succeed('train', *arguments, '--train_batch_size=8', '--max_steps=1')
        self.assertEqual(json.loads(trained.out)['global_step'], 1)
        evaluated = json.loads(self.succeed('evaluate', *arguments, '--eval_batch_size=8').out)
        self.assertEqual(evaluated['examples'], 15)


class GoOnTest(ImagenetTestBase):
    """Conversions that are killed in their midst."""
    shards = 200

    def setUp(self):
        super().setUp()
        images = self.drawn(40)
        classes = {synset: {f'{synset}_{i}.JPEG': images[i % 40] + str(i).encode() for i in range(300)}
                   for synset in SYNSETS}
        self.write_folders('train', classes)
        write(self.path('train.tar'), archive(
            {f'{synset}.tar': archive(files) for synset, files in classes.items()}))
        for folder in ('out', 'want'):
            os.mkdir(self.path(folder))

    def arguments(self, kind, source, *flags, folder='out'):
        return ('convert', kind, source, f'--output={folder}/rows', f'--shards={self.shards}', *flags)

    def finished(self):
        return [name for name in os.listdir(self.path('out')) if name.endswith('.finished')]

    def stopped(self, *arguments, at_least=3):
        """A process that stands still in the midst of its work."""
        process = self.start(*arguments)
        self.wait_until(lambda: len(self.finished()) >= at_least, process)
        process.send_signal(signal.SIGSTOP)
        self.assertLess(len(self.finished()), self.shards)
        return process

    def end_with(self, number, process):
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        return self.finish(process)

    def identities(self, hidden):
        """{shard: (inode, time)} of the finished files, by their final names."""
        found = {}
        for name in os.listdir(self.path('out')):
            shown = name[1:-len('.finished')] if name.endswith('.finished') else name
            if hidden == (name != shown):
                info = os.stat(self.path('out', name))
                found[shown] = (info.st_ino, info.st_mtime_ns)
        return found

    def want(self, *arguments):
        self.succeed(*self.arguments(*arguments, folder='want'))
        found = {name: read(self.path('want', name)) for name in os.listdir(self.path('want'))}
        shutil.rmtree(self.path('want'))
        os.mkdir(self.path('want'))
        return found

    def contents(self):
        return {name: read(self.path('out', name)) for name in os.listdir(self.path('out'))}

    def test_a_killed_conversion_goes_on(self):
        for kind, source in (('imagenet', 'train.tar'), ('images', 'train')):
            want = self.want(kind, source)
            taken = {}
            for at_least in (3, self.shards // 4, self.shards // 2):
                process = self.stopped(*self.arguments(kind, source), at_least=at_least)
                done = self.end_with(signal.SIGKILL, process)
                self.assertEqual(done.code, -signal.SIGKILL, str(done))
                now = self.identities(hidden=True)
                self.assertGreaterEqual(now.items(), taken.items())
                taken = now
            done = self.succeed(*self.arguments(kind, source))
            self.assertIn(f'Took over {len(taken)} of {self.shards} files', done.err)
            self.assertGreaterEqual(self.identities(hidden=False).items(), taken.items())
            self.assertEqual(self.contents(), want)
            # Another call begins anew.
            done = self.succeed(*self.arguments(kind, source))
            self.assertNotIn('Took over', done.err)
            self.assertEqual(self.contents(), want)
            for name in want:
                os.remove(self.path('out', name))

    def test_killed_at_random_moments_over_an_older_set(self):
        new = self.want('imagenet', 'train')
        start = time.monotonic()
        self.succeed(*self.arguments('imagenet', 'train', '--seed=5'))
        kills = RandomKills(time.monotonic() - start, reach=1.1)
        print(f'KILL_SEED={kills.seed}', file=sys.stderr)
        old = self.contents()
        while kills.count < 10:
            if not kills.kill(self.start(*self.arguments('imagenet', 'train'))):
                self.assertEqual(self.contents(), new)
                self.succeed(*self.arguments('imagenet', 'train', '--seed=5'))
            found = {name: content for name, content in self.contents().items() if name[0] != '.'}
            self.assertTrue(found.items() <= old.items() or found.items() <= new.items(), 'a mix')
        self.succeed(*self.arguments('imagenet', 'train'))
        self.assertEqual(self.contents(), new)

    def test_compressed(self):
        flags = ('imagenet', 'train', '--compression=GZIP')
        want = self.want(*flags)
        self.end_with(signal.SIGKILL, self.stopped(*self.arguments(*flags)))
        done = self.succeed(*self.arguments(*flags))
        self.assertIn('Took over', done.err)
        self.assertEqual(self.contents(), want)

    def test_another_conversion_begins_anew(self):
        killed = self.arguments('images', 'train')
        changed = {'seed': lambda: self.arguments('images', 'train', '--seed=2'),
                   'part': lambda: self.arguments('images', 'train', '--end=0.9'),
                   'kind': lambda: self.arguments('imagenet', 'train'),
                   'form': lambda: self.arguments('images', 'train', '--compression=ZLIB'),
                   'file': lambda: write(self.path('train', 'n01440764', 'n01440764_7.JPEG'),
                                         self.drawn(1, seed=9)[0]) or killed}
        for name, change in changed.items():
            self.end_with(signal.SIGKILL, self.stopped(*killed))
            arguments = change()
            done = self.succeed(*arguments)
            self.assertNotIn('Took over', done.err, name)
            found = self.contents()
            found.pop('classes.txt', None)
            self.succeed(*[word.replace('=out/', '=want/') for word in arguments])
            want = {name: read(self.path('want', name)) for name in found}
            self.assertEqual(found, want, name)
            for folder in ('out', 'want'):
                for file in os.listdir(self.path(folder)):
                    os.remove(self.path(folder, file))

    def test_other_conversions_remove_what_is_left(self):
        for shards in (self.shards, 3, 1):
            self.end_with(signal.SIGKILL, self.stopped(*self.arguments('imagenet', 'train')))
            self.assertIn('.rows.unfinished', os.listdir(self.path('out')))
            self.succeed('convert', 'synthetic', 'digits', f'--examples={self.shards}', f'--shards={shards}',
                         '--output=out/rows')
            self.assertEqual(len(self.contents()), shards)
            self.assertEqual([name for name in self.contents() if name[0] == '.'], [])
            for name in self.contents():
                os.remove(self.path('out', name))

    def test_an_interrupt_keeps_what_is_finished(self):
        want = self.want('imagenet', 'train')
        process = self.stopped(*self.arguments('imagenet', 'train'))
        done = self.end_with(signal.SIGINT, process)
        self.assertEqual((done.code, len(done.messages)), (130, 1), str(done))
        self.assertRegex(done.messages[0], rf'interrupted: \d+ of {self.shards} files are finished: the same command '
                                           'goes on')
        finished = self.finished()
        self.assertEqual(sorted(os.listdir(self.path('out'))), sorted(finished + ['.rows.unfinished']))
        done = self.succeed(*self.arguments('imagenet', 'train'))
        self.assertIn(f'Took over {len(finished)} of', done.err)
        self.assertEqual(self.contents(), want)

    def test_two_at_once(self):
        want = self.want('imagenet', 'train')
        process = self.stopped(*self.arguments('imagenet', 'train'))
        done = self.call(*self.arguments('images', 'train'))
        self.assertEqual((done.code, len(done.messages)), (75, 1), str(done))
        self.assertIn('.rows.unfinished is in use by another process', done.messages[0])
        # A conversion that does not go on is not kept from its work, nor does it disturb the other.
        self.succeed('convert', 'synthetic', 'digits', f'--examples={self.shards}', f'--shards={self.shards}',
                     '--output=out/rows')
        done = self.end_with(signal.SIGCONT, process)
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(self.contents(), want)

    def test_errors(self):
        # Of the data: nothing is left.
        write(self.path('train', 'n01440764', 'n01440764_7.JPEG'), b'GIF89a')
        done = self.call(*self.arguments('imagenet', 'train'))
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertRegex(done.messages[0], r'n01440764_7\.JPEG: got a GIF, want a JPEG or a PNG')
        self.assertEqual(os.listdir(self.path('out')), [])
        # Of the disk, here a limit of the size of files: what is finished stays.
        write(self.path('train', 'n01440764', 'n01440764_7.JPEG'), self.drawn(1)[0] + bytes(1 << 20))
        want = self.want('imagenet', 'train')
        done = self.call(*self.arguments('imagenet', 'train'), **file_size_limit(1 << 19))
        self.assertEqual((done.code, len(done.messages)), (74, 1), str(done))
        found = re.search(rf'; (\d+) of {self.shards} files are finished: the same command goes on', done.messages[0])
        self.assertTrue(found, str(done))
        self.assertEqual(len(self.finished()), int(found.group(1)))
        done = self.succeed(*self.arguments('imagenet', 'train'))
        self.assertIn(f'Took over {found.group(1)} of', done.err)
        self.assertEqual(self.contents(), want)
