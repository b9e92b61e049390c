"""TensorBoard's pages on runs of tpurun, in a browser: none has an error on its console. Their pictures
are left in bazel-testlogs/tests/interop/tensorboard_page_test/test.outputs, to be looked at."""
import os
import sys
import tempfile
import time
import unittest

sys.path.append(os.path.abspath('tests/e2e'))

import browser
import tensorboard_test

PAGES = ('timeseries', 'scalars', 'images', 'graphs&run=seed1', 'distributions', 'histograms', 'text',
         'hparams', 'projector')
SECONDS_TO_DRAW = 8


def is_error(event):
    parameters = event['params']
    return (event['method'] == 'Runtime.exceptionThrown'
            or event['method'] == 'Runtime.consoleAPICalled' and parameters['type'] == 'error'
            or event['method'] == 'Log.entryAdded' and parameters['entry']['level'] == 'error')


class TensorBoardPageTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.served = tensorboard_test.TensorBoardTest
        cls.addClassCleanup(cls.served.doClassCleanups)
        cls.served.setUpClass()
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # the browser's
        cls.addClassCleanup(directory.cleanup)
        cls.browser = browser.Browser(directory.name)
        cls.addClassCleanup(cls.browser.close)

    def test_pages_draw_without_an_error(self):
        pictures = os.environ.get('TEST_UNDECLARED_OUTPUTS_DIR', '.')
        for page in PAGES:
            with self.subTest(page):
                self.browser.call('Emulation.setDeviceMetricsOverride', width=1400, height=900,
                                  deviceScaleFactor=1, mobile=False)
                self.browser.call('Page.navigate', url='about:blank')
                self.browser.events.clear()
                self.browser.call('Page.navigate', url=f'{self.served.url}#{page}')
                time.sleep(SECONDS_TO_DRAW)
                self.browser.screenshot(os.path.join(pictures, page.split('&')[0] + '.png'))
                self.assertEqual([event for event in self.browser.events if is_error(event)], [])


if __name__ == '__main__':
    unittest.main()
