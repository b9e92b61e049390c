"""tpu_config.num_shards: more cores than the 8 of one host."""
import itertools
import json
import os

from infeed_forms_test import BATCH, FORM, FORMS, ROWS, RUN, SHOWN, batches
from program import ProgramTest, checkpoint_files, latest_step, read, write

SHARDS = 'tpu_config.num_shards'
CORES_OF_HOST = 8
STREAMED = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }, '
            '{ shuffle { buffer_size: 30 } }, { repeat {} }]')


def dealt(form, rows, cores, batch):
    """An iterator of steps, each the rows of all cores."""
    share = batch // cores
    pipelines = {'PER_SHARD_V1': cores, 'BROADCAST': 1}.get(form, cores // CORES_OF_HOST)
    of_each = [batches(itertools.cycle(rows[pipeline::pipelines]), batch // pipelines)
               for pipeline in range(pipelines)]
    for of_pipelines in zip(*of_each):
        step = sum(of_pipelines, [])
        yield [step if form == 'BROADCAST' else step[core * share:(core + 1) * share]
               for core in range(cores)]


class NumShardsTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write(self.path('run.textproto'), RUN)
        write(self.path('rows.csv'), ''.join(f'{row},{row + 0.5}\n' for row in range(ROWS)))

    def arguments(self, verb, cores, *flags, form='PER_HOST_V1'):
        batch = {'train': 'train', 'evaluate': 'eval', 'predict': 'predict'}[verb]
        return (verb, '--config=run.textproto', f'--{batch}_batch_size={2 * cores}', '--set',
                f'{SHARDS}={cores}', '--set', f'{FORM}={form}', '--dump_infeed=dump', *flags)

    def train(self, cores, model_dir, steps, *flags, form='PER_HOST_V1'):
        return self.succeed(*self.arguments('train', cores, f'--model_dir={model_dir}',
                                            f'--max_steps={steps}', *flags, form=form))

    def fed(self, name):
        """The x of each core by step."""
        steps = {}
        for line in read(self.path('dump', name + '.jsonl')).decode('ascii').splitlines():
            shown = json.loads(line)
            cores = steps.setdefault(shown['step'], [])
            self.assertEqual(shown['core'], len(cores), line)
            cores.append([int(x) for [x] in shown['features']['x']])
        return steps

    def test_each_host_reads_its_records(self):
        for cores in (16, 32):
            for form in FORMS:
                done = self.train(cores, f'{form}_{cores}', 4, form=form)
                self.assertIn(f'Found TPU system: {cores} cores, {cores // 8} hosts.', done.err)
                steps = dealt(form, list(range(ROWS)), cores, 2 * cores)
                want = {step: [rows[:SHOWN] for rows in next(steps)] for step in (1, 2, 3, 4)}
                self.assertEqual(self.fed('train'), want, form)

    def test_threads_and_restarts_keep_every_bit(self):
        for form in FORMS:
            want = None
            for workers in (1, 2, 3):
                self.train(16, f'{form}_{workers}', 30, *STREAMED, f'--worker_threads={workers}',
                           form=form)
                got = checkpoint_files(self.path(f'{form}_{workers}', 'model.ckpt-30'))
                want = want or got
                self.assertEqual(got, want, (form, workers))
            self.train(16, f'{form}_resumed', 13, *STREAMED, form=form)
            self.train(16, f'{form}_resumed', 30, *STREAMED, form=form)
            self.assertEqual(checkpoint_files(self.path(f'{form}_resumed', 'model.ckpt-30')), want)

    def test_evaluation_and_prediction_are_exact_on_any_number_of_cores(self):
        self.train(16, 'model', 3)
        losses, predicted = [], []
        for cores in (8, 16, 32):
            for form in FORMS:
                done = self.succeed(*self.arguments('evaluate', cores, form=form))
                result = self.result(done)
                self.assertEqual(result['examples'], ROWS)
                losses.append(result['loss'])
                done = self.succeed(*self.arguments('predict', cores, form=form))
                rows = [json.loads(line) for line in done.out.splitlines()]
                self.assertEqual([row['x'] for row in rows], [[row] for row in range(ROWS)])
                predicted.append([row['predictions'][0] for row in rows])
        for loss in losses:
            self.assertAlmostEqual(loss / losses[0], 1, delta=1e-6)
        for values in predicted:
            for got, want in zip(values, predicted[0]):
                self.assertAlmostEqual(got, want, delta=1e-5)

    def test_epochs_are_of_all_pipelines(self):
        for form in FORMS:
            done = self.succeed(*self.arguments('train', 16, f'--model_dir={form}', '--epochs=4',
                                                form=form))
            self.assertEqual(self.result(done)['global_step'], 4 * ROWS // 32)

    def test_another_number_of_cores_is_another_input(self):
        for form, was, now in (('PER_HOST_V1', '1 pipeline', 2), ('PER_HOST_V2', '1 pipeline', 2),
                               ('PER_SHARD_V1', '8 pipelines', 16)):
            self.train(8, form, 5, form=form)
            more = self.arguments('train', 16, f'--model_dir={form}', '--max_steps=7', form=form)
            done = self.call(*more)
            self.assertEqual(done.code, 2, str(done))
            self.assertEqual(done.err.count('tpurun: '), 1, done.err)
            self.assertIn(f'the saved input position is of {was}, this input has {now}: ', done.err)
            self.assertEqual(latest_step(self.path(form)), 5)
            done = self.succeed(*more, '--allow_changed_input')
            self.assertIn('tpu_config.num_shards: trained with 8, now 16', done.warnings[0])
            self.assertEqual(latest_step(self.path(form)), 7)

    def test_under_broadcast_more_cores_go_on(self):
        self.train(8, 'model', 5, '--train_batch_size=16', form='BROADCAST')
        done = self.train(16, 'model', 7, '--train_batch_size=16', form='BROADCAST')
        self.assertIn('tpu_config.num_shards: trained with 8, now 16', done.warnings[0])
        steps = itertools.islice(dealt('BROADCAST', list(range(ROWS)), 16, BATCH), 5, None)
        self.assertEqual(self.fed('train'),
                         {step: [rows[:SHOWN] for rows in next(steps)] for step in (6, 7)})

    def test_statistics_of_each_core(self):
        """16 copies of the moving statistics; evaluation takes those of core 0."""
        layers = ('--set', 'model.layer=[{ name: "norm" batch_normalization {} }, '
                  '{ name: "dense" dense { units: 1 } }]')
        self.train(16, 'model', 20, *layers)
        done = self.succeed('inspect', 'model', '--format=json')
        shapes = {row['name']: row['shape'] for row in map(json.loads, done.out.splitlines())}
        self.assertEqual(shapes['tpurun/core/norm/moving_mean'], [16, 1])
        for cores in (8, 16, 32):
            done = self.succeed(*self.arguments('evaluate', cores, *layers))
            self.assertEqual(self.result(done)['examples'], ROWS)

    def test_groups_cover_the_cores_of_the_configuration(self):
        """Also in an evaluation on the CPU."""
        groups = ' '.join(f'group_assignment {{ replica: {list(range(i, i + 8))} }}' for i in (0, 8))
        layers = ('--set', f'model.layer=[{{ name: "norm" batch_normalization {{ {groups} }} }}, '
                  '{ name: "dense" dense { units: 1 } }]')
        self.train(16, 'model', 3, *layers)
        self.succeed(*self.arguments('evaluate', 16, *layers, '--eval_on_tpu=false'))
        done = self.call(*self.arguments('train', 8, '--model_dir=other', '--max_steps=3', *layers))
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('want each of 0 to 7 once', done.err)

    def test_other_verbs(self):
        sixteen = ('--set', f'{SHARDS}=16', '--train_batch_size=32', '--config=run.textproto')
        done = self.succeed('summary', *sixteen, '--set', 'train.max_steps=3')
        self.assertIn('Total parameters: 2', done.out)
        done = self.succeed('profile', *sixteen, '--steps=3', '--set', 'train.max_steps=3')
        self.assertIn('16 cores', done.out + done.err)

    def test_the_most_cores_of_a_process(self):
        self.train(64, 'model', 3)
        done = self.call(*self.arguments('train', 128, '--model_dir=other', '--max_steps=3'))
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('got 128, too many cores for 1 process, want at most 64, or 2 '
                      'processes', done.err)
        self.assertFalse(os.path.exists(self.path('other')))

