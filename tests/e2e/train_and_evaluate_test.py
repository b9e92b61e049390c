"""train_and_evaluate: when it evaluates and exports, early stopping, and that a run which is killed goes
on to the same end."""
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import ProgramTest, RandomKills, checkpoint_files, read, write

STEPS_PER_EVAL = 50
FLAGS = ('--train_batch_size=16', '--max_steps=600', f'--steps_per_eval={STEPS_PER_EVAL}',
         '--save_checkpoints_steps=30', '--keep_checkpoint_max=2', '--set',
         'tpu_config.iterations_per_loop=20')
ACCURACY = ('--set', 'train_and_evaluate.monitor={ metric: "accuracy" mode: MAX }')
PATIENCE = ('--set', 'train_and_evaluate.early_stopping.patience=4')
BEST_AND_FINAL = ('--set', 'train_and_evaluate.exporter={ best { exports_to_keep: 1 } }',
                  '--set', 'train_and_evaluate.exporter+={ final {} }')


def steps_listed(model_dir):
    return [int(step) for step in
            re.findall(rb'all_model_checkpoint_paths: "model\.ckpt-(\d+)"',
                       read(os.path.join(model_dir, 'checkpoint')))]


class TrainAndEvaluateTest(ProgramTest):

    def run_iris(self, model_dir, *flags):
        return self.succeed(*self.iris('train_and_evaluate', model_dir, *FLAGS, *flags))

    def lines(self, call):
        return [json.loads(line) for line in call.out.splitlines()]

    def files(self, *names):
        folder = self.path(*names)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def evaluated(self, *names):
        """{step: {tag: value}} of the event files in a folder; no step is there twice."""
        steps = {}
        for name in self.files(*names):
            shown = self.succeed('inspect', self.path(*names, name), '--format=json')
            values = {}
            for line in map(json.loads, shown.out.splitlines()):
                if line.get('tag'):
                    values[line['tag']] = line.get('value')
                    step = line['step']
            if not values:
                continue  # of a run that was killed before it wrote them
            self.assertNotIn(step, steps)
            steps[step] = values
        return steps

    def exported(self, *names):
        """Of each exported model in a folder, oldest first: {file: digest of its bytes}."""
        models = []
        for number in self.files(*names):
            folder = self.path(*names, number)
            models.append({os.path.relpath(os.path.join(root, file), folder):
                           hashlib.sha256(read(os.path.join(root, file))).hexdigest()
                           for root, _, files in os.walk(folder) for file in files})
        return models

    def test_evaluates_at_multiples_and_at_the_end(self):
        done = self.lines(self.run_iris('model', '--max_steps=120'))
        self.assertEqual([line['global_step'] for line in done], [50, 100, 120, 120])
        self.assertIn('accuracy', done[0])
        self.assertIn('examples_per_second', done[-1])
        self.assertEqual(done[1]['checkpoint'], self.path('model', 'model.ckpt-100'))
        self.assertEqual(sorted(self.evaluated('model', 'eval')), [50, 100, 120])

    def test_gives_what_train_and_evaluate_one_after_the_other_give(self):
        done = self.lines(self.run_iris('model', '--max_steps=120'))
        self.succeed(*self.iris('train', 'plain', *FLAGS[:1], '--max_steps=100'))
        [plain] = self.lines(self.succeed(*self.iris('evaluate', 'plain')))
        # Summed on the same rows by the same program.
        for key in ('examples', 'loss', 'loss_shard_0', 'accuracy'):
            self.assertEqual(done[1][key], plain[key])
        [trained] = self.lines(self.succeed(
            *self.iris('train', 'plain', *FLAGS[:1], '--max_steps=120')))
        self.assertEqual(done[-1]['loss'], trained['loss'])

    def test_evaluates_moving_averages(self):
        average = ('--set', 'model.moving_average.decay=0.9')
        done = self.lines(self.run_iris('model', '--max_steps=50', *average))
        [averaged] = self.lines(self.succeed(*self.iris('evaluate', 'model', *average)))
        self.assertEqual(done[0], averaged)
        [raw] = self.lines(self.succeed(
            *self.iris('evaluate', 'model', '--unset', 'model.moving_average')))
        self.assertNotEqual(raw['loss'], averaged['loss'])

    def test_seconds(self):
        never = self.lines(self.run_iris('never', '--unset', 'train_and_evaluate.steps_per_eval'))
        self.assertEqual([line['global_step'] for line in never], [600, 600])
        always = self.lines(self.run_iris(
            'always', '--unset', 'train_and_evaluate.steps_per_eval', '--set',
            'train_and_evaluate.throttle_secs=0', '--set',
            'train_and_evaluate.start_delay_secs=0', '--max_steps=60'))
        self.assertEqual([line['global_step'] for line in always], [20, 40, 60, 60])

    def test_stops_early_and_keeps_the_best_checkpoint(self):
        done = self.lines(self.run_iris('model', *ACCURACY, *PATIENCE))
        accuracies = [line['accuracy'] for line in done[:-1]]
        best = max(range(len(accuracies)), key=lambda i: (accuracies[i], -i))
        # The first of those that are as good, and then `patience` evaluations that are no better.
        self.assertEqual(len(accuracies), best + 1 + 4)
        step = done[-1]['global_step']
        self.assertEqual(step, len(accuracies) * STEPS_PER_EVAL)
        self.assertEqual(done[-1]['stopped'], 'early')
        # Two by retention; of the best one there would be nothing else.
        listed = steps_listed(self.path('model'))
        self.assertEqual(listed[0], (best + 1) * STEPS_PER_EVAL)
        self.assertEqual(len(listed), 3)
        for kept in listed:
            self.assertEqual(len(checkpoint_files(self.path('model', f'model.ckpt-{kept}'))), 2)

        again = self.lines(self.run_iris('model', *ACCURACY, *PATIENCE))
        self.assertEqual(again[0], done[-2])
        best = {key: value for key, value in done[-1].items() if key.startswith('best_')}
        self.assertEqual(again[1], {'skipped': True, 'global_step': step, 'stopped': 'early',
                                    'checkpoint': self.path('model', f'model.ckpt-{step}'), **best})
        # `train` goes on, and keeps the best one all the same.
        self.succeed(*self.iris('train', 'model', *FLAGS[:1], *FLAGS[3:], '--max_steps=600'))
        self.assertEqual(steps_listed(self.path('model'))[0], listed[0])

    def test_a_train_between_keeps_what_may_be_the_best(self):
        accuracies = [line['accuracy'] for line in
                      self.lines(self.run_iris('model', *ACCURACY, '--max_steps=150'))[:-1]]
        keep_one = (*FLAGS[:1], *FLAGS[3:4], '--keep_checkpoint_max=1')
        self.succeed(*self.iris('train', 'model', *keep_one, '--max_steps=400'))
        best = (max(range(3), key=lambda i: (accuracies[i], -i)) + 1) * STEPS_PER_EVAL
        self.assertIn(best, steps_listed(self.path('model')))
        self.assertIn(150, steps_listed(self.path('model')))
        # The evaluation that no checkpoint knows of comes first.
        again = self.lines(self.run_iris('model', *ACCURACY, '--max_steps=450'))
        self.assertEqual([line['global_step'] for line in again], [150, 450, 450])

    def test_a_best_checkpoint_that_is_gone(self):
        self.run_iris('model', *ACCURACY, '--max_steps=500')
        [best] = [step for step in steps_listed(self.path('model')) if step < 450][:1]
        os.remove(self.path('model', f'model.ckpt-{best}.index'))
        done = self.run_iris('model', *ACCURACY, *BEST_AND_FINAL, '--max_steps=600')
        self.assertIn('the choice begins anew', '\n'.join(done.warnings))
        self.assertEqual(len(self.exported('model', 'export', 'best')), 1)

    def test_a_best_exporter_that_comes_later(self):
        self.run_iris('model', *ACCURACY, '--max_steps=500')
        self.run_iris('model', *ACCURACY, *BEST_AND_FINAL, '--max_steps=500')
        self.assertEqual(len(self.exported('model', 'export', 'best')), 1)

    def test_a_rerun_exports_nothing_again(self):
        # The loss falls steadily: each evaluation is the best, the last one too.
        falls = ('--max_steps=40', '--steps_per_eval=10', '--set',
                 'train_and_evaluate.exporter={ best {} }')
        self.run_iris('model', *falls)
        before = self.exported('model', 'export', 'best')
        self.assertEqual(len(before), 4)
        self.run_iris('model', *falls)
        self.assertEqual(self.exported('model', 'export', 'best'), before)

    def test_a_pipe_to_evaluate(self):
        os.mkfifo(self.path('pipe'))
        feeder = subprocess.Popen(['sh', '-c', 'cat iris/iris_test.csv > pipe'], cwd=self.dir)
        self.addCleanup(self.end, feeder)
        done = self.call(*self.iris('train_and_evaluate', 'model', *FLAGS, '--set',
                                    'evaluate.0.input.source.text_line.file="pipe"'))
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('read only once', done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_strict_leaves_a_pending_evaluation_alone(self):
        # What an evaluation's data shows is told of at the end, resumed or not.
        more = ('--set', 'evaluate.0.steps=100', '--strict', '--max_steps=100', '--quiet', '--set',
                'tpu_config.iterations_per_loop=50', '--set', 'save_summary_steps=50',
                '--save_checkpoints_steps=50', '--set',
                'log_step_count_steps=50')
        whole = self.call(*self.iris('train_and_evaluate', 'whole', *FLAGS, *more))
        self.assertEqual(whole.code, 5, str(whole))
        self.assertEqual(len(self.lines(whole)), 3)
        self.succeed(*self.iris('train_and_evaluate', 'model', *FLAGS, '--max_steps=50'))
        done = self.call(*self.iris('train_and_evaluate', 'model', *FLAGS, *more))
        self.assertEqual(done.code, 5, str(done))
        self.assertEqual([line['global_step'] for line in self.lines(done)], [50, 100, 100])

    def test_a_reader_that_goes_away(self):
        process = self.start(*self.iris('train_and_evaluate', 'model', *FLAGS))
        process.stdout.readline()
        process.stdout.close()
        code = process.wait(60)
        self.assertEqual(code, 0)
        self.assertIn(b'goes on', process.stderr.read())
        self.assertIn(600, steps_listed(self.path('model')))

    def test_lower_is_better(self):
        done = self.lines(self.run_iris('model', *PATIENCE, '--max_steps=200'))
        losses = [line['loss'] for line in done[:-1]]
        self.assertIn((losses.index(min(losses)) + 1) * STEPS_PER_EVAL,
                      steps_listed(self.path('model')))

    def test_exporters(self):
        done = self.run_iris('model', *ACCURACY, *BEST_AND_FINAL, '--max_steps=150', '--set',
                             'train_and_evaluate.exporter+={ name: "newest" latest { exports_to_keep: 2 } }',
                             '--set', 'export.export_format=[saved_model,onnx]')
        self.assertEqual(len(self.lines(done)), 4)
        self.assertEqual(self.files('model', 'export'), ['best', 'final', 'newest'])
        for name, kept in (('best', 1), ('final', 1), ('newest', 2)):
            models = [number for number in self.files('model', 'export', name) if number != 'onnx']
            self.assertEqual(len(models), kept, name)
            self.assertEqual(len(self.files('model', 'export', name, 'onnx')), kept, name)
        final = [number for number in self.files('model', 'export', 'final') if number != 'onnx'][0]
        shown = self.succeed('inspect', self.path('model', 'export', 'final', final))
        self.assertIn('serving_default', shown.out)
        # Once more there is nothing left to do.
        before = [self.files('model', 'export', name) for name in ('best', 'final', 'newest')]
        self.run_iris('model', *ACCURACY, *BEST_AND_FINAL, '--max_steps=150')
        self.assertEqual([self.files('model', 'export', name)
                          for name in ('best', 'final', 'newest')], before)

    def models(self, *folder):
        """{step: (number, checksum of the variables)} of the exported models in a folder."""
        found = {}
        for number in self.files(*folder):
            lines = self.succeed('inspect', self.path(*folder, number), '--format=json').out.splitlines()
            step = [line['value'] for line in map(json.loads, lines) if line.get('name') == 'global_step']
            (data,) = glob.glob(self.path(*folder, number, 'variables', '*data*'))
            found[step[0]] = (number, hashlib.md5(read(data)).hexdigest())
        return found

    def test_another_model_of_the_same_step_is_exported(self):
        exporters = ('--set', 'train_and_evaluate.exporter=[{ final {} }, { latest { exports_to_keep: 9 } }]',
                     '--max_steps=100')
        self.run_iris('model', *exporters)
        before = self.models('model', 'export', 'latest')
        self.assertEqual(len(before), 2)
        # Again from the first checkpoint, by another rate.
        first, last = sorted(before)
        state = self.path('model', 'checkpoint')
        write(state, re.sub(r'(?m)^model_checkpoint_path.*', f'model_checkpoint_path: "model.ckpt-{first}"',
                            read(state).decode()))
        self.run_iris('model', *exporters, '--set', 'model.optimizer.learning_rate.constant=0.01')
        after = self.models('model', 'export', 'latest')
        # The first is the same model, and newer than what it replaces: it is the latest evaluated then.
        self.assertEqual(after[first][1], before[first][1])
        self.assertNotEqual(after[last][1], before[last][1])
        self.assertGreater(after[last][0], after[first][0])
        self.assertGreater(after[first][0], before[last][0])
        self.assertEqual(self.models('model', 'export', 'final')[last][1], after[last][1])
        self.assertEqual(len(self.files('model', 'export', 'final')), 2)

    def test_several_evaluations(self):
        config = self.path('iris', 'run.textproto')
        with open(config, encoding='utf-8') as file:
            text = file.read()
        named = text.replace('evaluate {', 'evaluate { name: "test"', 1)
        start = text.index('evaluate {')
        end = text.index('predict {')
        train = text[start:end].replace('evaluate {', 'evaluate { name: "train"', 1).replace(
            'iris_test.csv', 'iris_training.csv')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(named + train)
        done = self.lines(self.run_iris('model', '--max_steps=50', '--set',
                                        'train_and_evaluate.monitor.evaluation="train"'))
        self.assertEqual([line.get('name') for line in done], ['test', 'train', None])
        self.assertEqual(sorted(name for name in self.files('model') if name.startswith('eval')),
                         ['eval_test', 'eval_train'])
        both = self.lines(self.succeed(*self.iris('evaluate', 'model', '--name=all')))
        self.assertEqual(both, done[:2])
        one = self.lines(self.succeed(*self.iris('evaluate', 'model', '--name=train')))
        self.assertEqual({'name': 'train', **one[0]}, both[1])

    def test_without_checkpoints(self):
        done = self.lines(self.run_iris('model', '--save_checkpoints_steps=0', '--max_steps=100'))
        self.assertEqual([line['checkpoint'] for line in done], [None, None, None])
        self.assertFalse([name for name in self.files('model') if name.startswith('model.ckpt')])

    def test_evaluates_on_the_cpu(self):
        on_tpu = self.lines(self.run_iris('model', '--max_steps=50'))
        on_cpu = self.lines(self.run_iris('other', '--max_steps=50', '--eval_on_tpu=false',
                                          '--eval_batch_size=7'))
        self.assertEqual(on_cpu[0]['examples'], 30)
        self.assertAlmostEqual(on_cpu[0]['loss'], on_tpu[0]['loss'], delta=0.01)
        [alone] = self.lines(self.succeed(
            *self.iris('evaluate', 'model', '--eval_on_tpu=false', '--eval_batch_size=7')))
        self.assertEqual(alone['loss'], on_cpu[0]['loss'])

    def test_an_unknown_metric_is_told_before_anything_is_written(self):
        done = self.call(*self.iris('train_and_evaluate', 'model', *FLAGS, '--set',
                                    'train_and_evaluate.monitor.metric="acuracy"'))
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('did you mean "accuracy"', done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_kills_at_random_moments(self):
        wanted = int(os.environ.get('KILLS', '50'))
        flags = (*ACCURACY, *PATIENCE, *BEST_AND_FINAL)
        start = time.monotonic()
        whole = self.lines(self.run_iris('whole', *flags))
        kills = RandomKills(time.monotonic() - start, reach=0.7)
        self.assertEqual(whole[-1]['stopped'], 'early')
        runs = 0
        while kills.count < wanted:
            shutil.rmtree(self.path('killed'), ignore_errors=True)
            killed = True
            while killed:
                process = self.start(*self.iris('train_and_evaluate', 'killed', *FLAGS, *flags))
                killed = kills.kill(process)
                done = self.finish(process)
                self.assertEqual(done.code, -signal.SIGKILL if killed else 0, str(done))
            runs += 1
            last = self.lines(done)[-1]
            for key in ('global_step', 'stopped'):
                self.assertEqual(last[key], whole[-1][key])
            self.expect_the_same()
        print(f'{kills.count} kills, {runs} runs, KILL_SEED={kills.seed}', file=sys.stderr)

    def expect_the_same(self):
        self.assertEqual(steps_listed(self.path('killed')), steps_listed(self.path('whole')))
        for step in steps_listed(self.path('whole')):
            self.assertEqual(checkpoint_files(self.path('killed', f'model.ckpt-{step}')),
                             checkpoint_files(self.path('whole', f'model.ckpt-{step}')))
        plain = [[name for name in self.files(folder) if not name.startswith('events.')]
                 for folder in ('killed', 'whole')]
        self.assertEqual(plain[0], plain[1])
        evaluated = [self.evaluated(folder, 'eval') for folder in ('killed', 'whole')]
        for values in (values for steps in evaluated for values in steps.values()):
            values.pop('checkpoint_path', None)
        self.assertEqual(evaluated[0], evaluated[1])
        for name in ('best', 'final'):
            self.assertEqual(self.exported('killed', 'export', name),
                             self.exported('whole', 'export', name))

    def test_sigterm_while_it_evaluates(self):
        # Evaluations that take long, of few steps each.
        flags = ('--set', 'evaluate.0.steps=100000000', '--set',
                 'evaluate.0.input.transform+={ repeat {} }')
        process = self.start(*self.iris('train_and_evaluate', 'model', *FLAGS, *flags))
        self.wait_until(lambda: os.path.exists(self.path('model', 'model.ckpt-50.index')), process)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        done = self.finish(process)
        self.assertEqual(done.code, 75, str(done))
        self.assertIn('model.ckpt-50', done.messages[0])
        # The pending evaluation comes first.
        again = self.lines(self.run_iris('model', '--max_steps=60'))
        self.assertEqual([line['global_step'] for line in again], [50, 60, 60])


class WatchTest(ProgramTest):

    def test_ends_when_no_checkpoint_comes(self):
        done = self.call(*self.iris('evaluate', 'model', '--watch', '--timeout=1'))
        self.assertEqual(done.code, 66, str(done))
        self.succeed(*self.iris('train', 'model', '--max_steps=10'))
        done = self.succeed(*self.iris('evaluate', 'model', '--watch', '--timeout=1'))
        self.assertEqual([json.loads(line)['global_step'] for line in done.out.splitlines()], [10])

    def test_follows_a_training(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=10'))
        watch = self.start(*self.iris('evaluate', 'model', '--watch', '--timeout=60', '--set',
                                      'train.max_steps=20'))
        evaluations = self.path('model', 'eval')
        self.wait_until(lambda: os.path.isdir(evaluations) and os.listdir(evaluations), watch)
        self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        done = self.finish(watch)
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual([json.loads(line)['global_step'] for line in done.out.splitlines()],
                         [10, 20])

    def test_timeout_is_of_watch(self):
        for flags in (('--timeout=5',), ('--watch', '--timeout=-1'), ('--watch', '--timeout=0')):
            done = self.call(*self.iris('evaluate', 'model', *flags))
            self.assertEqual(done.code, 2, str(done))


if __name__ == '__main__':
    unittest.main()
