"""A character model: windows of text files, the vocabulary in model_dir, a run that goes on."""
import gzip
import json
import os
import random
import signal

from program import ProgramTest, checkpoint_files, read, sanitizer, tree, write

RUN = """
model_file: "model.textproto"
train_batch_size: 16
eval_batch_size: 16
predict_batch_size: 8
train {{ max_steps: 40 input {{ source {{ text {{
  file: "text.txt" sequence_length: {length} end: 0.9 {fields} }} }} {transforms} }} }}
evaluate {{ input {{ source {{ text {{ file: "text.txt" sequence_length: {length} begin: 0.9 }} }} }} }}
predict {{
  input {{ source {{ text {{ file: "text.txt" sequence_length: {length} with_labels: false }} }} }}
  keys: "logits"
  forward_features: "text"
}}
"""
# Of each character the next one.
MODEL = """
feature {{ name: "text" dtype: INT32 shape: {length} }}
label {{ name: "next" dtype: INT32 shape: {length} }}
layer {{ name: "characters" one_hot {{ depth: {depth} }} input: "text" }}
layer {{ name: "logits" dense {{ units: {depth} }} }}
loss {{ name: "l" sparse_softmax_cross_entropy {{ labels: "next" logits: "logits" }} }}
prediction {{ name: "logits" }}
optimizer {{ adam {{}} learning_rate {{ constant: 0.1 }} }}
"""
SHUFFLED = 'transform { shuffle { buffer_size: 50 } } transform { repeat {} }'
ENDLESS = 'transform { repeat {} }'


def some_text(characters, size, seed=1):
    """Characters of which each has a liking for what follows it."""
    draw = random.Random(seed)
    text = [0]
    while len(text) < size:
        text.append(draw.choice([text[-1] + 1, text[-1] * 2 + 1, draw.randrange(100)]))
    return ''.join(characters[i % len(characters)] for i in text)


def windows(text, length, shift=None, streams=1, begin=0.0, end=1.0):
    """(text, next) of each window, one by one and character by character."""
    part = text[int(begin * len(text)):int(end * len(text))]
    size = len(part) // streams
    found = []
    for stream in range(streams):
        mine = part[stream * size:(stream + 1) * size]
        starts = range(0, len(mine) - length, shift or length)
        found.append([(mine[i:i + length], mine[i + 1:i + 1 + length]) for i in starts])
    return [window for turn in zip(*found) for window in turn]


def unescaped(line):
    return {'\\n': '\n', '\\\\': '\\', '\\t': '\t'}.get(line, line)


class TextProgramTest(ProgramTest):

    def configure(self, text, length=8, depth=40, fields='', transforms=SHUFFLED):
        write(self.path('text.txt'), text)
        write(self.path('run.textproto'),
              RUN.format(length=length, fields=fields, transforms=transforms))
        write(self.path('model.textproto'), MODEL.format(length=length, depth=depth))

    def run_verb(self, verb, *flags, model_dir='model', call=None, **options):
        return (call or self.succeed)(verb, '--config=run.textproto', f'--model_dir={model_dir}',
                                      *flags, **options)

    def vocabulary(self, model_dir='model'):
        lines = read(self.path(model_dir, 'vocabulary.txt')).decode().split('\n')
        self.assertEqual(lines.pop(), '')
        return [unescaped(line) for line in lines]


class TextTest(TextProgramTest):

    def predicted(self, source, **options):
        done = self.run_verb('predict', '--set', f'predict.input.source.text={{ {source} }}',
                             '--set', 'predict.forward_features=["text", "next"]', **options)
        return [json.loads(line) for line in done.out.splitlines()]

    def test_windows_are_those_of_a_slow_reference(self):
        characters = 'ab c\n\\\t\'"éß€я中😀\u2028\x85'
        text = some_text(characters, 6000)
        self.configure(text, depth=len(characters))
        self.run_verb('train', '--max_steps=1')
        ids = {c: i for i, c in enumerate(sorted(set(text)))}
        for field in ({}, {'shift': 1}, {'shift': 13}, {'streams': 8}, {'streams': 7, 'shift': 3},
                      {'begin': 0.9}, {'end': 0.37, 'streams': 3}, {'begin': 0.1, 'end': 0.9}):
            given = ' '.join(f'{name}: {value}' for name, value in field.items())
            rows = self.predicted(f'file: "{self.path("text.txt")}" sequence_length: 8 {given}')
            got = [(row['text'], row['next']) for row in rows]
            want = [tuple([ids[c] for c in part] for part in window)
                    for window in windows(text, 8, **field)]
            self.assertGreater(len(want), 60)
            self.assertEqual(got, want, given)

    def test_with_streams_each_row_of_a_batch_goes_on_in_the_next(self):
        text = some_text('abcdefgh', 5000)
        self.configure(text)
        self.run_verb('train', '--max_steps=1')
        rows = self.predicted(f'file: "{self.path("text.txt")}" sequence_length: 8 streams: 8')
        ids = self.vocabulary()
        for row in range(8):
            stream = ''.join(ids[i] for window in rows[row::8] for i in window['text'])
            self.assertEqual(stream, text[row * 625:row * 625 + len(stream)])
            self.assertEqual(len(stream), 624)

    def test_a_model_learns_and_is_evaluated_on_what_was_held_out(self):
        text = some_text('abcdefghijklmnopqrstuvwxyz\n', 20000)
        self.configure(text)
        self.run_verb('train', '--max_steps=5')
        before = self.result(self.run_verb('evaluate'))
        self.run_verb('train', '--max_steps=200')
        after = self.result(self.run_verb('evaluate'))
        self.assertEqual(after['examples'], len(windows(text, 8, begin=0.9)))
        self.assertLess(after['loss'], before['loss'] - 0.5)
        # No more is known of the next character than: one of two, or any.
        self.assertGreater(after['loss'], 1.5)
        self.assertEqual(self.vocabulary(), sorted(set(text)))

    def expect_the_same(self, fields, transforms):
        self.configure(some_text('abcdefghij\n', 3000), fields=fields, transforms=transforms)
        self.run_verb('train', model_dir='whole')
        for steps in (7, 19, 40):
            self.run_verb('train', f'--max_steps={steps}', '--worker_threads=1')
        for name in ('', 'vocabulary.txt'):
            got, want = (self.path(folder, name or 'model.ckpt-40') for folder in ('model', 'whole'))
            self.assertEqual(*((read(got), read(want)) if name else
                               (checkpoint_files(got), checkpoint_files(want))))

    def test_a_run_that_goes_on_equals_one_that_does_not_stop(self):
        self.expect_the_same('', SHUFFLED)

    def test_so_does_one_with_streams(self):
        self.expect_the_same('streams: 16 shift: 5', ENDLESS)

    def test_the_vocabulary_stays_that_of_the_first_training(self):
        text = some_text('bcdefg', 3000)
        self.configure(text)
        self.run_verb('train')
        vocabulary = read(self.path('model', 'vocabulary.txt'))
        write(self.path('text.txt'), text + 'a' * 3000)
        done = self.run_verb('train', '--max_steps=60', '--allow_changed_input', call=self.call)
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('offset 3000 of ', done.messages[0])
        self.assertIn('the character "a" is not in the vocabulary', done.messages[0])
        done = self.run_verb('train', '--max_steps=60', '--allow_changed_input', '--set',
                             'train.input.source.text.unknown_id=6')
        self.assertEqual(self.result(done)['global_step'], 60)
        self.assertEqual(read(self.path('model', 'vocabulary.txt')), vocabulary)
        # A model_dir of its own, as after a move; the checkpoint says where the vocabulary is.
        os.rename(self.path('model'), self.path('moved'))
        done = self.run_verb('evaluate', '--checkpoint=moved/model.ckpt-60', '--set',
                             'evaluate.0.input.source.text={ file: "text.txt" sequence_length: 8 '
                             'end: 0.5 }', model_dir='other')
        self.assertEqual(self.result(done)['examples'], 374)

    def test_a_text_of_more_characters_than_the_model_has_is_refused_at_once(self):
        self.configure('ab' * 200 + 'c' * 200, depth=2, transforms=ENDLESS)
        done = self.run_verb('train', call=self.call)
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('"next" of the input has 3 different ids, and the model takes 2', done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_standard_input_is_a_text_and_can_be_repeated(self):
        text = some_text('abcd', 400)
        self.configure(text)
        source = ('--set', 'train.input.source.text={ file: "-" sequence_length: 8 }')
        from_pipe = self.run_verb('train', *source, given=text.encode())
        from_file = self.run_verb('train', *(word.replace('"-"', '"text.txt"') for word in source),
                                  model_dir='file')
        got, want = (self.result(done)['loss'] for done in (from_pipe, from_file))
        self.assertEqual(got, want)
        done = self.run_verb(
            'predict', '--set', 'predict.input.source.text={ file: "-" sequence_length: 8 '
            'with_labels: false }', given=b'abcdabcda')
        row, = map(json.loads, done.out.splitlines())
        self.assertEqual(row['text'], [0, 1, 2, 3, 0, 1, 2, 3])


# What follows a character depends on more than that one; `start` says where the text begins.
RECURRENT = """
feature {{ name: "text" dtype: INT32 shape: 8 }}
feature {{ name: "start" dtype: INT32 }}
label {{ name: "next" dtype: INT32 shape: 8 }}
layer_defaults {{ lstm {{ units: 16 return_sequences: true stateful: true
                          reset_states_at: "start" }} }}
layer {{ name: "table" input: "text" embedding {{
  input_dim: {depth} output_dim: 8 embeddings_initializer {{ variance_scaling {{ scale: 20 }} }} }} }}
layer {{ name: "lstm" lstm {{}} }}
{logits}
optimizer {{ adam {{}} learning_rate {{ constant: 0.05 }} }}
"""
LOGITS = """
layer {{ name: "logits" dense {{ units: {depth} }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
"""
TWO_DENSE_LAYERS = """
layer {{ name: "first" dense {{ units: 8 }} }}
layer {{ name: "second" dense {{ units: 8 }} }}
"""
# Which wants the whole window.
LOGITS_OF_WINDOW = """
layer {{ name: "flat" flatten {{}} }}
layer {{ name: "logits" dense {{ units: {depth} }} }}
prediction {{ name: "logits" }}
"""
# Of which each position is said from all.
LOGITS_OF_ALL_FROM_ALL = """
layer {{ name: "flat" flatten {{}} }}
layer {{ name: "all" dense {{ units: {all_logits} }} }}
layer {{ name: "logits" reshape {{ target_shape: 8 target_shape: {depth} }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
"""
EACH_WINDOW_FROM_ZERO = ('--set', 'model.layer_defaults.lstm.reset_states_every=1')
WITHOUT_STATE = ('--set', 'model.layer_defaults.lstm={ units: 16 return_sequences: true }')


class GenerationTest(TextProgramTest):
    """Texts that a model of windows of 8 generates, and what it predicts of them."""

    flags = ()
    fields = ''

    def setUp(self):
        super().setUp()
        self.letters = 'abcdefghijkl'
        self.content = some_text(self.letters, 3000)
        self.configure(self.content, fields=self.fields, transforms=ENDLESS)

    def generated(self, start, count, *flags, **options):
        done = self.run_verb(
            'predict', '--unset', 'predict.input', '--set',
            f'predict.generate={{ start_string: "{start}" num_generate: {count} temperature: 0 }}',
            '--unset', 'predict.keys', '--unset', 'predict.forward_features', *self.flags, *flags,
            **options)
        text = self.result(done)['text']
        self.assertTrue(text.startswith(start) and len(text) == len(start) + count, text)
        self.assertGreater(len(set(text)), 3)
        return text

    def predicted(self, text, fields, *flags):
        """The likeliest characters of each window."""
        write(self.path('generated.txt'), text)
        done = self.run_verb(
            'predict', *self.flags, '--set', 'predict.input.source.text={ file: "generated.txt" '
            f'sequence_length: 8 with_labels: false {fields} }}', '--set', 'predict.keys="logits"', *flags)
        rows = [json.loads(line)['logits'] for line in done.out.splitlines()]
        ids = sorted(self.letters)

        def likeliest(row):
            if isinstance(row[0], list):
                return ''.join(likeliest(position) for position in row)
            return ids[row.index(max(row))]
        return [likeliest(row) for row in rows]


class StatefulTest(GenerationTest):
    """One core, one row: the windows of a text follow one another."""

    flags = ('--use_tpu=false', '--predict_batch_size=1', '--eval_batch_size=1')
    fields = 'streams: 16 with_starts: true'

    def use_model(self, logits, more=0):
        depth = len(self.letters) + more
        write(self.path('model.textproto'),
              RECURRENT.format(depth=depth,
                               logits=logits.format(depth=depth, all_logits=8 * depth)))

    def test_a_generated_text_is_what_predictions_of_it_say(self):
        self.use_model(LOGITS)
        self.run_verb('train', '--max_steps=60')
        text = self.generated('c', 40)
        windows_ = self.predicted(text, 'with_starts: true')
        self.assertEqual(''.join(windows_), text[1:])
        self.assertNotEqual(self.predicted(text, 'with_starts: true', *EACH_WINDOW_FROM_ZERO), windows_)
        # The vocabulary is that beside the checkpoint, in whatever model_dir.
        self.assertEqual(
            self.generated('c', 40, '--checkpoint=model/model.ckpt-60', model_dir='other'), text)

    def refused(self, code, *flags):
        done = self.run_verb('predict', *flags, call=self.call)
        self.assertEqual(done.code, code, str(done))
        return done

    def test_a_text_is_printed_as_it_goes_until_its_reader_ends(self):
        self.use_model(LOGITS)
        self.run_verb('train', '--max_steps=5')

        def start():
            """As many characters as an int64 has: it never ends by itself."""
            process = self.start(
                'predict', '--config=run.textproto', '--model_dir=model', '--unset', 'predict.input',
                '--unset', 'predict.keys', '--unset', 'predict.forward_features', *self.flags, '--set',
                f'predict.generate={{ start_string: "c" num_generate: {2**63 - 1} }}')
            begin = process.stdout.read(2000)
            self.assertTrue(len(begin) == 2000 and begin.startswith(b'{"text":"c'), begin)
            return process

        def most_kilobytes(process):
            with open(f'/proc/{process.pid}/status') as status:
                return next(int(line.split()[1]) for line in status if line.startswith('VmHWM'))

        process = start()
        early = most_kilobytes(process)
        self.assertEqual(len(process.stdout.read(50_000)), 50_000)
        if not sanitizer():
            self.assertLess(most_kilobytes(process) - early, 4096)
        process.stdout.close()
        self.assertEqual(process.wait(), 0)
        process = start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        # One record has bounds.
        done = self.refused(2, '--unset', 'predict.input', '--unset', 'predict.keys', '--unset',
                            'predict.forward_features', *self.flags, '--set',
                            'predict.generate={ start_string: "c" num_generate: 300000000 }',
                            '--output=text.tfrecord')
        self.assertIn('a record holds at most 268435456', done.err)
        self.assertFalse(os.path.exists(self.path('text.tfrecord')))

    def test_a_class_without_a_character_is_never_drawn(self):
        self.use_model(LOGITS, more=5)
        self.run_verb('train', '--max_steps=1')
        hot = ('--set', 'predict.generate={ start_string: "c" num_generate: 300 temperature: 1e6 }')
        done = self.run_verb('predict', '--unset', 'predict.input', '--unset', 'predict.keys', '--unset',
                             'predict.forward_features', *self.flags, *hot)
        self.assertEqual(set(self.result(done)['text']), set(self.letters))

    def test_a_generation_ends_where_a_logit_is_nan(self):
        # Weights of 1e30: the second dense layer overflows to infinities, the third has their differences.
        self.use_model(TWO_DENSE_LAYERS + LOGITS)
        self.run_verb('train', '--max_steps=1', '--set', 'model.optimizer.0.learning_rate.constant=1e30')
        done = self.refused(1, '--unset', 'predict.input', '--set',
                                'predict.generate={ start_string: "c" num_generate: 30 }', '--unset',
                                'predict.keys', '--unset', 'predict.forward_features', *self.flags)
        self.assertIn("the model's logits are NaN", done.err)
        # The error comes with the first of them: nothing is printed.
        self.assertEqual(done.out, '')

    def test_a_model_that_looks_ahead_wants_a_whole_window(self):
        self.use_model(LOGITS_OF_ALL_FROM_ALL)
        self.run_verb('train', '--max_steps=60')
        done = self.refused(2, '--unset', 'predict.input', '--set',
                                'predict.generate={ start_string: "c" num_generate: 30 }', '--unset',
                                'predict.keys', '--unset', 'predict.forward_features', *self.flags)
        self.assertIn('start_string has 1 character, and the model wants the 8 before each', done.err)
        self.generated('cabcabca', 30)

    def evaluated(self, epochs, *flags):
        done = self.run_verb(
            'evaluate', '--eval_batch_size=16', '--set',
            'evaluate.0.input={ source { text { file: "text.txt" sequence_length: 8 streams: 16 '
            'with_starts: true } } transform { repeat { count: %d } } '
            'transform { batch { drop_remainder: true } } }' % epochs, *flags)
        return self.result(done)['average_loss']

    def test_an_evaluation_starts_anew_with_the_text(self):
        """On all cores."""
        self.use_model(LOGITS)
        self.run_verb('train', '--max_steps=60')
        once = self.evaluated(1)
        self.assertAlmostEqual(self.evaluated(2), once, places=6)
        goes_on = ('--set', 'model.layer_defaults.lstm.reset_states_at=""')
        self.assertAlmostEqual(self.evaluated(1, *goes_on), once, places=6)
        self.assertNotAlmostEqual(self.evaluated(2, *goes_on), once, places=5)

    def test_a_text_generated_by_windows_starts_each_from_zero(self):
        self.use_model(LOGITS_OF_WINDOW)
        vocabulary = self.path('letters')
        write(vocabulary, ''.join(f'{letter}\n' for letter in self.letters))
        untrained = ('--allow_untrained',)
        for flags in (untrained, (*untrained, '--set', 'model.layer.lstm.lstm.go_backwards=true')):
            text = self.generated('abcdefgh', 30, *flags, '--set',
                                  f'predict.generate.vocabulary_file={vocabulary}')
            said = self.predicted(text, f'vocabulary_file: "{vocabulary}" shift: 1 with_starts: true',
                                  *WITHOUT_STATE, *flags)
            self.assertEqual(''.join(said[:-1]), text[8:])


# What it says of a character depends on all ahead of it and on where they stand.
CAUSAL = """
feature { name: "text" dtype: INT32 shape: 8 }
label { name: "next" dtype: INT32 shape: 8 }
layer { name: "table" input: "text" embedding {
  input_dim: 12 output_dim: 16 embeddings_initializer { truncated_normal { stddev: 1 } } } }
layer { position_embedding { max_length: 8 embeddings_initializer { truncated_normal { stddev: 1 } } } }
layer { transformer_block {
  num_heads: 2 key_dim: 8 ffn_units: 32 causal: true pre_norm: true dropout: 0.1 repeat: 2 } }
layer { layer_normalization {} }
layer { name: "logits" dense { units: 12 } }
head { sequence { logits: "logits" label: "next" } }
optimizer { adam {} learning_rate { constant: 0.01 } }
"""


class CausalTest(GenerationTest):
    """Keys and values of what was read are kept; one prediction is of a whole window."""

    def setUp(self):
        super().setUp()
        write(self.path('model.textproto'), CAUSAL)
        self.run_verb('train', '--max_steps=20')

    def test_a_text_shorter_than_a_window_is_what_predictions_of_it_say(self):
        for start in ('c', 'cab'):
            text = self.generated(start, 8 - len(start))
            said, = self.predicted(text, '')
            self.assertEqual(said[len(start) - 1:-1], text[len(start):])

    def test_what_reads_other_positions_is_not_taken_for_one(self):
        reverse = 'model.layer[3]={ op { name: "reverse" attrs: "axis=1" } }'
        done = self.run_verb('predict', '--unset', 'predict.input', '--set', reverse, '--set',
                             'predict.generate={ start_string: "cab" num_generate: 2 }', '--unset',
                             'predict.keys', '--unset', 'predict.forward_features', *self.flags,
                             call=self.call)
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('start_string has 3 characters, and the model wants the 8 before each', done.err)

    def test_a_longer_one_begins_anew_with_the_later_half_of_each_window(self):
        for flags in ((), ('--use_tpu=false',)):
            text = self.generated('c', 83, *flags)
            first, *others = self.predicted(text, 'shift: 4', *flags)
            self.assertEqual((first + ''.join(said[4:] for said in others))[:-1], text[1:])
            # Of the last 8 characters alone others are the likeliest.
            whole = ''.join(said[-1] for said in self.predicted(text, 'shift: 1', *flags))
            self.assertNotEqual(whole[:-1], text[8:])

    def test_any_number_of_threads_generates_the_same(self):
        done = [self.generated('c', 83, f'--worker_threads={workers}') for workers in (1, 2, 4, 8)]
        self.assertEqual(set(done), {done[0]})


class VocabularyTest(TextProgramTest):
    """What stands for vocabulary.txt in a model_dir is that of the training, or refused."""

    def setUp(self):
        super().setUp()
        self.configure(some_text('abcdef\n', 3000))
        self.run_verb('train', '--max_steps=5')
        self.good = read(self.path('model', 'vocabulary.txt'))

    def refused(self, verb, code, *flags, model_dir='model'):
        before = tree(self.path(model_dir))
        done = self.run_verb(verb, *flags, model_dir=model_dir, call=self.call)
        self.assertEqual((done.code, done.out), (code, ''), str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        self.assertNotIn('libprotobuf', done.err)
        self.assertEqual(tree(self.path(model_dir)), before, str(done))
        return done.messages[0]

    def refused_by_all(self, code, wanted, *more):
        generate = ('--unset', 'predict.input', '--unset', 'predict.keys', '--unset',
                    'predict.forward_features', '--set', 'predict.generate.start_string="a"')
        for verb, *flags in (('evaluate',), ('predict',), ('predict', *generate),
                             ('train', '--max_steps=10'),
                             ('train_and_evaluate', '--max_steps=10', '--steps_per_eval=5'),
                             ('export', '--strict'), ('export', '--export_format=onnx')):
            self.assertIn(wanted, self.refused(verb, code, *flags, *more), verb)

    def test_other_characters_of_the_ids_are_refused(self):
        lines = self.good.splitlines(keepends=True)
        for other in (lines[::-1], lines[:-1], [*lines[:-1], b'z\n'], [*lines, b'z\n']):
            write(self.path('model', 'vocabulary.txt'), b''.join(other))
            self.refused_by_all(65, 'model/vocabulary.txt is not the vocabulary that the model was '
                                    'trained with')

    def test_what_is_no_vocabulary_is_refused(self):
        for content, wanted in ((b'', 'the vocabulary has no entries'),
                                (b'hello\n', 'vocabulary.txt:1: got "hello", want one character'),
                                (self.good + b'\xe9\n', 'vocabulary.txt:8: got "\\351"')):
            write(self.path('model', 'vocabulary.txt'), content)
            self.refused_by_all(65, wanted)
        os.remove(self.path('model', 'vocabulary.txt'))
        self.refused_by_all(66, 'model/vocabulary.txt, which train writes')

    def test_one_that_is_named_stands_in_for_the_one_that_is_gone(self):
        os.remove(self.path('model', 'vocabulary.txt'))
        named = ('--set', 'predict.input.source.text.vocabulary_file="named"', '--set',
                 'evaluate.0.input.source.text.vocabulary_file="named"')
        write(self.path('named'), b''.join(reversed(self.good.splitlines(keepends=True))))
        for verb in ('evaluate', 'predict', 'export'):
            self.assertIn('named is not the vocabulary', self.refused(verb, 65, *named))
        write(self.path('named'), self.good.replace(b'\n', b'\r\n'))
        for verb in ('evaluate', 'predict'):
            self.run_verb(verb, *named)
        path = self.result(self.run_verb('export', *named))['path']
        self.assertEqual(read(os.path.join(path, 'assets', 'vocabulary.txt')), self.good)

    def test_that_of_a_named_checkpoint_is_the_one_beside_it(self):
        self.configure(some_text('uvwxyz\n', 3000))
        self.run_verb('train', '--max_steps=5', model_dir='other')
        self.configure(some_text('abcdef\n', 3000))
        self.run_verb('evaluate', '--checkpoint=model/model.ckpt-5', model_dir='other')
        os.rename(self.path('other', 'vocabulary.txt'), self.path('model', 'vocabulary.txt'))
        done = self.run_verb('evaluate', '--checkpoint=model/model.ckpt-5', model_dir='other',
                             call=self.call)
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('model/vocabulary.txt is not the vocabulary', done.messages[0])

    def test_one_that_changes_while_it_trains_ends_the_next_evaluation(self):
        other = self.path('model', 'vocabulary.txt')
        hook = f"tac {other} > {self.path('reversed')}; cp {self.path('reversed')} {other}"
        done = self.run_verb('train_and_evaluate', '--max_steps=30', '--steps_per_eval=10', '--set',
                             f'evaluation_hook={{ at: EVALUATION command: "{hook}" }}', call=self.call)
        self.assertEqual(done.code, 65, str(done))
        self.assertEqual([json.loads(line)['global_step'] for line in done.out.splitlines()], [10])
        self.assertIn('is not the vocabulary that the model was trained with', done.messages[0])

    def test_a_warm_start_from_a_model_of_other_ids_is_warned_of(self):
        warm = ('--max_steps=5', '--set', 'warm_start_from.ckpt_to_initialize_from="model"')
        done = self.run_verb('train', *warm, model_dir='same')
        self.assertEqual(done.warnings, [])
        self.configure(some_text('uvwxyz\n', 3000))
        done = self.run_verb('train', *warm, model_dir='other')
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('was trained with another vocabulary.txt', done.warnings[0])

    def test_another_file_of_that_name_beside_a_model_that_reads_no_text(self):
        self.succeed(*self.iris('train', 'plain', '--max_steps=5'))
        self.assertEqual(self.succeed(*self.iris('export', 'plain')).warnings, [])
        write(self.path('plain', 'vocabulary.txt'), 'word\nanother\n')
        done = self.succeed(*self.iris('export', 'plain'))
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('vocabulary.txt does not go along with the model', done.warnings[0])


class ConvertTest(TextProgramTest):

    def convert(self, file, *flags, **options):
        os.makedirs(self.path('out'), exist_ok=True)
        done = self.succeed('convert', 'text', file, '--sequence_length=8', '--output=out/windows',
                            *flags, **options)
        return self.result(done)['records']

    def converted(self, names=('text', 'next')):
        done = self.succeed('inspect', 'out/windows', '--limit=100000', '--format=json')
        rows = [json.loads(line) for line in done.out.splitlines()]
        return [tuple(row['values'][name] for name in names)
                for row in rows if 'values' in row]

    def test_it_makes_the_windows_of_a_slow_reference(self):
        text = some_text('ab\n\\é€😀', 3000)
        for name, content in (('plain', text.encode()), ('zipped', gzip.compress(text.encode()))):
            write(self.path(name), content)
            for flags, shift in (((), 8), (('--shift=5',), 5)):
                want = windows(text, 8, shift)
                self.assertEqual(self.convert(name, *flags), len(want))
                ids = {c: i for i, c in enumerate(self.vocabulary('out'))}
                self.assertEqual(list(ids), sorted(set(text)))
                self.assertEqual(self.converted(), [
                    tuple([ids[c] for c in part] for part in window) for window in want])

    def test_of_streams_it_says_where_they_begin(self):
        text = some_text('abcdef', 3000)
        write(self.path('plain'), text)
        want = windows(text, 8, 5, streams=7)
        self.assertEqual(self.convert('plain', '--streams=7', '--shift=5'), len(want))
        ids = {c: i for i, c in enumerate(self.vocabulary('out'))}
        self.assertEqual(self.converted(('text', 'next', 'start')), [
            (*([ids[c] for c in part] for part in window), [1 if i < 7 else 0])
            for i, window in enumerate(want)])

    def test_the_vocabulary_of_other_windows_can_be_taken(self):
        write(self.path('first'), 'hello world, ' * 3)
        self.convert('first')
        vocabulary = read(self.path('out', 'vocabulary.txt'))
        self.assertEqual(self.convert('-', '--vocabulary=out/vocabulary.txt', given=b'wholedworld'), 1)
        self.assertEqual(read(self.path('out', 'vocabulary.txt')), vocabulary)
        ids = {c: i for i, c in enumerate(self.vocabulary('out'))}
        self.assertEqual(self.converted(),
                         [tuple([ids[c] for c in part] for part in ('wholedwo', 'holedwor'))])

    def test_a_model_trains_on_them_as_on_the_text(self):
        text = some_text('abcdefgh', 3000)
        self.configure(text, transforms=ENDLESS)
        from_text = self.run_verb('train', '--set', 'train.input.source.text.end=1')
        self.convert('text.txt')
        from_records = self.run_verb('train', '--set', """train.input={
            source { tfrecord { file: "out/windows" } }
            transform { parse_example { feature { name: "text" int64 { shape: 8 } }
                                        feature { name: "next" int64 { shape: 8 } } } }
            transform { cast { feature: ["text", "next"] dtype: INT32 } }
            transform { repeat {} } }""", model_dir='records')
        self.assertEqual(self.result(from_records)['loss'], self.result(from_text)['loss'])
        self.assertEqual(read(self.path('out', 'vocabulary.txt')),
                         read(self.path('model', 'vocabulary.txt')))
