"""A checkpoint that is used with a configuration that computes something else warns, line by line."""
import os
import shutil

from program import ProgramTest, checkpoint_files, write

MNIST = os.path.abspath('testdata/mnist')
OLD = os.path.abspath('testdata/old_checkpoint')


class DriftTest(ProgramTest):

    def expect(self, want, verb, *arguments):
        """That the call warns of these differences and no others."""
        done = self.succeed(verb, *arguments)
        got = [line for line in done.warnings if ': trained with ' in line]
        self.assertEqual(got, want, str(done))
        return done


class LayersTest(DriftTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'model', '--max_steps=200'))

    def edit(self, old, new):
        path = self.path('iris', 'model.textproto')
        with open(path, encoding='utf-8') as file:
            text = file.read()
        self.assertIn(old, text)
        write(path, text.replace(old, new, 1))

    def expect_everywhere(self, want):
        for verb in ('evaluate', 'predict', 'export'):
            self.expect(want, *self.iris(verb, 'model'))
        self.expect(want, *self.iris('train', 'model', '--steps=1'))
        # What is saved from now on was trained with what there is now.
        self.expect([], *self.iris('evaluate', 'model'))

    def test_an_activation(self):
        self.edit('activation: RELU', 'activation: TANH')
        self.expect_everywhere(
            ['layer "hidden_1".dense.activation: trained with RELU, now TANH'])

    def test_several_differences(self):
        self.edit('units: 3', 'units: 3 activation: SIGMOID')
        self.edit('name: "iris"', 'name: "iris" matmul_precision: HIGH')
        self.expect(['layer "logits".dense.activation: trained with LINEAR, now SIGMOID',
                     'matmul_precision: trained with DEFAULT, now HIGH'],
                    *self.iris('evaluate', 'model'))

    def test_the_precision(self):
        self.expect(['use_tpu: trained with true, now false'],
                    *self.iris('evaluate', 'model', '--use_tpu=false'))
        self.expect(['matmul_precision: trained with DEFAULT, now HIGHEST'],
                    *self.iris('predict', 'model', '--set', 'model.matmul_precision=HIGHEST'))

    def test_an_input_of_another_layer(self):
        self.edit('input: "SepalLength" input: "SepalWidth"', 'input: "SepalWidth" input: "SepalLength"')
        order = ['"{}", "{}", "PetalLength", "PetalWidth"'.format(*names)
                 for names in (('SepalLength', 'SepalWidth'), ('SepalWidth', 'SepalLength'))]
        self.expect([f'layer "features".input: trained with [{order[0]}], now [{order[1]}]'],
                    *self.iris('evaluate', 'model'))

    def test_groups_of_replicas(self):
        groups = ', '.join('{ replica: %d replica: %d replica: %d replica: %d }' % of
                           for of in ((0, 1, 2, 3), (4, 5, 6, 7)))
        halves = ('--set', 'model.optimizer.0.cross_shard={ group_assignment { replica: [0, 1, 2, 3] } '
                  'group_assignment { replica: [4, 5, 6, 7] } }')
        field = 'optimizer.cross_shard.group_assignment'
        self.expect([f'{field}: trained with none, now {groups}'],
                    *self.iris('train', 'model', '--steps=1', *halves))
        self.expect([], *self.iris('evaluate', 'model'))
        self.expect([f'{field}: trained with {groups}, now none'],
                    *self.iris('train', 'model', '--steps=1'))

    def test_what_changes_no_value_is_no_drift(self):
        self.edit('activation: RELU', 'activation: RELU use_bias: true kernel_initializer { '
                                      'truncated_normal { stddev: 0.5 } }')
        self.edit('{ name: "hidden_2"', '{ name: "hidden_2" trainable: true input: "hidden_1"')
        self.edit('dtype: FLOAT32', '')
        self.edit('name: "iris"', 'name: "flowers" frozen: "hidden_1" matmul_precision: DEFAULT')
        self.edit('learning_rate { constant: 0.1 }', 'learning_rate { constant: 0.2 }')
        flags = ('--set', 'train.input.transform.shuffle.buffer_size=10', '--unset',
                 'train.input.transform.5', '--eval_batch_size=16', '--tf_random_seed=3',
                 '--set', 'evaluate.0.input.transform+={ take { count: 20 } }')
        for verb in ('evaluate', 'predict', 'export'):
            self.expect([], *self.iris(verb, 'model', *flags))
        self.expect([], *self.iris('train', 'model', '--steps=1', '--allow_changed_input', *flags))

    def test_layer_defaults_say_the_same(self):
        self.edit('{ units: 10 activation: RELU }', '{ units: 10 }')
        self.edit('{ units: 10 activation: RELU }', '{ units: 10 }')
        self.edit('{ units: 3 }', '{ units: 3 activation: LINEAR }')
        self.edit('head {', 'layer_defaults { dense { activation: RELU } }\nhead {')
        self.expect([], *self.iris('evaluate', 'model'))

    def test_averages_that_are_not_used(self):
        averages = ('--set', 'model.moving_average={ decay: 0.9 }')
        self.succeed(*self.iris('train', 'averaged', '--max_steps=20', *averages))
        line = 'moving_average: trained with averages, now none'
        for verb in ('evaluate', 'predict', 'export'):
            self.expect([line], *self.iris(verb, 'averaged'))
            self.expect([], *self.iris(verb, 'averaged', *averages))
            self.expect([], *self.iris(verb, 'averaged', '--set', 'model.moving_average.decay=0.5'))
        self.expect([line], *self.iris('train', 'averaged', '--steps=1'))

    def test_averages_that_are_not_there(self):
        before = checkpoint_files(self.path('model/model.ckpt-200'))
        for verb, flags, cure in (
                ('evaluate', (), ' to take the variables as they are'),
                ('predict', (), ' to take the variables as they are'),
                ('export', (), ' to take the variables as they are'),
                ('train', ('--steps=1',), ', or train into another model_dir with warm_start_from '
                                          'this checkpoint')):
            done = self.call(*self.iris(verb, 'model', *flags, '--set',
                                        'model.moving_average={ decay: 0.9 }'))
            self.assertEqual(done.code, 2, str(done))
            [message] = done.messages
            self.assertIn(f'{self.path("model")}/model.ckpt-200 has no moving average of 6 of ',
                          message)
            self.assertTrue(message.endswith(f'(--unset model.moving_average){cure}'), message)
        self.assertFalse({'eval', 'export'} & set(os.listdir(self.path('model'))))
        self.assertEqual(checkpoint_files(self.path('model/model.ckpt-200')), before)

    def test_shapes_that_do_not_fit_are_refused(self):
        done = self.call(*self.iris('evaluate', 'model', '--set',
                                    'model.layer.hidden_1.dense.units=20'))
        self.assertEqual(done.code, 2, str(done))
        self.assertEqual(len(done.messages), 1, str(done))

    def test_the_bytes_do_not_depend_on_how_it_is_written(self):
        self.edit('activation: RELU', 'activation: RELU use_bias: true')
        self.succeed(*self.iris('train', 'again', '--max_steps=200', '--worker_threads=1'))
        self.assertEqual(checkpoint_files(self.path('again/model.ckpt-200')),
                         checkpoint_files(self.path('model/model.ckpt-200')))


class TransformsTest(DriftTest):

    def test_a_forgotten_scale(self):
        scale = ('--set', 'transformation_func.parse.transform.2.cast.scale=0.125')
        self.succeed(*self.digits('train', 'model', '--max_steps=20', *scale))
        line = 'transform cast "image".scale: trained with 0.125, now 0.0625'
        for verb in ('evaluate', 'predict', 'export'):
            self.expect([line], *self.digits(verb, 'model'))
            self.expect([], *self.digits(verb, 'model', *scale))
        self.expect([line], *self.digits('train', 'model', '--steps=1'))

    def test_one_of_training_alone(self):
        alone = ('--set', 'train.input.transform+={ cast { feature: "image" scale: 2 } }')
        self.succeed(*self.digits('train', 'model', '--max_steps=20', *alone))
        self.expect(['transform cast "image" (2): trained with { feature: "image" scale: 2 }, now '
                     'none'], *self.digits('evaluate', 'model'))
        self.expect([], *self.digits('evaluate', 'model', *alone))
        self.expect([], *self.digits('evaluate', 'model', *[
            word.replace('train', 'evaluate.0') for word in alone]))

    def test_words_in_another_order(self):
        write(self.path('words.csv'), ''.join(f'{word},{i % 3}\n' for i in range(20)
                                              for word in ('red', 'green', 'blue')))
        write(self.path('words.txt'), 'red\ngreen\nblue\n')
        write(self.path('words.textproto'), """
            train_batch_size: 8 eval_batch_size: 8 predict_batch_size: 8
            train { max_steps: 5 input { source { text_line { file: "words.csv" } }
                transform { apply { transformation_func: "parse" } } transform { repeat {} } } }
            evaluate { input { source { text_line { file: "words.csv" } }
                transform { apply { transformation_func: "parse" } } } }
            predict { input { source { text_line { file: "words.csv" } }
                transform { apply { transformation_func: "parse" } } } }
            transformation_func { name: "parse"
              transform { decode_csv { column { name: "word" dtype: STRING }
                                       column { name: "y" dtype: INT64 } } }
              transform { lookup { feature: "word" vocabulary_file: "words.txt" } } }
            model {
              feature { name: "word" dtype: INT64 } label { name: "y" dtype: INT64 }
              layer { name: "vector" embedding { input_dim: 3 output_dim: 4 } }
              layer { name: "logits" dense { units: 3 } }
              head { classification { logits: "logits" label: "y" } }
              optimizer { gradient_descent {} learning_rate { constant: 0.1 } } }""")
        words = ('--config=words.textproto', '--model_dir=model')
        self.succeed('train', *words)
        self.expect([], 'evaluate', *words)
        write(self.path('words.txt'), 'green\nred\nblue\n')
        for verb in ('evaluate', 'predict', 'export'):
            done = self.succeed(verb, *words)
            self.assertEqual(len([line for line in done.warnings if line.startswith(
                'transform lookup "word".vocabulary_file: trained with "15 bytes, crc32c 0x')]), 1,
                str(done))


class RightConfigurationTest(DriftTest):
    """With the configuration of its training no checkpoint warns."""

    def records(self):
        """MNIST's files, of noise."""
        write(self.path('mnist.csv'), '\n'.join(
            ','.join(str((row * 31 + pixel * 7) % 256) for pixel in range(784)) + f',{row % 10}'
            for row in range(64)) + '\n')
        for name in ('train', 'test'):
            self.succeed('convert', 'csv', 'mnist.csv', f'--output={name}.tfrecord',
                         '--features=image_raw:bytes:0-783,label:int64:784')
        return ('--train_batch_size=16', '--eval_batch_size=16', '--set',
                'train.input.source.tfrecord.file=train.tfrecord', '--set',
                'evaluate.0.input.source.tfrecord.file=test.tfrecord', '--set',
                'predict.input.source.tfrecord.file=test.tfrecord')

    def test_every_model_of_testdata(self):
        root = os.path.dirname(MNIST)
        found = [name for name in sorted(os.listdir(root))
                 if os.path.exists(os.path.join(root, name, 'run.textproto'))]
        self.assertEqual(found, ['digits', 'iris', 'mnist'])
        for name in found:
            flags = self.records() if name == 'mnist' else ()
            config = (f'--config={root}/{name}/run.textproto', f'--model_dir={name}_model', *flags)
            self.expect([], 'train', *config, '--max_steps=2')
            for verb in ('evaluate', 'predict', 'export'):
                self.expect([], verb, *config)
                self.expect([], verb, f'--model_dir={name}_model')
            self.expect([], 'train', *config, '--max_steps=3')
            self.expect([], 'train', f'--model_dir={name}_model', '--max_steps=4')


class OldCheckpointTest(DriftTest):
    """testdata/old_checkpoint was written before checkpoints said what they were trained with."""

    def setUp(self):
        super().setUp()
        shutil.copytree(OLD, self.path('model'))

    def test_nothing_is_compared(self):
        self.expect([], *self.iris('evaluate', 'model', '--use_tpu=false'))
        self.expect([], *self.iris('predict', 'model', '--set',
                                   'model.layer.hidden_1.dense.activation=TANH'))

    def test_it_is_trained_on_and_has_it_then(self):
        self.expect([], *self.iris('train', 'model', '--max_steps=20', '--allow_changed_input'))
        self.expect(['use_tpu: trained with true, now false'],
                    *self.iris('evaluate', 'model', '--use_tpu=false'))
