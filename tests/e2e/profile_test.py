"""profile: where the time of a step goes, on iris, call by call."""
import glob
import json
import os
import signal
import time
import unittest

from program import ProgramTest, read, tree, write


class ProfileTest(ProgramTest):

    def profile(self, *arguments):
        call = self.succeed('profile', '--config=iris/run.textproto', '--format=json', *arguments)
        return self.result(call)

    def fail_with(self, code, message, *arguments):
        call = self.call(*arguments)
        self.assertEqual((call.code, call.out), (code, ''), str(call))
        self.assertIn(message, '\n'.join(call.messages))

    def check(self, profile, steps):
        self.assertEqual(profile['steps'], steps)
        self.assertAlmostEqual(profile['accounted_share'], 1, delta=0.001)
        for rows in ('layer', 'op', 'instruction'):
            self.assertTrue(profile[rows])
            seconds = [row['seconds'] for row in profile[rows]]
            self.assertEqual(seconds, sorted(seconds, reverse=True))
        busy = sum(worker['busy_seconds'] for worker in profile['worker'])
        for rows in ('layer', 'op', 'instruction'):
            self.assertAlmostEqual(sum(row['seconds'] for row in profile[rows]) / busy, 1, delta=1e-6)
        for row in profile['instruction']:
            self.assertTrue(row['from'], row['name'])
        memory = profile['memory']
        self.assertEqual(sum(row['bytes'] for row in memory['at_peak']), memory['peak_bytes'])

    def test_modes(self):
        before = tree(self.path('iris'))
        phases = {}
        for mode in ('train', 'evaluate', 'predict'):
            profile = self.profile(f'--mode={mode}', '--steps=40')
            self.assertEqual(profile['mode'], mode)
            self.check(profile, 40)  # the input of evaluate and predict has 8 batches
            phases[mode] = {row['phase'] for row in profile['layer']}
        self.assertEqual(phases['train'] & {'forward', 'backward', 'update'},
                         {'forward', 'backward', 'update'})
        self.assertFalse(phases['evaluate'] & {'backward', 'update'})
        self.assertFalse(phases['predict'] & {'backward', 'update'})
        self.assertEqual(tree(self.path('iris')), before)

    def test_costs(self):
        """hidden_1 is a product (30, 4) (4, 10), its backward pass one for the kernel: the features
        have no gradient."""
        profile = self.profile('--steps=10', '--train_batch_size=240')
        flops = {(row['name'], row['phase']): row['matrix_flops'] for row in profile['layer']}
        self.assertAlmostEqual(flops['hidden_1', 'forward'], 2 * 240 * 4 * 10, delta=1)
        self.assertAlmostEqual(flops['hidden_1', 'backward'], 2 * 240 * 4 * 10, delta=1)

    def test_workers(self):
        for workers in (1, 2):
            profile = self.profile('--steps=10', f'--worker_threads={workers}')
            self.assertEqual(len(profile['worker']), workers)
            for worker in profile['worker']:
                parts = sum(worker[f'{part}_seconds'] for part in
                            ('busy', 'barrier', 'infeed', 'outfeed'))
                self.assertAlmostEqual(parts / profile['step_seconds'], 1, delta=0.001)

    def test_input(self):
        stages = self.profile('--steps=10')['input']
        self.assertEqual(stages[0]['name'], 'text_line')
        self.assertEqual(sum(stage['limit'] for stage in stages), 1)

    def test_tables_fit_a_terminal(self):
        text = self.succeed('profile', '--config=iris/run.textproto', '--steps=10').out
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        for word in ('hidden_1', 'backward', 'worker', 'Critical path', 'matmul'):
            self.assertIn(word, text)

    def test_trace(self):
        self.succeed('profile', '--config=iris/run.textproto', '--steps=10', '--trace=trace.json')
        events = json.loads(read(self.path('trace.json')))['traceEvents']
        lanes = {event['args']['name'] for event in events if event['name'] == 'thread_name'}
        for lane in ('worker 0', 'core 0', 'core 7', 'steps', 'infeed', 'outfeed'):
            self.assertIn(lane, lanes)
        spans = [event for event in events if event['ph'] == 'X']
        steps = [span for span in spans if span['name'].startswith('step ')]
        self.assertEqual(len(steps), 10)
        end = max(span['ts'] + span['dur'] for span in steps)
        for span in spans:
            self.assertGreaterEqual(span['dur'], 0)
            self.assertGreaterEqual(span['ts'], 0)
            self.assertLessEqual(span['ts'] + span['dur'], end + 0.01)

    def test_compare(self):
        profile = self.profile('--steps=10')
        for row in profile['layer']:
            row['seconds'] /= 1000
        write(self.path('fast.json'), json.dumps(profile))
        slower = self.profile('--steps=10', '--compare=fast.json')['slower']
        self.assertEqual({(row['name'], row['phase']) for row in slower},
                         {(row['name'], row['phase']) for row in profile['layer']})

        for row in profile['layer']:
            row['seconds'] *= 1e6
        write(self.path('slow.json'), json.dumps(profile))
        self.assertIn('No layer takes over 5 % longer than in slow.json.', self.succeed(
            'profile', '--config=iris/run.textproto', '--steps=10', '--compare=slow.json').out)

    def test_mistakes(self):
        config = '--config=iris/run.textproto'
        write(self.path('other.json'), '{}')
        write(self.path('text.json'), 'ms')
        for message, flag in (('--mode: got "export"', '--mode=export'),
                              ('--format: got "html"', '--format=html'),
                              ('--steps: got 0', '--steps=0'),
                              ('--trace: got ""', '--trace='),
                              ('--compare: other.json: not a profile', '--compare=other.json'),
                              ('--compare: text.json: not a profile', '--compare=text.json')):
            self.fail_with(2, message, 'profile', config, flag)
        self.fail_with(66, 'absent.json', 'profile', config, '--compare=absent.json')
        for steps in ('0-3', '5-4', '5', '-', 'a-b', '1-2000', '1-99999999999999999999'):
            self.fail_with(2, f'--profile_steps: got "{steps}", want A-B',
                           *self.iris('train', 'model', f'--profile_steps={steps}'))
        self.assertFalse(os.path.exists(self.path('model')))
        before = self.path('before.json')
        for name, value in (('model', 'another'), ('mode', 'evaluate')):
            write(before, json.dumps({**self.profile('--steps=3'), name: value}))
            self.fail_with(2, f'"{value}"', 'profile', config, '--steps=3', f'--compare={before}')
        self.fail_with(74, 'no/', 'profile', config, '--trace=no/trace.json')
        for flag in ('--steps=3', '--trace=trace.json', '--mode=train', '--checkpoint=x', config,
                     f'--compare={before}'):
            self.fail_with(2, '--quick_test multiplies matrices of ones and profiles no model: leave '
                           f'out {flag.partition("=")[0]}', 'profile', '--quick_test', flag)

    def test_without_cores(self):
        """Products whose parts follow each other in a phase, as those of one replica do."""
        for workers in (1, 2):
            profile = self.profile('--steps=3', '--use_tpu=false', f'--worker_threads={workers}')
            self.assertTrue(any(row['kernel_roof'] > 0 for row in profile['instruction']))

    def test_padding_is_no_example(self):
        """The three rows of predict and the thirty of evaluate are in batches of 8 and 32."""
        for mode, rows in (('predict', 3), ('evaluate', 30)):
            profile = self.profile(f'--mode={mode}', '--steps=20')
            self.assertAlmostEqual(profile['examples_per_second'] * profile['step_seconds'] / rows, 1,
                                   delta=1e-6)

    def test_predictions(self):
        """Of an input that gives labels too, and of none: text is generated token by token."""
        labelled = ('--set', 'predict.input={ source { text_line { file: "iris/iris_test.csv" skip_lines: 1'
                    ' } } transform { apply { transformation_func: "parse" } } }')
        self.check(self.profile('--mode=predict', '--steps=5', *labelled), 5)
        config = os.path.abspath('models/zoo/char_transformer/run.textproto')
        self.fail_with(2, '--mode=predict: the predictions of predict { generate { ... } } are steps '
                       'of one token', 'profile', f'--config={config}', '--mode=predict',
                       '--predict_batch_size=8', '--model_dir=model')

    def test_quick_test(self):
        result = self.result(self.succeed('profile', '--quick_test', '--format=json'))
        self.assertEqual(result['sum'], 1024 ** 3)
        self.assertEqual(result['num_replicas'], 8)
        self.assertGreater(result['bf16_gflops'], 0)

    def train(self, model, *flags):
        self.succeed(*self.iris('train', model, '--max_steps=60', *flags))

    def profile_of(self, model):
        (path,) = glob.glob(self.path(model, 'plugins/profile/*/profile.json'))
        self.assertEqual(len(glob.glob(os.path.join(os.path.dirname(path), '*.xplane.pb'))), 1)
        return json.loads(read(path))

    def test_profile_steps(self):
        """A profile changes nothing, in one loop or over several."""
        for loop in (60, 7):
            iterations = ('--set', f'tpu_config.iterations_per_loop={loop}')
            self.train(f'plain_{loop}', *iterations)
            self.train(f'profiled_{loop}', *iterations, '--profile_steps=20-29')
            plain, profiled = (
                {path: content for path, (_, _, content) in
                 tree(self.path(f'{name}_{loop}')).items() if 'model.ckpt' in path}
                for name in ('plain', 'profiled'))
            self.assertTrue(plain)
            self.assertEqual(plain, profiled)
            # The longest loop: steps 22 to 28 of loops of 7.
            self.check(self.profile_of(f'profiled_{loop}'), 10 if loop == 60 else 7)

    def test_profile_of_the_last_steps(self):
        """Those that the training runs."""
        self.train('model', '--profile_steps=51-80')
        self.check(self.profile_of('model'), 10)

    def test_profile_of_an_interrupted_loop(self):
        process = self.start(*self.iris('train', 'model', '--max_steps=1000000000',
                                        '--set', 'tpu_config.iterations_per_loop="1000000000"',
                                        '--profile_steps=10-19'))
        self.wait_until(lambda: glob.glob(self.path('model/model.ckpt-0.index')), process)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        call = self.finish(process)
        self.assertEqual(call.code, 75, str(call))
        self.check(self.profile_of('model'), 10)

    def test_profile_of_no_step(self):
        self.train('model')
        call = self.succeed(*self.iris('train', 'model', '--max_steps=70', '--profile_steps=3-5'))
        self.assertIn('none of the steps 3 to 5 was run', ' '.join(call.warnings))
        self.assertFalse(os.path.exists(self.path('model/plugins')))


if __name__ == '__main__':
    unittest.main()
