"""The best checkpoint of train_and_evaluate: --checkpoint=best, what results and inspect say of it, and
early_stopping.restore_best, also after kills."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import (BINARY, MPI_ENVIRONMENT, ProgramTest, RandomKills, checkpoint_files,
                     latest_step, mpirun, read, write)

FLAGS = ('--train_batch_size=16', '--max_steps=600', '--steps_per_eval=50',
         '--save_checkpoints_steps=30', '--keep_checkpoint_max=2', '--set',
         'tpu_config.iterations_per_loop=20', '--set',
         'train_and_evaluate.monitor={ metric: "accuracy" mode: MAX }')
BEST_FILE = 'best_checkpoint.pbtxt'


def patience(evaluations):
    return ('--set', f'train_and_evaluate.early_stopping.patience={evaluations}')


RESTORE = (*patience(4), '--set', 'train_and_evaluate.early_stopping.restore_best=true',
           '--set', 'train_and_evaluate.exporter={ final {} }')


class BestCheckpointTest(ProgramTest):

    def run_iris(self, model_dir, *flags):
        """The lines of a train_and_evaluate."""
        done = self.succeed(*self.iris('train_and_evaluate', model_dir, *FLAGS, *flags))
        return [json.loads(line) for line in done.out.splitlines()]

    def evaluate(self, model_dir, *flags):
        return self.result(self.succeed(*self.iris('evaluate', model_dir, *flags)))

    def best_of(self, lines):
        """The first of the evaluations with the highest accuracy."""
        return max(lines[:-1], key=lambda line: (line['accuracy'], -line['global_step']))

    def listed(self, model_dir):
        return [int(step) for step in
                re.findall(rb'all_model_checkpoint_paths: "model\.ckpt-(\d+)"',
                           read(self.path(model_dir, 'checkpoint')))]

    def exported_step(self, model_dir):
        [number] = os.listdir(self.path(model_dir, 'export', 'final'))
        shown = self.succeed('inspect', self.path(model_dir, 'export', 'final', number),
                             '--format=json')
        [step] = [row['value'] for row in map(json.loads, shown.out.splitlines())
                  if row.get('name') == 'global_step']
        return step

    # ---- the best one

    def test_the_result_names_it(self):
        lines = self.run_iris('model')
        best, last = self.best_of(lines), lines[-1]
        self.assertEqual(last['best_step'], best['global_step'])
        self.assertEqual(last['best_checkpoint'], best['checkpoint'])
        metrics = {key: best[key] for key in best
                   if key not in ('global_step', 'checkpoint', 'examples')}
        self.assertEqual(last['best_metrics'], metrics)
        # A training that is complete says the same again.
        again = self.run_iris('model')[-1]
        self.assertEqual({key: again[key] for key in again if key.startswith('best_')},
                         {key: last[key] for key in last if key.startswith('best_')})

    def test_evaluate_predict_and_export_use_it(self):
        best = self.best_of(self.run_iris('model'))
        self.assertNotEqual(best['global_step'], 600)
        self.assertEqual(self.evaluate('model', '--checkpoint=best'), best)
        rows = [self.succeed(*self.iris('predict', 'model', f'--checkpoint={checkpoint}')).out
                for checkpoint in ('best', best['checkpoint'], '')]
        self.assertEqual(rows[0], rows[1])
        self.assertNotEqual(rows[0], rows[2])
        done = self.result(self.succeed(*self.iris('export', 'model', '--checkpoint=best')))
        self.assertEqual(done['global_step'], best['global_step'])

    def test_the_last_evaluation_may_be_the_best(self):
        # No checkpoint knows of it.
        lines = self.run_iris('model', '--set', 'train_and_evaluate.monitor={}', '--max_steps=100')
        self.assertEqual(lines[-1]['best_step'], 100)
        self.assertEqual(self.evaluate('model', '--checkpoint=best'), lines[-2])

    def test_there_is_none(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=10'))
        for verb in ('evaluate', 'predict', 'export'):
            done = self.call(*self.iris(verb, 'model', '--checkpoint=best'))
            self.assertEqual((done.code, len(done.messages), done.out), (66, 1, ''), str(done))
            model = self.path('model')
            for part in (f'no best checkpoint in {model}', 'run train_and_evaluate',
                         f'the newest, {model}/model.ckpt-10'):
                self.assertIn(part, done.messages[0])
        done = self.call(*self.iris('evaluate', 'absent', '--checkpoint=best'))
        self.assertEqual((done.code, len(done.messages)), (66, 1), str(done))

    def test_it_is_gone_or_another(self):
        best = self.best_of(self.run_iris('model'))
        index = best['checkpoint'] + '.index'
        shutil.copyfile(self.path('model', 'model.ckpt-600.index'), index)
        done = self.call(*self.iris('evaluate', 'model', '--checkpoint=best'))
        self.assertEqual((done.code, len(done.messages)), (66, 1), str(done))
        self.assertIn('was written again', done.messages[0])
        os.remove(index)
        done = self.call(*self.iris('evaluate', 'model', '--checkpoint=best'))
        self.assertEqual((done.code, len(done.messages)), (66, 1), str(done))
        self.assertIn('is gone', done.messages[0])

    def test_a_damaged_file(self):
        self.run_iris('model', '--max_steps=50')
        for text in ('best_step: x', '', 'best_step: 50 best_metric { name: "a" dim: 3 value: 1 }'):
            write(self.path('model', BEST_FILE), text)
            done = self.call(*self.iris('evaluate', 'model', '--checkpoint=best'))
            self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
            self.assertIn(BEST_FILE + ':1:', done.messages[0])

    def test_inspect_shows_the_tensors_beside_a_damaged_file(self):
        self.run_iris('model', '--max_steps=50')
        rows = self.succeed('inspect', 'model/model.ckpt-50', '--format=json').out
        for text in ('best_step: x', 'a' * (17 << 20)):
            write(self.path('model', BEST_FILE), text)
            done = self.succeed('inspect', 'model', '--format=json')
            self.assertEqual(done.out, rows)
            [warning] = [line for line in done.err.splitlines() if 'is not shown' in line]
            self.assertIn(BEST_FILE, warning)

    def test_arrays_are_left_out(self):
        matrices = ['--set', 'model.layer.logits.dense.units=256']
        matrices += [flag for name in 'ab' for flag in (
            '--set', f'model.eval_metric+={{ name: "{name}" confusion_matrix {{ labels: "Species" '
                     'predictions: "logits" } }')]
        lines = self.run_iris('model', *RESTORE, *matrices)
        last = lines[-1]
        self.assertEqual(len(self.best_of(lines)['a']), 256)
        self.assertEqual(sorted(last['best_metrics']),
                         ['accuracy', 'average_loss', 'loss', 'loss_shard_0'])
        self.assertEqual(self.evaluate('model', '--checkpoint=best', *matrices), self.best_of(lines))
        shown = self.succeed('inspect', 'model', '--format=json').out.splitlines()
        self.assertEqual(json.loads(shown[-1])['metrics'], last['best_metrics'])
        [again] = self.run_iris('model', *RESTORE, *matrices)
        self.assertTrue(again['skipped'])
        # The state in the checkpoint of the evaluation after the best one.
        self.assertLess(os.path.getsize(self.path('model', BEST_FILE)), 4096)
        after = f'model.ckpt-{lines[-2]["global_step"]}.data-00000-of-00001'
        self.assertLess(os.path.getsize(self.path('model', after)), 1 << 20)

    def test_a_file_of_that_name(self):
        self.run_iris('model', '--max_steps=100')
        os.mkdir(self.path('best'))
        self.assertEqual(self.evaluate('model', '--checkpoint=best')['global_step'], 100)
        done = self.call(*self.iris('evaluate', 'model', '--checkpoint=./best'))
        self.assertEqual(done.code, 66, str(done))

    def test_inspect_shows_it(self):
        last = self.run_iris('model')[-1]
        text = self.succeed('inspect', 'model').out
        self.assertIn(f'\nbest checkpoint model/model.ckpt-{last["best_step"]}: '
                      f'step {last["best_step"]}, by MAX accuracy, loss ', text)
        rows = [json.loads(row) for row in
                self.succeed('inspect', 'model', '--format=json').out.splitlines()]
        self.assertEqual(rows[-1], {'kind': 'best_checkpoint', 'monitor': 'MAX accuracy',
                                    'name': f'model/model.ckpt-{last["best_step"]}',
                                    'global_step': last['best_step'],
                                    'metrics': last['best_metrics']})
        self.assertNotIn('best', self.succeed('inspect', 'model/model.ckpt-600').out)

    def test_without_checkpoints(self):
        last = self.run_iris('model', '--save_checkpoints_steps=0', '--max_steps=100')[-1]
        self.assertIsNone(last['best_checkpoint'])
        self.assertFalse(os.path.exists(self.path('model', BEST_FILE)))

    # ---- restore_best

    def expect_restored(self, model_dir, lines, *flags):
        best, last = self.best_of(lines), lines[-1]
        step = best['global_step']
        self.assertLess(step, lines[-2]['global_step'])
        self.assertEqual((last['stopped'], last['global_step'], last['checkpoint']),
                         ('early', step, best['checkpoint']))
        self.assertEqual(latest_step(self.path(model_dir)), step)
        # The later ones stay.
        self.assertEqual(self.listed(model_dir)[-2:], [lines[-2]['global_step'], step])
        self.assertEqual(self.evaluate(model_dir, *flags), best)
        self.assertEqual(self.exported_step(model_dir), step)

    def test_the_best_becomes_the_latest(self):
        plain = self.run_iris('plain', *patience(4))
        lines = self.run_iris('model', *RESTORE)
        self.assertEqual([line['loss'] for line in lines[:-1]],
                         [line['loss'] for line in plain[:-1]])
        self.expect_restored('model', lines)
        self.assertEqual(lines[-1]['steps'], lines[-2]['global_step'])

    def test_started_again_there_is_nothing_to_do(self):
        last = self.run_iris('model', *RESTORE)[-1]
        before = {name: read(self.path('model', name)) for name in ('checkpoint', BEST_FILE)}
        for more in ((), ('--unset', 'train_and_evaluate.early_stopping.restore_best')):
            [again] = self.run_iris('model', *RESTORE, *more)
            self.assertEqual(again, {'skipped': True,
                                     **{key: last[key] for key in
                                        ('global_step', 'checkpoint', 'stopped', 'best_step',
                                         'best_checkpoint', 'best_metrics')}})
        self.assertEqual(before, {name: read(self.path('model', name)) for name in before})

    def test_the_end_has_the_values_of_one_step(self):
        tell = 'echo "$TPURUN_STEP $(basename "$TPURUN_CHECKPOINT") ${TPURUN_LOSS:-none}" >> told'
        text = tell.replace('"', '\\"')
        hook = ('--set', f'training_hook+={{ command: "{text}" at: END }}')
        last = self.run_iris('model', *RESTORE, *hook)[-1]
        step = last['best_step']
        self.assertEqual(read(self.path('told')).decode(), f'{step} model.ckpt-{step} none\n')
        self.assertEqual(last['global_step'], step)
        self.assertFalse({'loss', 'loss_shard_0', 'learning_rate'} & set(last), str(last))
        # Without it, they are those of the last step.
        plain = self.run_iris('plain', *patience(4), *hook)[-1]
        step = plain['global_step']
        self.assertGreater(step, plain['best_step'])
        told = read(self.path('told')).decode().splitlines()[-1].split()
        self.assertEqual(told[:2], [str(step), f'model.ckpt-{step}'])
        self.assertEqual(float(told[2]), plain['loss'])

    def test_no_false_warning_of_a_best_one_that_is_gone(self):
        # The best one before the restored one is gone, and its checkpoint still names that one.
        few = ('--keep_checkpoint_max=1', '--save_checkpoints_steps=50')
        last = self.run_iris('model', *RESTORE, *few)[-1]
        self.assertNotIn(last['best_step'] - 50, self.listed('model'))
        for more, skips in (((), True), (patience(7), False)):
            done = self.succeed(*self.iris('train_and_evaluate', 'model', *FLAGS, *RESTORE, *few, *more))
            self.assertNotIn('is gone', done.err)
            self.assertEqual('"skipped":true' in done.out, skips, str(done))

    def test_with_more_patience_it_goes_on_from_there(self):
        whole = self.run_iris('whole', *RESTORE, *patience(7))
        first = self.run_iris('model', *RESTORE)
        second = self.run_iris('model', *RESTORE, *patience(7))
        # The pending evaluation of the best one is the first.
        self.assertEqual(second[0]['global_step'], first[-1]['global_step'])
        self.assertEqual([line['loss'] for line in second[:-1]],
                         [line['loss'] for line in whole[-1 - len(second[:-1]):-1]])
        self.assertEqual(latest_step(self.path('model')), latest_step(self.path('whole')))
        step = latest_step(self.path('whole'))
        self.assertEqual(checkpoint_files(self.path('model', f'model.ckpt-{step}')),
                         checkpoint_files(self.path('whole', f'model.ckpt-{step}')))
        self.assertEqual(read(self.path('model', BEST_FILE)), read(self.path('whole', BEST_FILE)))

    def test_train_goes_on_from_there(self):
        last = self.run_iris('model', *RESTORE)[-1]
        self.succeed(*self.iris('train', 'model', *FLAGS[:1], '--max_steps=600'))
        self.succeed(*self.iris('train', 'plain', *FLAGS[:1], '--max_steps=600'))
        self.assertEqual(latest_step(self.path('model')), 600)
        kept = self.listed('model')
        self.assertEqual((kept[-1], last['best_step'] in kept), (600, True))
        self.assertEqual(self.evaluate('model', '--checkpoint=best')['global_step'],
                         last['best_step'])
        self.assertEqual(self.evaluate('model')['loss'], self.evaluate('plain')['loss'])

    def test_without_an_early_end_the_last_stays_the_latest(self):
        self.run_iris('model', *RESTORE, *patience(100))
        self.assertEqual(latest_step(self.path('model')), 600)
        self.assertEqual(self.exported_step('model'), 600)

    def test_a_kill_before_the_list_is_written(self):
        lines = self.run_iris('model', *RESTORE)
        path = self.path('model', 'checkpoint')
        restored = read(path)
        stopped, best = lines[-2]['global_step'], lines[-1]['best_step']
        # As the last save left it: the best one first, and the one of the last evaluation the latest.
        text = restored.decode()
        entry = f'all_model_checkpoint_paths: "model.ckpt-{best}"\n'
        text = text.replace(entry, '').replace(
            'all_model', entry + 'all_model', 1).replace(
                f'model_checkpoint_path: "model.ckpt-{best}"',
                f'model_checkpoint_path: "model.ckpt-{stopped}"', 1)
        write(path, text)
        self.assertEqual(latest_step(self.path('model')), stopped)
        again = self.run_iris('model', *RESTORE)
        self.assertEqual(again[0]['global_step'], stopped)
        self.assertEqual((again[-1]['global_step'], again[-1]['stopped']), (best, 'early'))
        self.assertEqual(self.listed('model')[-1], best)
        self.assertEqual(len(os.listdir(self.path('model', 'export', 'final'))), 1)

    def test_kills_at_random_moments(self):
        wanted = int(os.environ.get('KILLS', '20'))
        start = time.monotonic()
        whole = self.run_iris('whole', *RESTORE)
        kills = RandomKills(time.monotonic() - start, reach=0.9)
        while kills.count < wanted:
            shutil.rmtree(self.path('killed'), ignore_errors=True)
            killed = True
            while killed:
                process = self.start(*self.iris('train_and_evaluate', 'killed', *FLAGS, *RESTORE))
                killed = kills.kill(process)
                done = self.finish(process)
                self.assertEqual(done.code, -signal.SIGKILL if killed else 0, str(done))
            last = json.loads(done.out.splitlines()[-1])
            for key in ('global_step', 'stopped', 'best_step', 'best_metrics'):
                self.assertEqual(last[key], whole[-1][key])
            self.assertEqual(self.listed('killed'), self.listed('whole'))
            self.assertEqual(latest_step(self.path('killed')), latest_step(self.path('whole')))
            for step in self.listed('whole'):
                self.assertEqual(checkpoint_files(self.path('killed', f'model.ckpt-{step}')),
                                 checkpoint_files(self.path('whole', f'model.ckpt-{step}')))
            self.assertEqual(read(self.path('killed', BEST_FILE)),
                             read(self.path('whole', BEST_FILE)))
            self.assertEqual(self.exported_step('killed'), whole[-1]['best_step'])
        print(f'{kills.count} kills, KILL_SEED={kills.seed}', file=sys.stderr)

    def test_several_processes(self):
        cores = ('--set', 'tpu_config.num_shards=16')
        alone = self.run_iris('alone', *RESTORE, *cores)

        def train():
            process = subprocess.Popen(
                [*mpirun(2), BINARY, *self.iris('train_and_evaluate', 'model', *FLAGS, *RESTORE, *cores),
                 '--worker_threads=1'],
                cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=MPI_ENVIRONMENT)
            done = self.finish(process)
            self.assertEqual(done.code, 0, str(done))
            return [json.loads(line) for line in done.out.splitlines()]

        together = train()
        self.expect_restored('model', together, *cores)
        self.assertEqual(together[-1]['best_metrics'], alone[-1]['best_metrics'])
        step = alone[-1]['best_step']
        self.assertEqual(checkpoint_files(self.path('model', f'model.ckpt-{step}')),
                         checkpoint_files(self.path('alone', f'model.ckpt-{step}')))
        [again] = train()
        self.assertTrue(again['skipped'])
        # One process evaluates the best one that two have found, and the other way round.
        best = self.evaluate('model', '--checkpoint=best', *cores)
        process = subprocess.Popen(
            [*mpirun(2), BINARY, *self.iris('evaluate', 'alone', '--checkpoint=best', *cores),
             '--worker_threads=1'],
            cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=MPI_ENVIRONMENT)
        done = self.finish(process)
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual({**json.loads(done.out), 'checkpoint': best['checkpoint']}, best)


if __name__ == '__main__':
    unittest.main()
