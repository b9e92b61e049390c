"""predict of a stream: rows are answered while the pipe that they come through stays open."""
import json
import os
import select
import subprocess
import time
import unittest

import records
from program import TIMEOUT_SECONDS, ProgramTest, read, write

PARSED = 'transform { apply { transformation_func: "parse" } }'
SERVED = ('--keys=class_ids,probabilities', '--quiet')


def text_input(file):
    return ('--set', f'predict.input={{ source {{ text_line {{ file: "{file}" }} }} {PARSED} }}')


class Service:
    """A predict that is asked row by row."""

    def __init__(self, process, rows=None):
        self.process = process
        self.rows = rows or process.stdin  # where rows are written
        self.answers = b''

    def write(self, row):
        self.rows.write(row)
        self.rows.flush()

    def answer(self, seconds=TIMEOUT_SECONDS):
        """The next line, or None if there is none after so many seconds."""
        deadline = time.monotonic() + seconds
        while b'\n' not in self.answers:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                return None
            self.answers += piece
        line, self.answers = self.answers.split(b'\n', 1)
        return line.decode()

    def ask(self, row):
        self.write(row)
        return self.answer()

    def end(self):
        """Closes the rows. The lines that were left."""
        self.rows.close()
        lines = []
        while (line := self.answer()) is not None:
            lines.append(line)
        return lines


class StreamingTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'model', '--max_steps=50'))
        with open(self.path('iris', 'iris_test.csv'), 'rb') as file:
            self.rows = file.readlines()[1:]
        write(self.path('rows.csv'), b''.join(self.rows))
        # What one whole batch gives.
        self.want = self.succeed(*self.iris('predict', 'model', *SERVED, *text_input(
            self.path('rows.csv')), '--predict_batch_size=32')).out.splitlines()
        self.assertEqual(len(self.want), 30)

    def serve(self, *flags):
        return Service(self.start(*self.iris('predict', 'model', *SERVED, *flags),
                                  stdin=subprocess.PIPE))

    def write_end(self, pipe, process):
        """The pipe, once the process has opened it to read."""
        opened = []

        def is_open():
            try:
                opened.append(os.open(self.path(pipe), os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                return False
            return True

        self.wait_until(is_open, process)
        os.set_blocking(opened[0], True)
        return os.fdopen(opened[0], 'wb')

    def expect_end(self, service, code=0):
        self.assertEqual(service.process.wait(TIMEOUT_SECONDS), code,
                         service.process.stderr.read())

    def test_each_row_is_answered_before_the_next_is_written(self):
        for flags in (('--max_wait_ms=0',), ('--max_wait_ms=20', '--predict_batch_size=32'),
                      ('--max_wait_ms=0', '--predict_batch_size=16', '--worker_threads=3'),
                      ('--set', 'predict.max_wait_ms=0', '--set',
                       'tpu_config.per_host_input_for_training=PER_HOST_V2'),
                      ('--max_wait_ms=0', '--set',
                       'tpu_config.per_host_input_for_training=BROADCAST')):
            service = self.serve(*flags, *text_input('-'))
            self.assertEqual([service.ask(row) for row in self.rows], self.want, flags)
            self.assertEqual(service.end(), [])
            self.expect_end(service)

    def test_a_batch_of_one_row_needs_no_flag(self):
        alone = ('--use_tpu=false', '--predict_batch_size=1')
        want = self.succeed(*self.iris('predict', 'model', *SERVED, '--use_tpu=false', *text_input(
            self.path('rows.csv')))).out.splitlines()
        service = self.serve(*alone, *text_input('-'))
        self.assertEqual([service.ask(row) for row in self.rows], want)
        service.end()
        self.expect_end(service)

    def test_named_pipes_of_each_source(self):
        names = ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')
        examples = [records.frame(records.example(
            **{name: float(cell) for name, cell in zip(names, row.split(b','))}))
                    for row in self.rows]
        parse = ' '.join(f'feature {{ name: "{name}" float {{}} }}' for name in names)
        of_records = f"""predict.input={{ source {{ tfrecord {{ file: "pipe" }} }}
                         transform {{ parse_example {{ {parse} }} }} }}"""
        for flags, rows in ((text_input('pipe'), self.rows), (('--set', of_records), examples),
                            ((*text_input('absent.csv'), '--input=pipe'), self.rows)):
            os.mkfifo(self.path('pipe'))
            process = self.start(*self.iris('predict', 'model', *SERVED, '--max_wait_ms=0', '--set',
                                            'predict.input={}', *flags))
            service = Service(process, self.write_end('pipe', process))
            self.assertEqual([service.ask(row) for row in rows], self.want, flags)
            service.end()
            self.expect_end(service)
            os.remove(self.path('pipe'))

    def test_a_batch_runs_when_it_is_full_or_after_its_time(self):
        service = self.serve('--max_wait_ms=3600000', *text_input('-'))
        service.write(b''.join(self.rows[:8]))
        self.assertEqual([service.answer() for _ in range(8)], self.want[:8])
        service.write(b''.join(self.rows[8:15]))
        self.assertIsNone(service.answer(0.5))
        service.write(self.rows[15])
        self.assertEqual([service.answer() for _ in range(8)], self.want[8:16])
        service.write(b''.join(self.rows[16:]))
        self.assertEqual(service.end(), self.want[16:])
        self.expect_end(service)

        service = self.serve('--max_wait_ms=400', *text_input('-'))
        service.ask(self.rows[0])  # the program has started
        begin = time.monotonic()
        self.assertEqual(service.ask(self.rows[1]), self.want[1])
        self.assertGreaterEqual(time.monotonic() - begin, 0.4)

    def test_half_a_row_is_no_row(self):
        service = self.serve('--max_wait_ms=0', *text_input('-'))
        self.assertEqual(service.ask(self.rows[0]), self.want[0])
        service.write(self.rows[1][:7])
        self.assertIsNone(service.answer(0.3))
        self.assertEqual(service.ask(self.rows[1][7:]), self.want[1])
        service.write(self.rows[2].rstrip())  # the end of the input ends the last row
        self.assertEqual(service.end(), [self.want[2]])
        self.expect_end(service)

    def test_files_give_what_they_give_without_waiting(self):
        for flags in ((), ('--predict_batch_size=64',)):
            done = self.succeed(*self.iris('predict', 'model', *SERVED, '--max_wait_ms=0', *flags,
                                           *text_input(self.path('rows.csv'))))
            self.assertEqual(done.out.splitlines(), self.want)
        self.succeed(*self.iris('predict', 'model', *SERVED, '--max_wait_ms=0', '--output=a.jsonl',
                                *text_input(self.path('rows.csv'))))
        self.assertEqual(read(self.path('a.jsonl')).decode().splitlines(), self.want)

    def test_features_are_forwarded(self):
        service = self.serve('--max_wait_ms=0', *text_input('-'), '--set',
                             'predict.forward_features=["SepalLength","Species"]')
        for row, want in zip(self.rows[:10], self.want):
            cells = row.split(b',')
            self.assertEqual(json.loads(service.ask(row)),
                             {'SepalLength': float(cells[0]), 'Species': int(cells[4]),
                              **json.loads(want)})
        service.end()

    def test_rows_before_a_wrong_one_are_answered(self):
        service = self.serve('--max_wait_ms=3600000', *text_input('-'))
        service.write(b''.join(self.rows[:3]) + b'5.1,x,1.4,0.2,0\n')
        self.assertEqual([service.answer() for _ in range(3)], self.want[:3])
        self.assertEqual(service.process.wait(TIMEOUT_SECONDS), 65)
        message = service.process.stderr.read().decode()
        self.assertIn('standard input:4', message)

    def test_a_wrong_row_may_be_left_out(self):
        service = self.serve('--max_wait_ms=0', *text_input('-'), '--set',
                             'predict.input.on_error=SKIP')
        self.assertEqual(service.ask(self.rows[0]), self.want[0])
        self.assertEqual(service.ask(b'5.1,x,1.4,0.2,0\n' + self.rows[1]), self.want[1])
        service.end()
        self.expect_end(service)

    def test_an_input_without_rows(self):
        ends = [self.call(*self.iris('predict', 'model', *SERVED, *flags, *text_input('-')), given=b'')
                for flags in ((), ('--max_wait_ms=5',))]
        self.assertEqual((ends[0].code, ends[0].out, ends[0].err),
                         (ends[1].code, ends[1].out, ends[1].err))

    def test_mistakes(self):
        for flags, message in ((('--max_wait_ms=-1',), 'max_wait_ms must be >= 0, got -1'),
                               (('--max_wait_ms=1', '--set',
                                 'predict.generate={ start_string: "a" }'), 'max_wait_ms')):
            done = self.call(*self.iris('predict', 'model', *flags, *text_input('-')))
            self.assertEqual((done.code, done.out), (2, ''), str(done))
            self.assertIn(message, done.messages[0])


if __name__ == '__main__':
    unittest.main()
