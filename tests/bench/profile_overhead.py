"""What `tpurun profile` costs: the time of its steps divided by that of the steps of `tpurun train`, in pairs.

    python3 tests/bench/profile_overhead.py --tpurun=BINARY --workload=mnist --mode=bf16 --steps=200 --pairs=10"""
import glob
import json
import os
import statistics
import tempfile

import agreement


def seconds_of_train(args, folder):
    """Seconds of a step, of the second of three loops of a training."""
    model, steps = tempfile.mkdtemp(dir=folder), 3 * args.steps
    agreement.run([args.tpurun, 'train', *agreement.options_of(args, folder), f'--model_dir={model}',
                   f'--max_steps={steps}', '--set', f'train.max_steps={steps}', f'--save_checkpoints_steps={steps}',
                   f'--log_step_count_steps={args.steps}',
                   '--set', f'tpu_config.iterations_per_loop="{args.steps}"'])
    (events,) = glob.glob(os.path.join(model, 'events*'))
    values = map(json.loads, agreement.run([args.tpurun, 'inspect', events, '--format=json']).splitlines())
    return 1 / [value['value'] for value in values if value['tag'] == 'global_step/sec'][0]


def seconds_of_profile(args, folder):
    """The same of a profile."""
    printed = agreement.run([args.tpurun, 'profile', *agreement.options_of(args, folder), f'--steps={args.steps}',
                             '--format=json'])
    return json.loads(printed.splitlines()[-1])['step_seconds']


def main():
    parser = agreement.parser_of(__doc__)
    parser.add_argument('--pairs', type=int, default=10)
    args = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(args.pairs):
            measures = [seconds_of_train, seconds_of_profile]
            seconds = {measure: measure(args, folder) for measure in measures[::1 if pair % 2 else -1]}
            ratios.append(seconds[seconds_of_profile] / seconds[seconds_of_train])
    print(f'{args.workload}, {args.mode}, {args.threads} threads: profile / train {statistics.median(ratios):.3f} '
          f'({min(ratios):.3f}..{max(ratios):.3f}), {args.pairs} pairs')


if __name__ == '__main__':
    main()
