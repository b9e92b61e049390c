"""Which rows each core gets, in each form of per_host_input_for_training: what --dump_infeed shows
against what a few lines of Python deal out.
"""
import itertools
import json
import os
import signal
import time

from program import ProgramTest, checkpoint_files, read, write

CORES = 8
SHOWN = 4  # rows of a core in a dump
ROWS = 53  # no multiple of anything
BATCH = 16
STEPS = 12  # several passes
RUN = """
model_dir: "model"
train_batch_size: %d
eval_batch_size: %d
predict_batch_size: %d
save_checkpoints_steps: 1000
tpu_config { iterations_per_loop: "5" }
train { input { source { text_line { file: "rows.csv" } } transform { apply {
  transformation_func: "parse" } } transform { repeat {} } transform { batch {} } } }
evaluate { input { source { text_line { file: "rows.csv" } } transform { apply {
  transformation_func: "parse" } } transform { batch {} } } }
predict { keys: "predictions" forward_features: "x" input { source { text_line { file: "rows.csv" } }
  transform { apply { transformation_func: "parse" } } transform { batch {} } } }
transformation_func { name: "parse" transform { decode_csv {
  column { name: "x" dtype: FLOAT32 shape: 1 } column { name: "y" dtype: FLOAT32 shape: 1 } } } }
model {
  name: "line"
  feature { name: "x" dtype: FLOAT32 shape: 1 }
  label { name: "y" dtype: FLOAT32 shape: 1 }
  layer { name: "dense" dense { units: 1 } }
  head { regression { logits: "dense" label: "y" } }
  optimizer { gradient_descent {} learning_rate { constant: 0.0001 } cross_shard {} }
}
""" % (BATCH, BATCH, BATCH)
FORM = 'tpu_config.per_host_input_for_training'
SLICED = ('--set', 'tpu_config.eval_training_input_configuration=SLICED')
FORMS = ('PER_SHARD_V1', 'PER_HOST_V1', 'PER_HOST_V2', 'BROADCAST')
WHOLE_BATCHES_FIRST = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
                       '{ batch { drop_remainder: true } }, { repeat {} }]')


def batches(rows, size):
    """The batches of an endless list."""
    rows = iter(rows)
    while True:
        yield list(itertools.islice(rows, size))


def whole(rows, size):
    """Those of a pass that make whole batches."""
    return rows[:len(rows) // size * size]


def dealt(form, rows, whole_batches_first):
    """An iterator of steps, each the rows of all cores."""
    share = BATCH // CORES

    def endless(own, size):
        return batches(itertools.cycle(whole(own, size) if whole_batches_first else own), size)

    if form == 'PER_SHARD_V1':
        return zip(*(endless(rows[core::CORES], share) for core in range(CORES)))
    if form == 'PER_HOST_V2':
        return batches(endless(rows, share), CORES)
    steps = endless(rows, BATCH)
    if form == 'BROADCAST':
        return ([batch] * CORES for batch in steps)
    return ([batch[core * share:(core + 1) * share] for core in range(CORES)] for batch in steps)


class InfeedFormsTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write(self.path('run.textproto'), RUN)
        self.write_rows(ROWS)

    def write_rows(self, count):
        # y differs from x: which is which shows, too.
        write(self.path('rows.csv'), ''.join(f'{row},{row + 0.5}\n' for row in range(count)))

    def arguments(self, verb, form, *flags):
        return (verb, '--config=run.textproto', '--set', f'{FORM}={form}', '--dump_infeed=dump', *flags)

    def run_verb(self, verb, form, *flags):
        return self.succeed(*self.arguments(verb, form, *flags))

    def train(self, form, model_dir, steps, *flags):
        return self.run_verb('train', form, f'--model_dir={model_dir}', f'--max_steps={steps}', *flags)

    def dump(self, name):
        """The lines by step, in the order of the cores: (rows of the core's batch, the features)."""
        steps = {}
        for line in read(self.path('dump', name + '.jsonl')).decode('ascii').splitlines():
            shown = json.loads(line)
            cores = steps.setdefault(shown['step'], [])
            self.assertEqual(shown['core'], len(cores), line)
            cores.append((shown['rows'], shown['features']))
        return steps

    def expect_rows(self, steps, want):
        """`want` are the rows of each core by step."""
        self.assertEqual(list(steps), list(want))
        for step, cores in steps.items():
            self.assertEqual(len(cores), len(want[step]), step)
            for (rows, features), all_rows in zip(cores, want[step]):
                self.assertEqual(rows, len(all_rows), step)
                shown = all_rows[:SHOWN]
                self.assertEqual(features['x'], [[row] for row in shown], step)
                self.assertEqual(features['y'], [[row + 0.5] for row in shown], step)

    def test_training(self):
        for whole_batches_first, flags in ((False, ()), (True, WHOLE_BATCHES_FIRST)):
            seen = set()
            for form in FORMS:
                self.train(form, f'{form}_{whole_batches_first}', STEPS, *flags)
                steps = dealt(form, list(range(ROWS)), whole_batches_first)
                self.expect_rows(self.dump('train'),
                                 {step: next(steps) for step in range(1, STEPS + 1)})
                seen.add(json.dumps(self.dump('train')))
            # Only a contiguous source is the same, whole or in turn.
            self.assertEqual(len(seen), 4 if whole_batches_first else 3)

    def test_in_turn_a_contiguous_source_trains_the_same_model(self):
        for form in ('PER_HOST_V1', 'PER_HOST_V2'):
            self.train(form, form, STEPS)
        self.assertEqual(checkpoint_files(self.path('PER_HOST_V1', f'model.ckpt-{STEPS}')),
                         checkpoint_files(self.path('PER_HOST_V2', f'model.ckpt-{STEPS}')))

    def test_an_input_that_ends(self):
        """5 batches of 2 are left of 53 rows behind 3 whole steps; the shortest shard has 3."""
        once = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
                '{ repeat { count: 1 } }, { batch { drop_remainder: true } }]')
        for form in FORMS:
            done = self.call(*self.arguments('train', form, f'--model_dir={form}', '--max_steps=9',
                                             *once))
            self.assertEqual(done.code, 65, str(done))
            self.assertIn('the training input ended after step 3 of 9: 6 steps, 96 examples',
                          done.err)
            steps = dealt(form, list(range(ROWS)), False)
            self.expect_rows(self.dump('train'), {step: next(steps) for step in (1, 2, 3)})

    def test_epochs(self):
        """Of all shards together."""
        done = self.run_verb('train', 'PER_SHARD_V1', '--epochs=3')
        self.assertEqual(self.result(done)['global_step'], 3 * ROWS // BATCH)

    def test_without_a_tpu_one_core_has_all(self):
        for form in FORMS:
            self.train(form, 'cpu_' + form, 3, '--use_tpu=false')
            steps = batches(range(ROWS), BATCH)
            self.expect_rows(self.dump('train'), {step: [next(steps)] for step in (1, 2, 3)})

    def test_shards_are_shuffled_each_by_itself(self):
        rows = 8 * 40
        self.write_rows(rows)
        shuffled = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
                    '{ shuffle { buffer_size: 100 } }, { repeat {} }]')
        of_core = self.one_pass(40, 'model', *shuffled)
        for core, got in enumerate(of_core):
            self.assertEqual(sorted(got), list(range(core, rows, CORES)))
        orders = {tuple(row // CORES for row in got) for got in of_core}
        self.assertEqual(len(orders), CORES)
        self.assertNotIn(tuple(range(40)), orders)
        # By the seed alone.
        self.assertEqual(self.one_pass(40, 'again', '--worker_threads=3', *shuffled), of_core)
        other = self.one_pass(40, 'other', '--tf_random_seed=2', *shuffled)
        self.assertFalse(any(got == before for got, before in zip(other, of_core)))

    def one_pass(self, per_core, model_dir, *flags):
        """The rows of each core; each shows all that it gets."""
        share = BATCH // CORES
        self.train('PER_SHARD_V1', model_dir, per_core // share, *flags)
        of_core = [[] for _ in range(CORES)]
        for cores in self.dump('train').values():
            for core, (rows, features) in enumerate(cores):
                self.assertEqual(rows, share)
                of_core[core] += [int(x) for [x] in features['x']]
        return of_core

    def test_shards_of_files_in_random_order_share_the_records(self):
        rows = 8 * 16
        self.write_rows(rows)
        self.succeed('convert', 'csv', 'rows.csv', '--output=rows.tfrecord', '--shards=4',
                     '--features=x:float:0,y:float:1')
        of_core = self.one_pass(16, 'model', '--set', """train.input={
            source { tfrecord { file: "rows.tfrecord-*" shuffle_files: true num_parallel_reads: 2 } }
            transform { parse_example { feature { name: "x" float { shape: 1 } }
                                        feature { name: "y" float { shape: 1 } } } } }""")
        self.assertEqual(sorted(row for got in of_core for row in got), list(range(rows)))

    def test_streams_of_text_go_on_in_their_rows(self):
        """Characters ascend, so that each says where it stands."""
        length, steps = 3, 5
        write(self.path('text.txt'), ''.join(chr(0x4e00 + i) for i in range(BATCH * (length * steps + 1))))
        write(self.path('text.textproto'), f"""
            train_batch_size: {BATCH}
            train {{ input {{ source {{ text {{ file: "text.txt" sequence_length: {length}
                                             streams: {BATCH} }} }} }} }}
            model {{
              feature {{ name: "text" dtype: INT32 shape: {length} }}
              label {{ name: "next" dtype: INT32 shape: {length} }}
              layer {{ name: "embedding" input: "text" embedding {{ input_dim: 1000 output_dim: 4 }} }}
              layer {{ name: "gru" gru {{ units: 4 return_sequences: true stateful: true }} }}
              layer {{ name: "logits" dense {{ units: 1000 }} }}
              head {{ sequence {{ logits: "logits" label: "next" }} }}
              optimizer {{ gradient_descent {{}} learning_rate {{ constant: 0.01 }} }}
            }}""")
        for form in FORMS:
            self.succeed('train', '--config=text.textproto', f'--model_dir={form}', '--set',
                         f'{FORM}={form}', '--dump_infeed=dump', f'--max_steps={steps}')
            dump = self.dump('train')
            firsts = set()
            for core in range(CORES):
                before = dump[1][core][1]['text']
                firsts |= {row[0] for row in before}
                for step in range(2, steps + 1):
                    after = dump[step][core][1]['text']
                    self.assertEqual([row[0] for row in after], [row[-1] + 1 for row in before])
                    before = after
            self.assertEqual(len(firsts), SHOWN if form == 'BROADCAST' else BATCH)

    def test_evaluation(self):
        """Padding has the weight 0; what every core has counts once."""
        self.train('PER_HOST_V1', 'model', 3)
        self.write_rows(21)
        results = []
        share = BATCH // CORES
        padded = list(range(21)) + [None] * 11
        split = {step: [padded[begin + core * share:begin + (core + 1) * share]
                        for core in range(CORES)] for step, begin in ((1, 0), (2, 16))}
        for form in ('PER_SHARD_V1', 'PER_HOST_V1', 'PER_HOST_V2'):
            results.append(self.run_verb('evaluate', form))
            self.expect_padded(self.dump('evaluate'), split)
        for form in FORMS:
            results.append(self.run_verb('evaluate', form, *SLICED))
            self.expect_padded(self.dump('evaluate'), split)
        for size in (7, 16, 40):
            results.append(self.run_verb('evaluate', 'BROADCAST', f'--eval_batch_size={size}'))
            steps = -(-21 // size)
            padded = list(range(21)) + [None] * (steps * size - 21)
            self.expect_padded(self.dump('evaluate'),
                               {step + 1: [padded[step * size:(step + 1) * size]] * CORES
                                for step in range(steps)})
        got = {json.dumps({**self.result(done), 'loss': 0, 'average_loss': 0, 'loss_shard_0': 0}) for done in results}
        self.assertEqual(len(got), 1, got)
        self.assertEqual({self.result(done)['examples'] for done in results}, {21})
        # Row by row the sums are the same; a kernel may round other shapes otherwise.
        losses = [self.result(done)['loss'] for done in results]
        for loss in losses:
            self.assertAlmostEqual(loss / losses[0], 1, delta=1e-6)

    def expect_padded(self, steps, want):
        self.assertEqual(list(steps), list(want))
        for step, cores in steps.items():
            self.assertEqual(len(cores), len(want[step]), step)
            for (rows, features), all_rows in zip(cores, want[step]):
                self.assertEqual(rows, len(all_rows))
                shown = all_rows[:SHOWN]
                self.assertEqual(features['x'], [[row or 0] for row in shown])
                self.assertEqual(features['y'], [[0 if row is None else row + 0.5] for row in shown])
                self.assertEqual(features['row_weight'], [int(row is not None) for row in shown])

    def test_evaluation_of_whole_batches(self):
        """In turn fewer rows are dropped."""
        self.train('PER_HOST_V1', 'model', 3)
        self.write_rows(21)
        drop = ('--set', 'evaluate.0.input.transform.batch={ drop_remainder: true }')
        for form, examples in (('PER_HOST_V1', 16), ('PER_HOST_V2', 20), ('BROADCAST', 16)):
            done = self.run_verb('evaluate', form, *drop)
            self.assertEqual(self.result(done)['examples'], examples, form)

    def test_prediction(self):
        self.train('PER_HOST_V1', 'model', 3)
        want = None
        for form, *flags in (('PER_SHARD_V1',), ('PER_HOST_V1',), ('PER_HOST_V2',), ('BROADCAST',),
                             ('BROADCAST', '--predict_batch_size=7'), ('BROADCAST', *SLICED)):
            rows = [json.loads(line) for line in self.run_verb('predict', form, *flags).out.splitlines()]
            self.assertEqual([row['x'] for row in rows], [[row] for row in range(ROWS)], form)
            want = want or rows
            for got, expected in zip(rows, want):
                self.assertAlmostEqual(got['predictions'][0], expected['predictions'][0], delta=1e-5)
            self.assertEqual(len(self.dump('predict')[1]), CORES)

    def test_a_resumed_dump_begins_where_the_run_does(self):
        for form in FORMS:
            self.train(form, form, 5)
            self.train(form, form, STEPS)
            steps = itertools.islice(dealt(form, list(range(ROWS)), False), 5, None)
            self.expect_rows(self.dump('train'), {step: next(steps) for step in range(6, STEPS + 1)})

    def test_another_number_of_pipelines_is_another_input(self):
        self.train('PER_SHARD_V1', 'sharded', 5)
        self.train('BROADCAST', 'whole', 5)
        for model_dir, form, was, has in (('sharded', 'PER_HOST_V2', '8 pipelines', 1),
                                          ('whole', 'PER_SHARD_V1', '1 pipeline', 8)):
            changed = self.arguments('train', form, f'--model_dir={model_dir}', '--max_steps=7')
            done = self.call(*changed)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(f'the saved input position is of {was}, this input has {has}: {FORM[11:]}',
                          done.err)
            self.succeed(*changed, '--allow_changed_input')
            steps = dealt(form, list(range(ROWS)), False)
            self.expect_rows(self.dump('train'), {6: next(steps), 7: next(steps)})
        # One pipeline is at the same place, however its rows are dealt out.
        self.train('PER_HOST_V2', 'deals', 5)
        self.train('BROADCAST', 'deals', 6)
        steps = itertools.islice(dealt('BROADCAST', list(range(ROWS)), False), 5, None)
        self.expect_rows(self.dump('train'), {6: next(steps)})

    def test_a_dump_that_cannot_be_written(self):
        os.mkdir(self.path('full'))
        os.symlink('/dev/full', self.path('full', 'train.jsonl'))
        write(self.path('file'), '')
        for where, why in (('full', 'cannot write full/train.jsonl: No space left on device'),
                           ('file', 'file'), ('/proc/none', '/proc/none')):
            done = self.call('train', '--config=run.textproto', '--max_steps=3',
                             f'--dump_infeed={where}')
            self.assertEqual(done.code, 74, str(done))
            self.assertIn(why, done.messages[0])
            self.assertFalse(os.path.exists(self.path('model')))

    def test_generated_text_is_not_dumped(self):
        done = self.call('predict', '--config=run.textproto', '--unset', 'predict', '--set',
                         'predict.generate={ start_string: "a" }', '--dump_infeed=dump')
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('--dump_infeed: predict.generate feeds the model', done.messages[0])
        self.assertFalse(os.path.exists(self.path('dump')))

    def test_the_infeed_sleeps_first(self):
        sleeps = ('--set', 'tpu_config.initial_infeed_sleep_secs=1')
        start = time.monotonic()
        self.train('PER_HOST_V1', 'model', 3, *sleeps)
        self.assertGreaterEqual(time.monotonic() - start, 1)
        forever = ('--set', 'tpu_config.initial_infeed_sleep_secs=1000000')
        for arguments in (('train', '--max_steps=9'), ('train', '--max_steps=9', '--model_dir=new'),
                          ('evaluate',), ('predict',)):
            process = self.start(arguments[0], '--config=run.textproto', '--dump_infeed=asleep',
                                 *arguments[1:], *forever)
            dumped = self.path('asleep', arguments[0] + '.jsonl')
            self.wait_until(lambda path=dumped: os.path.exists(path), process)
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            done = self.finish(process)
            self.assertIn(done.code, (143, -signal.SIGTERM), str(done))
            self.assertLess(time.monotonic() - start, 10)
            self.assertEqual(read(dumped), b'')
            os.remove(dumped)
        self.assertFalse(os.path.exists(self.path('new')))
        # Of a TPU's infeed.
        self.train('PER_HOST_V1', 'cpu', 3, '--use_tpu=false', *forever)
