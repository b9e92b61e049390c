"""report: runs of the binary as a page and as text, with what is in their event files."""
import glob
import json
import math
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


# What each kind of colour vision sees of linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.
VISION = {
    'normal': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'protanopia': ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    'deuteranopia': ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    'tritanopia': ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}


def linear(color):
    """#rrggbb or #rgb as linear RGB."""
    digits = color[1:] if len(color) == 7 else ''.join(digit * 2 for digit in color[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(a, b):
    """WCAG 2's contrast ratio."""
    lights = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
                    for red, green, blue in (a, b))
    return lights[1] / lights[0]


def lab(vision, color):
    """CIELAB of what is seen; the Euclidean distance of two is CIE76's difference."""
    red, green, blue = (min(1, max(0, sum(map(float.__mul__, map(float, row), color))))
                        for row in vision)
    xyz = ((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
           0.2126 * red + 0.7152 * green + 0.0722 * blue,
           (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


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
        self.assertEqual(columns[:7], ['run', 'step', 'eval accuracy', 'eval average_loss',
                                       'learning_rate', 'loss', 'eval loss'])
        self.assertEqual(columns[7], 'model.layer.hidden_1.dense.units')
        self.assertEqual([(row[0], row[1], row[7]) for row in rows],
                         [('width_16', '20', '16'), ('width_8', '20', '8')])
        # Those that the result counts, not the folders of their evaluations.
        self.assertEqual(self.result(self.succeed('report', 'runs', '--output=report.html'))['runs'], 2)
        for row in rows:
            for column, folder in ((5, row[0]), (6, row[0] + '/eval')):
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

    def test_json_is_for_other_programs(self):
        done = self.result(self.succeed('report', 'runs', '--format=json', '--sort_by=loss'))
        values = {name: self.logged(name, 'loss')[1][-1] for name in ('width_8', 'width_16')}
        names = sorted(values, key=values.get)
        self.assertEqual([run['run'] for run in done['runs']], names)
        self.assertEqual((done['sort_by'], done['mode'], done['best_run']),
                         ('loss', 'MIN', names[0]))
        for run in done['runs']:
            self.assertEqual(run['metrics']['loss'], values[run['run']])
            self.assertEqual(run['best']['loss']['value'], min(self.logged(run['run'], 'loss')[1]))
            self.assertEqual(run['hyperparameters'], {'model.layer.hidden_1.dense.units':
                                                      int(run['run'].split('_')[1])})
            self.assertEqual(run['model_dir'], self.path('runs', run['run']))
        worst = self.result(self.succeed('report', 'runs', '--format=json', '--sort_by=loss',
                                         '--mode=max'))
        self.assertEqual(worst['best_run'], names[1])
        # Beside a page, and as text.
        both = self.succeed('report', 'runs', '--format=json', '--sort_by=loss', '--output=a.html')
        self.assertEqual(json.loads(both.out), done)
        data = page_data(read(self.path('a.html')).decode())
        self.assertEqual([row[0] for row in data['table']['rows']], names)
        self.assertEqual(data['table']['order'], {'column': 5, 'mode': 'MIN'})
        text = self.succeed('report', 'runs', '--format=text', '--sort_by=loss').out
        self.assertIn(f'Sorted by loss, the lowest first:\n', text)
        self.assertIn(f'\n* {names[0]} ', text)

    def test_the_page_has_the_layers_of_each_model(self):
        _, data = self.report('runs')
        self.assertEqual([model['title'] for model in data['models']], ['iris', 'iris'])
        for model, units in zip(data['models'], (16, 8)):
            (row,) = [row for row in model['rows'] if row[0] == 'hidden_1']
            self.assertEqual(row[1:5], ['dense', f'(None, {units})', 'float32', str(units * 5)])
            self.assertTrue(model['totals'][0].startswith('Total parameters: '))
        write(self.path('runs', 'width_8', 'run_config.pbtxt'), 'model { layer { dense {} } }')
        done = self.succeed('report', 'runs', '--output=report.html')
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('width_8: its model is not shown: ', done.warnings[0])

    def test_colors_are_told_apart_with_any_kind_of_colour_vision(self):
        page, _ = self.report('runs')
        style = page.split('<style>')[1].split('</style>')[0]
        for part in style.split('@media')[:2]:
            colors = [linear(color) for color in re.findall(r'--c\d+: (#\w{6});', part)]
            paper = linear(re.search(r'--paper: (#\w+);', part).group(1))
            self.assertEqual(len(colors), 12)
            for color in colors:
                self.assertGreaterEqual(contrast(color, paper), 3)
            for name, matrix in VISION.items():
                seen = [lab(matrix, color) for color in colors]
                least = min(math.dist(a, b) for i, a in enumerate(seen) for b in seen[:i])
                self.assertGreater(least, 15, name)

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
                (('runs',), 2, '--output=FILE.html for a page, --text for the terminal, '),
                (('runs', '--text', '--format=json'), 2, 'want one of them'),
                (('runs', '--text', '--mode=MIN'), 2, '--mode is for --sort_by'),
                (('runs', '--text', '--sort_by=los'), 2, '--sort_by: got "los", want a metric'),
                (('runs', '--text', '--sort_by=learning_rate'), 2, 'want --mode=MIN or --mode=MAX'),
                (('runs', '--text', '--sort_by=loss', '--mode=best'), 2, 'want MIN or MAX'),
                (('--text',), 2, 'report needs DIR...'),
                (('runs', '--width=100', '--output=x.html'), 2, '--width is for --text'),
                (('runs', '--text', '--width=10'), 2, '--width: got 10, want 40 to 1000'),
                (('runs', '--output=-'), 2, '--output: got "-"'),
                (('runs', '--format=json', '--output=r.json'), 2,
                 '--output: got "r.json", want the name of an HTML page, such as report.html; --format=json '),
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
