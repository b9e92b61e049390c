"""Standard output holds the result and nothing else, and may be closed; what is done is left alone."""
import json
import os
import shutil
import signal
import subprocess

from program import ProgramTest, latest_step, read, tree, write


class OutputTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.trained = self.succeed(*self.iris('train', 'model', '--max_steps=20'))

    def test_train_prints_one_object(self):
        result = self.result(self.trained)
        self.assertEqual(list(result), ['global_step', 'loss', 'loss_shard_0', 'learning_rate',
                                        'checkpoint', 'steps', 'seconds', 'examples_per_second'])
        self.assertEqual(result['global_step'], 20)
        self.assertEqual(result['steps'], 20)
        self.assertEqual(result['checkpoint'], self.path('model', 'model.ckpt-20'))

    def test_train_again_touches_nothing(self):
        before = tree(self.path('model'))
        done = self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        self.assertEqual(self.result(done), {'skipped': True, 'global_step': 20,
                                             'checkpoint': self.path('model', 'model.ckpt-20')})
        self.assertEqual(tree(self.path('model')), before)

    def test_evaluate_prints_one_object(self):
        done = self.succeed(*self.iris('evaluate', 'model'))
        result = self.result(done)
        self.assertEqual(list(result), ['global_step', 'checkpoint', 'examples', 'loss', 'loss_shard_0',
                                        'accuracy', 'average_loss'])
        self.assertEqual(result['examples'], 30)
        self.assertEqual(os.listdir(self.path('model', 'eval'))[0].split('.')[0], 'events')

    def test_without_a_checkpoint_nothing_is_evaluated_or_predicted(self):
        for verb in ('evaluate', 'predict'):
            done = self.call(*self.iris(verb, 'mistyped'))
            self.assertEqual((done.code, done.out), (66, ''), str(done))
            self.assertEqual(len(done.messages), 1, str(done))
            self.assertIn(f'could not find a trained model in {self.path("mistyped")}',
                          done.messages[0])
            self.assertFalse(os.path.exists(self.path('mistyped')))

    def test_untrained_variables_are_taken_when_allowed(self):
        done = self.succeed(*self.iris('evaluate', 'fresh', '--allow_untrained'))
        result = self.result(done)
        self.assertEqual((result['checkpoint'], result['global_step']), (None, 0))
        fresh = self.path('fresh')
        self.assertEqual(done.warnings, [f'Could not find trained model in model_dir: {fresh}, '
                                         'running initialization to evaluate.'])
        done = self.succeed(*self.iris('predict', 'fresh', '--allow_untrained'))
        self.assertEqual((done.out.count('\n'), len(done.warnings)), (3, 1), str(done))

    def test_evaluating_another_checkpoint_says_where_the_events_go(self):
        prefix = self.path('model', 'model.ckpt-20')
        done = self.succeed(*self.iris('evaluate', 'other', f'--checkpoint={prefix}'))
        other = self.path('other')
        self.assertIn(f"The evaluation's events go to model_dir, {other}.", done.log)

    def test_checkpoints_of_a_lost_list_are_not_written_over(self):
        shutil.copytree(self.path('model'), self.path('lost'))
        os.remove(self.path('lost', 'checkpoint'))
        before = tree(self.path('lost'))
        anew = self.call(*self.iris('train', 'lost', '--max_steps=30'))
        self.assertEqual((anew.code, len(anew.messages)), (74, 1), str(anew))
        prefix = self.path('lost', 'model.ckpt-20')
        weights = f'warm_start_from.ckpt_to_initialize_from={prefix}'
        line = 'model_checkpoint_path: "model.ckpt-20"'
        self.assertIn(f'would write over {prefix} and 1 earlier', anew.messages[0])
        self.assertEqual(tree(self.path('lost')), before)
        # What it says to do.
        self.assertIn('--set ' + weights, anew.messages[0])
        started = self.succeed(*self.iris('train', 'new', '--set', weights, '--max_steps=5'))
        self.assertEqual(started.warnings, [])
        self.assertIn(line, anew.messages[0])
        write(self.path('lost', 'checkpoint'), line)
        resumed = self.succeed(*self.iris('train', 'lost', '--max_steps=25'))
        self.assertEqual((self.result(resumed)['steps'], resumed.warnings), (5, []))

    def test_slots_of_another_optimizer_warn(self):
        plain = ('--set', 'model.optimizer={ gradient_descent {} learning_rate { constant: 0.1 } }')
        resumed = self.succeed(*self.iris('train', 'model', '--max_steps=25', *plain))
        slots = [json.loads(line)['name'] for line in self.succeed(
            'inspect', self.path('model', 'model.ckpt-20'), '--format=json').out.splitlines()]
        slots = sorted(name for name in slots if name.endswith('/Adagrad'))
        self.assertEqual(resumed.warnings, [
            f'The checkpoint has {len(slots)} variables that are not in the model, the first is '
            f'"{slots[0]}": they are left out from here on. If that is not meant, go back to '
            f'{self.path("model", "model.ckpt-20")} with the optimizer that wrote them.'])
        again = self.succeed(*self.iris('train', 'model', '--max_steps=30', *plain))
        self.assertEqual(again.warnings, [])

    def test_predict_prints_an_object_a_row(self):
        done = self.succeed(*self.iris('predict', 'model'))
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([list(row) for row in rows], [['class_ids', 'probabilities']] * 3)
        for row in rows:
            self.assertEqual(len(row['class_ids']), 1)
            self.assertAlmostEqual(sum(row['probabilities']), 1, places=6)
        # Compact, and each line its own.
        self.assertNotIn(' ', done.out)
        self.assertTrue(done.out.endswith('}\n'))

    def test_predict_from_standard_input(self):
        rows = ('--set', 'predict.input={source{text_line{file:"-"}} '
                         'transform{apply{transformation_func:"parse"}}}')
        for given, lines in ((b'', 0), (b'5.1,3.5,1.4,0.2,0', 1), (b'5.1,3.5,1.4,0.2,0\n' * 100, 100)):
            done = self.call(*self.iris('predict', 'model', *rows), given=given)
            self.assertEqual((done.code, done.out.count('\n')), (0, lines), str(done))

    def test_a_closed_pipe_ends_predict_quietly(self):
        endless = ('--set', 'predict.input.transform+={repeat {}}')
        process = self.start(*self.iris('predict', 'model', *endless))
        self.assertTrue(process.stdout.readline().endswith(b'}\n'))
        process.stdout.close()
        process.stdout = None
        done = self.finish(process)
        self.assertEqual((done.code, done.messages), (0, []), str(done))

    def test_the_log_says_what_became_of_the_first_checkpoint(self):
        rate = ('--set', 'model.optimizer.0.learning_rate.constant=1e30')
        done = self.call(*self.iris('train', 'diverged', *rate))
        self.assertEqual(done.code, 1, str(done))
        last = [line for line in done.log[-3:] if not line.startswith('Training from ')]
        first = self.path('diverged', 'model.ckpt-0')
        self.assertEqual(last, [f'Saving checkpoints for 0 into {first}.',
                                'Nothing is kept of this run: what it wrote into '
                                f'{self.path("diverged")} is removed.'])
        self.assertFalse(os.path.exists(self.path('diverged')))

    def test_an_input_that_is_gone_at_the_next_epoch_ends_training_and_saves(self):
        file = self.path('iris', 'iris_training.csv')
        again = ('--set', f"""train.input={{
          source {{ text_line {{ file: "{file}" skip_lines: 1 }} }}
          transform {{ apply {{ transformation_func: "parse" }} }}
          transform {{ repeat {{}} }}
          transform {{ batch {{ drop_remainder: true }} }}
        }}""")
        process = self.start(*self.iris('train', 'anew', *again, '--max_steps=1000000000', '--set',
                                        'tpu_config.iterations_per_loop=5'),
                             '--save_checkpoints_steps=10')
        self.wait_until(lambda: latest_step(self.path('anew')) >= 10, process)
        os.remove(file)
        done = self.finish(process)
        step = latest_step(self.path('anew'))
        self.assertEqual((done.code, done.messages), (66, [
            f'tpurun: step {step + 1}: cannot read {file}: No such file or directory; checkpoint '
            f'saved: {self.path("anew")}/model.ckpt-{step}']), str(done))

    def test_an_interrupt_leaves_no_unfinished_file(self):
        predict = ('--set', 'predict.input={source{text_line{file:"-"}} '
                            'transform{apply{transformation_func:"parse"}}}')
        convert = ('convert', 'csv', '-', '--features=x:float:0')
        os.mkdir(self.path('out'))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            for arguments in (self.iris('predict', 'model', *predict, '--output=out/rows.jsonl'),
                              self.iris('predict', 'model', *predict, '--output=out/rows.tfrecord'),
                              (*convert, '--output=out/rows'),
                              (*convert, '--output=out/rows', '--shards=3')):
                # Waits for its input, which never comes.
                process = self.start(*arguments, stdin=subprocess.PIPE)
                self.wait_until(lambda: os.listdir(self.path('out')), process)
                process.send_signal(number)
                done = self.finish(process)
                self.assertEqual((done.code, os.listdir(self.path('out'))), (code, []), str(done))

    def test_no_output_takes_the_place_of_what_is_read(self):
        """Nor of a file of the training, whatever its name."""
        shutil.copy(self.path('iris', 'run.textproto'), self.path('iris', 'run.jsonl'))
        shutil.copy(self.path('iris', 'iris_test.csv'), self.path('iris', 'rows.jsonl'))
        for mode in ('train', 'evaluate', 'predict'):
            shutil.copy(self.path('iris', 'iris_test.csv'), self.path('iris', f'{mode}.jsonl'))
        run = ('--config=iris/run.jsonl', '--model_dir=model')
        other = ('--set', 'evaluate.0.input.source.text_line.file="iris/rows.jsonl"')
        rows = ('--set', 'predict.input={ source { text_line { file: "iris/predict.jsonl" skip_lines: 1 } }'
                ' transform { apply { transformation_func: "parse" } } }')
        shutil.copy(self.path('iris', 'iris_test.csv'), self.path('iris', 'rows[1].jsonl'))
        shown = ('--set', rows[1].replace('predict.jsonl', 'rows[1].jsonl'))
        pattern = ('--set', rows[1].replace('predict.jsonl', 'r*.jsonl'))
        before = tree(self.path())
        for flag, path, arguments in (
                ('output', 'iris/rows[1].jsonl', ('predict', *run, *shown)),
                ('output', 'iris/rows.jsonl', ('predict', *run, *pattern)),
                ('trace', 'iris/run.jsonl', ('profile', *run, '--steps=2')),
                ('trace', 'iris/model.textproto', ('profile', *run, '--steps=2')),
                ('trace', 'iris/iris_training.csv', ('profile', *run, '--steps=2')),
                ('trace', 'model/checkpoint', ('profile', *run, '--steps=2')),
                ('trace', 'iris/iris_test.csv', ('check', *run)),
                ('trace', 'model/graph.pbtxt', ('check', *run)),
                ('output', 'iris/run.jsonl', ('predict', *run)),
                ('output', 'iris/rows.jsonl', ('predict', *run, *other)),
                ('output', 'model/checkpoint', ('report', 'model')),
                ('output', 'model/run_config.pbtxt', ('report', 'model')),
                ('output', 'model/model.ckpt-20.index', ('report', 'model')),
                ('dump_infeed', 'iris/train.jsonl', (
                    'train', *run, '--max_steps=25', '--allow_changed_input',
                    '--set', 'train.input.source.text_line.file="iris/train.jsonl"')),
                ('dump_infeed', 'iris/evaluate.jsonl', (
                    'evaluate', *run,
                    '--set', 'evaluate.0.input.source.text_line.file="iris/evaluate.jsonl"')),
                ('dump_infeed', 'iris/predict.jsonl', ('predict', *run, *rows))):
            value = os.path.dirname(path) if flag == 'dump_infeed' else path
            done = self.call(*arguments, f'--{flag}={value}')
            self.assertEqual((done.code, done.out, len(done.messages)), (2, '', 1), str(done))
            self.assertIn(f'{path} is an input too, want another name for the output', done.messages[0])
            self.assertEqual(tree(self.path()), before, str(done))

    def test_predict_may_write_again_what_a_training_reads_by_a_pattern(self):
        train = ('--set', 'train.input.source.text_line.file="iris/labelled*.jsonl"')
        for _ in range(2):
            self.succeed(*self.iris('predict', 'model', *train, '--output=iris/labelled_1.jsonl'))

    def test_two_outputs_have_two_names(self):
        done = self.call(*self.iris('predict', 'model', '--dump_infeed=both', '--output=both/predict.jsonl'))
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('both/predict.jsonl is what --dump_infeed writes', done.messages[0])

    def test_the_graph_of_a_training_does_not_replace_its_model(self):
        shutil.copytree(self.path('iris'), self.path('own'))
        os.rename(self.path('own', 'model.textproto'), self.path('own', 'graph.pbtxt'))
        before = read(self.path('own', 'graph.pbtxt'))
        done = self.call('train', '--config=own/run.textproto', '--model=own/graph.pbtxt',
                         '--model_dir=own', '--max_steps=5')
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('own/graph.pbtxt is an input too', done.messages[0])
        self.assertEqual(read(self.path('own', 'graph.pbtxt')), before)

    def test_json_logs(self):
        done = self.succeed(*self.iris('train', 'model', '--max_steps=25', '--log_format=json'))
        self.assertGreater(done.err.count('\n'), 2)
        for line in done.err.splitlines():
            self.assertIn('message', json.loads(line))
