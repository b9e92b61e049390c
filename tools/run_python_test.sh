#!/bin/bash
# run_python_test.sh [--interop] FILE [ARGUMENT]...: runs a unittest file; --interop, under the
# Python that has TensorFlow.
python=/usr/bin/python3
if [[ $1 == --interop ]]; then
  shift
  python=${TPURUN_INTEROP_PYTHON:-}
  if [[ ! $python ]]; then
    echo "$1 needs TensorFlow: run tools/test, or give --test_env=TPURUN_INTEROP_PYTHON=PYTHON" >&2
    exit 1
  fi
  # As many tests run at a time as there are CPUs. With OpenBLAS' threads scikit_learn_test takes 156 s
  # of processor time instead of 115, and no less time.
  export OPENBLAS_NUM_THREADS=1
fi
exec "$python" tools/unittest_xml.py "$@"
