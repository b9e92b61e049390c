"""What `tpurun init` makes of small tables and of a time series, beside models of scikit-learn.

Both learn from the same rows and are asked about the same others: those of a fold, of which tpurun
holds out every tenth to end its training, and scikit-learn does not see these either. A score is the
mean over the folds, and there is one for each seed, which also draws the folds. The test prints

    data set   tpurun mean and spread over the seeds   scikit-learn mean and spread

and fails where tpurun is worse by more than the larger spread. A spread is the largest score less the
smallest one."""
import csv
import os
import tempfile
import unittest
import warnings

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparison import Comparison
from examples import run

SEEDS = (1, 2, 3)
FOLDS = 5
TABLES = {'diabetes': datasets.load_diabetes, 'breast_cancer': datasets.load_breast_cancer,
          'wine': datasets.load_wine, 'iris': datasets.load_iris, 'digits': datasets.load_digits}
CLASSIFIERS = {
    'LogisticRegression': lambda seed: LogisticRegression(max_iter=1000),
    'MLPClassifier': lambda seed: MLPClassifier(random_state=seed, max_iter=500),
}
REGRESSORS = {
    'Ridge': lambda seed: Ridge(),
    'MLPRegressor': lambda seed: MLPRegressor(random_state=seed, max_iter=500),
}
# The diabetes data come scaled to stddev 0.05. With stddev 1 the penalty of Ridge is a far smaller one.
SHOWN = {'StandardScaler, Ridge': lambda seed: make_pipeline(StandardScaler(), Ridge())}


def write_table(path, titles, rows):
    with open(path, 'w', encoding='utf-8', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([titles, *rows])


def trained(kind, path, output, seed, *flags):
    """The --config of what init wrote for a file, trained by the command that it printed."""
    init, = run('init', kind, path, f'--output={output}', *flags)
    _, verb, config = init['next'].split()
    run(verb, config, f'--tf_random_seed={seed}', '--quiet')
    return config


def table_score(folder, x, y, train, test, seed):
    titles = [*(f'feature{i}_' for i in range(x.shape[1])), 'label']
    for name, rows in ('train.csv', train), ('test.csv', test):
        write_table(os.path.join(folder, name), titles,
                    [[*map(float, x[i]), y[i].item()] for i in rows])
    config = trained('csv', os.path.join(folder, 'train.csv'), os.path.join(folder, 'out'), seed)
    test_file = '--input=' + os.path.join(folder, 'test.csv')
    if y.dtype.kind == 'f':
        rows = run('predict', config, test_file)
        return r2_score(y[test], [row['predictions'][0] for row in rows])
    return run('evaluate', config, test_file)[0]['accuracy']


def drawn_texts(seed, classes, rows):
    """Of 3,000 words as frequent as those of a language (Zipf), some of which say a little of the class."""
    draw = np.random.RandomState(seed)
    words = np.array([f'w{i}' for i in range(3000)])
    frequency = 1 / np.arange(1, len(words) + 1)
    says = np.where(draw.rand(classes, len(words)) < 0.2, draw.normal(size=(classes, len(words))), 0)
    says[:, :50] = 0  # such as "the"
    labels = draw.randint(classes, size=rows)
    chances = frequency * np.exp(says)
    chances /= chances.sum(1, keepdims=True)
    texts = [' '.join(draw.choice(words, size=draw.randint(10, 60), p=chances[label])) for label in labels]
    return texts, [f'class {label}' for label in labels]


class ScikitLearnTest(unittest.TestCase):

    def setUp(self):
        warnings.simplefilter('ignore', ConvergenceWarning)

    def test_small_tables(self):
        comparison = Comparison('data set')
        for name, load in TABLES.items():
            x, y = load(return_X_y=True)
            is_regression = y.dtype.kind == 'f'
            models = {**REGRESSORS, **SHOWN} if is_regression else CLASSIFIERS
            ours, theirs = [], {model: [] for model in models}
            for seed in SEEDS:
                scores, their_scores = [], {model: [] for model in models}
                for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(x):
                    with tempfile.TemporaryDirectory() as folder:
                        scores.append(table_score(folder, x, y, train, test, seed))
                    seen = train[np.arange(len(train)) % 10 != 9]
                    for model, make in models.items():
                        made = make(seed) if is_regression else make_pipeline(
                            StandardScaler(), make(seed))
                        their_scores[model].append(made.fit(x[seen], y[seen]).score(x[test], y[test]))
                ours.append(np.mean(scores))
                for model, values in their_scores.items():
                    theirs[model].append(np.mean(values))
            for model, values in theirs.items():
                comparison.add(f'{name} {"R2" if is_regression else "accuracy"}', ours, model, values,
                               only_shown=model in SHOWN)
            if name == 'diabetes':
                # Ridge on every tenth row reaches this.
                self.assertGreaterEqual(np.mean(ours), 0.34)
        comparison.finish(self)

    def test_texts(self):
        comparison = Comparison('drawn texts')
        for classes, rows in (2, 2000), (4, 4000):
            ours, theirs = [], []
            for seed in SEEDS:
                texts, labels = drawn_texts(seed, classes, rows)
                train = rows * 4 // 5
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, 'train.csv')
                    test_path = os.path.join(folder, 'test.csv')
                    write_table(path, ['text', 'label'], zip(texts[:train], labels[:train]))
                    write_table(test_path, ['text', 'label'], zip(texts[train:], labels[train:]))
                    config = trained('csv', path, os.path.join(folder, 'out'), seed)
                    evaluated, = run('evaluate', config, f'--input={test_path}')
                    ours.append(evaluated['accuracy'])
                seen = [i for i in range(train) if i % 10 != 9]
                made = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000)).fit(
                    [texts[i] for i in seen], [labels[i] for i in seen])
                theirs.append(made.score(texts[train:], labels[train:]))
            comparison.add(f'{rows} texts, {classes} classes', ours, 'LogisticRegression of words',
                           theirs)
        comparison.finish(self)

    def test_a_noisy_sine(self):
        comparison = Comparison('data set')
        rows, window, horizon = 1000, 24, 3
        for kind in 'dense', 'lstm':
            ours, theirs = [], {model: [] for model in REGRESSORS}
            for seed in SEEDS:
                draw = np.random.RandomState(seed)
                y = (3 + np.sin(2 * np.pi * np.arange(rows) / 20)
                     + 0.2 * draw.normal(size=rows)).astype(np.float32)
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, 'sine.csv')
                    write_table(path, ['y'], [[value] for value in y])
                    config = trained('series', path, os.path.join(folder, 'out'), seed,
                                     f'--window={window}', f'--horizon={horizon}', f'--model={kind}')
                    evaluated, = run('evaluate', config)
                    self.assertEqual(evaluated['examples'], rows // 10)
                    ours.append(evaluated['mean_absolute_error'])
                    self.check_forecasts(config, path, y)
                x = np.lib.stride_tricks.sliding_window_view(y, window)[:-horizon]
                label = y[window + horizon - 1:]
                train = len(label) - rows // 10
                for model, make in REGRESSORS.items():
                    made = make_pipeline(StandardScaler(), make(seed)).fit(x[:train], label[:train])
                    theirs[model].append(mean_absolute_error(label[train:], made.predict(x[train:])))
            for model, values in theirs.items():
                # The noise alone has a mean absolute deviation of 0.16.
                comparison.add(f'sine {kind} MAE', ours, model, values, higher_is_better=False)
        comparison.finish(self)

    def check_forecasts(self, config, path, y):
        """predict knows what comes after the last row, and so does it for a file of its own."""
        last, = run('predict', config)
        value = last['predictions'][0]
        want = 3 + np.sin(2 * np.pi * (len(y) + 2) / 20)
        self.assertLess(abs(value - want), 0.5)
        of_file = run('predict', config, f'--input={path}')
        self.assertEqual(len(of_file), len(y) - 23)
        self.assertEqual(of_file[-1], last)


if __name__ == '__main__':
    unittest.main()
