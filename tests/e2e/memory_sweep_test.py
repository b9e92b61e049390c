"""Every limit of the address space from the smallest to 400 MiB, by 1: digits and mnist, each verb.

    bazel test //tests/e2e:memory_sweep_test --test_output=all

It prints how often each exit code came.
"""
import collections
import shutil

from memory_limit import MemoryLimitTest

MOST = 400


class MemorySweepTest(MemoryLimitTest):

    def sweep(self, model):
        codes = {verb: collections.Counter() for verb in ('train', 'evaluate', 'predict')}
        model_dir, new = self.path('model'), self.path('new')
        self.succeed(*self.arguments(model, 'train', model_dir))
        first = self.smallest()
        for mib in range(first, MOST + 1):
            codes['train'][self.check(mib, model, 'train', new)] += 1
            shutil.rmtree(new, ignore_errors=True)
            for verb in ('evaluate', 'predict'):
                codes[verb][self.check(mib, model, verb, model_dir)] += 1
        for verb, counted in codes.items():
            print(f'{model} {verb}, {first} to {MOST} MiB: {dict(sorted(counted.items()))}')
            self.assertEqual(set(counted), {0, 4})

    def test_digits(self):
        self.sweep('digits')

    def test_mnist(self):
        self.make_mnist()
        self.sweep('mnist')
