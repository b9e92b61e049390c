"""Golden files with the numbers of the real TensorFlow.

  python tests/interop/make_goldens.py FOLDER

reads the files of testdata that TensorFlow has something to say about, makes their numbers anew and
writes FOLDER/KIND/*.txt; with testdata as FOLDER they are brought up to date. Of a new file or case
one writes all but the numbers. goldens_test compares what is made with testdata.
"""
import functools
import glob
import os
import re
import sys

# Of TensorFlow's kernels for CPUs only these have the gradients of dilated and grouped convolutions.
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '1'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import tensorflow as tf

import golden_case
import init_in_tf
import models_in_tf
import ops_in_tf
import optimizers_in_tf
import transforms_in_tf

SOURCE = f'# Expected numbers: TensorFlow {tf.__version__}, by tests/interop/make_goldens.py.\n'


def cases(told_of):
    return functools.partial(golden_case.filled, told_of=told_of)


KINDS = {
    'clipping': cases(optimizers_in_tf.ClippingInTf),
    'heads': cases(models_in_tf.ModelInTf),
    'init': init_in_tf.filled,
    'layers': cases(models_in_tf.ModelInTf),
    'losses': cases(models_in_tf.ModelInTf),
    'metrics': cases(models_in_tf.ModelInTf),
    'ops': ops_in_tf.filled,
    'optimizers': cases(optimizers_in_tf.OptimizerInTf),
    'schedules': cases(optimizers_in_tf.ScheduleInTf),
    'transforms': transforms_in_tf.filled,
}
# What TensorFlow refuses, and has no op for: tpurun's own sums over cores, memory layouts, fused programs.
# Of labels far from 0 Keras' R2Score, which squares them in float32, has no digit.
ABSENT = {'heads': {'regression_far_from_zero'},
          'metrics': {'confusion_matrix_no_class', 'r2_score_far_from_zero'},
          'ops': {'cross_process_concat', 'cross_process_sum', 'cross_replica_concat', 'cross_replica_sum',
                  'fused', 'fused_rows', 'group_sums', 'histogram', 'max_pool_limits', 'pack', 'row_of_group'}}


def sourced(text):
    """With SOURCE at the end of the comment that a file begins with."""
    head = re.match('(?:#.*\n)*', text)[0]
    if '# Expected numbers: Python' in head:  # of its own datetime and json
        return text
    return re.sub('(?m)^# Expected numbers:.*\n', '', head) + SOURCE + text[len(head):]


def main(folder):
    # Grappler would rewrite each pipeline and function before its only run (models_in_tf.AS_BUILT).
    tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})
    for kind, fill in KINDS.items():
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        for path in sorted(glob.glob(f'testdata/{kind}/*.txt')):
            name = os.path.basename(path)
            if name.removesuffix('.txt') in ABSENT.get(kind, ()):
                continue
            text = fill(path)
            if kind != 'init':  # whose files are data and what init writes, without comments
                text = sourced(text)
            with open(os.path.join(folder, kind, name), 'w', encoding='utf-8') as file:
                file.write(text)


if __name__ == '__main__':
    main(sys.argv[1])
