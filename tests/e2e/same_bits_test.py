"""The bits of a checkpoint depend on nothing but the configuration: not on a repetition, the worker
threads, the length of a loop, or where the run was broken off and resumed.
"""
import json
import random
import re
import signal

from program import STREAMED_DIGITS, ProgramTest, checkpoint_files, latest_step, read, write
from sentences import BATCH, write_sentences


class SameBitsTest:
    """The cases, for a model whose epochs end inside of batches, and use_tpu true and false."""

    def train(self, model_dir, *flags):
        done = self.succeed(*self.arguments(model_dir, f'--max_steps={self.steps}', *flags))
        self.assertEqual(latest_step(self.path(model_dir)), self.steps)
        return done

    def final(self, model_dir):
        files = checkpoint_files(self.path(model_dir, f'model.ckpt-{self.steps}'))
        self.assertEqual(sorted(files), ['.data-00000-of-00001', '.index'])
        return files

    def expect_same(self, model_dir, want):
        for suffix, got in self.final(model_dir).items():
            self.assertEqual(got, want[suffix], f'{model_dir}: {suffix} differs')

    def program(self):
        self.train('dumped', f'--dump_dir={self.path("dump")}')
        return read(self.path('dump', '90.core.program')).decode('ascii')

    def reference(self):
        self.train('reference')
        return self.final('reference')

    def expected(self):
        """What `reference` gives, trained once for the tests of a class."""
        of_class = type(self)
        if 'expected_files' not in vars(of_class):
            of_class.expected_files = self.reference()
        return of_class.expected_files

    def test_two_runs(self):
        want = self.expected()
        self.train('again')
        self.expect_same('again', want)

    def test_another_seed_gives_other_bits(self):
        want = self.expected()
        self.train('other', '--tf_random_seed=2')
        self.assertNotEqual(self.final('other'), want)

    def test_worker_threads(self):
        want = self.expected()
        for workers in (1, 2, 4, 8):
            # On a busy machine the others may do all the work of one.
            for attempt in range(5):
                model_dir = f'workers{workers}_{attempt}'
                done = self.train(model_dir, f'--worker_threads={workers}', '--v=1')
                ran = [int(count) for count in re.findall(r'worker \d+ ran (\d+)', done.err)]
                self.assertEqual(len(ran), workers, done.err)
                self.expect_same(model_dir, want)
                if all(count > 0 for count in ran):
                    break
            else:
                self.fail(f'a worker ran nothing: {ran}')

    def test_iterations_per_loop(self):
        want = self.expected()
        for steps in (1, 7, 500):
            model_dir = f'loop{steps}'
            self.train(model_dir, '--set', f'tpu_config.iterations_per_loop={steps}')
            self.expect_same(model_dir, want)

    def test_loops_of_a_time(self):
        want = self.expected()
        done = self.train('seconds', '--set', 'tpu_config.iterations_per_loop=1s', '--v=1')
        self.assertIn('in loops of about 1 s.', done.err)
        self.assertRegex(done.err, r'A loop of 1 steps took [0-9.]+ s\.')
        self.expect_same('seconds', want)

    def break_off(self, model_dir, *flags, after, number):
        """Ends a run by a signal once it has saved step `after`; the call, and the latest step."""
        process = self.start(*self.arguments(model_dir, f'--max_steps={self.steps}', *flags))
        self.wait_until(lambda: latest_step(self.path(model_dir)) >= after, process)
        process.send_signal(number)
        done = self.finish(process)
        return done, latest_step(self.path(model_dir))

    def test_killed_in_mid_epoch_and_resumed(self):
        want = self.expected()
        often = ('--save_checkpoints_steps=4', '--set', 'tpu_config.iterations_per_loop=2')
        steps = []
        for after in self.breaks:
            done, step = self.break_off('broken', *often, after=after, number=signal.SIGKILL)
            self.assertEqual(done.code, -signal.SIGKILL, str(done))
            steps.append(step)
        self.assertTrue(all(step < self.steps for step in steps), steps)
        self.assertTrue(any(step % self.epoch_steps for step in steps),
                        f'no break in mid-epoch: {steps}')
        done = self.train('broken')
        self.assertIn(f'Restoring parameters from {self.path("broken")}/model.ckpt-{step}', done.err)
        self.expect_same('broken', want)

    def test_interrupted_and_resumed(self):
        want = self.expected()
        often = ('--save_checkpoints_steps=4', '--set', 'tpu_config.iterations_per_loop=1')
        done, step = self.break_off('stopped', *often, after=self.breaks[2], number=signal.SIGTERM)
        self.assertEqual(done.code, 75, str(done))
        self.assertLess(step, self.steps)
        self.assertGreater(step, 2 * self.epoch_steps)
        self.train('stopped')
        self.expect_same('stopped', want)


class Iris(SameBitsTest):
    batch = 16
    epoch_steps = 120 / batch
    steps = 600
    breaks = (8, 40, 90)

    def arguments(self, model_dir, *flags):
        return self.iris('train', model_dir, f'--use_tpu={self.use_tpu}',
                         f'--train_batch_size={self.batch}', *flags)


    def test_worker_threads_with_wide_layers(self):
        """A worker multiplies the weights with all its rows at once (runtime/program/span_replicas.h)."""
        results = []
        for workers in (1, 2, 8):
            self.succeed(*self.arguments(
                f'wide{workers}', '--max_steps=20', f'--worker_threads={workers}',
                *(f'--set=model.layer.hidden_{i}.dense.units=1100' for i in (1, 2))))
            results.append(checkpoint_files(self.path(f'wide{workers}', 'model.ckpt-20')))
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])


class IrisTpuTest(Iris, ProgramTest):
    use_tpu = 'true'


class IrisCpuTest(Iris, ProgramTest):
    use_tpu = 'false'


class Digits(SameBitsTest):
    batch = 64
    epoch_steps = 1797 / batch
    steps = 300
    breaks = (8, 32, 60)

    def arguments(self, model_dir, *flags):
        return self.digits('train', model_dir, f'--use_tpu={self.use_tpu}',
                           f'--train_batch_size={self.batch}', *STREAMED_DIGITS, *flags)


class DigitsTpuTest(Digits, ProgramTest):
    use_tpu = 'true'


class DigitsCpuTest(Digits, ProgramTest):
    use_tpu = 'false'


AVERAGES = ('--set', 'model.moving_average={ decay: 0.9 }')


class InputForm:
    """Another form of per_host_input_for_training."""

    def arguments(self, model_dir, *flags):
        return super().arguments(model_dir, '--set',
                                 f'tpu_config.per_host_input_for_training={self.form}', *flags)


class PipelinePerCoreTest(InputForm, Digits, ProgramTest):
    """Each core's shuffle has a buffer of its own in the position."""
    use_tpu = 'true'
    form = 'PER_SHARD_V1'

    def test_one_pipeline_gives_other_bits(self):
        want = self.expected()
        self.train('whole', '--set', 'tpu_config.per_host_input_for_training=PER_HOST_V1')
        self.assertNotEqual(self.final('whole')['.data-00000-of-00001'],
                            want['.data-00000-of-00001'])


class CachedPipelinePerCoreTest(InputForm, Iris, ProgramTest):
    use_tpu = 'true'
    form = 'PER_SHARD_V1'


class BatchesInTurnTest(InputForm, Digits, ProgramTest):
    use_tpu = 'true'
    form = 'PER_HOST_V2'

    def test_a_contiguous_input_gives_the_same_bits_as_whole_batches(self):
        want = self.expected()
        self.train('whole', '--set', 'tpu_config.per_host_input_for_training=PER_HOST_V1')
        self.expect_same('whole', want)


class BroadcastTest(InputForm, Iris, ProgramTest):
    use_tpu = 'true'
    form = 'BROADCAST'
    batch = 15  # no multiple of 8
    epoch_steps = 8
    breaks = (9, 41, 91)  # no whole epochs


class BucketsTest(SameBitsTest, ProgramTest):
    """Programs in turn; elements that wait in buckets are in the position."""
    epoch_steps = 500 / BATCH
    steps = 300
    breaks = (8, 40, 90)

    def setUp(self):
        super().setUp()
        write_sentences(self.dir)

    def arguments(self, model_dir, *flags):
        return ['train', '--config=run.textproto', f'--model_dir={self.path(model_dir)}', *flags]


class WideDigitsTest(Digits, ProgramTest):
    """A layer whose gradient is merged over cores and whose packed weights are carried; averages."""
    use_tpu = 'true'
    batch = 32
    epoch_steps = 1797 / batch
    breaks = (8, 64, 120)

    def arguments(self, model_dir, *flags):
        return super().arguments(model_dir, '--set', 'model.layer.dense.dense.units=512', *AVERAGES,
                                 *flags)

    def test_the_program_merges_and_carries(self):
        program = self.program()
        step = program[program.index('\nstep phase 0'):]
        self.assertIn('  cross_replica_matmul {', step)
        if '+avx512' in program.splitlines()[0]:  # weights are packed in bf16
            self.assertIn('  pack {', step)


# A convolution and a dense layer, both normalized.
NORMALIZED = '''[
  { name: "conv2d" conv2d { filters: 8 kernel_size: 3 use_bias: false } },
  { name: "batch_normalization" batch_normalization { momentum: 0.9 GROUPS } },
  { name: "relu" activation { function: RELU } },
  { name: "flatten" flatten {} },
  { name: "dense" dense { units: 16 } },
  { name: "batch_normalization_1" batch_normalization { GROUPS } },
  { name: "logits" dense { units: 10 } }
]'''


class NormalizedDigitsTest(Digits, ProgramTest):
    """Each core has its own statistics."""
    use_tpu = 'true'
    steps = 120
    breaks = (8, 32, 60)
    groups = ''
    optimizer = 'momentum { momentum: 0.9 }'
    optimizer_groups = ''

    def arguments(self, model_dir, *flags):
        layers = NORMALIZED.replace('GROUPS', self.groups).replace('\n', ' ')
        return super().arguments(
            model_dir, '--set', f'model.layer={layers}', '--set',
            f'model.optimizer=[{{ {self.optimizer} learning_rate {{ constant: 0.01 }} '
            f'cross_shard {{ {self.optimizer_groups} }} }}]', *flags)


class GroupedNormDigitsTest(NormalizedDigitsTest):
    """Statistics of two groups of cores."""
    groups = 'group_assignment { replica: [0, 1, 2, 3] } group_assignment { replica: [4, 5, 6, 7] }'


class WholeNormDigitsTest(NormalizedDigitsTest):
    """Statistics of the whole batch."""
    groups = 'group_assignment { replica: [0, 1, 2, 3, 4, 5, 6, 7] }'


class GroupedTrainingDigitsTest(NormalizedDigitsTest):
    """Four models apart, each with norms and averages of its own."""
    optimizer = 'lamb {}'
    optimizer_groups = ' '.join(f'group_assignment {{ replica: [{i}, {i + 4}] }}' for i in range(4))

    def arguments(self, model_dir, *flags):
        return super().arguments(model_dir, *AVERAGES, *flags)


class NormalizedDigitsCpuTest(NormalizedDigitsTest):
    use_tpu = 'false'


class StoredInBFloat16DigitsTest(NormalizedDigitsTest):
    """The results of layers are stored in bf16."""

    def arguments(self, model_dir, *flags):
        return super().arguments(model_dir, '--set', 'model.compute_dtype=BFLOAT16', *flags)


# Two layers that carry their state from batch to batch, behind a table of more rows than a batch has
# characters: its gradient is of rows. The text is generated from averages.
TEXT_LENGTH, TEXT_ROWS, TEXT_CHARACTERS = 10, 16, 180
TEXT_RUN = f"""
model_file: "model.textproto"
train_batch_size: {TEXT_ROWS}
train {{
  input {{
    source {{ text {{ file: "text.txt" sequence_length: {TEXT_LENGTH} streams: {TEXT_ROWS}
                     with_starts: true }} }}
    transform {{ repeat {{}} }}
    transform {{ batch {{ drop_remainder: true }} }}
  }}
}}
predict {{ generate {{ start_string: "{chr(0x4e00)}" num_generate: 60 }} }}
"""
TEXT_MODEL = f"""
name: "text"
feature {{ name: "text" dtype: INT32 shape: {TEXT_LENGTH} }}
feature {{ name: "start" dtype: INT32 }}
label {{ name: "next" dtype: INT32 shape: {TEXT_LENGTH} }}
layer_defaults {{
  lstm {{ units: 24 return_sequences: true stateful: true reset_states_at: "start" }}
}}
layer {{ name: "embedding" input: "text" embedding {{ input_dim: {TEXT_CHARACTERS} output_dim: 16 }} }}
layer {{ name: "lstm_1" lstm {{}} }}
layer {{ name: "lstm_2" lstm {{}} }}
layer {{ name: "logits" dense {{ units: {TEXT_CHARACTERS} }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
optimizer {{ adam {{}} learning_rate {{ constant: 0.01 }} clip_by_global_norm: 0.5 }}
moving_average {{ decay: 0.9 num_updates_is_global_step: true }}
"""


class Text(SameBitsTest):
    epoch_steps = 9
    steps = 120
    breaks = (8, 24, 40)
    run_config, model = TEXT_RUN, TEXT_MODEL

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        per_stream = Text.epoch_steps * TEXT_LENGTH + 1
        ids = list(range(TEXT_CHARACTERS))
        ids += (draw.choice([i % 7, draw.randrange(TEXT_CHARACTERS)])
                for i in range(TEXT_ROWS * per_stream - len(ids)))
        write(self.path('text.txt'), ''.join(chr(0x4e00 + i) for i in ids))
        write(self.path('run.textproto'), self.run_config)
        write(self.path('model.textproto'), self.model)

    def arguments(self, model_dir, *flags):
        return ('train', '--config=run.textproto', f'--model_dir={model_dir}',
                f'--use_tpu={self.use_tpu}', *flags)

    def text(self, *flags):
        done = self.succeed('predict', '--config=run.textproto', '--model_dir=reference',
                            f'--use_tpu={self.use_tpu}', *flags)
        return self.result(done)['text']

    def test_generated_text(self):
        self.reference()
        want = self.text('--tf_random_seed=7')
        self.assertEqual(len(want), 61)
        for workers in (1, 2, 4, 8):
            self.assertEqual(self.text('--tf_random_seed=7', f'--worker_threads={workers}'), want)
        self.assertNotEqual(self.text('--tf_random_seed=8'), want)


class StatefulText(Text):

    def test_a_checkpoint_has_the_carried_state(self):
        """So that equal checkpoints say that it is equal too."""
        self.reference()
        done = self.succeed('inspect', f'reference/model.ckpt-{self.steps}', '--format=json')
        rows = [json.loads(line) for line in done.out.splitlines()]
        shapes = {row['name']: row['shape'] for row in rows}
        for layer in ('lstm_1', 'lstm_2'):
            for state in ('h', 'c'):
                self.assertEqual(shapes[f'{self.states}{layer}/{state}'], self.state_shape)


class TextTpuTest(StatefulText, ProgramTest):
    use_tpu = 'true'
    states, state_shape = 'tpurun/core/', [8, TEXT_ROWS // 8, 24]

    def test_the_gradient_of_the_table_is_rows(self):
        self.assertIn('  cross_replica_concat {', self.program())


class PipelinePerCoreTextTest(InputForm, TextTpuTest):
    """A core has every eighth stream, batch after batch."""
    form = 'PER_SHARD_V1'


class BroadcastTextTest(InputForm, StatefulText, ProgramTest):
    use_tpu = 'true'
    form = 'BROADCAST'
    states, state_shape = 'tpurun/core/', [8, TEXT_ROWS, 24]


class TextCpuTest(StatefulText, ProgramTest):
    use_tpu = 'false'
    states, state_shape = '', [TEXT_ROWS, 24]


# Windows in another order each epoch; dropout of attention weights and of what each part adds.
TRANSFORMER_RUN = f"""
model_file: "model.textproto"
train_batch_size: {TEXT_ROWS}
train {{
  input {{
    source {{ text {{ file: "text.txt" sequence_length: {TEXT_LENGTH} }} }}
    transform {{ shuffle {{ buffer_size: 64 }} }}
    transform {{ repeat {{}} }}
    transform {{ batch {{ drop_remainder: true }} }}
  }}
}}
predict {{ generate {{ start_string: "{chr(0x4e00)}" num_generate: 60 }} }}
"""
TRANSFORMER_MODEL = f"""
name: "transformer"
feature {{ name: "text" dtype: INT32 shape: {TEXT_LENGTH} }}
label {{ name: "next" dtype: INT32 shape: {TEXT_LENGTH} }}
layer {{ name: "embedding" input: "text" embedding {{ input_dim: {TEXT_CHARACTERS} output_dim: 16 }} }}
layer {{ name: "position" position_embedding {{ max_length: {TEXT_LENGTH} }} }}
layer {{
  name: "block"
  transformer_block {{
    num_heads: 2 key_dim: 8 ffn_units: 32 dropout: 0.2 causal: true pre_norm: true repeat: 2
  }}
}}
layer {{ name: "norm" layer_normalization {{}} }}
layer {{ name: "logits" dense {{ units: {TEXT_CHARACTERS} }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
optimizer {{
  adamw {{ weight_decay_rate: 0.1 exclude_from_weight_decay: "bias" }}
  learning_rate {{ constant: 0.01 }}
  clip_by_global_norm: 0.5
}}
"""


class Transformer(Text):
    epoch_steps = 145 / TEXT_ROWS
    run_config, model = TRANSFORMER_RUN, TRANSFORMER_MODEL

    def test_weights_of_attention_are_dropped(self):
        self.assertRegex(self.program(), r'attention\b.*rate')


class TransformerTpuTest(Transformer, ProgramTest):
    use_tpu = 'true'


class TransformerCpuTest(Transformer, ProgramTest):
    use_tpu = 'false'
