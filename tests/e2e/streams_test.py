"""Pipes and names in place of files: a configuration from standard input, records on standard output,
paths with a scheme."""
import os
import subprocess

from program import BINARY, ProgramTest, read, tree, write


class StreamsTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'model', '--max_steps=5'))
        # Its relative names are those of the working directory.
        text = read(self.path('iris/run.textproto')).decode()
        self.text = text.replace('file: "', 'file: "iris/').encode()
        self.want = self.succeed(*self.iris('evaluate', 'model')).out

    def test_a_configuration_from_standard_input(self):
        for name in '-', '/dev/stdin':
            done = self.succeed('evaluate', f'--config={name}', '--model_dir=model', given=self.text)
            self.assertEqual(done.out, self.want)
        self.assertIn('Configuration: standard input',
                      self.succeed('predict', '--config=-', '--model_dir=model', given=self.text).err)
        # /dev/stdin may be a file.
        write(self.path('moved.textproto'), self.text)
        with open(self.path('moved.textproto'), 'rb') as file:
            done = self.succeed('evaluate', '--config=/dev/stdin', '--model_dir=model', stdin=file)
        self.assertEqual(done.out, self.want)

    def test_a_configuration_from_a_command(self):
        write(self.path('moved.textproto'), self.text)
        done = subprocess.run(
            ['bash', '-c', f'"{BINARY}" evaluate --config=<(cat moved.textproto) --model_dir=model'],
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode(), self.want)

    def test_records_on_standard_output(self):
        for flags in [], ['--compression=GZIP']:
            arguments = ('convert', 'csv', 'iris/iris_training.csv', '--skip_lines=1',
                         '--features=x:float:0-3,y:int64:4', *flags)
            self.succeed(*arguments, '--output=file')
            before = tree(self.dir)
            with open(self.path('piped'), 'wb') as file:
                done = self.succeed(*arguments, '--output=-', stdout=file)
            self.assertEqual(read(self.path('piped')), read(self.path('file')))
            self.assertIn('Wrote 120 records to standard output.', done.log)
            os.remove(self.path('piped'))
            self.assertEqual(tree(self.dir), before)
        # Whoever reads may have enough.
        process = self.start('convert', 'synthetic', 'shapes', '--examples=10000', '--output=-')
        self.assertEqual(len(process.stdout.read(100)), 100)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(process.stderr.read(), b'')
        done = self.call('convert', 'synthetic', 'shapes', '--examples=4', '--shards=2', '--output=-')
        self.assertEqual((done.code, done.messages),
                         (2, ['tpurun: --shards: got 2, want 1 for --output=-']))

    def test_the_scheme_of_files_is_left_out(self):
        done = self.succeed('evaluate', f'--config=file://{self.path("iris/run.textproto")}',
                            f'--model_dir=file://localhost{self.path("model")}')
        self.assertEqual(done.out, self.want)
        # Without --config the model_dir has it.
        self.succeed('evaluate', f'--model_dir=file://{self.path("model")}')
        model = f'file://{self.path("iris/model.textproto")}'
        self.assertEqual(self.succeed(*self.iris('evaluate', 'model', f'--model={model}')).out, self.want)
        text = read(self.path('iris/run.textproto')).decode()
        write(self.path('iris/run.textproto'),
              text.replace('file: "', f'file: "file://{self.path("iris")}/'))
        self.assertIn('file: "file:///', read(self.path('iris/run.textproto')).decode())
        self.assertEqual(self.succeed(*self.iris('evaluate', 'model')).out, self.want)
        self.succeed('inspect', f'file://{self.path("model")}')
        self.assertEqual(sorted(os.listdir(self.dir)), ['iris', 'model'])
