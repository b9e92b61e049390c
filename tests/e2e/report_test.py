"""report: runs of the binary as a page and as text, with what is in their event files."""
import glob
import json
import os
import re
import struct
import time
import unittest

from program import ProgramTest, read, tree, write

NAMESPACE = 'http://www.w3.org/2000/svg'


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def record(payload):
    """A TFRecord."""
    def masked(data):
        value = crc32c(data)
        return struct.pack('<I', ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff)
    length = struct.pack('<Q', len(payload))
    return length + masked(length) + payload + masked(payload)


def page_data(page):
    """The JSON of a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found.group(1))


class ReportTest(ProgramTest):

    def setUp(self):
        super().setUp()
        for width in (8, 16):
            model = f'runs/width_{width}'
            units = ('--set', f'model.layer.hidden_1.dense.units={width}')
            self.succeed(*self.iris('train', model, *units, '--max_steps=20',
                                    '--save_summary_steps=2', '--set',
                                    'tpu_config.iterations_per_loop=2'))
            self.succeed(*self.iris('evaluate', model, *units))

    def report(self, *arguments):
        self.result(self.succeed('report', *arguments, '--output=report.html'))
        page = read(self.path('report.html')).decode()
        return page, page_data(page)

    def logged(self, folder, tag):
        """([step], [value]) as inspect reads them."""
        (path,) = glob.glob(self.path('runs', folder, 'events.*'))
        events = [json.loads(line) for line in
                  self.succeed('inspect', path, '--format=json').out.splitlines()]
        found = [(event['step'], event['value']) for event in events if event['tag'] == tag]
        return [step for step, _ in found], [value for _, value in found]

    def test_the_page_holds_what_the_event_files_hold(self):
        _, data = self.report('runs')
        names = [run['name'] for run in data['runs']]
        self.assertEqual(names, ['width_16', 'width_16/eval', 'width_8', 'width_8/eval'])
        losses = [curve for curve in data['curves'] if curve['tag'] == 'loss']
        self.assertEqual(len(losses), 4)
        for curve in losses:
            steps = [sum(curve['steps'][:i + 1]) for i in range(len(curve['steps']))]
            self.assertEqual((steps, curve['values']), self.logged(names[curve['run']], 'loss'))
            self.assertLess(abs(sum(curve['times']) / 1000 - time.time()), 3600)

    def test_the_table_has_a_row_a_training(self):
        _, data = self.report('runs')
        columns, rows = data['table']['columns'], data['table']['rows']
        self.assertEqual(columns[:6], ['run', 'step', 'eval accuracy', 'learning_rate', 'loss',
                                       'eval loss'])
        self.assertEqual(columns[-1], 'model.layer.hidden_1.dense.units')
        self.assertEqual([(row[0], row[1], row[-1]) for row in rows],
                         [('width_16', '20', '16'), ('width_8', '20', '8')])
        for row in rows:
            for column, folder in ((4, row[0]), (5, row[0] + '/eval')):
                self.assertEqual(row[column], f'{self.logged(folder, "loss")[1][-1]:.6g}')

    def test_the_page_needs_nothing_else(self):
        page, _ = self.report('runs/width_8')
        self.assertEqual(set(re.findall(r'https?://[^\s"\']*', page)), {NAMESPACE})
        self.assertEqual(re.findall(r'\b(?:src|href)="(?!data:)', page), [])
        self.assertNotIn('@import', page)
        self.assertIn("default-src 'none'", page)

    def test_the_same_runs_give_the_same_page(self):
        before = tree(self.path('runs'))
        self.assertEqual(self.report('runs'), self.report('runs'))
        self.assertEqual(tree(self.path('runs')), before)

    def test_a_name_is_text_wherever_it_comes_from(self):
        name = '<img src=x onerror=alert(1)>'
        os.rename(self.path('runs', 'width_8'), self.path('runs', name))
        page, data = self.report('runs')
        self.assertNotIn('<img', page)
        self.assertIn(name, [run['name'] for run in data['runs']])

    def test_text_is_for_the_terminal(self):
        done = self.succeed('report', 'runs', '--text')
        self.assertIn('\na  width_16\nb  width_16/eval\n', '\n' + done.out)
        self.assertRegex(done.out, r'\nloss\n +[0-9.]+ \|')
        self.assertLessEqual(max(map(len, done.out.splitlines())), 80)
        wide = self.succeed('report', 'runs', '--text', '--width=120').out
        self.assertIn(max(map(len, wide.splitlines())), range(101, 121))
        both = self.succeed('report', 'runs', '--text', '--output=both.html')
        self.assertEqual(both.out, done.out)
        self.assertTrue(os.path.exists(self.path('both.html')))

    def test_a_cut_event_file_is_a_warning(self):
        (path,) = glob.glob(self.path('runs', 'width_8', 'events.*'))
        write(path, read(path)[:-3])
        done = self.succeed('report', 'runs', '--output=report.html')
        self.assertEqual((len(done.warnings), done.messages), (1, []), str(done))
        self.assertIn(f'{path}: truncated', done.warnings[0])
        notes = page_data(read(self.path('report.html')).decode())['notes']
        self.assertEqual([note for note in notes if path in note], notes)

    def test_a_file_that_holds_no_events_is_a_warning(self):
        write(self.path('runs', 'tfevents.txt'), 'these are no events')
        write(self.path('runs', 'odd.tfevents'), record(b'\x0a\x05'))
        done = self.succeed('report', 'runs', '--output=report.html')
        self.assertEqual(len(done.warnings), 2, str(done))

    def test_mistakes_are_one_line(self):
        os.mkdir(self.path('empty'))
        for arguments, code, message in (
                (('runs',), 2, '--output=FILE.html for a page, --text for the terminal, or both'),
                (('--text',), 2, 'report needs DIR...'),
                (('runs', '--width=100', '--output=x.html'), 2, '--width is for --text'),
                (('runs', '--text', '--width=10'), 2, '--width: got 10, want 40 to 1000'),
                (('runs', '--output=-'), 2, '--output: got "-"'),
                (('empty', '--text'), 66, 'no event file (*tfevents*) in empty or below it; name'),
                (('runs', 'absent', '--text'), 66, 'absent: No such file or directory'),
                (('iris/run.textproto', '--text'), 66, 'run.textproto: Not a directory'),
                (('runs', '--output=absent/report.html'), 74, 'cannot write absent/'),
                (('runs', '--output=runs'), 74, 'cannot write runs: Is a directory')):
            done = self.call('report', *arguments)
            self.assertEqual((done.code, len(done.messages), done.out), (code, 1, ''), str(done))
            self.assertIn(message, done.messages[0])
        (path,) = glob.glob(self.path('runs', 'width_8', 'events.*'))
        done = self.call('report', 'runs', f'--output={path}')
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('is an input too', done.messages[0])


if __name__ == '__main__':
    unittest.main()
