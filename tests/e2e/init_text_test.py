"""`init` of texts: columns of a table, folders of files, lines of a file."""
import csv
import io
import json
import os
import random

from program import ProgramTest, read, write

GOOD, BAD = ('superb', 'lovely', 'quick', 'größer'), ('awful', 'dull', 'slow', 'flimsy')


def review(draw):
    """(text, class): most of its opinions."""
    score, words = 0, []
    while score == 0 or draw.random() < 0.4:
        sign = draw.choice((1, -1))
        thing = draw.choice(('screen', 'case', 'battery', 'price'))
        words.append(f'The {thing} is {draw.choice(GOOD if sign > 0 else BAD)}, I say.')
        score += sign
    words.insert(draw.randrange(len(words) + 1), draw.choice(('', 'Bought in May!', 'SIZE: 12".')))
    return ' '.join(words), 'positive' if score > 0 else 'negative'


def table_of(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(rows)
    return text.getvalue()


class InitTextTest(ProgramTest):

    def train(self, *arguments, output='out'):
        """What init and evaluate print; neither of them nor the training warns."""
        init = self.succeed('init', *arguments, f'--output={output}')
        verb, config = self.result(init)['next'].split()[1:]
        trained, evaluated = self.succeed(verb, config), self.succeed('evaluate', config)
        for done in init, trained, evaluated:
            self.assertEqual(done.warnings, [], str(done))
        return self.result(init), self.result(evaluated)

    def vocabulary(self, output='out'):
        return read(self.path(output, 'vocabulary.txt')).decode().split('\n')[:-1]

    def test_a_text_beside_other_columns(self):
        draw = random.Random(1)
        rows = [[number, draw.randint(1, 5), *review(draw)] for number in range(1000)]
        # What the words say counts from 3 stars on, and the opposite below.
        for row in rows:
            row[3] = 'yes' if (row[3] == 'positive') == (row[1] >= 3) else 'no'
        rows[3][2] = ''
        write(self.path('a.csv'), table_of([['id', 'stars', 'text', 'bought'], *rows]))
        init, evaluated = self.train('csv', 'a.csv')
        self.assertEqual((init['features'], init['left_out']), (['stars', 'text'], ['id']))
        self.assertGreaterEqual(evaluated['accuracy'], 0.9)
        self.assertEqual(self.vocabulary()[:3], ['', '[UNK]', 'i'])
        self.assertIn('größer', self.vocabulary())
        write(self.path('new.csv'), table_of([['stars', 'text'], [5, 'A superb, lovely battery'],
                                              [1, 'The superb battery is lovely'], [5, ''],
                                              [2, 'zebras ' * 5000]]))
        predicted = self.succeed('predict', '--config=out/run.textproto', '--input=new.csv')
        classes = [json.loads(line)['classes'][0] for line in predicted.out.splitlines()]
        self.assertEqual((classes[:2], len(classes)), (['yes', 'no'], 4))

    def test_the_same_texts_in_every_form(self):
        draw = random.Random(2)
        rows = [review(draw) for _ in range(600)]
        for number, (text, label) in enumerate(rows):
            os.makedirs(self.path('folders', label), exist_ok=True)
            write(self.path('folders', label, f'{number}.txt'), text + '\nI mean it.\n')
        write(self.path('a.csv'), table_of([['text', 'label'], *rows]))
        write(self.path('a.jsonl'), ''.join(json.dumps({'text': text, 'label': label}) + '\n'
                                            for text, label in rows))
        write(self.path('a.tsv'), ''.join(f'{label}\t{text}\n' for text, label in rows))
        write(self.path('texts'), ''.join(f'{text}\n' for text, _ in rows))
        write(self.path('labels'), ''.join(f'{label}\n' for _, label in rows))
        accuracy = {}
        for name, arguments in {'csv': ['csv', 'a.csv'], 'jsonl': ['jsonl', 'a.jsonl'],
                                'tsv': ['text', 'a.tsv'],
                                'lines': ['text', 'texts', '--labels=labels'],
                                'folders': ['text', 'folders']}.items():
            init, evaluated = self.train(*arguments, output=name)
            self.assertEqual((init['features'], init['classes'], init['train_examples'],
                              init['eval_examples']), (['text'], 2, 540, 60))
            accuracy[name] = evaluated['accuracy']
            self.assertGreaterEqual(evaluated['accuracy'], 0.9, name)
        # The rows are the same, in the same order, and so is all that is made of them.
        for name in 'jsonl', 'tsv', 'lines':
            self.assertEqual(self.vocabulary(name), self.vocabulary('csv'))
            self.assertEqual(accuracy[name], accuracy['csv'])
        self.assertEqual(read(self.path('lines', 'examples.tfrecord')),
                         read(self.path('tsv', 'examples.tfrecord')))
        self.assertEqual(sorted(os.listdir(self.path('tsv'))), [
            'examples.tfrecord', 'model', 'model.textproto', 'run.textproto', 'vocabulary.txt'])

    def test_a_file_to_evaluate_with_and_the_mean_of_words(self):
        draw = random.Random(3)
        for name, count in ('train', 700), ('test', 200):
            write(self.path(f'{name}.tsv'), ''.join(
                f'{label}\t{text}\n' for text, label in (review(draw) for _ in range(count))))
        init, evaluated = self.train('text', 'train.tsv', '--eval=test.tsv', '--model=mean')
        self.assertEqual((init['train_examples'], init['eval_examples']), (700, 200))
        self.assertGreaterEqual(evaluated['accuracy'], 0.85)
        self.assertIn('global_average_pooling1d', read(self.path('out/model.textproto')).decode())
        self.assertEqual(evaluated['examples'], 200)

    def test_a_bag_of_runs_of_words(self):
        draw = random.Random(6)
        # Neither word tells the class alone: the pair does.
        rows = []
        for _ in range(900):
            first, second = draw.choice((('not', 'bad'), ('very', 'good'), ('not', 'good'), ('very', 'bad')))
            rows.append([f'It is {first} {second}, {draw.choice(GOOD)} it is.',
                         'yes' if (first == 'not') == (second == 'bad') else 'no', draw.randrange(9)])
        write(self.path('a.csv'), table_of([['text', 'y', 'n'], *rows]))
        for flags in ['--ngrams=2', '--ignore=n'], ['--ngrams=3']:
            output = flags[0][2:]
            init, evaluated = self.train('csv', 'a.csv', '--label=y', '--text=text', *flags, output=output)
            self.assertEqual(init['features'], ['text', 'n'][:len(init['features'])])
            self.assertGreaterEqual(evaluated['accuracy'], 0.98)
            self.assertEqual([name for name in os.listdir(self.path(output)) if 'voc' in name], [])
        text = read(self.path('ngrams=2', 'run.textproto')).decode()
        self.assertIn('ngrams { feature: "text" width: [1, 2] }', text)
        self.assertNotIn('hidden', read(self.path('ngrams=2', 'model.textproto')).decode())
        write(self.path('new.csv'), 'text\nnot bad\nnot good\n\n""\n')
        predicted = self.succeed('predict', '--config=ngrams=2/run.textproto', '--input=new.csv')
        classes = [json.loads(line)['classes'][0] for line in predicted.out.splitlines()]
        self.assertEqual((classes[:2], len(classes)), (['yes', 'no'], 3))
        write(self.path('a.tsv'), ''.join(f'{label}\t{text}\n' for text, label, _ in rows))
        _, evaluated = self.train('text', 'a.tsv', '--ngrams=2', output='text')
        self.assertGreaterEqual(evaluated['accuracy'], 0.98)
        for flags, message in (
                (['--ngrams=0'], '--ngrams: want 1 to 10 words, got 0'),
                (['--ngrams=2', '--model=conv'], '--model: a text of --ngrams has no vocabulary'),
                (['--ngrams=2', '--vocabulary_size=9'], '--vocabulary_size: a text of --ngrams'),
                (['--ngrams=2', '--ignore=text'], '--ngrams is for texts, and no column is one')):
            done = self.call('init', 'csv', 'a.csv', '--output=none', *flags)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(message, done.messages[0])

    def test_sizes(self):
        draw = random.Random(4)
        write(self.path('a.csv'), table_of([['text', 'y']] + [list(review(draw)) for _ in range(200)]))
        self.succeed('init', 'csv', 'a.csv', '--output=out', '--vocabulary_size=5', '--sequence_length=3')
        self.assertEqual(len(self.vocabulary()), 7)
        self.assertIn('to_tensor { feature: "text" length: 3 }',
                      read(self.path('out/run.textproto')).decode())
        self.assertIn('input_dim: 7 ', read(self.path('out/model.textproto')).decode())
        self.succeed('train', '--config=out/run.textproto', '--max_steps=10')

    def test_columns_that_do_not_look_so(self):
        draw = random.Random(5)
        rows = [[draw.choice(('big', 'small')), *review(draw)] for _ in range(200)]
        write(self.path('a.csv'), table_of([['size', 'text', 'y'], *rows]))
        self.succeed('init', 'csv', 'a.csv', '--output=two', '--text=size')
        self.assertEqual(sorted(name for name in os.listdir(self.path('two')) if 'voc' in name),
                         ['size.vocabulary.txt', 'text.vocabulary.txt'])
        self.succeed('train', '--config=two/run.textproto', '--max_steps=10')
        done = self.succeed('init', 'csv', 'a.csv', '--output=ignored', '--ignore=text')
        self.assertEqual(self.result(done)['features'], ['size'])
        for flags, message in (
                (['--text=txt'], '--text: no column is called "txt"'),
                (['--text=text', '--ids=text'], '--text: column "text" is named by --ids too'),
                (['--ignore=text', '--model=conv'],
                 '--model is for texts, and no column is one; --text=COLUMN names one'),
                (['--model=lstm'], '--model: want conv or mean, got "lstm"'),
                (['--vocabulary_size=0'], '--vocabulary_size: want 1 to 1000000 words, got 0'),
                (['--labels=a.csv'], '--labels is for init text, and not for init csv')):
            done = self.call('init', 'csv', 'a.csv', '--output=none', *flags)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(message, done.messages[0])

    def test_what_is_no_text(self):
        def refused(message, *arguments, code=65):
            done = self.call('init', 'text', *arguments, '--output=out')
            self.assertEqual((done.code, len(done.messages)), (code, 1), str(done))
            self.assertIn(message, done.messages[0])
            self.assertFalse(os.path.exists(self.path('out')))
        write(self.path('empty'), '')
        refused('empty: is empty, want lines LABEL<TAB>TEXT', 'empty')
        write(self.path('a'), 'x\tone two\nno tab\n')
        refused('a:2: got a line without a tab, want LABEL<TAB>TEXT', 'a')
        write(self.path('a'), 'x\tone two\ny\t \n')
        refused('a:2: the text is empty', 'a')
        write(self.path('a'), '\tone two\n')
        refused('a:1: the label is empty', 'a')
        write(self.path('a'), b'x\tone two\ny\t\xff\xfe\n')
        refused('a:2: is not UTF-8', 'a')
        write(self.path('a'), 'x\tone two\n' * 30)
        refused('every example has "x", want two classes or more', 'a')
        write(self.path('b'), 'x\ny\n')
        refused('b: ends after 2 lines, and a has more', 'a', '--labels=b')
        refused('there.txt', 'there.txt', code=66)
        refused('--labels has the labels of one file', 'a', 'b', '--labels=b', code=2)
        os.makedirs(self.path('dir'))
        refused('dir: want a folder for each class with its texts', 'dir')
        os.makedirs(self.path('dir', 'x'))
        refused('dir/x: the class has no files', 'dir')
        for number in range(30):
            write(self.path('dir', 'x', f'{number}.txt'), f'text {number}')
        refused('every example has "x", want two classes or more', 'dir')
        os.makedirs(self.path('dir', 'y'))
        refused('dir/y: the class has no files', 'dir')
        write(self.path('dir', 'y', '1.txt'), '')
        refused('dir/y/1.txt: the text is empty', 'dir')
        write(self.path('dir', 'y', '1.txt'), b'\x89PNG\r\n\xff')
        refused('dir/y/1.txt: is not UTF-8', 'dir')
        refused('--labels has the labels of one file', 'dir', '--labels=b', code=2)
