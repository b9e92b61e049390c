"""The models of models/zoo: each is without mistakes, and trains and evaluates on what is drawn, or text."""
import json
import math
import os
import shutil

from program import ProgramTest, write

ZOO = os.path.abspath('models/zoo')
# kind of `convert synthetic`, size of the images, batch
IMAGES = {
    'fashion_mnist': ('digits', 28, 16),
    'mnist_bn': ('digits', 28, 16),
    'resnet_cifar': ('shapes', 32, 16),
    'resnet_images': ('shapes', 80, 16),
    'resnet50': ('shapes', 224, 8),
    'unet': ('shapes', 32, 16),
}
# What makes each small, and how many characters it writes: more than the transformer's window holds.
TEXTS = {
    'char_transformer': (('--train_batch_size=16', '--set', 'model.layer[3].transformer_block.repeat=1',
                          '--eval_batch_size=8'), 150),
    'shakespeare_lstm': (('--set', 'model.layer_defaults.lstm.units=16'), 40),
}
SENTENCES = ['bert_tiny', 'text_cnn']
ALL = [*IMAGES, *TEXTS, *SENTENCES]


class ZooTest(ProgramTest):

    def config(self, name):
        shutil.copytree(os.path.join(ZOO, name), self.path(name))
        return f'--config={self.path(name, "run.textproto")}'

    def test_every_folder_is_known_here(self):
        folders = sorted(name for name in os.listdir(ZOO) if os.path.isdir(os.path.join(ZOO, name)))
        self.assertEqual(folders, sorted(ALL))

    def test_every_model_is_without_mistakes(self):
        for name in ALL:
            with self.subTest(name):
                done = self.succeed('summary', self.config(name), '--format=json')
                rows = [json.loads(line) for line in done.out.splitlines()]
                model = next(row for row in rows if row['kind'] == 'model')
                self.assertGreater(model['parameters'], 1000)

    def test_small_ones_train_and_evaluate(self):
        more = {'resnet_images': ['--encode=JPEG'], 'unet': ['--masks']}
        for name in ('mnist_bn', 'resnet_cifar', 'resnet_images', 'unet'):
            with self.subTest(name):
                kind, size, batch = IMAGES[name]
                config = self.config(name)
                for file, seed in (('train', 1), ('test', 2)):
                    self.succeed('convert', 'synthetic', kind, '--examples=64', f'--size={size}',
                                 f'--seed={seed}', f'--output={self.path(name, file)}.tfrecord',
                                 *more.get(name, []))
                model_dir = f'--model_dir={self.path(name, "model")}'
                trained = self.succeed('train', config, model_dir, '--max_steps=2',
                                       f'--train_batch_size={batch}', '--unset', 'train.epochs')
                self.assertEqual(json.loads(trained.out)['global_step'], 2)
                evaluated = self.succeed('evaluate', config, model_dir,
                                         f'--eval_batch_size={batch}')
                self.assertEqual(json.loads(evaluated.out)['examples'], 64)

    def evaluated_on_sentences(self, name):
        """The metrics after two steps."""
        config = self.config(name)
        for file, seed in (('train', 1), ('test', 2)):
            self.succeed('convert', 'synthetic', 'sentence_pairs', '--examples=64',
                         f'--seed={seed}', f'--output={self.path(name, file)}.tfrecord')
        model_dir = f'--model_dir={self.path("model")}'
        trained = self.succeed('train', config, model_dir, '--max_steps=2', '--train_batch_size=16')
        self.assertEqual(json.loads(trained.out)['global_step'], 2)
        metrics = json.loads(self.succeed('evaluate', config, model_dir,
                                          '--eval_batch_size=16').out)
        self.assertEqual(metrics['examples'], 64)
        return metrics

    def test_bert_trains_and_evaluates(self):
        metrics = self.evaluated_on_sentences('bert_tiny')
        # A guess yet: of 60 words each is as likely.
        self.assertAlmostEqual(metrics['masked_lm_loss'], math.log(60), delta=0.5)
        self.assertLess(metrics['masked_lm_accuracy'], 0.2)
        self.assertAlmostEqual(metrics['next_sentence_accuracy'], 0.5, delta=0.3)

    def test_the_convolutional_net_of_sentences_trains_and_evaluates(self):
        metrics = self.evaluated_on_sentences('text_cnn')
        # A guess yet.
        self.assertAlmostEqual(metrics['average_loss'], math.log(2), delta=0.3)
        self.assertAlmostEqual(metrics['auc_precision_recall'], 0.5, delta=0.4)
        self.assertAlmostEqual(metrics['f1'] * (metrics['precision'] + metrics['recall']),
                               2 * metrics['precision'] * metrics['recall'])

    def test_those_of_text_train_evaluate_and_write(self):
        for name in TEXTS:
            with self.subTest(name):
                self.check_text(name, *TEXTS[name])

    def check_text(self, name, flags, characters):
        config = self.config(name)
        letters = ''.join(chr(ord('!') + i) for i in range(65))
        write(self.path(name, 'input.txt'), letters * 320)
        flags = (config, f'--model_dir={self.path(name, "model")}', *flags)
        trained = self.succeed('train', *flags, '--max_steps=3')
        self.assertEqual(json.loads(trained.out)['global_step'], 3)
        metrics = json.loads(self.succeed('evaluate', *flags).out)
        self.assertAlmostEqual(metrics['perplexity'], math.exp(metrics['average_loss']), places=3)
        flags += ('--set', 'predict.generate.start_string=!"#', '--set',
                  f'predict.generate.num_generate={characters}')
        text = json.loads(self.succeed('predict', *flags).out)['text']
        self.assertTrue(text.startswith('!"#') and len(text) == 3 + characters, text)
        self.succeed('predict', *flags, f'--output={name}.txt', '--worker_threads=1')
        with open(self.path(f'{name}.txt'), encoding='utf-8') as file:
            self.assertEqual(file.read(), text)
        other = json.loads(self.succeed('predict', *flags, '--tf_random_seed=2').out)['text']
        self.assertNotEqual(other, text)


if __name__ == '__main__':
    import unittest
    unittest.main()
