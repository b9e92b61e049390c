"""`init`, `train`, `evaluate`: from data that nobody has described to a model that knows it."""
import csv
import datetime
import gzip
import io
import json
import math
import os
import random
import re
import statistics
import struct
import subprocess

from program import DIGITS, ProgramTest, read, sanitizer, tree, write
from records import example, frame


def digits():
    """[(64 bytes, label)] of testdata/digits, in the order of their files."""
    found = []
    for name in ('train.tfrecord.gz', 'test.tfrecord.gz'):
        data = gzip.decompress(read(os.path.join(DIGITS, name)))
        at = 0
        while at < len(data):
            size, = struct.unpack_from('<Q', data, at)
            record = data[at + 12:at + 12 + size]
            at += size + 16
            pixels = re.search(rb'image_raw\x12\x44\x0a\x42\x0a\x40(.{64})', record, re.DOTALL)
            label = re.search(rb'label\x12\x05\x1a\x03\x0a\x01(.)', record, re.DOTALL)
            found.append((pixels.group(1), label.group(1)[0]))
    return found


def idx(shape, content):
    head = bytes([0, 0, 8, len(shape)]) + b''.join(struct.pack('>I', size) for size in shape)
    return gzip.compress(head + content)


JOBS = ['Private', 'State-gov', 'Self-emp, not inc', 'Federal "civil"', 'Never worked']
CITIES = [f'city {number}' for number in range(60)]


def census(rows):
    """A table with strings, missing values and quoted commas; the last column follows from others."""
    draw = random.Random(5)
    table = [['id', 'age', 'work class', 'city', 'hours-per-week', 'country', 'note', 'income']]
    for number in range(rows):
        age, hours = draw.randint(17, 90), draw.randint(1, 99)
        job, city = draw.choice(JOBS), draw.choice(CITIES)
        rich = (age > 40) + (hours > 45) + (job in JOBS[2:4]) + (int(city[5:]) % 3 == 0) >= 2
        fields = [f'person {number}', str(age), job, city, str(hours), 'US', '',
                  '>50K' if rich else '<=50K']
        for column in (1, 2, 4):
            if draw.random() < 0.02:
                fields[column] = '?'
        table.append(fields)
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(table)
    return text.getvalue(), table


class InitTest(ProgramTest):

    def run_all(self, kind, *files, output='out', label=None, flags=()):
        """The results of init, train and evaluate, none of which has anything to warn of."""
        results = []
        flags = list(flags) if label is None else [f'--label={label}', *flags]
        for arguments in (('init', kind, *files, f'--output={output}', *flags),
                          ('train', f'--config={output}/run.textproto'),
                          ('evaluate', f'--config={output}/run.textproto')):
            done = self.succeed(*arguments)
            self.assertEqual(done.warnings, [], str(done))
            results.append(self.result(done))
        return results

    def digits_csv(self):
        return ''.join(','.join(map(str, pixels)) + f',{label}\n' for pixels, label in digits())

    def test_a_table_of_numbers(self):
        write(self.path('digits.csv'), self.digits_csv())
        init, train, evaluated = self.run_all('csv', 'digits.csv')
        self.assertEqual(init, {
            'config': 'out/run.textproto', 'label': 'label', 'classes': 10,
            'features': ['columns_1_64'], 'left_out': [], 'train_examples': 1618,
            'eval_examples': 179,
            'next': 'tpurun train_and_evaluate --config=out/run.textproto'})
        self.assertEqual(train['checkpoint'],
                         self.path('out', 'model', f'model.ckpt-{train["global_step"]}'))
        self.assertEqual(evaluated['examples'], 179)
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)
        # The statistics are those of the examples that are trained on.
        pixels = [pixel for i, (row, _) in enumerate(digits()) if i % 10 != 9 for pixel in row]
        found = re.search(r'mean: (\S+) stddev: (\S+) }', read(self.path('out/run.textproto')).decode())
        self.assertAlmostEqual(float(found.group(1)), statistics.fmean(pixels), places=4)
        self.assertAlmostEqual(float(found.group(2)), statistics.pstdev(pixels), places=4)

    def test_images(self):
        images = digits()
        write(self.path('images.gz'), idx([len(images), 8, 8], b''.join(p for p, _ in images)))
        write(self.path('labels.gz'), idx([len(images)], bytes(label for _, label in images)))
        # In either order, as convert takes them.
        init, _, evaluated = self.run_all('idx', 'labels.gz', 'images.gz')
        self.assertEqual((init['features'], init['classes']), (['image_raw'], 10))
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)
        self.assertEqual(sorted(os.listdir(self.path('out'))),
                         ['examples.tfrecord', 'model', 'model.textproto', 'run.textproto'])
        converted = self.succeed('convert', 'idx', 'images.gz', 'labels.gz', '--output=converted')
        self.assertEqual(self.result(converted)['records'], len(images))
        self.assertEqual(read(self.path('out/examples.tfrecord')), read(self.path('converted')))
        # The folder may move: it names nothing outside.
        os.rename(self.path('out'), self.path('moved'))
        again = self.result(self.succeed('evaluate', '--config=moved/run.textproto'))
        self.assertEqual(again['accuracy'], evaluated['accuracy'])

    def test_records(self):
        init, _, evaluated = self.run_all('tfrecord', f'{DIGITS}/train.tfrecord.gz',
                                          f'{DIGITS}/test.tfrecord.gz')
        self.assertEqual((init['features'], init['label']), (['image_raw'], 'label'))
        self.assertEqual(evaluated['examples'], 179)
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)

    def test_words_and_numbers(self):
        text, table = census(3000)
        write(self.path('census.csv'), text)
        init, _, evaluated = self.run_all('csv', 'census.csv')
        self.assertEqual(init['features'], ['age', 'work_class', 'city', 'hours-per-week'])
        self.assertEqual(init['left_out'], ['id', 'country', 'note'])
        self.assertEqual((init['label'], init['classes']), ('income', 2))
        self.assertGreaterEqual(evaluated['accuracy'], 0.9)
        self.assertEqual(sorted(os.listdir(self.path('out'))),
                         ['city.vocabulary.txt', 'model', 'model.textproto', 'run.textproto'])
        self.assertEqual(read(self.path('out/city.vocabulary.txt')).decode().splitlines(),
                         sorted(CITIES))
        ages = [float(row[1]) for i, row in enumerate(table[1:]) if i % 10 != 9 and row[1] != '?']
        found = re.search(r'"age" mean: (\S+) stddev: (\S+) }',
                          read(self.path('out/run.textproto')).decode())
        self.assertAlmostEqual(float(found.group(1)), statistics.fmean(ages), places=4)
        self.assertAlmostEqual(float(found.group(2)), statistics.pstdev(ages), places=4)
        # New rows: without the label, with a job and a city that nobody had.
        new = ('id,age,work class,city,hours-per-week,country,note\n'
               'p,80,"Self-emp, not inc",city 3,99,US,\n'
               'p,18,Never worked,city 4,1,US,\n'
               'p,?,Robot,Atlantis,40,US,\n')
        write(self.path('new.csv'), new)
        predicted = self.succeed('predict', '--config=out/run.textproto', '--keys=class_ids',
                                 '--input=new.csv')
        ids = [json.loads(line)['class_ids'][0] for line in predicted.out.splitlines()]
        self.assertEqual(ids[:2], [1, 0])  # of "<=50K", ">50K"
        self.assertEqual(len(ids), 3)

    def test_other_files_are_read_whole(self):
        text, table = census(3000)
        write(self.path('census.csv'), text)
        self.run_all('csv', 'census.csv')
        lines = text.splitlines()
        write(self.path('some.csv'), '\n'.join(lines[:115]) + '\n')
        write(self.path('more.csv'), '\n'.join(lines[:1] + lines[200:230]) + '\n')
        before = tree(self.path('out'))

        def evaluated(*flags, **options):
            done = self.succeed('evaluate', '--config=out/run.textproto', *flags, **options)
            self.assertEqual(done.warnings, [])
            return self.result(done)
        self.assertEqual(evaluated('--input=some.csv')['examples'], 114)
        both = evaluated('--input=some.csv,more.csv')
        self.assertEqual(both['examples'], 144)
        self.assertEqual(evaluated('--input=some.csv', '--input', 'more.csv'), both)
        # Steps of the configuration are those of its own input.
        self.assertEqual(evaluated('--input=some.csv', '--set', 'evaluate.0.steps=1')['examples'], 114)
        with open(self.path('some.csv'), 'rb') as file:
            self.assertEqual(evaluated('--input=-', stdin=file)['examples'], 114)
        # The curves of the model's own evaluation are not touched.
        self.assertEqual(tree(self.path('out')), before)
        predicted = self.succeed('predict', '--config=out/run.textproto', '--input=some.csv,more.csv')
        self.assertEqual(len(predicted.out.splitlines()), 144)
        for flags in ('--name=all',), ('--watch',):
            done = self.call('evaluate', '--config=out/run.textproto', '--input=-', '--set',
                             'evaluate+={ name: "b" input { source { text_line { file: "x" header: '
                             'true } } transform { apply { transformation_func: "parse" } } } }',
                             *flags)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn('standard input, which can be read only once', done.messages[0])

    def test_columns_go_by_the_names_of_the_header(self):
        text, table = census(3000)
        write(self.path('census.csv'), text)
        _, _, of_own = self.run_all('csv', 'census.csv')
        order = [4, 7, 2, 1, 3]  # without those that the model does not read
        moved = io.StringIO()
        csv.writer(moved).writerows([row[i] for i in order] for row in table)
        write(self.path('moved.csv'), moved.getvalue())
        evaluate = ('evaluate', '--config=out/run.textproto')
        self.assertEqual(self.result(self.succeed(*evaluate, '--input=moved.csv')),
                         self.result(self.succeed(*evaluate, '--input=census.csv')))
        lacking = 'work class,age,city,income'
        write(self.path('lacking.csv'), lacking + '\nNever worked,30,city 1,>50K\n')
        for verb in 'train', 'evaluate', 'predict':
            flags = ['--input=lacking.csv']
            if verb == 'train':
                flags = ['--model_dir=new', '--set', 'train.input.source.text_line.file=lacking.csv']
            done = self.call(verb, '--config=out/run.textproto', *flags)
            self.assertEqual((done.code, done.messages), (65, [
                'tpurun: lacking.csv:1: the header has no column "hours-per-week"; it names '
                '"work class", "age", "city", "income"']))
        self.assertFalse(os.path.exists(self.path('new')))

    def test_files_of_their_own_to_evaluate_with(self):
        text, table = census(3000)
        lines = text.splitlines()
        write(self.path('train.csv'), '\n'.join(lines[:2501]) + '\n')
        write(self.path('test.csv'), '\n'.join(lines[:1] + lines[2501:]) + '\n')
        self.assertEqual(self.split('csv', ['train.csv'], ['test.csv']), (2500, 500))
        ages = [float(row[1]) for row in table[1:2501] if row[1] != '?']
        found = re.search(r'"age" mean: (\S+) stddev', read(self.path('csv/run.textproto')).decode())
        self.assertAlmostEqual(float(found.group(1)), statistics.fmean(ages), places=4)
        self.assertEqual(self.split('tfrecord', [f'{DIGITS}/train.tfrecord.gz'],
                                    [f'{DIGITS}/test.tfrecord.gz']), (1498, 299))
        images = digits()
        for name, some in ('train', images[:1500]), ('test', images[1500:]):
            write(self.path(f'{name}.images'), idx([len(some), 8, 8], b''.join(p for p, _ in some)))
            write(self.path(f'{name}.labels'), idx([len(some)], bytes(label for _, label in some)))
        self.assertEqual(self.split('idx', ['train.images', 'train.labels'],
                                    ['test.images', 'test.labels']), (1500, 297))
        self.assertEqual(sorted(os.listdir(self.path('idx'))), [
            'evaluate.tfrecord', 'examples.tfrecord', 'model', 'model.textproto', 'run.textproto'])

    def split(self, kind, files, eval_files):
        """How many examples are trained on and evaluated, by init and by what it wrote."""
        done = self.succeed('init', kind, *files, '--eval=' + ','.join(eval_files), f'--output={kind}')
        self.assertEqual(done.warnings, [])
        init = self.result(done)
        config = f'--config={kind}/run.textproto'
        self.assertNotIn('shard {', read(self.path(kind, 'run.textproto')).decode())
        self.succeed('train', config, '--quiet', '--epochs=1')
        evaluated = self.result(self.succeed('evaluate', config))
        self.assertEqual(evaluated['examples'], init['eval_examples'])
        return init['train_examples'], init['eval_examples']

    def test_several_files_are_told_as_pooled(self):
        text, _ = census(300)
        write(self.path('a.csv'), text)
        write(self.path('b.csv'), text)
        done = self.succeed('init', 'csv', 'a.csv', 'b.csv', '--output=out')
        self.assertIn(
            'The 2 files are one set of examples: 1 of 10, 60 of 600, is held out to evaluate with, '
            'the others are trained on. A file that is not to be trained on is named by --eval=FILE.',
            done.log)
        self.assertEqual(self.succeed('init', 'csv', 'a.csv', '--output=one').log[0][:3], 'Lef')

    def test_a_real_number(self):
        draw = random.Random(6)
        rows = ['rooms,area,price']
        for _ in range(1000):
            rooms, area = draw.randint(1, 6), draw.uniform(20, 200)
            rows.append(f'{rooms},{area:.1f},{50000 + 9000 * rooms + 800 * area:.2f}')
        write(self.path('houses.csv'), '\n'.join(rows) + '\n')
        init, _, evaluated = self.run_all('csv', 'houses.csv')
        self.assertEqual((init['label'], init['classes']), ('price', None))
        predicted = self.succeed('predict', '--config=out/run.textproto')
        first = json.loads(predicted.out.splitlines()[0])['predictions'][0]
        self.assertLess(evaluated['average_loss'], 0.02)
        prices = [float(row.split(',')[2]) for row in rows[1:]]
        train = [price for i, price in enumerate(prices) if i % 10 != 9]
        self.assertLess(abs(first - prices[9]), 0.5 * statistics.pstdev(train))
        # What is drawn follows a plane.
        self.assertLess(evaluated['mean_absolute_error'], 0.1 * statistics.pstdev(train))
        self.assertAlmostEqual(evaluated['label/mean'] / statistics.fmean(prices[9::10]), 1, places=5)
        found = re.search(r'label_mean: (\S+) label_stddev: (\S+)',
                          read(self.path('out/model.textproto')).decode())
        self.assertAlmostEqual(float(found.group(1)) / statistics.fmean(train), 1, places=5)
        self.assertAlmostEqual(float(found.group(2)) / statistics.pstdev(train), 1, places=5)

    def test_iris(self):
        init, _, evaluated = self.run_all('csv', 'iris/iris_training.csv')
        self.assertEqual((init['train_examples'], init['eval_examples'], init['classes']),
                         (108, 12, 3))
        self.assertGreaterEqual(evaluated['accuracy'], 0.9)
        self.assertIn('label_vocabulary: ["setosa", "versicolor", "virginica"]',
                      read(self.path('out/model.textproto')).decode())
        predicted = self.succeed('predict', '--config=out/run.textproto', '--input=iris/iris_test.csv')
        rows = [json.loads(line) for line in predicted.out.splitlines()]
        with open(self.path('iris/iris_test.csv')) as file:
            names = ['setosa', 'versicolor', 'virginica']
            labels = [names[int(line.split(',')[4])] for line in file.readlines()[1:]]
        self.assertEqual(set(rows[0]), {'classes', 'probabilities'})
        right = sum(row['classes'] == [label] for row, label in zip(rows, labels))
        self.assertGreaterEqual(right, 26)

    def test_labels_are_names(self):
        draw = random.Random(14)
        rows = []
        for _ in range(500):
            x = draw.gauss(0, 1)
            rows.append([f'{x:.3f}', 'größer "0"' if x > 0 else 'kleiner'])
        write(self.path('a.csv'), self.csv_text([['x', 'y'], *rows]))
        _, _, evaluated = self.run_all('csv', 'a.csv')
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)
        self.assertNotIn('lookup', read(self.path('out/run.textproto')).decode())
        write(self.path('new.csv'), 'x\n-3\n3\n')
        predicted = self.succeed('predict', '--config=out/run.textproto', '--input=new.csv')
        self.assertEqual([json.loads(line)['classes'] for line in predicted.out.splitlines()],
                         [['kleiner'], ['größer "0"']])
        write(self.path('wrong.csv'), 'x,y\n-3,kleiner\n3,kleinr\n')
        done = self.call('evaluate', '--config=out/run.textproto', '--input=wrong.csv')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: wrong.csv:3: label "y" is "kleinr", which is not in the label_vocabulary of the '
            'head, did you mean "kleiner"?']))

    def test_classes_of_different_size(self):
        draw = random.Random(15)
        rows = [[f'{draw.gauss(1.2 * rare, 1):.3f}', f'{draw.gauss(0, 1):.3f}', 'no yes'.split()[rare]]
                for rare in (draw.random() < 0.05 for _ in range(2000))]
        write(self.path('a.csv'), self.csv_text([['x', 'z', 'y'], *rows]))
        recall = {}
        for output, flags in ('plain', []), ('balanced', ['--class_weight=balanced']):
            self.run_all('csv', 'a.csv', output=output, flags=flags)
            recall[output] = self.result(self.succeed(
                'evaluate', f'--config={output}/run.textproto'))['recall']
        self.assertGreater(recall['balanced'], recall['plain'] + 0.3)
        counts = [sum(row[2] == name for i, row in enumerate(rows) if i % 10 != 9)
                  for name in ('no', 'yes')]
        found = re.search(r'\n    class_weight: \[(.*), (.*)\]',
                          read(self.path('balanced/model.textproto')).decode())
        # sklearn.utils.class_weight.compute_class_weight: n_samples / (n_classes * np.bincount(y)).
        for weight, count in zip(found.groups(), counts):
            self.assertAlmostEqual(float(weight), 1800 / (2 * count), places=4)
        plain = read(self.path('plain/model.textproto')).decode()
        self.assertIn('--class_weight=balanced', plain)
        self.assertNotRegex(plain, '(?m)^ *class_weight')
        write(self.path('b.csv'), self.csv_text([['x', 'y']] + [[draw.random(), draw.random()]
                                                                for _ in range(100)]))
        for kind, flag, message in (
                ('csv', 'balanced', '--class_weight: the label "y" is a number, want classes'),
                ('csv', 'even', '--class_weight: want balanced, got "even"'),
                ('series', 'balanced',
                 '--class_weight is for classes, and init series predicts numbers')):
            done = self.call('init', kind, 'b.csv', f'--class_weight={flag}', '--output=none')
            self.assertEqual((done.code, done.messages[0]), (2, 'tpurun: ' + message))

    def test_another_label_whose_classes_take_turns(self):
        write(self.path('a.csv'), 'kind,x,y\n' + ''.join(f'{"ab"[i % 2]},{i % 2 + i % 7 / 100},{i % 5}\n'
                                                         for i in range(101)))
        init, _, evaluated = self.run_all('csv', 'a.csv', label='kind')
        self.assertEqual((init['label'], init['features']), ('kind', ['x', 'y']))
        # Every tenth row is a "b".
        self.assertEqual((init['train_examples'], init['eval_examples']), (92, 9))
        self.assertEqual(evaluated['accuracy'], 1)

    def test_nothing_there_is_overwritten(self):
        for name in ('run.textproto', 'model.textproto'):
            folder = self.path('of ' + name)
            os.mkdir(folder)
            write(os.path.join(folder, name), 'mine')
            before = tree(folder)
            done = self.call('init', 'csv', 'iris/iris_training.csv', f'--output={folder}')
            self.assertEqual((done.code, done.messages), (74, [
                f'tpurun: cannot write {folder}/{name}: it is there already: remove it, or choose '
                'another --output']))
            self.assertEqual(tree(folder), before)
        self.succeed('init', 'csv', 'iris/iris_training.csv', '--output=twice')
        before = tree(self.path('twice'))
        self.assertEqual(
            self.call('init', 'csv', 'iris/iris_training.csv', '--output=twice').code, 74)
        self.assertEqual(tree(self.path('twice')), before)

    def test_what_is_in_the_folder_stays(self):
        os.mkdir(self.path('full'))
        write(self.path('full/notes.txt'), 'mine')
        images = digits()[:40]
        write(self.path('images'), idx([40, 8, 8], b''.join(p for p, _ in images)))
        write(self.path('labels'), idx([40], bytes(label for _, label in images)))
        write(self.path('full/examples.tfrecord'), 'mine too')
        done = self.call('init', 'idx', 'images', 'labels', '--output=full')
        self.assertEqual(done.code, 74, str(done))
        self.assertIn('full/examples.tfrecord: it is there already', done.messages[0])
        self.assertEqual(sorted(os.listdir(self.path('full'))), ['examples.tfrecord', 'notes.txt'])
        self.assertEqual(read(self.path('full/examples.tfrecord')), b'mine too')

    def test_the_next_command_is_one_for_the_shell(self):
        done = self.succeed('init', 'csv', 'iris/iris_training.csv', "--output=it's here")
        self.assertEqual(self.result(done)['next'],
                         "tpurun train_and_evaluate --config='it'\\''s here/run.textproto'")
        self.assertTrue(any("Next: tpurun train_and_evaluate --config='it" in line
                            for line in done.log))
        # A path with blanks and quotes is one of the configuration too.
        self.succeed('train', "--config=it's here/run.textproto", '--max_steps=10')

    def test_images_of_several_channels_and_features_besides(self):
        draw = random.Random(7)
        records = []
        for number in range(200):
            label = number % 3
            image = bytes(draw.randrange(60) + 90 * (i % 3 == label) for i in range(48))
            records.append(frame(example(image=image, label=[label], size=[draw.randrange(9)],
                                         kind=(b'small', b'large')[number % 2])))
        write(self.path('rgb'), b''.join(records))
        init, _, evaluated = self.run_all('tfrecord', 'rgb')
        self.assertEqual(init['features'], ['image', 'kind', 'size'])
        self.assertEqual(evaluated['accuracy'], 1)

    def test_few_examples_end_early_and_many_do_not(self):
        draw = random.Random(8)
        # Nothing is to be learned: the loss of what is held out never falls for long.
        rows = ''.join(f'{draw.random()},{draw.random()},{draw.random()}\n' for _ in range(400))
        write(self.path('noise.csv'), 'a,b,y\n' + rows)
        init = self.result(self.succeed('init', 'csv', 'noise.csv', '--output=out'))
        verb, config = init['next'].split()[1:]
        self.assertEqual(verb, 'train_and_evaluate')
        lines = [json.loads(line) for line in self.succeed(verb, config).out.splitlines()]
        self.assertEqual(lines[-1]['stopped'], 'early')
        steps = int(re.search(r'max_steps: (\d+)', read(self.path('out/run.textproto')).decode()).group(1))
        self.assertLess(lines[-1]['global_step'], steps)
        # train goes on to the end.
        self.assertEqual(self.result(self.succeed('train', config))['global_step'], steps)
        write(self.path('many.csv'), 'a,b,y\n' + 28 * rows)
        many = self.result(self.succeed('init', 'csv', 'many.csv', '--output=many'))
        self.assertEqual(many['next'], 'tpurun train --config=many/run.textproto')
        for name in 'run', 'model':
            text = read(self.path('many', f'{name}.textproto')).decode()
            self.assertNotRegex(text, r'train_and_evaluate|\bl2 {')

    def test_times_and_numbers_as_people_write_them(self):
        draw = random.Random(9)
        table = [['day', 'price', 'share', 'income', 'busy']]
        start = datetime.datetime(2021, 1, 1)
        for number in range(1200):
            day = start + datetime.timedelta(days=number)
            price, income = draw.uniform(-2000, 9000), draw.uniform(0, 2e6)
            busy = (day.weekday() < 5) != (price > 6000)
            table.append([day.strftime('%d.%m.%Y'), f'{"-" if price < 0 else ""}$ {abs(price):,.2f}',
                          f'{draw.uniform(0, 100):.1f}%',
                          f'{income:,.2f} EUR'.replace(',', ' ').replace('.', ','),
                          'yes' if busy else 'no'])
        table[7][1] = table[9][0] = ''
        write(self.path('shop.csv'), self.csv_text(table))
        init, _, evaluated = self.run_all('csv', 'shop.csv')
        self.assertEqual(init['features'], ['price', 'share', 'income', 'day_days', 'day_month',
                                            'day_day_of_week'])
        self.assertGreaterEqual(evaluated['accuracy'], 0.9)
        text = read(self.path('out/run.textproto')).decode()
        for words in ('strip: "$"', 'thousands: ","', 'decimal: ","', 'strip: "EUR"', 'strip: "%"',
                      'format: "%d.%m.%Y" epoch: "2021-01-01"', 'part: DAY_OF_WEEK'):
            self.assertIn(words, text)
        # Other rows, of years that nobody has seen.
        new = [table[0], ['05.01.2026', '$ 1,000.00', '3%', '1 000,00 EUR', ''],
               ['04.01.2026', '$ 1,000.00', '3%', '1 000,00 EUR', '']]
        write(self.path('new.csv'), self.csv_text([row[:-1] for row in new]))
        predicted = self.succeed('predict', '--config=out/run.textproto', '--keys=class_ids',
                                 '--input=new.csv')
        self.assertEqual([json.loads(line)['class_ids'] for line in predicted.out.splitlines()],
                         [[1], [0]])  # a Monday and a Sunday
        write(self.path('wrong.csv'), self.csv_text([table[0], ['2026-01-05', *table[1][1:]]]))
        done = self.call('evaluate', '--config=out/run.textproto', '--input=wrong.csv')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: wrong.csv:2: feature "day": want a time of the format "%d.%m.%Y", got '
            '"2026-01-05"']))

    def csv_text(self, table):
        text = io.StringIO()
        csv.writer(text, lineterminator='\n').writerows(table)
        return text.getvalue()

    def test_what_is_missing_is_told(self):
        draw = random.Random(10)
        table = [['x', 'z', 'y']]
        for _ in range(600):
            missing = draw.random() < 0.4
            table.append(['' if missing else f'{draw.gauss(0, 1):.3f}', f'{draw.gauss(0, 1):.3f}',
                          'ab'[missing]])
        write(self.path('a.csv'), self.csv_text(table))
        accuracy = {}
        for output, flags in ('without', []), ('with', ['--missing_indicator']):
            init = self.result(self.succeed('init', 'csv', 'a.csv', f'--output={output}', *flags))
            self.succeed('train', f'--config={output}/run.textproto', '--max_steps=600')
            accuracy[output] = self.result(self.succeed(
                'evaluate', f'--config={output}/run.textproto'))['accuracy']
        self.assertEqual(init['features'], ['x', 'z', 'x_is_missing'])
        # The mean stands for what is missing: it can hardly be told from other numbers near it.
        self.assertLess(accuracy['without'], 0.97)
        self.assertEqual(accuracy['with'], 1)

    def test_ids_and_columns_to_ignore(self):
        draw = random.Random(11)
        good = {number for number in range(100, 160) if draw.random() < 0.5}
        table = [['row', 'shop', 'noise', 'answer', 'y']]
        for number in range(2000):
            shop = draw.randrange(100, 160)
            y = 'yes' if shop in good else 'no'
            table.append([number, shop, draw.random(), y, y])
        write(self.path('a.csv'), self.csv_text(table))
        init, _, evaluated = self.run_all('csv', 'a.csv', flags=['--ids=shop', '--ignore=answer,noise'])
        self.assertEqual((init['features'], init['left_out']),
                         (['shop'], ['row', 'noise', 'answer']))
        self.assertGreaterEqual(evaluated['accuracy'], 0.98)
        self.assertIn('"noise"', str(self.succeed('init', 'csv', 'a.csv', '--output=noted',
                                                  '--ignore=noise')))
        # What is left out by itself stays if it is named.
        kept = self.result(self.succeed('init', 'csv', 'a.csv', '--output=kept', '--ids=row'))
        self.assertIn('row', kept['features'])
        self.assertIn('num_buckets: 1024', read(self.path('kept/run.textproto')).decode())
        self.succeed('train', '--config=kept/run.textproto', '--max_steps=10')
        for flags, message in (
                (['--ids=shopp'], '--ids: no column is called "shopp", did you mean "shop"?'),
                (['--ids=shop', '--ignore=shop'], '--ids: column "shop" is named by --ignore too'),
                (['--ignore='], '--ignore: got no name, want COLUMN,...')):
            done = self.call('init', 'csv', 'a.csv', '--output=none', *flags)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(message, done.messages[0])

    def test_a_series(self):
        draw = random.Random(12)
        lines = ['day,place,y,z']
        start = datetime.date(2020, 1, 1)
        for number in range(700):
            lines.append(f'{start + datetime.timedelta(days=number)},here,'
                         f'{10 + 3 * math.sin(number / 3) + draw.gauss(0, 0.2):.3f},{number % 5}')
        write(self.path('s.csv'), '\n'.join(lines) + '\n')
        for model in 'dense', 'lstm':
            init = self.result(self.succeed(
                'init', 'series', 's.csv', f'--output={model}', '--label=y', '--window=20',
                '--horizon=4', f'--model={model}'))
            # The last 70 rows are predicted, from windows of 20 rows of which 4 later ones are known.
            self.assertEqual((init['train_examples'], init['eval_examples'], init['label']),
                             (630 - 20 - 4 + 1, 70, 'y'))
            self.assertEqual((init['features'], init['left_out']),
                             (['y', 'z', 'day_day_of_week'], ['place']))
            verb, config = init['next'].split()[1:]
            self.succeed(verb, config)
            evaluated = self.result(self.succeed('evaluate', config))
            self.assertEqual(evaluated['examples'], 70)
            text = read(self.path(model, 'run.textproto')).decode()
            y = [float(line.split(',')[2]) for line in lines[1:631]]
            found = re.search(r'"y" mean: (\S+) stddev: (\S+) }', text)
            self.assertAlmostEqual(float(found.group(1)), statistics.fmean(y), places=3)
            self.assertAlmostEqual(float(found.group(2)), statistics.pstdev(y), places=3)
            self.assertLess(evaluated['mean_absolute_error'], 0.3 * statistics.pstdev(y))
            last = json.loads(self.succeed('predict', config).out)['predictions'][0]
            self.assertLess(abs(last - 10 - 3 * math.sin(703 / 3)), 1.2)
            of_file = self.succeed('predict', config, '--input=s.csv').out.splitlines()
            self.assertEqual(len(of_file), 681)
            self.assertEqual(json.loads(of_file[-1])['predictions'][0], last)
        # Several labels; a horizon of 1.
        init = self.result(self.succeed('init', 'series', 's.csv', '--output=two', '--label=y,z'))
        self.assertEqual((init['label'], init['labels']), ('y', ['y', 'z']))
        self.succeed('train', '--config=two/run.textproto', '--max_steps=200')
        both = json.loads(self.succeed('predict', '--config=two/run.textproto').out)
        self.assertEqual(sorted(both), ['y/predictions', 'z/predictions'])

    def test_a_series_in_another_order(self):
        rows = [f'{datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=hour)};{hour * hour % 7}'
                for hour in range(200)]
        self.assertEqual(rows[30], '2024-01-02 06:00:00;4')
        for order in rows[::-1], rows[100:] + rows[:100]:
            write(self.path("it's.csv"), '\n'.join(['time;y'] + order) + '\n')
            done = self.call('init', 'series', "it's.csv", '--output=none')
            self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
            command = re.search(r'(\(head .*\) >sorted\.csv)', done.messages[0]).group(1)
            subprocess.run(['bash', '-c', command], cwd=self.path(), check=True)
            self.assertEqual(read(self.path('sorted.csv')).decode().splitlines(), ['time;y'] + rows)
        done = self.succeed('init', 'series', 'sorted.csv', '--output=sorted')
        self.assertEqual(done.warnings, [], str(done))
        write(self.path('gaps.csv'), '\n'.join(['time;y'] + rows[:50] + rows[60:90] + rows[91:]) + '\n')
        done = self.succeed('init', 'series', 'gaps.csv', '--output=gaps')
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('column "time": 2 gaps between rows 1h apart, the largest of 11h, from '
                      '"2024-01-03 01:00:00" to "2024-01-03 12:00:00" at gaps.csv:52; ', done.warnings[0])
        # Files that are one series.
        for name, part in ('a', rows[:100]), ('b', rows[100:]):
            write(self.path(f'{name}.csv'), '\n'.join(['time;y'] + part) + '\n')
        self.assertEqual(self.succeed('init', 'series', 'a.csv', 'b.csv', '--output=ab').warnings, [])
        done = self.call('init', 'series', 'b.csv', 'a.csv', '--output=ba')
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('name the files in the order of time, or run init for each of several series',
                      done.messages[0])
        for name in 'a', 'b':
            write(self.path(f'{name}.csv'), 'y\n' + ''.join(f'{k % 7}\n' for k in range(60)))
        done = self.succeed('init', 'series', 'a.csv', 'b.csv', '--output=both')
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('2 files are taken as one series, in this order', done.warnings[0])

    def test_json_lines(self):
        draw = random.Random(13)
        lines = []
        for number in range(800):
            kind, x, v = draw.choice(['a', 'b', 'c']), draw.gauss(5, 2), [draw.random(), draw.random()]
            row = {'id': f'row {number}', 'when': f'2024-0{1 + number % 9}-{10 + number % 18}',
                   'user': {'kind': kind, 'age': draw.randint(18, 90)}, 'v': v,
                   'ok': (kind == 'a') != (v[0] > 0.5), 'grid': [[draw.random()], [draw.random()]]}
            if draw.random() < 0.9:
                row['x'] = x
            lines.append(json.dumps(row))
        write(self.path('a.jsonl'), '\n'.join(lines) + '\n')
        init, _, evaluated = self.run_all('jsonl', 'a.jsonl', label='ok',
                                          flags=['--missing_indicator'])
        self.assertEqual(init['left_out'], ['id'])
        self.assertEqual(set(init['features']), {
            'user_kind', 'user_age', 'v', 'grid', 'x', 'x_is_missing', 'when_days', 'when_day_of_week'})
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)
        row = json.loads(lines[0])
        del row['ok']
        write(self.path('new.jsonl'), json.dumps(row))
        predicted = self.succeed('predict', '--config=out/run.textproto', '--input=new.jsonl')
        self.assertEqual(len(predicted.out.splitlines()), 1)
        for text, message in (
                ('{"x": 1', 'bad.jsonl:2: is not JSON at byte'),
                ('{"ok": 1, "ok": 2}', 'bad.jsonl:2: the key "ok" is given twice in an object'),
                ('{"o": ' + '[' * 1000, 'bad.jsonl:2: has more than 100 levels of nesting'),
                ('{"x": 1e999}', 'bad.jsonl:2: is not JSON at byte'),
                ('[]', 'bad.jsonl:2: want a JSON object, got an array')):
            write(self.path('bad.jsonl'), lines[0] + '\n' + text + '\n')
            for call in (('init', 'jsonl', 'bad.jsonl', '--output=bad'),
                         ('evaluate', '--config=out/run.textproto', '--input=bad.jsonl')):
                done = self.call(*call)
                self.assertEqual(done.code, 65, str(done))
                self.assertIn(message, done.messages[0])

    def test_memory_is_bounded(self):
        rows = 600000
        with open(self.path('big.csv'), 'w') as file:
            file.write('name,x,y\n')
            for number in range(rows):
                file.write(f'{number:0200d}x,{number % 97},{number % 3}\n')
        process = self.start('init', 'csv', 'big.csv', '--output=out')
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        result = json.loads(process.stdout.read())
        self.assertEqual((result['left_out'], result['train_examples']), (['name'], 9 * rows // 10))
        # Kilobytes; the texts alone are 120 MB.
        if not sanitizer():
            self.assertLess(usage.ru_maxrss, 100 << 10)
