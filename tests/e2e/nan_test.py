"""NaNs and infinities in the weights while the loss is finite: the step, the variable, the node and the
batch are named, the same for any number of threads and any loops, and the last good checkpoint stays."""
import os

from program import ProgramTest, checkpoint_files, latest_step, read, write

BATCH = 8
STEP = 13  # of the row that is 0, from 1
# The length of a vector, whose gradient at 0 is 0 * 0 / 0: the loss there is finite.
MODEL = """
feature { name: "x" dtype: FLOAT32 }
feature { name: "z" dtype: FLOAT32 }
label { name: "y" dtype: FLOAT32 }
layer { name: "point" concat {} input: "x" input: "z" }
layer { name: "hidden" dense { units: 4 use_bias: false } }
layer { name: "squares" op { name: "square" } }
layer { name: "sum" op { name: "reduce_sum" attrs: "axes=[1]" } }
layer { name: "length" op { name: "sqrt" } }
loss { name: "l" mean_squared_error { labels: "y" predictions: "length" } }
optimizer { momentum { momentum: 0.9 } learning_rate { constant: 0.001 } }
"""
RUN = """
model_file: "model.textproto"
train_batch_size: 8
save_checkpoints_steps: 5
save_summary_steps: 1
tpu_config { iterations_per_loop: "1" }
transformation_func {
  name: "parse"
  transform { decode_csv { column { name: "x" dtype: FLOAT32 } column { name: "z" dtype: FLOAT32 }
                           column { name: "y" dtype: FLOAT32 } } }
}
train {
  max_steps: 30
  input {
    source { text_line { file: "points.csv" } }
    transform { apply { transformation_func: "parse" } }
    transform { repeat {} }
    transform { batch { drop_remainder: true } }
  }
}
"""
POINTS = [f'{1 + i % 7 * 0.25},{i % 5 - 2.5},{1 + i % 3}\n' for i in range(BATCH * 20)]
WEIGHTS = f'tpurun: NaN or infinity in the weights at step {STEP}: '
WHAT = (f'{WEIGHTS}variable "hidden/kernel" f32[2,4] is NaN at [0,0], first in node '
        f'"gradients/length/sqrt_grad/div" (div) of length (backward) (the batch ends with '
        f'points.csv:{BATCH * STEP}); lower '
        'the learning rate, or mend the model there')


def loops(length):
    return '--set', f'tpu_config.iterations_per_loop={length}'


class NanTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write(self.path('model.textproto'), MODEL)
        write(self.path('run.textproto'), RUN)
        self.write_points('0,0,1\n')

    def write_points(self, point):
        """All points, with that one in the batch of STEP."""
        at = BATCH * (STEP - 1) + 3
        write(self.path('points.csv'), ''.join(POINTS[:at] + [point] + POINTS[at + 1:]))

    def train(self, model_dir, *flags, **options):
        return self.call('train', '--config=run.textproto', f'--model_dir={model_dir}', *flags,
                         **options)

    def expect_failed(self, call, message):
        self.assertEqual(call.code, 1, str(call))
        self.assertEqual(call.out, '', str(call))
        self.assertEqual(call.messages, [message], str(call))

    def last_good(self, model_dir, step):
        return f'; the last good checkpoint is {self.path(model_dir)}/model.ckpt-{step}'

    def expect_steps(self, model_dir, *steps):
        """The checkpoints that are there, the last being the latest."""
        found = {name.split('.')[1] for name in os.listdir(self.path(model_dir))
                 if name.startswith('model.')}
        self.assertEqual(found, {f'ckpt-{step}' for step in steps})
        self.assertEqual(latest_step(self.path(model_dir)), steps[-1])

    def test_any_threads_and_any_loops_say_the_same(self):
        for threads in (1, 2, 8):
            for length, steps in ((1, (0, 5, 10)), (7, (0, 7)), (500, None)):
                name = f'm{threads}_{length}'
                done = self.train(name, f'--worker_threads={threads}', *loops(length))
                if steps is None:
                    # In the first loop: nothing of the run is kept.
                    self.expect_failed(done, WHAT)
                    self.assertFalse(os.path.exists(self.path(name)))
                    continue
                self.expect_failed(done, WHAT + self.last_good(name, steps[-1]))
                self.expect_steps(name, *steps)

    def test_the_last_good_checkpoint_is_that_of_a_run_that_ends_there(self):
        self.train('model')
        self.assertEqual(self.train('short', '--max_steps=10').code, 0)
        good = checkpoint_files(self.path('model', 'model.ckpt-10'))
        self.assertEqual(checkpoint_files(self.path('short', 'model.ckpt-10')), good)
        self.assertEqual(len(good), 2)

    def test_a_run_goes_on_from_it(self):
        self.train('model')
        good = checkpoint_files(self.path('model', 'model.ckpt-10'))
        # The same again while nothing is mended.
        self.expect_failed(self.train('model'), WHAT + self.last_good('model', 10))
        self.assertEqual(checkpoint_files(self.path('model', 'model.ckpt-10')), good)
        self.write_points('1,2,1\n')
        self.assertEqual(self.train('model', '--allow_changed_input').code, 0)
        self.assertEqual(self.train('whole').code, 0)
        self.assertEqual(checkpoint_files(self.path('model', 'model.ckpt-30')),
                         checkpoint_files(self.path('whole', 'model.ckpt-30')))

    def test_a_resumed_run_names_the_same_step(self):
        for first in (10, 12):
            name = f'm{first}'
            self.assertEqual(self.train(name, f'--max_steps={first}').code, 0)
            self.expect_failed(self.train(name, *loops(500)), WHAT + self.last_good(name, first))
            self.assertEqual(latest_step(self.path(name)), first)

    def test_without_checkpoints(self):
        self.expect_failed(self.train('model', '--set', 'save_checkpoints_steps=0', *loops(4)), WHAT)
        files = os.listdir(self.path('model'))
        self.assertEqual([name for name in files if 'ckpt' in name or name == 'checkpoint'], [])

    def test_a_shuffled_input_is_brought_back(self):
        shuffled = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
                    '{ shuffle { buffer_size: 50 } }, { repeat {} }, { batch {} }]')
        got = [self.train(f'm{length}', *shuffled, *loops(length)).messages for length in (1, 7, 500)]
        self.assertRegex(got[2][0], r'^tpurun: NaN or infinity in the weights at step \d+: variable '
                         r'"hidden/kernel" f32\[2,4\] is NaN at \[0,0\], first in node '
                         r'"gradients/length/sqrt_grad/div" \(div\) of length \(backward\) \(the batch ends with '
                         r'points.csv:')
        for messages in got:
            self.assertEqual(messages[0].split('; the last good')[0], got[2][0])

    def test_groups_of_cores_have_variables_of_their_own(self):
        groups = ('group_assignment { replica: [0, 1, 2, 3] } '
                  'group_assignment { replica: [4, 5, 6, 7] }')
        done = self.train('model', '--set', f'model.optimizer.0.cross_shard={{ {groups} }}')
        # The row is in core 3's share.
        self.expect_failed(done, WHAT.replace('[0,0]', '[0,0] on core 0') +
                           self.last_good('model', 10))

    def test_standard_input_is_not_read_again(self):
        config = read(self.path('run.textproto')).decode().replace('    transform { repeat {} }\n', '')
        write(self.path('run.textproto'), config)
        arguments = ('--set', 'train.input.source.text_line.file="-"', '--max_steps=20')
        done = self.train('model', *arguments, given=read(self.path('points.csv')))
        self.assertEqual(done.code, 1, str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        self.assertTrue(done.messages[0].startswith(
            f'{WEIGHTS}variable "hidden/kernel" f32[2,4] is NaN at [0,0]; what made it so is not '
            'known: standard input cannot be read again'), str(done))
        self.assertTrue(done.messages[0].endswith(
            '; lower the learning rate' + self.last_good('model', 10)), str(done))
        self.expect_steps('model', 0, 5, 10)

    def test_a_learning_rate_that_overflows_in_the_first_step(self):
        steep = ('--set', 'model.optimizer={ gradient_descent {} learning_rate { constant: 3e38 } '
                 'cross_shard { reduction: SUM } }')
        messages = set()
        for threads in (1, 2, 8):
            for length in (1, 7, 500):
                done = self.call(*self.iris('train', 'model', f'--worker_threads={threads}', *steep,
                                            *loops(length)))
                self.assertEqual((done.code, len(done.messages)), (1, 1), str(done))
                messages.update(done.messages)
                self.assertFalse(os.path.exists(self.path('model')))
        self.assertEqual(len(messages), 1, messages)
        self.assertRegex(messages.pop(), r'^tpurun: NaN or infinity in the weights at step 1: variable '
                         r'"hidden_1/kernel" f32\[4,10\] is -?inf at \[\d,\d\], first in node '
                         r'"gradient_descent/update_hidden_1/kernel/mul" \(mul\) of hidden_1 \(update\) \(the '
                         r'batch ends with '
                         r'iris/iris_training\.csv:\d+\); lower the learning rate, or mend the model '
                         r'there$')


class RowsTest(ProgramTest):
    """An embedding of many rows, of which a step updates a few."""

    def test_a_row_of_a_table(self):
        write(self.path('model.textproto'), """
feature { name: "id" dtype: INT32 }
feature { name: "x" dtype: FLOAT32 }
label { name: "y" dtype: FLOAT32 }
layer { name: "table" embedding { input_dim: 1000 output_dim: 4 } input: "id" }
layer { name: "sum" op { name: "reduce_sum" attrs: "axes=[1]" } }
layer { name: "z" op { name: "mul" } input: "sum" input: "x" }
loss { name: "l" mean_squared_error { labels: "y" predictions: "z" } }
optimizer { gradient_descent {} learning_rate { constant: 10000 } cross_shard { reduction: SUM } }
""")
        write(self.path('run.textproto'), RUN.replace('name: "z" dtype: FLOAT32',
                                                      'name: "id" dtype: INT32'))
        # Ids come twice in a batch; the gradient of row 77 overflows in step 13.
        rows = [f'0.003,{i % 5 * 100 + i // 8 % 3},1\n' for i in range(BATCH * 20)]
        rows[BATCH * (STEP - 1) + 5] = '3e19,77,0\n'
        write(self.path('points.csv'), ''.join(rows))
        for threads in (1, 8):
            done = self.call('train', '--config=run.textproto', f'--model_dir=m{threads}',
                             f'--worker_threads={threads}')
            self.assertEqual((done.code, len(done.messages)), (1, 1), str(done))
            self.assertRegex(done.messages[0], WEIGHTS + r'variable "table/embeddings" '
                             r'f32\[1000,4\] is -?inf at \[77,0\], first in node ".*" \(\w+\) of table \(\w+\) \(the '
                             rf'batch ends with points.csv:{BATCH * STEP}\).*model\.ckpt-10$')
