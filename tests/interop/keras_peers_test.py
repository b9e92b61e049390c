"""What a newcomer does in three commands, beside Keras and scikit-learn: texts of two classes, few rows of
a class, fine-tuning, a sweep, and weights of Keras.

Both sides have the same rows, layers, optimizer and number of steps; each seed, of three or PEER_SEEDS,
draws the initial values and the order of the rows. The tables are printed. What tpurun reaches may be worse
than what the other reaches by the larger spread over the seeds, or by the standard error of so few test
rows."""
import ast
import csv
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import numpy as np
import tensorflow as tf
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.pipeline import make_pipeline

import examples
from comparison import Comparison, standard_error

layers = tf.keras.layers
SEEDS = range(1, 1 + int(os.environ.get('PEER_SEEDS', '3')))
REVIEWS = os.path.abspath('testdata/reviews')
DIGITS = os.path.abspath('testdata/digits')
IRIS = os.path.abspath('testdata/iris')


def fit(model, x, y, steps, batch_size=64, learning_rate=0.003, loss=None, **options):
    """Trains with so many batches of shuffled rows, as `shuffle`, `repeat` and `batch` do."""
    model.compile(tf.keras.optimizers.Adam(learning_rate, epsilon=1e-7),
                  loss or tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = x if isinstance(x, tf.data.Dataset) else tf.data.Dataset.from_tensor_slices((x, y))
    batches = rows.shuffle(len(y)).repeat().batch(batch_size, drop_remainder=True)
    model.fit(batches.prefetch(2), epochs=1, steps_per_epoch=steps, verbose=0, **options)


def accuracy(model, x, y):
    return np.mean(model(x).numpy().argmax(1) == y)


def write_csv(path, titles, rows):
    with open(path, 'w', encoding='utf-8', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([titles, *rows])


def read_csv(path):
    """Texts and labels."""
    with open(path, encoding='utf-8', newline='') as file:
        rows = list(csv.reader(file))[1:]
    return [text for text, _ in rows], [label for _, label in rows]


def docstrings(module):
    """The first paragraphs of the docstrings of a package, without the words that give it away."""
    root = os.path.dirname(importlib.util.find_spec(module).origin)
    texts = set()
    for path in sorted(glob.glob(f'{root}/**/*.py', recursive=True)):
        if '/tests/' in path:
            continue
        with open(path, encoding='utf-8') as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                text = (ast.get_docstring(node) or '').split('\n\n')[0]
                text = re.sub(r'numpy|np\.|scipy|sklearn|scikit|keras|tensorflow|tf\.', '', text)
                text = ' '.join(text.split())
                if len(text.split()) >= 5:
                    texts.add(text)
    return sorted(texts)


class KerasPeersTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path('bin'))
        os.symlink(examples.BINARY, self.path('bin/tpurun'))

    def path(self, name):
        return os.path.join(self.folder, name)

    def shell(self, script, **names):
        """What the script prints: at most three commands in ten lines, whose $NAMEs are given."""
        lines = script.strip().splitlines()
        self.assertLessEqual(len(lines), 10, script)
        self.assertLessEqual(len(re.findall(r'\btpurun ', script)), 3, script)
        environment = {**os.environ, 'PATH': f'{self.path("bin")}:{os.environ["PATH"]}', 'REVIEWS': REVIEWS,
                       'DIGITS': DIGITS, 'IRIS': IRIS, **{name: str(value) for name, value in names.items()}}
        done = subprocess.run(['bash', '-eu', '-c', script], cwd=self.folder, env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, script + done.stdout + done.stderr)
        return done.stdout

    def last(self, script, **names):
        """The object that the last command prints."""
        return json.loads(self.shell(script, **names).splitlines()[-1])

    # --- Texts of two classes ---

    TEXT = '''
tpurun train --config=text/run.textproto --model_dir=$OUT --tf_random_seed=$SEED --max_steps=400 \\
  --set 'model.optimizer={ adam { epsilon: 1e-7 } learning_rate { constant: 0.003 } }' \\
  --set 'model.layer=[LAYERS, { name: "logits" dense { units: 2 } }]' \\
  --set model.layer.embedding.embedding.input_dim=$WORDS
tpurun evaluate --model_dir=$OUT
'''
    EMBEDDING = '{ name: "embedding" embedding { output_dim: 16 mask_zero: true } }'
    # Our layers and those of Keras, between the embedding and the logits.
    TEXT_MODELS = {
        'mean of words': (
            '{ global_average_pooling1d {} }, { dense { units: 16 activation: RELU } }',
            lambda: [layers.GlobalAveragePooling1D(), layers.Dense(16, 'relu')]),
        'conv1d': (
            '{ drop_mask: true conv1d { filters: 32 kernel_size: 3 activation: RELU } },\n'
            '    { global_max_pooling1d {} }',
            lambda: [layers.Conv1D(32, 3, activation='relu'), layers.GlobalMaxPooling1D()]),
    }

    def write_docstrings(self):
        """Is a text from the documentation of NumPy or from Keras'?"""
        kinds = {name: docstrings(name) for name in ('numpy', 'keras')}
        draw = np.random.default_rng(1)
        rows = [(text, label) for label, name in (('negative', 'numpy'), ('positive', 'keras'))
                for text in draw.permutation(kinds[name])[:900]]
        self.assertEqual(len(rows), 1800)
        draw.shuffle(rows)
        for name, part in ('train', rows[:1200]), ('test', rows[1200:]):
            write_csv(self.path(f'text/{name}.csv'), ['text', 'label'], part)

    def compare_texts(self, title):
        (train, labels), (test, test_labels) = (read_csv(self.path(f'text/{name}.csv'))
                                                for name in ('train', 'test'))
        y, test_y = (np.array([label == 'positive' for label in each], int) for each in (labels, test_labels))
        ids = layers.TextVectorization(output_sequence_length=40)
        ids.adapt(train)
        vocabulary = ids.get_vocabulary()
        with open(self.path('text/vocabulary.txt'), 'w', encoding='utf-8') as file:
            file.write(''.join(f'{word}\n' for word in vocabulary))
        x, test_x = ids(train).numpy(), ids(test).numpy()
        linear = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))
        linear = [linear.fit(train, y).score(test, test_y)]
        comparison, best = Comparison(title), []
        for name, (ours, theirs) in self.TEXT_MODELS.items():
            got, want = [], []
            for seed in SEEDS:
                script = self.TEXT.replace('LAYERS', f'{self.EMBEDDING}, {ours}')
                got.append(self.last(script, SEED=seed, OUT=f"text/{name.replace(' ', '_')}{seed}",
                                     WORDS=len(vocabulary))['accuracy'])
                tf.keras.utils.set_random_seed(seed)
                model = tf.keras.Sequential([layers.Embedding(len(vocabulary), 16, mask_zero=True),
                                             *theirs(), layers.Dense(2)])
                fit(model, x, y, 400)
                want.append(accuracy(model, test_x, test_y))
            comparison.add(name, got, 'Keras', want, standard_error(np.mean(want), len(test)))
            best = max(best, got, key=lambda scores: np.mean(scores) if scores else 0)
        comparison.add('the better of them', best, 'LogisticRegression', linear,
                       standard_error(linear[0], len(test)))
        comparison.finish(self)
        return best

    def test_texts_of_reviews(self):
        shutil.copytree(REVIEWS, self.path('text'), copy_function=shutil.copyfile)
        self.assertGreater(np.mean(self.compare_texts('reviews, accuracy')), 0.9)

    def test_texts_of_docstrings(self):
        shutil.copytree(REVIEWS, self.path('text'), copy_function=shutil.copyfile)
        self.write_docstrings()
        self.assertGreater(np.mean(self.compare_texts('docstrings, accuracy')), 0.8)

    # --- 5 % of the rows are of class 1 ---

    RARE = '''
tpurun init csv train.csv --eval=test.csv --output=$OUT
tpurun train --config=$OUT/run.textproto --tf_random_seed=$SEED --max_steps=300 --train_batch_size=64 \\
  --set 'model.layer=[{ dense { units: 16 activation: RELU } }, { name: "logits" dense { units: UNITS } }]' \\
  --set 'model.optimizer={ adam { epsilon: 1e-7 } learning_rate { constant: 0.003 } }' \\
  --unset model.regularization --set 'OPTION'
tpurun evaluate --model_dir=$OUT/model \\
  --set 'model.eval_metric+={ name: "f1" f1_score { labels: "label" predictions: "class_ids" } }'
'''
    RESAMPLED = '''train.input.transform=[{ apply { transformation_func: "parse" } }, { cache {} },
    { rejection_resample { feature: "label" target_dist: [1, 1] initial_dist: [0.95, 0.05] } },
    { shuffle { buffer_size: 4000 } }, { repeat {} }, { batch { drop_remainder: true } }]'''
    RARE_WEIGHTS = {0: 0.5 / 0.95, 1: 10}  # the "balanced" ones of scikit-learn
    # Of each: units, what our training has, what the training of Keras has.
    RARE_WAYS = {
        'none': (2, 'model.head.classification.class_weight=[1, 1]', {}),
        'class_weight': (2, f'model.head.classification.class_weight=[{0.5 / 0.95}, 10]',
                         {'class_weight': RARE_WEIGHTS}),
        'pos_weight': (1, 'model.head.classification.pos_weight=19',
                       {'loss': lambda y, logits: tf.reduce_mean(
                           tf.nn.weighted_cross_entropy_with_logits(tf.cast(y, tf.float32), logits, 19))}),
        'resampled': (2, RESAMPLED, {}),
    }

    def write_rare_rows(self, name, seed):
        """Two classes of normal numbers that overlap: the means are 1.4 standard deviations apart."""
        draw = np.random.default_rng(seed)
        y = (draw.random(4000) < 0.05).astype(int)
        x = (draw.normal(size=(4000, 8)) + 0.5 * y[:, None]).astype(np.float32)
        write_csv(self.path(f'{name}.csv'), [*(f'x{i}' for i in range(8)), 'label'],
                  [[*map(float, row), each] for row, each in zip(x, y)])
        return x, y

    def keras_on_rare_rows(self, way, seed, x, y):
        units, _, options = self.RARE_WAYS[way]
        tf.keras.utils.set_random_seed(seed)
        model = tf.keras.Sequential([layers.Dense(16, 'relu'), layers.Dense(units)])
        rows = x
        if way == 'resampled':
            rows = tf.data.Dataset.from_tensor_slices((x, y)).rejection_resample(
                lambda _, each: each, [0.5, 0.5], [0.95, 0.05], seed=seed).map(lambda _, row: row)
        fit(model, rows, y[:, None] if units == 1 else y, 300, **options)
        return model

    @staticmethod
    def measures(logits, y):
        """What evaluate prints, of the logits of a model of Keras; and the numbers of rows behind it."""
        positive = (tf.nn.sigmoid(logits) if logits.shape[1] == 1 else tf.nn.softmax(logits)).numpy()[:, -1]
        area = tf.keras.metrics.AUC(curve='PR')
        area.update_state(y, positive)
        classes = positive > 0.5
        found = classes.sum()
        # Of so many rows each is a share, that of class 1 for the area.
        rows = {'recall': y.sum(), 'precision': found, 'f1': (y.sum() + found) / 2,
                'auc_precision_recall': y.sum()}
        return {'recall': recall_score(y, classes), 'precision': precision_score(y, classes, zero_division=0),
                'f1': f1_score(y, classes), 'auc_precision_recall': area.result().numpy()}, rows

    def test_few_rows_of_a_class(self):
        x, y = self.write_rare_rows('train', 0)
        test_x, test_y = self.write_rare_rows('test', 1)
        comparison, recall = Comparison('5 % are of class 1'), {}
        for way, (units, option, _) in self.RARE_WAYS.items():
            got, want = [], []
            for seed in SEEDS:
                script = self.RARE.replace('UNITS', str(units)).replace('OPTION', option)
                got.append(self.last(script, SEED=seed, OUT=f'{way}{seed}'))
                model = self.keras_on_rare_rows(way, seed, (x - x.mean(0)) / x.std(0), y)
                want.append(self.measures(model((test_x - x.mean(0)) / x.std(0)), test_y))
            for name in want[0][0]:
                theirs = [values[name] for values, _ in want]
                rows = np.mean([max(1, rows[name]) for _, rows in want])
                comparison.add(f'{way}: {name.replace("auc_precision_recall", "auc PR")}',
                               [each[name] for each in got], 'Keras', theirs,
                               standard_error(np.mean(theirs), rows))
            recall[way] = np.mean([each['recall'] for each in got])
        comparison.finish(self)
        for way in list(self.RARE_WAYS)[1:]:
            self.assertGreater(recall[way], recall['none'] + 0.3, way)

    # --- Fine-tuning: ten digits first, then with 40 images whether a digit is 5 or more ---

    TUNED = """
tpurun train --config=$DIGITS/run.textproto --model_dir=base$SEED --tf_random_seed=$SEED --max_steps=400
tpurun train --config=$DIGITS/run.textproto --model_dir=$OUT --tf_random_seed=$SEED OPTIONS \\
  --max_steps=200 --train_batch_size=40 --set model.layer.logits.dense.units=2 \\
  --set 'transformation_func.parse.transform+={ bucketize { feature: "label" boundaries: 5 } }' \\
  --set 'transformation_func.parse.transform+={ cast { feature: "label" dtype: INT32 } }' \\
  --set 'train.input.transform=[{ apply { transformation_func: "parse" } }, { take { count: 40 } },
    { cache {} }, { repeat {} }, { batch { drop_remainder: true } }]'
tpurun evaluate --model_dir=$OUT
"""
    WARM = """\\
  --set 'warm_start_from={ ckpt_to_initialize_from: "base'$SEED'" vars_to_warm_start: "^(conv|dense)" }'"""
    FROZEN = """ --set 'model.frozen=["^(conv|dense)"]'"""
    TUNED_WAYS = {'scratch': '', 'fine-tuned': WARM, 'frozen': WARM + FROZEN}

    @staticmethod
    def read_digits(name):
        """Images as the configuration makes them, and labels."""
        form = {'image_raw': tf.io.FixedLenFeature([], tf.string),
                'label': tf.io.FixedLenFeature([], tf.int64)}
        records = list(tf.data.TFRecordDataset(f'{DIGITS}/{name}.tfrecord.gz', 'GZIP'))
        rows = tf.io.parse_example(records, form)
        images = tf.reshape(tf.io.decode_raw(rows['image_raw'], tf.uint8), [-1, 8, 8, 1])
        return images.numpy().astype(np.float32) / 16 - 0.5, rows['label'].numpy()

    @staticmethod
    def digits_body():
        """testdata/digits/model.textproto but its last layer."""
        return [layers.Conv2D(16, 3, padding='same', activation='relu'), layers.MaxPooling2D(),
                layers.Conv2D(32, 3, padding='same', activation='relu'), layers.MaxPooling2D(),
                layers.Flatten(), layers.Dense(64, 'relu'), layers.Dropout(0.3)]

    @staticmethod
    def digits_rate():
        return tf.keras.optimizers.schedules.ExponentialDecay(0.004, 300, 0.5)

    def keras_tuned(self, way, seed, base, x, y):
        tf.keras.utils.set_random_seed(seed)
        body = tf.keras.Sequential(self.digits_body())
        body.build((None, 8, 8, 1))
        if way != 'scratch':
            body.set_weights([weight.numpy() for layer in base.layers[:-1] for weight in layer.weights])
        body.trainable = way != 'frozen'
        model = tf.keras.Sequential([body, layers.Dense(2)])
        fit(model, x[:40], y[:40] >= 5, 200, 40, self.digits_rate())
        return model

    def test_fine_tuning(self):
        (x, y), (test_x, test_y) = self.read_digits('train'), self.read_digits('test')
        comparison = Comparison('fine-tuning, accuracy')
        got, want = ({way: [] for way in self.TUNED_WAYS} for _ in range(2))
        for seed in SEEDS:
            tf.keras.utils.set_random_seed(seed)
            base = tf.keras.Sequential([*self.digits_body(), layers.Dense(10)])
            fit(base, x, y, 400, 64, self.digits_rate())
            for way, options in self.TUNED_WAYS.items():
                script = self.TUNED.replace('OPTIONS', options)
                got[way].append(self.last(script, SEED=seed, OUT=f'{way}{seed}')['accuracy'])
                want[way].append(accuracy(self.keras_tuned(way, seed, base, x, y), test_x, test_y >= 5))
        for way, scores in got.items():
            comparison.add(way, scores, 'Keras', want[way], standard_error(np.mean(want[way]), len(test_y)))
        comparison.finish(self)
        self.assertGreater(np.mean(got['frozen']), np.mean(got['scratch']) + 0.03)

    # --- A sweep ---

    SWEEP = """
mkdir sweep && for rate in 0.003 0.03; do for units in 4 16; do for seed in 1 2 3; do
  echo $rate $units $seed; done; done; done | xargs -P 2 -L 1 bash -c '
    out=sweep/$0,$1,$2 && tpurun train --config=$IRIS/run.textproto --model_dir=$out --tf_random_seed=$2 \\
      --max_steps=300 --set "model.optimizer={ adam { epsilon: 1e-7 } learning_rate { constant: $0 } }" \\
      --set model.layer.hidden_1.dense.units=$1 2>$out.log && tpurun evaluate --model_dir=$out >$out.json'
for name in $(ls sweep | grep json | cut -d, -f1,2 | sort -u); do
  jq -s --arg name $name '{$name, accuracy: [.[].accuracy]}' sweep/$name,*.json
done | jq -s -c 'max_by(.accuracy | add)'
"""

    @staticmethod
    def read_iris(name):
        rows = np.loadtxt(f'{IRIS}/iris_{name}.csv', delimiter=',', skiprows=1, dtype=np.float32)
        return rows[:, :4], rows[:, 4].astype(int)

    def test_sweep(self):
        (x, y), (test_x, test_y) = self.read_iris('training'), self.read_iris('test')
        start = time.monotonic()
        got = self.last(self.SWEEP)
        ours = time.monotonic() - start
        start, want = time.monotonic(), {}
        for rate in 0.003, 0.03:
            for units in 4, 16:
                for seed in SEEDS:
                    tf.keras.utils.set_random_seed(seed)
                    model = tf.keras.Sequential([layers.Dense(units, 'relu'), layers.Dense(10, 'relu'),
                                                 layers.Dense(3)])
                    fit(model, x, y, 300, 120, rate)
                    want.setdefault(f'{rate},{units}', []).append(accuracy(model, test_x, test_y))
        theirs = time.monotonic() - start
        best = max(want, key=lambda name: np.mean(want[name]))
        comparison = Comparison('sweep, accuracy')
        comparison.add(got['name'], got['accuracy'], f'Keras {best}', want[best],
                       standard_error(np.mean(want[best]), len(test_y)))
        comparison.finish(self)
        print(f'12 trainings and evaluations: tpurun {ours:.1f} s, Keras {theirs:.1f} s', flush=True)

    # --- Weights of Keras ---

    WEIGHTS = """
tpurun VERB --config=$DIGITS/run.textproto --model_dir=none --allow_untrained --use_tpu=false \\
  --set warm_start_from.ckpt_to_initialize_from=$FROM --set 'predict.keys=["logits", "probabilities"]' FLAGS
"""

    def test_weights_of_keras(self):
        (x, y), (test_x, test_y) = self.read_digits('train'), self.read_digits('test')
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([*self.digits_body(), layers.Dense(10)])
        fit(model, x, y, 200)
        tf.train.Checkpoint(model=model).write(self.path('checkpoint/keras'))
        model.export(self.path('exported'))
        logits = model(test_x).numpy()
        want = tf.nn.softmax(logits).numpy()
        for source in 'checkpoint/keras', 'exported':
            script = self.WEIGHTS.replace('VERB', 'evaluate').replace('FLAGS', '')
            self.assertAlmostEqual(self.last(script, FROM=source)['accuracy'],
                                   np.mean(want.argmax(1) == test_y), delta=1e-7)
            script = self.WEIGHTS.replace('VERB', 'predict').replace(
                'FLAGS', '--input=$DIGITS/test.tfrecord.gz')
            rows = [json.loads(line) for line in self.shell(script, FROM=source).splitlines()]
            for name, values in ('probabilities', want), ('logits', logits):
                error = np.abs(np.array([row[name] for row in rows]) - values).max() / np.abs(values).max()
                print(f'{source}: {name} of {len(rows)} images differ by {error:.1e} of the largest',
                      flush=True)
                self.assertLess(error, 1e-5, f'{source}: {name}')


if __name__ == '__main__':
    unittest.main()
