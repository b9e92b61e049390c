"""What `completion bash` prints, called as bash calls it: words cut at COMP_WORDBREAKS, the answers
in COMPREPLY. zsh's runs against stand-ins for what its completion system gives it."""
import os
import shutil
import subprocess
import unittest

import program
from program import ProgramTest

# Calls the function of the completion with the words of "$@"; the last one is being written.
CALL = """
source <(tpurun completion bash)
[[ $(complete -p tpurun) == 'complete -F _tpurun tpurun' ]] || exit 3
COMP_WORDS=(tpurun "$@")
COMP_CWORD=$#
_tpurun
printf '%s\\n' "${COMPREPLY[@]}"
"""

ZSH_CALL = """
compdef() { [[ $1 == _tpurun ]] || exit 3; }
compadd() {
  local array=$@[-1]
  print -rl -- ${(P)array}
}
source =(tpurun completion zsh)
words=(tpurun "$@")
CURRENT=$#words
_tpurun
"""


class CompletionTest(ProgramTest):

    def run_shell(self, *arguments):
        folder = self.path('bin')
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, 'tpurun')):
            os.symlink(program.BINARY, os.path.join(folder, 'tpurun'))
        environment = {**os.environ, 'PATH': f'{folder}:{os.environ["PATH"]}'}
        done = subprocess.run(arguments, cwd=self.dir, env=environment, capture_output=True,
                              text=True, timeout=program.TIMEOUT_SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done)
        return [line for line in done.stdout.splitlines() if line]

    def bash(self, *words):
        return self.run_shell('bash', '--norc', '-c', CALL, 'bash', *words)

    def test_verbs_and_flags(self):
        self.assertEqual(self.bash('ev'), ['evaluate'])
        self.assertEqual(self.bash('train', '--max'), ['--max_steps='])
        self.assertEqual(self.bash('help', 'exit_'), ['exit_codes'])
        self.assertEqual(self.bash('init', 'se'), ['series'])
        self.assertEqual(self.bash('nothing', ''), [])

    def test_bash_puts_back_the_part_behind_the_last_cut(self):
        self.assertEqual(self.bash('train', '--config', '=', 'iris/r'), ['iris/run.textproto'])
        self.assertEqual(self.bash('inspect', '--format', '='), ['text', 'json'])
        self.assertEqual(self.bash('train', '--config', '=', 'iris/run.textproto', '--set',
                                   'model.layer.hidden_1.dense.act'),
                         ['model.layer.hidden_1.dense.activation='])
        self.assertEqual(self.bash('train', '--set', 'model.layer.hidden_1.dense.activation', '=',
                                   'TA'), ['TANH'])
        self.assertEqual(self.bash('train', '--set', '=', 'train.max_s'), ['train.max_steps='])
        self.assertEqual(self.bash('train', '--set', 'predict.ke'), ['predict.keys+=', 'predict.keys='])

    def test_elements_of_the_configuration(self):
        self.assertEqual(self.bash('config', '--config', '=', 'iris/run.textproto', '--set',
                                   'model.layer.h'),
                         ['model.layer.hidden_1.', 'model.layer.hidden_2.'])

    def test_names_with_blanks_stay_whole(self):
        os.mkdir(self.path('a folder'))
        program.write(self.path('a folder', 'run.textproto'), '')
        self.assertEqual(self.bash('train', '--config', '=', 'a fol'), ['a folder/'])
        self.assertEqual(self.bash('train', '--config', '=', 'a folder/'), ['a folder/run.textproto'])

    @unittest.skipUnless(shutil.which('zsh'), 'there is no zsh')
    def test_zsh(self):
        def zsh(*words):
            return self.run_shell('zsh', '-f', '-c', ZSH_CALL, 'zsh', *words)

        self.run_shell('zsh', '-f', '-c', 'zsh -n =(tpurun completion zsh)')
        self.assertEqual(zsh('ev'), ['evaluate'])
        self.assertEqual(zsh('train', '--max'), ['--max_steps='])
        self.assertEqual(zsh('inspect', '--format='), ['--format=text', '--format=json'])
        self.assertEqual(zsh('train', '--config=iris/run.textproto', '--set', 'model.layer.h'),
                         ['model.layer.hidden_1.', 'model.layer.hidden_2.'])

    def test_other_shells_are_refused(self):
        done = self.call('completion', 'fish')
        self.assertEqual((done.code, done.out), (2, ''), str(done))
        self.assertEqual(done.messages, ['tpurun: SHELL: got "fish", want bash or zsh'])


if __name__ == '__main__':
    unittest.main()
