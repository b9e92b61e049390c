"""The forecast of check in a trace, beside measured steps, and in a report."""
import json
import os
import re
import unittest

from program import DIGITS, ProgramTest, read, write

UNITS = ('matrix unit', 'vector unit', 'HBM')
LANES = {'step', 'computations', *UNITS, 'links', 'infeed'}


class Trace:
    """The events of one process of a trace."""

    def __init__(self, path, process):
        events = json.loads(read(path))['traceEvents']
        (number,) = {event['pid'] for event in events if event['name'] == 'process_name'
                     and event['args']['name'] == process}
        events = [event for event in events if event['pid'] == number]
        names = {event['tid']: event['args']['name'] for event in events
                 if event['name'] == 'thread_name'}
        self.lanes = {name: [] for name in names.values()}
        for event in events:
            if event['ph'] == 'X':
                self.lanes[names[event['tid']]].append(event)
        self.hbm = [(event['ts'], event['args']['bytes']) for event in events
                    if event['ph'] == 'C' and event['name'] == 'HBM in use']

    def milliseconds(self, lane):
        return sum(span['dur'] for span in self.lanes[lane]) / 1e3


class ForecastTest(ProgramTest):

    def fail_with(self, message, *arguments):
        call = self.call(*arguments)
        self.assertEqual((call.code, call.out), (2, ''), str(call))
        self.assertIn(message, '\n'.join(call.messages))

    def assert_no_overlap(self, trace):
        """In whole nanoseconds, as they are written."""
        for lane, spans in trace.lanes.items():
            ends = [0] + [round(span['ts'] * 1e3) + round(span['dur'] * 1e3) for span in spans]
            for span, end in zip(spans, ends):
                self.assertGreaterEqual(round(span['ts'] * 1e3), end, (lane, span))
                self.assertGreater(span['dur'], 0)

    def assert_as_check_says(self, trace, rows):
        """Numbers in JSON have 4 digits."""
        (check,) = (row for row in rows if row['kind'] == 'check')

        def close(milliseconds, want):
            self.assertAlmostEqual(milliseconds, want, delta=max(1e-3 * want, 1e-5))

        self.assertEqual(set(trace.lanes), LANES)
        self.assert_no_overlap(trace)
        close(trace.milliseconds('step'), check['step_ms'])
        close(trace.milliseconds('computations'), check['step_ms'])
        close(trace.milliseconds('links'), check['all_reduce_ms'])
        close(trace.milliseconds('infeed'), check['infeed_ms'])
        work = [span for span in trace.lanes['computations'] if 'layer' in span['args']]
        close(sum(span['dur'] for span in work) / 1e3, check['compute_ms'])
        layers = {(row['layer'], row['phase']): row for row in rows if row['kind'] == 'layer'}
        for key, row in layers.items():
            spans = [span for span in work if (span['args']['layer'], span['args']['phase']) == key]
            # A thousandth of a microsecond is lost in each.
            self.assertAlmostEqual(sum(span['dur'] for span in spans) / 1e3, row['ms'],
                                   delta=1e-3 * row['ms'] + 1e-6 * len(spans))
            self.assertEqual(sum(span['args']['bytes'] for span in spans), row['hbm_bytes'])
        self.assertEqual({(span['args']['layer'], span['args']['phase']) for span in work},
                         set(layers))
        begins = {span['ts'] for span in work}
        for unit in UNITS:
            self.assertLessEqual({span['ts'] for span in trace.lanes[unit]}, begins)
        self.assertEqual(max(count for _, count in trace.hbm), check['hbm_bytes'])
        self.assertEqual([time for time, _ in trace.hbm], sorted(time for time, _ in trace.hbm))
        self.assertLess(trace.hbm[-1][1], check['hbm_bytes'])

    def test_check_writes_the_step(self):
        for batch, accelerator in ((512, 'v3-8'), (512 * 16, 'v2-512')):
            arguments = ('check', f'--config={DIGITS}/run.textproto',
                         f'--train_batch_size={batch}', f'--accelerator_type={accelerator}')
            done = self.succeed(*arguments, '--trace=trace.json', '--format=json')
            rows = [json.loads(line) for line in done.out.splitlines()]
            trace = Trace(self.path('trace.json'), f'forecast {accelerator}')
            self.assert_as_check_says(trace, rows)
            names = [span['name'] for span in trace.lanes['computations']]
            self.assertEqual((names[0], names[-1]), ('start of the step', 'all-reduce'))
            products = [product for span in trace.lanes['computations']
                        for product in span['args'].get('products', ())]
            self.assertIn(f'1 x ({batch // int(accelerator[3:])},64) x (64,10)', products)
            text = self.succeed(*arguments).out
            busy = re.search(r'matrix units ([0-9.]+) ms .* vector unit ([0-9.]+) ms, '
                             r'HBM ([0-9.]+) ms', text).groups()
            for unit, milliseconds in zip(UNITS, map(float, busy)):
                self.assertAlmostEqual(trace.milliseconds(unit), milliseconds, delta=0.0006, msg=unit)

    def test_a_step_that_waits_for_its_infeed(self):
        write(self.path('model.textproto'), """
name: "means"
feature { name: "x" dtype: FLOAT32 shape: [224, 224, 3] }
label { name: "y" dtype: FLOAT32 shape: 1 }
layer { input: "x" global_average_pooling2d {} }
layer { name: "line" dense { units: 1 } }
loss { name: "square" mean_squared_error { labels: "y" predictions: "line" } }
optimizer { gradient_descent {} learning_rate { constant: 0.1 } }
""")
        write(self.path('run.textproto'), """
model_file: "model.textproto"
model_dir: "model"
train_batch_size: 64
train { max_steps: 10 input {
  source { tfrecord { file: "absent.tfrecord" } }
  transform { parse_example { feature { name: "x" float { shape: [224, 224, 3] } }
                              feature { name: "y" float { shape: 1 } } } }
  transform { batch { drop_remainder: true } }
} }
""")
        done = self.call('check', '--config=run.textproto', '--trace=trace.json', '--format=json')
        self.assertEqual(done.code, 0, str(done))
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual(rows[0]['bound'], 'infeed')
        trace = Trace(self.path('trace.json'), 'forecast v2-8')
        self.assert_as_check_says(trace, rows)
        self.assertEqual(trace.lanes['computations'][-1]['name'], 'wait for infeed')

    def test_profile_shows_it_beside_the_measured_steps(self):
        arguments = ('profile', '--config=iris/run.textproto', '--steps=10', '--trace=trace.json',
                     '--train_batch_size=240')
        self.succeed(*arguments, '--accelerator_type=v2-8')
        check = self.succeed('check', '--config=iris/run.textproto', '--train_batch_size=240',
                             '--format=json')
        trace = Trace(self.path('trace.json'), 'forecast v2-8')
        self.assert_as_check_says(trace, [json.loads(line) for line in check.out.splitlines()])
        (step,) = trace.lanes['step']
        steps = Trace(self.path('trace.json'), 'host').lanes['steps']
        self.assertEqual((len(steps), steps[0]['ts'], step['ts']), (10, 0, 0))
        self.assert_no_overlap(Trace(self.path('trace.json'), 'workers'))
        self.succeed(*arguments)
        self.assertNotIn(b'forecast', read(self.path('trace.json')))

    def test_mistakes_of_traces(self):
        config = '--config=iris/run.textproto'
        v2 = '--accelerator_type=v2-8'
        for message, arguments in (
                ('--trace: got ""', ('check', config, '--trace=')),
                ('--trace is for the forecast of a training\'s step: got --numerics too',
                 ('check', config, '--trace=x', '--numerics')),
                ('got --saved_model too', ('check', '--saved_model=x', '--trace=x')),
                ('got no --trace, want --trace=FILE and mode train', ('profile', config, v2)),
                ('got --mode=evaluate, want --trace=FILE and mode train',
                 ('profile', config, v2, '--trace=x', '--mode=evaluate')),
                ('got --quick_test, want', ('profile', v2, '--trace=x', '--quick_test')),
                ('v9-8', ('profile', config, '--trace=x', '--accelerator_type=v9-8')),
                ('v9-8', ('report', 'iris', '--text', '--accelerator_type=v9-8'))):
            self.fail_with(message, *arguments)
        self.assertFalse(os.path.exists(self.path('x')))

    def train(self, model, *flags):
        flags = flags or ('--train_batch_size=240',)
        self.succeed(*self.iris('train', model, '--max_steps=20', *flags))

    def report(self, *flags):
        self.succeed('report', 'runs', '--output=report.html', *flags)
        page = read(self.path('report.html')).decode()
        found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
        return page, json.loads(found.group(1))

    def test_a_report_has_a_section_for_each_training(self):
        evil = '<img src=x onerror=alert(1)>'
        self.train('runs/' + evil, '--train_batch_size=240', '--set',
                   'model.layer.hidden_1.dense.units=200')
        self.succeed(*self.iris('evaluate', 'runs/' + evil, '--set',
                                'model.layer.hidden_1.dense.units=200'))
        self.train('runs/small')
        os.remove(self.path('runs/small/run_config.pbtxt'))
        self.train('runs/wide')
        broken = self.path('runs/wide/run_config.pbtxt')
        write(broken, read(broken).replace(b'train_batch_size: 240', b'train_batch_size: 241'))
        page, data = self.report('--accelerator_type=v3-8')
        self.assertNotIn('<img', page)
        forecasts = data['forecasts']
        self.assertEqual(forecasts['title'], 'On a Cloud TPU v3-8')
        by_name = {data['runs'][entry['run']]['name']: entry for entry in forecasts['runs']}
        self.assertEqual(set(by_name), {evil, 'wide'})
        self.assertIn('got 241, which 8 cores do not divide', by_name['wide']['error'])
        self.assertEqual(by_name['wide']['tables'], [])
        entry = by_name[evil]
        self.assertEqual(entry['error'], '')
        check = self.succeed('check', f'--model_dir=runs/{evil}', '--accelerator_type=v3-8',
                             '--format=json')
        rows = [json.loads(line) for line in check.out.splitlines()]
        of_kind = lambda kind: [row for row in rows if row['kind'] == kind]
        text = self.succeed('check', f'--model_dir=runs/{evil}', '--accelerator_type=v3-8').out
        for line in entry['verdict'] + entry['advice']:
            self.assertIn(line, text)
        tables = {table['title']: table for table in entry['tables']}
        layers = tables['Where the time of a step goes']
        self.assertEqual([row[0] for row in layers['rows']],
                         [row['layer'] for row in of_kind('layer')][:20])
        allocations = tables['The largest allocations in the HBM of a core']
        self.assertEqual([row[2] for row in allocations['rows']],
                         [row['shape'] for row in of_kind('allocation')][:10])
        slices = tables['The same batch of a core on other slices']
        self.assertEqual([row[0] for row in slices['rows']],
                         [row['accelerator_type'] for row in of_kind('slice')])
        for table in (forecasts['table'], *entry['tables']):
            for row in table['rows']:
                self.assertEqual(len(row), len(table['columns']), row)
                self.assertTrue(all(isinstance(cell, str) for cell in row), row)
        ((name, fits, *_),) = forecasts['table']['rows']
        self.assertEqual((name, fits), (evil, 'yes'))

    def test_the_text_of_a_report_is_a_table_and_reasons(self):
        self.train('runs/narrow', '--train_batch_size=256')
        self.train('runs/wide')
        plain = self.succeed('report', 'runs', '--text').out
        broken = self.path('runs/wide/run_config.pbtxt')
        write(broken, read(broken).replace(b'train_batch_size: 240', b'train_batch_size: 241'))
        both = self.succeed('report', 'runs', '--text', '--accelerator_type=v2-32').out
        table = both[both.index('\nOn a Cloud TPU v2-32\n'):]
        self.assertRegex(table, r'\nrun +fits +HBM +of .*\nnarrow +yes +\d')
        self.assertIn('\nwide: no forecast:\n  ', table)
        self.assertIn('got 241, which 32 cores do not divide', table)
        self.assertNotIn('Cloud TPU', plain)
        _, data = self.report()
        self.assertNotIn('forecasts', data)

    def test_without_a_configuration_there_is_no_forecast(self):
        self.train('runs/a')
        os.remove(self.path('runs/a/run_config.pbtxt'))
        done = self.succeed('report', 'runs', '--output=report.html', '--accelerator_type=v3-8')
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('no run has a run_config.pbtxt', done.warnings[0])


if __name__ == '__main__':
    unittest.main()
