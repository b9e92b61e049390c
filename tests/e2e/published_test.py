"""check's forecasts beside published times of Cloud TPUs. The table of cli/manual/tpu_check.md is this one:

  TPURUN=BINARY python3 tests/e2e/published_test.py --table
"""
import json
import statistics
import sys
import unittest
from typing import NamedTuple

from program import ProgramTest, call

RESNET = 'models/zoo/resnet50/run.textproto'
PUBLISHED = 'testdata/published/{}.run.textproto'
MANUAL = 'cli/manual/tpu_check.md'
V05, V06, V07 = 'MLPerf v0.5', 'MLPerf v0.6', 'MLPerf v0.7'


class Published(NamedTuple):
    model: str
    config: str
    slice: str
    batch: int
    ms: float
    source: str
    # How far the forecast may be from it, in percent; more than 30 where the run had other limits.
    allowed: int = 30


# Milliseconds of a step: of MLPerf's logs (mlcommons/training_results_v0.5, v0.6 and v0.7, Google), the seconds of an
# epoch divided by its steps. v0.6 and v0.7 have parts of the evaluations in it.
ROWS = [
    Published('ResNet-50', RESNET, 'v2-8', 1024, 228.9, V05),
    Published('ResNet-50', RESNET, 'v3-8', 1024, 137.3, V05),
    Published('ResNet-50', RESNET, 'v3-32', 4096, 169.4, V05),
    Published('ResNet-50', RESNET, 'v2-512', 16384, 81.8, V05),
    Published('ResNet-50', RESNET, 'v3-32', 4096, 131, V06),
    Published('ResNet-50', RESNET, 'v3-128', 16384, 131, V06),
    Published('ResNet-50', RESNET, 'v3-256', 32768, 136, V06),
    Published('ResNet-50', RESNET, 'v3-512', 32768, 92.6, V06),
    Published('ResNet-50', RESNET, 'v3-1024', 32768, 44.2, V06),
    Published('ResNet-50', RESNET, 'v3-2048', 32768, 25.2, V06),
    Published('ResNet-50', RESNET, 'v3-32', 4096, 128, V07),
    Published('ResNet-50', RESNET, 'v4-16', 2048, 73.6, V07),
    Published('BERT-large', PUBLISHED.format('bert_large'), 'v3-32', 448, 460.5, V07),
    Published('BERT-large', PUBLISHED.format('bert_large'), 'v4-16', 256, 233.3, V07),
    Published('SSD-ResNet-34', PUBLISHED.format('ssd_resnet34'), 'v2-8', 128, 128, V05),
    Published('SSD-ResNet-34', PUBLISHED.format('ssd_resnet34'), 'v3-8', 128, 96, V05, 60),
    Published('GNMT', PUBLISHED.format('gnmt'), 'v2-8', 2048, 581, V05),
    Published('GNMT', PUBLISHED.format('gnmt'), 'v3-8', 2048, 372, V05, 50),
    Published('MNIST 6-12-24-200 (fitted)', PUBLISHED.format('mnist_colab'), 'v2-8', 256, 1.02,
              'tensorflow/tpu, mnist_tpuestimator.ipynb'),
]


def forecast(row):
    done = call('check', f'--config={row.config}', f'--accelerator_type={row.slice}',
                f'--train_batch_size={row.batch}', '--format=json')
    return json.loads(done.out.splitlines()[0])['step_ms']


def error(row, ms):
    return 100 * (ms / row.ms - 1)


def table():
    lines = ['| model | slice | batch | published ms | source | forecast ms | error |',
             '| --- | --- | --- | --- | --- | --- | --- |']
    for row in ROWS:
        ms = forecast(row)
        lines.append(f'| {row.model} | {row.slice} | {row.batch:,} | {row.ms:g} | {row.source} | '
                     f'{ms:.3g} | {error(row, ms):+.0f} % |')
    return '\n'.join(lines) + '\n'


class PublishedTest(ProgramTest):

    def test_forecasts_are_near(self):
        errors = []
        for row in ROWS:
            errors.append(abs(error(row, forecast(row))))
            self.assertLessEqual(errors[-1], row.allowed, row)
        self.assertLessEqual(statistics.median(errors), 15, errors)

    def test_the_manual_has_this_table(self):
        with open(MANUAL, encoding='utf-8') as page:
            self.assertIn(table(), page.read(), f'the table of {MANUAL} is another')


if __name__ == '__main__':
    if '--table' in sys.argv:
        print(table(), end='')
    else:
        unittest.main()
