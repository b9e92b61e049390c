"""check: the step of a training on a Cloud TPU, from the configuration alone."""
import json
import os
import unittest

from program import ProgramTest, read, tree

IRIS = '--config=iris/run.textproto'
EFFICIENTNET = f'--config={os.path.abspath("testdata/published")}/efficientnet_b0.run.textproto'


class CheckTest(ProgramTest):

    def rows(self, *flags):
        done = self.call('check', '--format=json', *flags)
        rows = [json.loads(line) for line in done.out.splitlines()]
        return done, rows

    def kind(self, rows, kind):
        return [row for row in rows if row['kind'] == kind]

    def test_no_data_and_nothing_written(self):
        for name in ('iris_training.csv', 'iris_test.csv'):
            os.remove(self.path('iris', name))
        before = tree(self.dir)
        done = self.succeed('check', IRIS)
        self.assertEqual(done.err, '')
        self.assertEqual(tree(self.dir), before)
        for line in ('v2-8: 8 cores on 1 host, 16 examples a core, 128 in all', 'compiles: yes',
                     'Total hbm usage >= ', '    reserved        528.00M',
                     'Where the time of a step goes:', 'What helps:', 'Assumed: '):
            self.assertIn(line, done.out)

    def test_rows(self):
        done, rows = self.rows(IRIS)
        self.assertEqual(done.code, 0, str(done))
        [check] = self.kind(rows, 'check')
        self.assertEqual((check['accelerator_type'], check['cores'], check['batch_size'],
                          check['batch_size_of_core']), ('v2-8', 8, 128, 16))
        self.assertTrue(check['fits'])
        self.assertEqual(check['hbm_capacity_bytes'], 8 << 30)
        self.assertEqual(check['bound'], 'overhead')
        layers = self.kind(rows, 'layer')
        self.assertEqual({row['layer'] for row in layers} & {'hidden_1', 'hidden_2', 'logits'},
                         {'hidden_1', 'hidden_2', 'logits'})
        self.assertAlmostEqual(sum(row['ms'] for row in layers), check['compute_ms'], delta=1e-3)
        self.assertEqual([row['accelerator_type'] for row in self.kind(rows, 'slice')],
                         ['v2-8', 'v2-32', 'v2-128', 'v2-512'])
        again, _ = self.rows(IRIS)
        self.assertEqual(again.out, done.out)

    def test_slices(self):
        """The batch is that of all cores, and memory that of one."""
        checks = {}
        for slice_type, batch in (('v3-8', 1024), ('v3-32', 4096), ('v3-2048', 262144)):
            done, rows = self.rows(IRIS, f'--accelerator_type={slice_type}',
                                   f'--train_batch_size={batch}')
            self.assertEqual(done.code, 0, str(done))
            checks[slice_type] = rows[0]
            self.assertEqual(rows[0]['batch_size_of_core'], 128)
        self.assertEqual(len({check['hbm_bytes'] for check in checks.values()}), 1)
        self.assertLess(checks['v3-8']['all_reduce_ms'], checks['v3-32']['all_reduce_ms'])
        self.assertLess(50 * checks['v3-8']['examples_per_second'],
                        checks['v3-2048']['examples_per_second'])
        self.assertIn('all this is an estimate',
                      self.succeed('check', IRIS, '--accelerator_type=v4-16').out)

    def test_mistakes(self):
        for flags, code, want in (
                (('--accelerator_type=v2-16',), 2, '--accelerator_type: got "v2-16", want one of '),
                (('--accelerator_type=v3-32', '--train_batch_size=100'), 2, '32'),
                (('--accelerator_type=v3-128', '--train_batch_size=100'), 2,
                 '128'),
                (('--accelerator_type=v3-1024', '--train_batch_size=5000'), 2,
                 'train batch size 5000 must be divisible by number of replicas 1024, those of '
                 'v3-1024: 4096 or 5120'),
                (('--format=html',), 2, '--format: got "html", want text or json'),
                (('--steps=5',), 2, '--steps'),
                (('--set', 'model.layer.logits.dense.units=0'), 2, 'units'),
                (('--set', 'model.feature.0.dtype=UINT8'), 3, 'UINT8')):
            done = self.call('check', IRIS, *flags)
            self.assertEqual(done.code, code, str(done))
            self.assertEqual(done.out, '', str(done))
            self.assertIn(want, done.err)

    def test_a_step_that_does_not_fit(self):
        """google-research's EfficientNet-B0 with its batch of 2,048 on a v2-8 used 8.38G of 8.00G in
        tensorflow/tpu#385."""
        done = self.call('check', EFFICIENTNET)
        self.assertEqual(done.code, 4, str(done))
        self.assertIn('Ran out of memory in memory space hbm. Used ', done.out)
        self.assertIn('of 8.00G hbm. Exceeded hbm capacity by ', done.out)
        self.assertIn('Largest program allocations in hbm:', done.out)
        self.assertIn('does not fit into the 8.00G of a core of v2-8', done.err)
        done, [check, *_] = self.rows(EFFICIENTNET)
        self.assertEqual(done.code, 4, str(done))
        self.assertLess(abs(check['hbm_bytes'] / (8.38 * 2**30) - 1), 0.3)
        largest = check['largest_batch_size']
        self.assertIn(f'--train_batch_size={largest} fits', done.err)
        done, [check, *_] = self.rows(EFFICIENTNET, f'--train_batch_size={largest}')
        self.assertEqual((done.code, check['largest_batch_size']), (0, largest), str(done))
        done, _ = self.rows(EFFICIENTNET, f'--train_batch_size={largest + 64}')
        self.assertEqual(done.code, 4, str(done))
        done, _ = self.rows(EFFICIENTNET, '--accelerator_type=v3-8')
        self.assertEqual(done.code, 0, str(done))

    def test_the_largest_batch_from_far_away(self):
        """BERT-large fits into a v2-8 with a few sequences, and is asked with 1,024."""
        bert = EFFICIENTNET.replace('efficientnet_b0', 'bert_large')
        done, [check, *_] = self.rows(bert, '--train_batch_size=1024')
        self.assertEqual(done.code, 4, str(done))
        largest = check['largest_batch_size']
        self.assertGreater(largest, 0)
        self.assertEqual(self.rows(bert, f'--train_batch_size={largest}')[0].code, 0)
        self.assertEqual(self.rows(bert, f'--train_batch_size={largest + 8}')[0].code, 4)

    def test_a_batch_beyond_all_that_is_tried(self):
        """16,777,216 examples a core fit, 268,435,455 do not."""
        done, [check, *_] = self.rows(IRIS, '--train_batch_size=2147483640')
        self.assertEqual(done.code, 4, str(done))
        self.assertGreater(check['largest_batch_size'], 8 * 16777216)
        self.assertIn(f'--train_batch_size={check["largest_batch_size"]} fits', done.err)

    def test_broadcast(self):
        """Each core has the whole batch, which nothing has to divide."""
        broadcast = ('--set', 'tpu_config.per_host_input_for_training=BROADCAST')
        done, [whole, *rows] = self.rows(IRIS, *broadcast, '--train_batch_size=100')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual((whole['batch_size'], whole['batch_size_of_core']), (100, 100))
        self.assertEqual({row['batch_size'] for row in self.kind(rows, 'slice')}, {100})
        _, [share, *_] = self.rows(IRIS, '--train_batch_size=800')
        self.assertEqual(share['batch_size_of_core'], 100)
        self.assertEqual((whole['hbm_bytes'], whole['compute_ms']),
                         (share['hbm_bytes'], share['compute_ms']))
        done, [large, *_] = self.rows(IRIS, *broadcast, '--train_batch_size=100',
                                      '--accelerator_type=v3-1024')
        self.assertEqual((done.code, large['batch_size_of_core']), (0, 100), str(done))

    def test_batches_of_evaluation_and_prediction(self):
        done = self.succeed('check', IRIS, '--accelerator_type=v3-32', '--eval_batch_size=48')
        warnings = '\n'.join(done.warnings)
        for field, size, verb in (('eval_batch_size', 48, 'evaluate'),
                                  ('predict_batch_size', 8, 'predict')):
            self.assertIn(f'{field}: {size} is not divisible by the 32 replicas of v3-32, which '
                          f'would refuse to {verb} with it', warnings)
        self.assertEqual(self.succeed('check', IRIS).warnings, [])

    def test_what_only_a_run_needs(self):
        """No folder, no length, other shards and other workers than the file's."""
        flags = ('--unset', 'model_dir', '--unset', 'train.max_steps', '--set',
                 'tpu_config.num_shards=16')
        done = self.succeed('check', IRIS, *flags, env={
            **os.environ, 'TF_CONFIG': '{"cluster": {"worker": ["a:1", "b:1"]}, '
                                       '"task": {"type": "worker", "index": 1}}'})
        self.assertIn('tpu_config.num_shards: 16 is not used, v2-8 has 8 cores',
                      '\n'.join(done.warnings))
        self.assertIn('Cost: an epoch of 1,000,000 examples takes ', done.out)
        whole = self.succeed('check', IRIS)
        self.assertEqual(self.succeed('check', IRIS, '--unset', 'train.input').out, whole.out)
        done = self.call('check', IRIS, '--unset', 'train.input', '--measure_input')
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('train.input is missing', done.err)

    def test_bfloat16_helps(self):
        f32 = ('--set', 'model.compute_dtype=FLOAT32')
        _, [check, *_] = self.rows(EFFICIENTNET, *f32)
        self.assertLess(check['bf16_hbm_bytes'], 0.7 * check['hbm_bytes'])
        self.assertLess(check['bf16_step_ms'], check['step_ms'])
        self.assertIn('- compute_dtype: BFLOAT16, which stores activations in bf16',
                      self.call('check', EFFICIENTNET, *f32).out)

    def test_int64_is_a_warning(self):
        flags = ('--set', 'model.label.0.dtype=INT64', '--set',
                 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
                 '{ cast { feature: "Species" dtype: INT64 } }, { repeat {} }]')
        done = self.succeed('check', IRIS, *flags)
        self.assertIn('label "Species" is INT64: a TPU computes it as pairs of 32 bits',
                      '\n'.join(done.warnings))
        before = tree(self.dir)
        self.assertEqual(self.call('check', IRIS, '--strict', '--trace=trace.json', '--dump_dir=dump',
                                   *flags).code, 5)
        self.assertEqual(tree(self.dir), before)
        self.assertEqual(self.call('check', IRIS, '--strict').code, 0)

    def test_the_input_of_this_machine(self):
        done, [check, *_] = self.rows(IRIS, '--measure_input')
        self.assertEqual(done.code, 0, str(done))
        self.assertGreater(check['input_examples_per_second'], 0)
        self.assertAlmostEqual(
            check['input_threads_of_host'],
            check['examples_per_second'] * check['input_cpu_ms_of_example'] / 1e3,
            delta=1e-2 * check['input_threads_of_host'])
        self.assertIn(' threads like these, of 96 that it has.', self.succeed('check', IRIS, '--measure_input').out)
        os.remove(self.path('iris', 'iris_training.csv'))
        self.assertEqual(self.call('check', IRIS, '--measure_input').code, 66)
        self.assertEqual(self.call('check', IRIS).code, 0)
        self.assertEqual(self.call('check', IRIS, '--measure_input', '--numerics').code, 2)

    def test_a_host_that_is_slower(self):
        """20,000 examples a second are 6.4 ms for the 128 of a step, 128 million hide behind it."""
        _, [alone, *_] = self.rows(IRIS)
        self.assertNotIn('input_ms', alone)
        _, [fast, *_] = self.rows(IRIS, '--host_examples_per_second=128e6')
        self.assertEqual((fast['step_ms'], fast['input_ms']), (alone['step_ms'], 1e-3))
        done, [slow, *rows] = self.rows(IRIS, '--host_examples_per_second=20000', '--trace=trace.json')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual((slow['step_ms'], slow['bound'], slow['compute_ms']),
                         (6.4, 'infeed', alone['compute_ms']))
        self.assertEqual(slow['examples_per_second_of_host'], alone['examples_per_second'])
        self.assertEqual({row['step_ms'] for row in self.kind(rows, 'slice')}, {6.4})
        trace = json.loads(read(self.path('trace.json')))['traceEvents']
        [wait] = [event for event in trace if event['name'] == 'wait for infeed']
        self.assertAlmostEqual(wait['dur'], 1e3 * (6.4 - alone['step_ms']), delta=1)
        text = self.succeed('check', IRIS, '--host_examples_per_second=20000').out
        self.assertIn(' examples a second. It makes 20,000: the step waits for it.', text)
        # With BROADCAST one host makes the batch.
        _, [broadcast, *_] = self.rows(
            IRIS, '--host_examples_per_second=20000', '--accelerator_type=v2-32', '--set',
            'tpu_config.per_host_input_for_training=BROADCAST')
        self.assertEqual(broadcast['input_ms'], 6.4)
        for flag in ('0', '-1', 'nan', 'many'):
            done = self.call('check', IRIS, f'--host_examples_per_second={flag}')
            self.assertEqual(done.code, 2, str(done))
            self.assertIn('host_examples_per_second', done.err)
        self.assertEqual(
            self.call('check', IRIS, '--host_examples_per_second=5', '--numerics').code, 2)

    def test_tokens(self):
        bert = EFFICIENTNET.replace('efficientnet_b0', 'bert_large')
        _, [check, *_] = self.rows(bert, '--accelerator_type=v3-32', '--train_batch_size=448')
        self.assertAlmostEqual(check['tokens_per_second'] / (512 * check['examples_per_second']), 1,
                               delta=1e-3)
        self.assertNotIn('tokens_per_second', self.rows(IRIS)[1][0])
        text = self.succeed('check', bert, '--accelerator_type=v3-32', '--train_batch_size=448').out
        self.assertRegex(text, r'examples \([\d,]+ tokens\) a second, bound by: ')

    def test_dump(self):
        self.succeed('check', IRIS, '--dump_dir=dump')
        text = read(self.path('dump', 'tpu.program')).decode()
        self.assertIn(' matrix "hidden_1/MatMul" {matmul, bias_add, relu} ', text)
        self.assertIn(' all-reduce ', text)


if __name__ == '__main__':
    unittest.main()
