"""A training in buckets (bucket_by_sequence_length): its steps have the length of their batch, evaluate
and profile take the full length, and what goes wrong in a bucket is told as elsewhere."""
import json

from program import ProgramTest, checkpoint_files, read, write
from sentences import LENGTHS, LONGEST, MODEL, RUN, write_sentences

# A number for each position.
NUMBERS_MODEL = """
feature { name: "x" dtype: FLOAT32 shape: 6 }
label { name: "y" dtype: FLOAT32 }
layer { name: "row" reshape { target_shape: [-1, 1] } }
layer { name: "hidden" dense { units: 4 use_bias: false } }
layer { name: "mean" global_average_pooling1d {} }
layer { name: "out" dense { units: 1 } }
loss { name: "l" mean_squared_error { labels: "y" predictions: "out" } }
optimizer { gradient_descent {} learning_rate { constant: 0.01 } }
"""
NUMBERS_RUN = """
model_file: "model.textproto"
train_batch_size: 8
save_checkpoints_steps: 5
train {
  max_steps: 12
  input {
    source { text_line { file: "numbers.csv" } }
    transform {
      decode_csv {
        column { name: "n" dtype: INT32 }
        column { name: "x" shape: 6 }
        column { name: "y" }
      }
    }
    transform { batch { bucket_by_sequence_length { element_length: "n" feature: "x" bucket_boundaries: 4 } } }
  }
}
"""


class BucketsTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write_sentences(self.dir)

    def run_verb(self, verb, *flags):
        return self.call(verb, '--config=run.textproto', f'--model_dir={self.path("model")}', *flags)

    def expect_error(self, done, code, text):
        self.assertEqual(done.code, code, str(done))
        self.assertIn(text, '\n'.join(done.messages))

    def dumped(self, *flags):
        done = self.run_verb('train', f'--dump_infeed={self.path("dump")}', *flags)
        self.assertEqual(done.code, 0, str(done))
        return [json.loads(line) for line in read(self.path('dump', 'train.jsonl')).splitlines()]

    def test_a_step_has_the_length_of_its_bucket(self):
        lengths = {}
        for line in self.dumped():
            for row in line['features']['ids']:
                lengths.setdefault(line['step'], set()).add(len(row))
                words = len(row) - row[::-1].index(next(filter(None, row[::-1])))
                want = next(length for length in LENGTHS if words <= length)
                self.assertEqual(len(row), want, row)
        self.assertEqual(len(lengths), 60)
        self.assertTrue(all(len(of_step) == 1 for of_step in lengths.values()))
        self.assertEqual(set.union(*lengths.values()), set(LENGTHS))

    def test_the_artefacts_of_each_length(self):
        done = self.run_verb('train', f'--dump_dir={self.path("artefacts")}')
        self.assertEqual(done.code, 0, str(done))
        self.assertIn('The step is compiled for sequences of 4, 8, 16, 24.', done.err)
        for length, folder in zip(LENGTHS, ['length_4', 'length_8', 'length_16', '.']):
            program = read(self.path('artefacts', folder, '90.core.program')).decode()
            self.assertIn(f's32[2,{length}]', program)

    def test_a_bucket_of_all_sentences_has_the_losses_of_no_bucket(self):
        """All sentences are short: the batches are the same, and the steps are shorter."""
        write(self.path('train.csv'), b''.join(
            line for line in read(self.path('train.csv')).splitlines(True) if line.count(b' ') < 4))
        losses = []
        for buckets in (True, False):
            run = RUN if buckets else RUN.replace(
                RUN[RUN.index('    batch {'):RUN.index('train {')], '    batch {}\n  }\n}\n')
            write(self.path('run.textproto'), run)
            done = self.call('train', '--config=run.textproto', f'--model_dir={self.path(f"m{buckets}")}',
                             '--set', 'model.matmul_precision=F32', '--set', 'model.layer.dropout.dropout.rate=0')
            self.assertEqual(done.code, 0, str(done))
            losses.append(json.loads(done.out)['loss'])
        # Masked positions count nowhere; only sums are in another order.
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-5 * losses[1])

    def test_evaluate_and_profile_take_the_full_length(self):
        self.assertEqual(self.run_verb('train').code, 0)
        evaluated = self.run_verb('evaluate', f'--dump_infeed={self.path("dump")}')
        self.assertEqual(evaluated.code, 0, str(evaluated))
        lines = [json.loads(line) for line in read(self.path('dump', 'evaluate.jsonl')).splitlines()]
        self.assertEqual({len(row) for line in lines for row in line['features']['ids']}, {LONGEST})
        self.assertGreater(json.loads(evaluated.out)['accuracy'], 0.8)
        profiled = self.run_verb('profile', '--steps=5')
        self.assertEqual(profiled.code, 0, str(profiled))
        longest = 'All steps have the longest sequences of bucket_by_sequence_length, of 24.'
        self.assertIn(longest, profiled.err)
        for flags in ((), ('--numerics', '--steps=2')):
            checked = self.run_verb('check', *flags)
            self.assertEqual(checked.code, 0, str(checked))
            self.assertIn(longest, checked.err)

    def test_evaluations_between_loops(self):
        done = self.run_verb('train_and_evaluate', '--set', 'train_and_evaluate.steps_per_eval=20')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(json.loads(done.out.splitlines()[-1])['global_step'], 60)

    def test_a_model_that_a_length_does_not_fit(self):
        flat = MODEL.replace('lstm" lstm { units: 8 }', 'flat" flatten {} drop_mask: true')
        write(self.path('model.textproto'), flat)
        text = ('run.textproto:14:7: bucket_by_sequence_length: with ids cut to 4: variable "logits/kernel" is '
                'f32[32,2], and uncut it is f32[192,2]; take layers whose weights do not depend on the length')
        for verb in ('train', 'check', 'profile'):
            self.expect_error(self.run_verb(verb), 2, text)
        write(self.path('model.textproto'), MODEL.replace(
            'lstm" lstm { units: 8 }', 'flat" reshape { target_shape: 192 } drop_mask: true'))
        self.expect_error(self.run_verb('train'), 2, 'bucket_by_sequence_length: with ids cut to 4: '
                          'model.textproto:6:22: layer 1 "flat": target_shape [192] does not hold')

    def test_a_summary_that_depends_on_the_length(self):
        write(self.path('model.textproto'), MODEL + '''
            layer { name: "map" input: "words" reshape { target_shape: [-1, 8, 1] } drop_mask: true }
            summary { image { name: "map" tensor: "map" } }''')
        done = self.run_verb('train', '--set', 'save_summary_steps=10')
        self.expect_error(done, 2, 'run.textproto:14:7: bucket_by_sequence_length: with ids cut to 4: output ')
        self.expect_error(done, 2, '; leave its summary out')

    def test_steps_of_several_programs_have_no_profile(self):
        self.expect_error(self.run_verb('train', '--profile_steps=1-5'), 2, '--profile_steps: run.textproto:')

    def test_a_pipe_is_saved_at_any_step(self):
        """Its position has the sentences that wait, and it cannot be read again."""
        write(self.path('run.textproto'), RUN.replace('file: "train.csv"', 'file: "-"', 1).replace(
            'batch {', 'batch { drop_remainder: true', 1))
        for name, steps in (('whole', (25,)), ('parts', (7, 18, 25))):
            for last in steps:
                with open(self.path('train.csv'), 'rb') as sentences:
                    done = self.call('train', '--config=run.textproto', f'--model_dir={self.path(name)}',
                                     f'--max_steps={last}', '--save_checkpoints_steps=3', '--set',
                                     'tpu_config.iterations_per_loop=1', stdin=sentences)
                self.assertEqual(done.code, 0, str(done))
        whole, parts = (checkpoint_files(self.path(name, 'model.ckpt-25')) for name in ('whole', 'parts'))
        self.assertEqual(whole, parts)

    def test_what_is_cut_off_is_told_unless_it_is_padding(self):
        done = self.run_verb('train')
        self.assertEqual(done.warnings, [])
        short = RUN.replace('transform {\n    batch', 'transform { cast { feature: "n" dtype: FLOAT32 } }\n  '
                            'transform { cast { feature: "n" scale: 0.5 } }\n  '
                            'transform { cast { feature: "n" dtype: INT32 } }\n  transform {\n    batch')
        write(self.path('run.textproto'), short)
        done = self.call('train', '--config=run.textproto', f'--model_dir={self.path("short")}')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertRegex(done.warnings[0], r'^train.csv:\d+: "ids" has different values behind the first \d+, the '
                         'length of its bucket, where it should have padding alone')

    def test_pipelines_for_each_core_are_refused(self):
        self.expect_error(
            self.run_verb('train', '--set', 'tpu_config.per_host_input_for_training=PER_SHARD_V1'), 2,
            'a step has one batch of one bucket, and here it has 8')

    def write_numbers(self, bad):
        """Rows of 3 and 6 numbers in turn; `bad` replaces the first number of line 61, a short one."""
        rows = []
        for line in range(1, 97):
            length = 3 if line % 2 else 6
            numbers = [f'{line % 7 + i}' if i < length else '0' for i in range(6)]
            if line == 61 and bad:
                numbers[0] = bad
            rows.append(f'{length},{",".join(numbers)},1\n')
        write(self.path('numbers.csv'), ''.join(rows))
        write(self.path('model.textproto'), NUMBERS_MODEL)
        write(self.path('run.textproto'), NUMBERS_RUN)

    def test_a_nan_in_a_bucket_is_found_in_its_program(self):
        self.write_numbers('3e38')
        # Lines 1, 3, ... 15 are the first batch; that of line 61 is the 7th.
        for loop in (1, 7, 100):
            done = self.run_verb('train', '--set', f'tpu_config.iterations_per_loop={loop}')
            self.expect_error(done, 1, 'NaN or infinity in the loss at step 7: first in node "l/square" (square) of '
                              'loss (forward) (the batch ends with numbers.csv:63); lower the learning rate')

    def test_weights_that_are_not_finite_are_told(self):
        self.write_numbers('')
        done = self.run_verb('train', '--set', 'model.optimizer.learning_rate.constant=1e38')
        self.expect_error(done, 1, 'NaN or infinity in the weights at step 1: variable "hidden/kernel" f32[1,4] is')
        self.expect_error(done, 1, 'of hidden (update) (the batch ends with numbers.csv:15)')
