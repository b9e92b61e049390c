"""Reviews: raw texts to a classifier, as the configuration of testdata/reviews says."""
import json
import os

from program import ProgramTest, checkpoint_files, write

REVIEWS = os.path.abspath('testdata/reviews')
RESAMPLED = ('--set', f"""train.input={{
  source {{ text_line {{ file: "{REVIEWS}/train.csv" header: true }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
  transform {{ rejection_resample {{ feature: "label" target_dist: [1, 3] initial_dist: [1, 1] }} }}
  transform {{ repeat {{}} }}
  transform {{ shuffle {{ buffer_size: 100 }} }}
  transform {{ batch {{ drop_remainder: true }} }}
}}""")


class ReviewsTest(ProgramTest):

    @staticmethod
    def reviews(verb, model_dir, *flags):
        return [verb, f'--config={REVIEWS}/run.textproto', f'--model_dir={model_dir}', *flags]

    def predicted(self, content, *flags):
        """The rows that predict gives of a CSV file with that content."""
        write(self.path('texts.csv'), content)
        done = self.succeed(*self.reviews('predict', 'model', f'--input={self.path("texts.csv")}', *flags))
        return list(map(json.loads, done.out.splitlines()))

    def test_every_seed_learns(self):
        for seed in range(1, 4):
            model_dir = f'seed{seed}'
            self.succeed(*self.reviews('train', model_dir, f'--tf_random_seed={seed}'))
            evaluated = self.result(self.succeed(*self.reviews('evaluate', model_dir)))
            self.assertEqual(evaluated['examples'], 200)
            self.assertGreaterEqual(evaluated['accuracy'], 0.9, f'seed {seed}')

    def test_threads_and_a_restart_change_no_byte(self):
        self.succeed(*self.reviews('train', 'whole', '--max_steps=30', *RESAMPLED,
                                   '--set', 'train.input.num_parallel_calls=1'))
        self.succeed(*self.reviews('train', 'parts', '--max_steps=11', *RESAMPLED,
                                   '--set', 'train.input.num_parallel_calls=5'))
        self.succeed(*self.reviews('train', 'parts', '--max_steps=30', *RESAMPLED))
        whole, parts = (checkpoint_files(self.path(name, 'model.ckpt-30')) for name in ('whole', 'parts'))
        self.assertGreater(len(whole), 1)
        self.assertEqual(whole, parts)

    def test_texts_of_every_kind(self):
        self.succeed(*self.reviews('train', 'model', '--max_steps=100'))
        empty, marks, great, shouted, long = self.predicted(
            b'text\n""\n"?!, ..."\n"great"\n"G-R-E-A-T!!"\n"' + b'great ' * 200000 + b'"\n')
        self.assertEqual(empty['text'], '')
        self.assertEqual(marks['probabilities'], empty['probabilities'])
        self.assertEqual(shouted['probabilities'], great['probabilities'])
        self.assertNotEqual(great['probabilities'], empty['probabilities'])
        self.assertEqual(len(long['text']), 1200000)
        # The 40 first words count.
        self.assertEqual(long['probabilities'], self.predicted('text\n' + 'great ' * 40 + '\n')[0]['probabilities'])

    def test_a_text_that_is_missing_too_long_or_over_two_lines(self):
        self.succeed(*self.reviews('train', 'model', '--max_steps=1'))
        for content, message in (
                ('label\npositive\n', 'texts.csv:1: the header has no column "text"; it names "label"'),
                ('text\n"one\ntwo"\n', 'texts.csv:2: column 1 "text" has a quote that is not closed: a row is one '
                                       'line, a line break within quotes is not read'),
                ('text\nshort\n' + 'x' * (8 << 20) + 'yz\n', 'texts.csv:3: split: feature "text" has 8388610 bytes, '
                                                            'want at most 8388608')):
            write(self.path('texts.csv'), content)
            done = self.call(*self.reviews('predict', 'model', f'--input={self.path("texts.csv")}'))
            self.assertEqual(done.code, 65, str(done))
            self.assertIn(message, done.messages[-1])
