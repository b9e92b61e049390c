"""The trace viewer of chrome://tracing, which TensorBoard's profile plugin brings, in a browser: on what
`profile --trace` writes, and on what the plugin makes of `train --profile_steps`. Its pictures are left
in bazel-testlogs/tests/interop/profile_page_test/test.outputs, to be looked at.

The plugin's other pages load a library from the network.
"""
import json
import os
import sys
import tempfile
import time
import unittest
import urllib.parse

import tensorboard_plugin_profile
from tensorboard import default, program as tensorboard

import examples

sys.path.append(os.path.abspath('tests/e2e'))

import browser

VIEWER = os.path.join(os.path.dirname(tensorboard_plugin_profile.__file__),
                      'static/trace_viewer_index.html')
IMPORT = '''(function() {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([%s]);
  const lanes = {};
  for (const process of Object.values(model.processes))
    for (const thread of Object.values(process.threads))
      lanes[`${process.name}/${thread.name}`] = thread.sliceGroup.length;
  return JSON.stringify({lanes, warnings: model.importWarnings.map((one) => one.message)});
})()'''
PICTURES = os.environ.get('TEST_UNDECLARED_OUTPUTS_DIR', '.')
SECONDS_TO_DRAW = 10
STEPS = 10


class ProfilePageTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser's
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.browser = browser.Browser(os.path.join(directory.name, 'browser'))
        self.addCleanup(self.browser.close)

    def show(self, url, picture):
        self.browser.call('Emulation.setDeviceMetricsOverride', width=1500, height=1000,
                          deviceScaleFactor=1, mobile=False)
        self.browser.call('Page.navigate', url=url)
        time.sleep(SECONDS_TO_DRAW)
        self.browser.screenshot(os.path.join(PICTURES, picture))

    def test_trace(self):
        path = os.path.join(self.directory, 'trace.json')
        examples.run('profile', f'--config={examples.IRIS.config}', f'--steps={STEPS}',
                     '--format=json', f'--trace={path}')
        with open(path, encoding='utf-8') as file:
            trace = file.read()
        self.show(f'file://{VIEWER}', 'viewer.png')
        answer = self.browser.call('Runtime.evaluate', expression=IMPORT % json.dumps(trace),
                                   returnByValue=True)
        read = json.loads(answer['result']['value'])
        self.assertEqual(read['warnings'], [])
        self.assertEqual(read['lanes']['host/steps'], STEPS)
        for lane in ('workers/worker 0', 'emulated cores/core 0', 'emulated cores/core 7'):
            self.assertGreater(read['lanes'][lane], STEPS)

    def test_plugin(self):
        logdir = os.path.join(self.directory, 'model')
        examples.IRIS.train(logdir, '--max_steps=100', '--profile_steps=50-59')
        server = tensorboard.TensorBoard(plugins=default.get_plugins())
        server.configure(argv=[None, '--logdir', logdir, '--port', '0', '--load_fast', 'false'])
        pages = server.launch() + 'data/plugin/profile/'
        (session,) = os.listdir(os.path.join(logdir, 'plugins/profile'))
        data = f'{pages}data?run={session}&tag=trace_viewer^&host=' + urllib.parse.quote(
            os.uname().nodename)
        self.show(f'{pages}trace_viewer_index.html?trace_data_url={urllib.parse.quote(data, "")}',
                  'trace.png')
        answer = self.browser.call('Runtime.evaluate', expression='document.body.innerText',
                                   returnByValue=True)
        self.assertIn('Trace View', answer['result']['value'])


if __name__ == '__main__':
    unittest.main()
