"""Drives Debian's chromium by its DevTools protocol over two pipes, without any library."""
import base64
import json
import os
import shutil
import subprocess


class Browser:
    """One page of a headless browser. `events` collects what the browser reports."""

    def __init__(self, folder):
        program = shutil.which('chromium')
        if not program:
            raise AssertionError('no chromium: apt-get install chromium')
        # It reads commands from descriptor 3 and writes answers to 4.
        command_end, self.commands = os.pipe()
        self.answers, answer_end = os.pipe()
        self.process = subprocess.Popen(
            # sh has no descriptors of two digits.
            ['bash', '-c', f'exec "$0" "$@" 3<&{command_end} 4>&{answer_end}', program, '--headless',
             '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe',
             '--no-first-run', f'--user-data-dir={folder}', 'about:blank'],
            pass_fds=(command_end, answer_end), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, 'HOME': folder})
        os.close(command_end)
        os.close(answer_end)
        self.received = b''
        self.number = 0
        self.events = []
        self.session = None
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(target['targetId'] for target in targets if target['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page,
                                 flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def receive(self):
        """The next message of the browser."""
        while b'\0' not in self.received:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise AssertionError('the browser has ended')
            self.received += piece
        message, self.received = self.received.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.commands, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') != self.number:
                self.events.append(answer)
            elif 'error' in answer:
                raise AssertionError(f'{method}: {answer["error"]}')
            else:
                return answer['result']

    def open(self, path, width, height, scheme='light', phone=False):
        """Shows a file in a window of that size."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.events.clear()
        self.call('Page.navigate', url='file://' + path)
        while not any(event['method'] == 'Page.loadEventFired' for event in self.events):
            self.events.append(self.receive())

    def evaluate(self, script):
        """What the script, the body of an async function, returns."""
        done = self.call('Runtime.evaluate', expression=f'(async () => {{{script}}})()',
                         awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in done:
            raise AssertionError(done['exceptionDetails'])
        return done['result'].get('value')

    def press(self, key):
        for kind in ('rawKeyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key)

    def complaints(self):
        """Errors, warnings and other lines of the page on the console."""
        return [event['params'] for event in self.events if event['method'] in
                ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')]

    def requests(self):
        """What was asked for besides the page itself and what it holds."""
        urls = [event['params']['request']['url'] for event in self.events
                if event['method'] == 'Network.requestWillBeSent']
        return [url for url in urls[1:] if not url.startswith('data:')]

    def screenshot(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))
