"""The converters of TensorBoard's profile plugin on what `train --profile_steps` writes."""
import glob
import json
import os
import tempfile
import unittest

from tensorboard_plugin_profile.convert import raw_to_tool_data

from examples import IRIS

FIRST, LAST = 50, 59


def rows(table):
    """Those of a table in the form of Google Charts, by the ids of its columns."""
    names = [column['id'] for column in table['cols']]
    return [dict(zip(names, [cell['v'] for cell in row['c']])) for row in table['rows']]


class ProfileTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        IRIS.train(directory.name, '--max_steps=100', f'--profile_steps={FIRST}-{LAST}')
        (cls.folder,) = glob.glob(os.path.join(directory.name, 'plugins/profile/*'))
        (cls.xspace,) = glob.glob(os.path.join(cls.folder, '*.xplane.pb'))

    def tool(self, name):
        data, _ = raw_to_tool_data.xspace_to_tool_data([self.xspace], f'{name}^', {})
        return json.loads(data)

    def test_overview_page(self):
        ops, steps, environment = self.tool('overview_page')[:3]
        self.assertEqual(environment['p']['device_type'], 'emulated TPU core')
        self.assertEqual(environment['p']['device_core_count'], '8')
        self.assertEqual(steps['p']['hardware_type'], 'TPU')
        self.assertEqual([int(step['stepnum']) for step in rows(steps)],
                         list(range(FIRST, LAST + 1)))
        self.assertIn('Matmul', {op['category'] for op in rows(ops)})

    def test_op_profile(self):
        """Its flops of products are those of profile.json."""
        with open(os.path.join(self.folder, 'profile.json'), encoding='utf-8') as file:
            profile = json.load(file)
        (product,) = (row for row in profile['op'] if row['name'] == 'matmul')
        categories = {child['name']: child['metrics'] for child in
                      self.tool('op_profile')['byCategory']['children']}
        flops = product['matrix_flops'] + product['vector_flops']
        self.assertAlmostEqual(categories['matmul']['rawFlops'] / (profile['steps'] * flops), 1,
                               delta=0.01)
        self.assertAlmostEqual(
            categories['matmul']['rawTime'] / (1e12 * profile['steps'] * product['seconds']), 1,
            delta=0.01)

    def test_framework_op_stats(self):
        names = {row['operation'] for row in rows(self.tool('framework_op_stats')[0])}
        self.assertTrue(any(name.startswith('hidden_1/backward/') for name in names), names)

    def test_trace(self):
        events = self.tool('trace_viewer')['traceEvents']
        lanes = {event['args']['name'] for event in events if event.get('name') == 'thread_name'}
        for line in ('Steps', 'XLA Modules', 'XLA Ops', 'worker 0'):
            self.assertIn(line, lanes)
        steps = [event for event in events
                 if event.get('ph') == 'X' and event['name'] == str(FIRST)]
        self.assertEqual(len(steps), 8)  # one on each core


if __name__ == '__main__':
    unittest.main()
