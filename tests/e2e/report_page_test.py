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


class ReportPageTest(ProgramTest):

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
        self.succeed('report', 'runs', '--output=report.html')
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

    def test_every_run_has_its_curve_in_every_chart(self):
        self.open()
        self.assertEqual(self.run_script(
            "return all('figcaption').map((caption) => caption.textContent);"),
            ['accuracy', 'learning_rate', 'loss', 'examples/sec', 'global_step/sec']
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


if __name__ == '__main__':
    unittest.main()
