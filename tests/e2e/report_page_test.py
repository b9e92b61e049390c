"""report's page in a browser: no error, no request, and its controls do what they say.

bazel test --test_env=SCREENSHOTS=/tmp/screenshots //tests/e2e:report_page_test
also leaves pictures of the page in that folder.
"""
import os
import re
import unittest

from browser import Browser
from program import ProgramTest

# For the scripts below; a chart is drawn with the next frame.
TOOLS = """
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)));
const all = (selector) => [...document.querySelectorAll(selector)];
const chart = all('.chart').find((one) => one.querySelector('figcaption').textContent === 'loss');
const curves = () =>
    [...chart.querySelectorAll('path.curve')].map((path) => path.getAttribute('d'));
const ticks = () => [...chart.querySelectorAll('text')].map((text) => text.textContent);
const change = async (id, key, value, event) => {
  document.getElementById(id)[key] = value;
  document.getElementById(id).dispatchEvent(new Event(event));
  await frame();
};
await frame();
"""


class PageTest(ProgramTest):
    """The page of the runs in runs/, in a browser."""

    def report(self, *flags):
        self.succeed('report', 'runs', '--output=report.html', *flags)
        self.browser = Browser(self.path('browser'))
        self.addCleanup(self.browser.close)

    def open(self, width=1200, height=1100, **options):
        self.browser.open(self.path('report.html'), width, height, **options)
        self.run_script('')

    def run_script(self, script):
        found = self.browser.evaluate(TOOLS + script)
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.requests(), [])
        return found


class ReportPageTest(PageTest):

    def setUp(self):
        super().setUp()
        for width in (8, 16):
            model = f'runs/width_{width}'
            units = ('--set', f'model.layer.hidden_1.dense.units={width}')
            self.succeed(*self.iris('train', model, *units, '--max_steps=600',
                                    '--save_summary_steps=10', '--log_step_count_steps=10',
                                    '--save_checkpoints_steps=100', '--set',
                                    'tpu_config.iterations_per_loop=10'))
            for step in range(200, 601, 100):
                self.succeed(*self.iris('evaluate', model, *units,
                                        f'--checkpoint={self.path(model)}/model.ckpt-{step}'))
        self.report()

    def test_every_run_has_its_curve_in_every_chart(self):
        self.open()
        self.assertEqual(self.run_script(
            "return all('figcaption').map((caption) => caption.textContent);"),
            ['loss', 'accuracy', 'average_loss', 'learning_rate', 'examples/sec', 'global_step/sec',
             'eval accuracy over model.layer.hidden_1.dense.units'] + ['iris'] * 2
            + [f'{text} width_{width}, step 0' for text in ('run_config', 'variables')
               for width in (16, 8)])
        curves = self.run_script('return curves();')
        self.assertEqual(sorted(curve.count('L') for curve in curves), [4, 4, 59, 59])

    def test_a_click_and_a_key_sort_the_table(self):
        self.open()
        sort = """
            const heads = all('#results thead th');
            const loss = heads.findIndex((head) => head.textContent === 'loss');
            const button = heads[loss].querySelector('button');
            ACTION
            const rows = all('#results tbody tr');
            return [heads[loss].ariaSort, rows.map((row) => row.children[loss].textContent)];
        """
        direction, cells = self.run_script(sort.replace('ACTION', 'button.click();'))
        self.assertEqual((direction, cells), ('ascending', sorted(cells, key=float)))
        self.run_script(sort.replace('ACTION', 'button.focus();'))
        self.browser.call('Input.dispatchKeyEvent', type='keyDown', key='Enter', text='\r')
        self.assertEqual(self.run_script(sort.replace('ACTION', '')), ['descending', cells[::-1]])

    def test_the_controls_change_the_charts(self):
        self.open()
        plain = self.run_script('return curves();')
        smoothed = self.run_script(
            "await change('smoothing', 'value', '0.6', 'input'); return curves();")
        # The smoothed curves, and what was logged behind them.
        self.assertEqual(len(smoothed), 8)
        self.run_script("await change('smoothing', 'value', '0', 'input');")
        relative, wall = self.run_script("""
            await change('x-axis', 'value', 'relative', 'change');
            const relative = ticks();
            await change('x-axis', 'value', 'wall', 'change');
            return [relative, ticks()];
        """)
        self.assertTrue(any(tick.endswith(' s') for tick in relative), relative)
        # Runs may have taken less than a second.
        self.assertTrue(any(re.fullmatch(r'\d\d:\d\d:\d\d(\.\d{3})?', tick) for tick in wall), wall)
        clocks = self.run_script("""
            const texts = (span) => clockTicks(0, span, 6).map((tick) => tick.text.slice(5));
            return [400, 5000, 300000].map(texts);
        """)
        self.assertEqual(clocks, [[f':00.{tenth}00' for tenth in range(5)],
                                  [f':0{second}' for second in range(6)], [''] * 6])
        self.run_script("await change('x-axis', 'value', 'step', 'change');")
        logarithmic = self.run_script(
            "await change('log-y', 'checked', true, 'change'); return curves();")
        self.assertNotEqual(logarithmic, plain)
        self.assertEqual(self.run_script(
            "await change('log-y', 'checked', false, 'change'); return curves();"), plain)
        self.assertEqual(self.run_script("""
            document.getElementById('no-runs').click();
            await frame();
            const none = curves().length;
            document.querySelector('#runs input').click();
            await frame();
            return [none, curves().length];
        """), [0, 1])

    def test_values_are_read_with_the_pointer_and_with_keys(self):
        self.open()
        read = """
            const box = chart.querySelector('.readout');
            return box.hidden ? '' : box.textContent;
        """
        self.run_script("chart.querySelector('svg').focus();")
        self.assertEqual(self.run_script(read), '')
        self.browser.press('End')
        last = self.run_script(read)
        self.assertIn('step 600', last)
        for name in ('width_16', 'width_16/eval', 'width_8', 'width_8/eval'):
            self.assertIn(name, last)
        self.browser.press('ArrowLeft')
        self.assertIn('step 590', self.run_script(read))
        self.browser.press('Escape')
        self.assertEqual(self.run_script(read), '')
        x, y = self.run_script("""
            const box = chart.querySelector('svg').getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        """)
        self.browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        self.assertRegex(self.run_script(read), r'^step (29|30|31)0')

    def test_the_forecasts_of_a_tpu(self):
        self.succeed('report', 'runs', '--output=report.html', '--accelerator_type=v3-8')
        for options in ({}, {'width': 390, 'height': 2000, 'phone': True}):
            self.open(**options)
            self.assertFalse(self.run_script(
                'return document.documentElement.scrollWidth > innerWidth;'), options)
            self.assertEqual(self.run_script(
                "return document.getElementById('forecasts-heading').textContent;"),
                'On a Cloud TPU v3-8')
            text = self.run_script(
                "return document.getElementById('forecasts-heading').parentElement.innerText;")
            for part in ('runs/width_8', 'runs/width_16', 'hidden_1', 'compiles: yes', 'v3-2048'):
                self.assertIn(part.replace('runs/', ''), text)

    def test_it_fits_every_screen(self):
        for name, options in (('light', {}), ('dark', {'scheme': 'dark'}),
                              ('phone', {'width': 390, 'height': 2000, 'phone': True})):
            self.open(**options)
            self.assertFalse(self.run_script(
                'return document.documentElement.scrollWidth > innerWidth;'), name)
            if 'SCREENSHOTS' in os.environ:
                os.makedirs(os.environ['SCREENSHOTS'], exist_ok=True)
                self.browser.screenshot(os.path.join(os.environ['SCREENSHOTS'], name + '.png'))


class SweepPageTest(PageTest):
    """A sweep of 18 runs, sorted; those of the highest learning rate diverge."""

    RATES = ('0.01', '0.1', '300')
    UNITS = (8, 16)
    SEEDS = (1, 2, 3)

    def setUp(self):
        super().setUp()
        for rate in self.RATES:
            for units in self.UNITS:
                for seed in self.SEEDS:
                    self.succeed(*self.iris(
                        'train_and_evaluate', f'runs/{self.name(rate, units, seed)}',
                        '--max_steps=100', f'--tf_random_seed={seed}', '--save_summary_steps=2',
                        '--set', f'model.optimizer.learning_rate.constant={rate}',
                        '--set', f'model.layer.hidden_1.dense.units={units}',
                        '--set', 'tpu_config.iterations_per_loop=2',
                        '--set', 'train_and_evaluate.steps_per_eval=25'))
        self.report('--sort_by=eval/loss')

    @staticmethod
    def name(rate, units, seed):
        return f'learning_rate_{rate}_units_{units}_seed_{seed}'

    def test_the_best_row_is_marked(self):
        self.open()
        names, loss, marked = self.run_script("""
            const rows = all('#results tbody tr');
            const column = all('#results thead th').findIndex((head) =>
                head.textContent === 'eval loss');
            return [rows.map((row) => row.firstChild.textContent.replace(' \u2605', '')),
                    rows.map((row) => Number(row.children[column].textContent)),
                    rows.map((row) => row.classList.contains('best'))];
        """)
        self.assertEqual(loss, sorted(loss))
        self.assertEqual(marked, [True] + [False] * 17)
        self.assertIn('learning_rate_0.1_', names[0])
        # By another metric another one may be the best; no configuration is.
        again = """
            const heads = all('#results thead th');
            heads.find((head) => head.textContent === NAME).querySelector('button').click();
            const rows = all('#results tbody tr');
            return [rows.filter((row) => row.querySelector('.star')).map((row) => rows.indexOf(row)),
                    heads.filter((head) => head.ariaSort !== 'none').map((head) => head.ariaSort)];
        """
        self.assertEqual(self.run_script(again.replace('NAME', "'eval accuracy'")),
                         [[0], ['descending']])
        self.assertEqual(self.run_script(again.replace('NAME', "'tf_random_seed'")),
                         [[], ['ascending']])

    def test_outliers_do_not_flatten_the_other_curves(self):
        self.open()
        # The height in pixels that the curves of the good runs take.
        height = """
            const good = [...chart.querySelectorAll('path.curve')].filter((path) =>
                runs[path.dataset.run].name.startsWith('learning_rate_0'));
            const values = good.flatMap((path) =>
                path.getAttribute('d').match(/[0-9.-]+ [0-9.-]+/g).map((pair) =>
                    Number(pair.split(' ')[1])));
            return [Math.max(...values) - Math.min(...values),
                    !chart.querySelector('.outside').hidden];
        """
        tall, said = self.run_script(height)
        self.assertTrue(said)
        self.run_script("await change('outliers', 'checked', true, 'change');")
        flat, said = self.run_script(height)
        self.assertFalse(said)
        self.assertGreater(tall, 60)
        self.assertLess(flat, tall / 4)

    def test_a_tag_and_logarithms_as_axes(self):
        self.open()
        self.assertEqual(self.run_script(
            "return [...document.getElementById('x-axis').options].map((one) => one.value);")[3:],
            ['tag:learning_rate', 'tag:loss'])
        places = """
            const first = [...chart.querySelectorAll('path.curve')].map((path) =>
                [runs[path.dataset.run].name, path.getAttribute('d').match(/M([0-9.]+)/)[1]]);
            return first.filter(([name]) => !name.includes('/')).map(([name, x]) =>
                [name.split('_')[2], Number(x)]);
        """
        self.run_script("await change('x-axis', 'value', 'tag:learning_rate', 'change');"
                        "await change('log-x', 'checked', true, 'change');")
        x = dict(self.run_script(places))
        # Equal ratios are equal distances: 0.01, 0.1 and 300.
        self.assertAlmostEqual((x['300'] - x['0.1']) / (x['0.1'] - x['0.01']), 3.477, delta=0.01)
        self.run_script("chart.querySelector('svg').focus();")
        self.browser.press('End')
        self.assertRegex(self.run_script("return chart.querySelector('.readout').textContent;"),
                         '^learning_rate ')
        self.run_script("await change('x-axis', 'value', 'wall', 'change');"
                        "await change('x-axis', 'value', 'step', 'change');"
                        "await change('log-y', 'checked', true, 'change');")
        self.assertTrue(self.run_script("return ticks().length > 3;"))

    def test_a_metric_over_a_hyperparameter(self):
        self.open()
        read = """
            const points = all('#scatter circle.run').map((one) =>
                [Number(one.getAttribute('cx')), Number(one.getAttribute('cy'))]);
            return [new Set(points.map(([x]) => x)).size, points.length,
                    document.querySelector('#scatter figcaption').textContent];
        """
        choose = """
            const select = document.getElementById('scatter-ID');
            select.value = [...select.options].find((one) => one.textContent === 'NAME').value;
            select.dispatchEvent(new Event('change'));
        """
        rate = 'model.optimizer.0.learning_rate.constant'
        self.run_script(choose.replace('ID', 'hyperparameter').replace('NAME', rate))
        self.assertEqual(self.run_script(read), [3, 18, f'eval loss over {rate}'])
        self.assertTrue(self.run_script("return document.getElementById('scatter-log-x').checked;"))
        self.run_script(choose.replace('ID', 'metric').replace('NAME', 'eval accuracy'))
        self.run_script(choose.replace('ID', 'hyperparameter').replace('NAME', 'tf_random_seed'))
        self.assertEqual(self.run_script(read), [3, 18, 'eval accuracy over tf_random_seed'])
        self.run_script("document.querySelector('#scatter svg').focus();")
        self.browser.press('End')
        text = self.run_script("return document.querySelector('#scatter .readout').innerText;")
        self.assertRegex(text, r'learning_rate_.*_seed_3\s+tf_random_seed: 3\s+eval accuracy: ')

    def test_runs_beyond_the_colors_have_other_dashes(self):
        self.open()
        strokes = self.run_script("""
            return [...chart.querySelectorAll('path.curve')].map((path) =>
                [path.getAttribute('stroke'), path.getAttribute('stroke-dasharray')].join(' '));
        """)
        self.assertEqual((len(strokes), len(set(strokes))), (36, 36))

    def test_names_are_shown_in_full(self):
        longest = self.name('0.01', 16, 3)
        for options in ({'width': 1400}, {'width': 420, 'height': 2000, 'phone': True}):
            self.open(**options)
            cut = self.run_script("""
                chart.querySelector('svg').focus();
                const nodes = [...all('#results tbody th'), ...all('#runs span'),
                               ...all('.readout td:first-child')];
                return nodes.filter((one) => one.scrollWidth > one.clientWidth + 1 &&
                    getComputedStyle(one).overflow !== 'visible').map((one) => one.textContent);
            """)
            self.assertEqual(cut, [], options)
            self.assertFalse(self.run_script(
                'return document.documentElement.scrollWidth > innerWidth;'), options)
            self.assertIn(longest, self.run_script(
                "return all('#results tbody th').map((one) => one.textContent);"))
            if 'SCREENSHOTS' in os.environ:
                os.makedirs(os.environ['SCREENSHOTS'], exist_ok=True)
                self.browser.screenshot(os.path.join(os.environ['SCREENSHOTS'],
                                                     f'sweep_{options["width"]}.png'))

    def test_configurations_are_folded_with_the_differences_first(self):
        self.open()
        rows, opened = self.run_script("""
            const text = all('.text').find((one) => one.textContent.startsWith('run_config'));
            return [[...text.querySelectorAll('.differences tr')].map((row) =>
                        [...row.children].map((cell) => cell.textContent)),
                    text.querySelector('details').open];
        """)
        self.assertFalse(opened)
        self.assertEqual([row[0] for row in rows],
                         ['model.layer.hidden_1.dense.units',
                          'model.optimizer.0.learning_rate.constant', 'tf_random_seed'])

    def test_models_are_shown_once(self):
        self.open()
        self.assertEqual(self.run_script("""
            return all('#models figure').map((one) =>
                [one.querySelectorAll('tbody tr').length > 4, one.innerText.includes('and 3 more')]);
        """), [[True, True]] * 2)


if __name__ == '__main__':
    unittest.main()
