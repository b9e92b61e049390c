"""tools/bench: tpurun beside PyTorch, Keras, JAX and TPUEstimator, or beside another tpurun.

One program runs at a time, in turn, each started when the machine is quiet or the wait for that is over.
A run that others disturbed is discarded and repeated. The first round tells which peers are so slow that
none of them can be the best; the later rounds leave those out. Figures are medians over the rounds
(smallest..largest). A ratio above 1 says how many times as fast as the best peer tpurun is, whatever
the peer's precision: of the medians, and (smallest..largest) of a round.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import machine
from machine import QUIET_SHARE, Failure
from workloads import FRAMEWORKS, ROOT, WORKLOADS

RESULTS = os.path.join(ROOT, 'tests/bench/results')
README = os.path.join(ROOT, 'tests/bench/README.md')
# Shares of the peak below this one are left out of the table.
LEAST_SHARE = 0.05
TABLES_BEGIN = ('<!-- tools/bench --table: ratios -->\n', '<!-- tools/bench --table: shares -->\n')
TABLE_ENDS = '<!-- the end of the table -->\n'
# A peer below this part of the best one's speed in the first round is left out of the later ones.
HOPEFUL = 0.75
# A machine is slowed if its peak is below this part of the best one that results of it have: other machines
# on the same processor leave no trace in what this one counts.
SLOWED = 0.9
MODES = ('bf16', 'f32')


# --- Rounds ----------------------------------------------------------------------------------------


def once(program, args, runner, folder):
    """One run that was not disturbed, if there is one in so many attempts: the Sample, and how many
    were discarded."""
    for discarded in range(args.attempts):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            sample = program.run(runner, os.path.join(scratch, 'model'))
        disturbed = sample.run.others > QUIET_SHARE
        print(f'{program.name}: {number(sample.value)}, others took {sample.run.others:.1%} of the '
              f'machine ({sample.run.steal:.1%} stolen)', file=sys.stderr)
        if not disturbed:
            break
    return sample, discarded


def best_of(values, less_is_better):
    """The name with the best median."""
    medians = {name: statistics.median(runs) for name, runs in values.items()}
    return (min if less_is_better else max)(medians, key=medians.get)


def hopeful(peers, first, less_is_better):
    """Those that may be the best."""
    if not peers:
        return []
    values = {peer.name: [first[peer.name][0].value] for peer in peers}
    best = values[best_of(values, less_is_better)][0]
    slower = lambda value: value / best if less_is_better else best / value
    return [peer for peer in peers if slower(values[peer.name][0]) * HOPEFUL <= 1]


def measure(workload, args, runner, folder):
    """All rounds: {name of a program: [Sample]}, the programs of tpurun by mode, and how many runs were
    discarded. Every other round is run backwards, so that a machine that drifts favours nobody. A peer
    that fails, because the processor lacks what it needs or it takes too long, is left out."""
    ours, peers = workload.programs(args, folder)
    samples, all_discarded = {}, 0
    for index in range(args.rounds):
        programs = [*ours.values(), *peers]
        for program in programs if index % 2 == 0 else reversed(programs):
            print(f'round {index + 1}: {workload.name}: ', end='', file=sys.stderr)
            try:
                sample, discarded = once(program, args, runner, folder)
            except Failure as failure:
                if program in ours.values():
                    raise
                print(f'{program.name} is left out: {failure}', file=sys.stderr)
                peers = [peer for peer in peers if peer != program]
                samples.pop(program.name, None)
                continue
            samples.setdefault(program.name, []).append(sample)
            all_discarded += discarded
        if index == 0:
            peers = hopeful(peers, samples, workload.less_is_better)
    return samples, ours, all_discarded


# --- Results ---------------------------------------------------------------------------------------


def spread(runs):
    return {'median': statistics.median(runs), 'min': min(runs), 'max': max(runs), 'runs': runs}


def summary(samples):
    """Of the samples of one program."""
    return {**spread([sample.value for sample in samples]),
            'peak_bytes': max(sample.run.peak_bytes for sample in samples),
            'others': max(sample.run.others for sample in samples),
            'steal': max(sample.run.steal for sample in samples)}


def results(workload, samples, ours, discarded):
    """The lines of the JSON output, one a mode of tpurun."""
    names = {program.name for program in ours.values()}
    peers = {name: summary(runs) for name, runs in samples.items() if name not in names}
    for mode, program in ours.items():
        line = {'name': workload.name, 'mode': mode, 'unit': workload.unit,
                'tpurun': summary(samples[program.name]), 'peers': peers, 'discarded': discarded}
        if workload.flops:
            line['flops'] = workload.flops
        full = {name: peer['runs'] for name, peer in peers.items()
                if len(peer['runs']) == len(line['tpurun']['runs'])}
        if full:
            line['best_peer'] = best_of(full, workload.less_is_better)
            best = peers[line['best_peer']]
            faster = lambda tpurun, peer: peer / tpurun if workload.less_is_better else tpurun / peer
            line['ratio'] = spread([faster(*pair) for pair in
                                    zip(line['tpurun']['runs'], best['runs'])])
            line['ratio']['median'] = faster(line['tpurun']['median'], best['median'])
        yield line


def commit():
    """That of the checkout, '' outside of one."""
    done = subprocess.run(['git', '-C', ROOT, 'rev-parse', '--short=10', 'HEAD'], text=True,
                          capture_output=True, check=False)
    return done.stdout.strip()


def settings(args):
    """What limits the programs to the instruction sets asked for."""
    return machine.LIMITS.get(args.instruction_sets, {})


def describe(args):
    """The machine, with its peaks as `profile --quick_test` measures them."""
    of = machine.processor(args.instruction_sets)
    peaks = {'machine_f32_gflops': 0, 'machine_bf16_gflops': 0} if args.no_peaks else json.loads(
        machine.output_of([args.tpurun, 'profile', '--quick_test', '--format=json',
                           f'--worker_threads={args.threads}'],
                          **settings(args)))
    return {**of, 'f32_gflops': peaks['machine_f32_gflops'],
            'bf16_gflops': peaks['machine_bf16_gflops'], 'threads': args.threads,
            'date': time.strftime('%Y-%m-%d'), 'commit': commit()}


def file_of(kind):
    """The file of the results on a kind of machine."""
    return os.path.join(RESULTS, kind.lower().replace(' with ', '_').replace('-', '') + '.json')


def kept_results(kind):
    """{(workload, mode): line} of the results on a kind of machine."""
    if not os.path.exists(file_of(kind)):
        return {}
    with open(file_of(kind), encoding='utf-8') as file:
        return {(line['name'], line['mode']): line for line in map(json.loads, file)}


def slowed(machine_line):
    """What to tell of a machine that is slower than it was when results were kept; '' of another one."""
    peaks = [line['machine']['f32_gflops'] for line in kept_results(machine_line['kind']).values()
             if all(line['machine'][key] == machine_line[key] for key in ('model', 'threads'))]
    now, best = machine_line['f32_gflops'], max(peaks, default=0)
    if now == 0 or now >= SLOWED * best:
        return ''
    return (f'tools/bench: this machine reaches {now:.0f} GFLOP/s of f32, and reached {best:.0f} when its results were '
            f'kept. Others may share its processor: speeds are lower, and ratios uncertain')


def keep(machine_line, lines):
    """Writes the results, beside those of other workloads that are there, one a line."""
    path = file_of(machine_line['kind'])
    kept = kept_results(machine_line['kind'])
    for line in lines:
        kept[line['name'], line['mode']] = {**line, 'machine': machine_line}
    order = {name: place for place, name in enumerate(WORKLOADS)}
    with open(path, 'w', encoding='utf-8') as file:
        for line in sorted(kept.values(), key=lambda line: order.get(line['name'], len(order))):
            file.write(json.dumps(line) + '\n')


# --- Tables ----------------------------------------------------------------------------------------


def number(value):
    """Three digits or more."""
    return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def show(of):
    return f'{number(of["median"])} ({number(of["min"])}..{number(of["max"])})'


def peak_memory(line):
    """That of tpurun, and of its best peer: "22 to 310 MiB"."""
    of = [line['tpurun']]
    if 'best_peer' in line:
        of.append(line['peers'][line['best_peer']])
    return ' to '.join(f'{runs["peak_bytes"] / 2**20:,.0f}' for runs in of) + ' MiB'


def table(lines):
    """The lines of the JSON output, for people."""
    rows = [('', 'mode', 'unit', 'tpurun', 'best peer', 'ratio', 'peak memory')]
    for line in lines:
        best = line.get('best_peer')
        rows.append((line['name'], line['mode'], line['unit'], show(line['tpurun']),
                     f'{best}: {show(line["peers"][best])}' if best else '',
                     show(line['ratio']) if best else '',
                     peak_memory(line)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [' | '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in rows]


def markdown():
    """The tables of README: the ratios, with what they were measured on, and the shares of the peak."""
    by_kind = {kind: kept for _, kind in machine.KINDS if (kept := kept_results(kind))}
    machines = []
    for kind, of in by_kind.items():
        peaks = collections.defaultdict(list)
        for line in of.values():
            on = line['machine']
            peaks[on['model'], on['threads'], on['date'], on['commit']].append(on['f32_gflops'])
        for found, of_found in sorted(peaks.items()):
            between = ' to '.join(dict.fromkeys(f'{peak:.0f}' for peak in (min(of_found), max(of_found))))
            machines.append('- {}: {}, {} threads, {}, commit {}, {} GFLOP/s of f32.\n'.format(kind, *found, between))
    return rows_of(by_kind, lambda line, _: cell(line)) + '\n' + ''.join(machines), rows_of(by_kind, share_of_peak)


def rows_of(by_kind, cell_of):
    """A table: a row a workload and mode, a column a kind of machine that has results.
    cell_of(line, lines of the kind) is a cell, '' if there is nothing to say."""
    rows = [['', *by_kind], ['---'] * (1 + len(by_kind))]
    for name in WORKLOADS:
        for mode in MODES:
            cells = [cell_of(of[name, mode], of.values()) if (name, mode) in of else '' for of in by_kind.values()]
            if any(cells):
                rows.append([f'{name}, {mode}', *cells])
    return ''.join(f'| {" | ".join(row)} |\n' for row in rows)


def cell(line):
    """"2.1 (2.0..2.2): 5,181 to 2,467 of PyTorch bf16", the unit left out."""
    if 'ratio' not in line:
        return f'{number(line["tpurun"]["median"])} {line["unit"]}'
    best = line['best_peer']
    return (f'**{number(line["ratio"]["median"])}** ({number(line["ratio"]["min"])}..'
            f'{number(line["ratio"]["max"])}): {number(line["tpurun"]["median"])} to '
            f'{number(line["peers"][best]["median"])} {line["unit"]} of {best}')


def share_of_peak(line, of_kind):
    """"66 %, Keras f32 69 %; at the peak 1.45": the shares of the machine's peak, the highest that was measured on
    it, and the ratio if tpurun reached all of it. '' where the arithmetic takes next to no time."""
    if 'flops' not in line or 'ratio' not in line:
        return ''
    same = [other['machine'] for other in of_kind
            if all(other['machine'][key] == line['machine'][key] for key in ('model', 'threads'))]
    peak = max(on['bf16_gflops'] if line['mode'] == 'bf16' and on['bf16_gflops'] else on['f32_gflops'] for on in same)
    most = peak * 1e9 / line['flops']  # examples in a second
    if most == 0 or line['tpurun']['median'] < LEAST_SHARE * most:
        return ''
    best = line['peers'][line['best_peer']]['median']
    percent = lambda speed: f'{100 * speed / most:.0f} %'
    return f'{percent(line["tpurun"]["median"])}, {line["best_peer"]} {percent(best)}; at the peak {number(most / best)}'


def write_table():
    with open(README, encoding='utf-8') as file:
        text = file.read()
    for begins, rows in zip(TABLES_BEGIN, markdown()):
        head, rest = text.split(begins)
        _, tail = rest.split(TABLE_ENDS, 1)
        text = head + begins + rows + TABLE_ENDS + tail
    with open(README, 'w', encoding='utf-8') as file:
        file.write(text)


# --- The command line ------------------------------------------------------------------------------


def parse_args(arguments):
    parser = argparse.ArgumentParser(
        prog='tools/bench', formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description='Measures tpurun beside the best of its peers on this machine.')

    def count(text):
        if not text.isdigit() or int(text) < 1:
            raise argparse.ArgumentTypeError(f'got {text}, want a number of at least 1')
        return int(text)

    def some_of(known):
        def names(text):
            named = text.split(',') if text else []
            if unknown := [name for name in named if name not in known]:
                raise argparse.ArgumentTypeError(f'no "{unknown[0]}", there are {", ".join(known)}')
            return named
        return names

    add = parser.add_argument
    add('--workloads', type=some_of(WORKLOADS), default=','.join(WORKLOADS),
        help='which of them, in this order')
    add('--modes', type=some_of(MODES), default=','.join(MODES),
        help="tpurun's: bf16 is --use_tpu=true")
    add('--peers', type=some_of(FRAMEWORKS), default=','.join(FRAMEWORKS), help='which of them')
    add('--rounds', type=count, default=5, help='times that each program runs')
    add('--peer-binary', metavar='TPURUN', help='another tpurun to compare with, instead of the '
        'peers: what a change gained')
    add('--threads', type=count, default=2, help='threads that compute, in every program')
    add('--instruction-sets', choices=machine.LIMITS, help='measure as on a processor that has no newer '
        'ones; a tpurun of its own is built')
    add('--windows', type=count, default=3, help='windows of each training, after one to warm up')
    add('--window-steps', type=count, help="steps of a window, instead of each workload's own")
    add('--process-steps', type=count, help="steps of a whole process, instead of each one's own")
    add('--quiet-wait', type=float, default=60, metavar='SECONDS', help='how long to wait for a '
        'quiet machine before each program')
    add('--limit', type=float, default=180, metavar='SECONDS', help='a peer that takes longer is left '
        'out')
    add('--attempts', type=count, default=3, help='times that a disturbed program runs at most')
    add('--keep', action='store_true', help='keep the results in tests/bench/results, by the kind of '
        'the machine, and write the tables of tests/bench/README.md')
    add('--table', action='store_true', help='measure nothing, write the tables again')
    add('--format', choices=('text', 'json'), default='text', help='a table, or an object a line')
    for option in ('--tpurun', '--pytorch', '--tensorflow', '--jax'):
        add(option, help=argparse.SUPPRESS)  # set by tools/bench
    add('--no-peaks', action='store_true', help=argparse.SUPPRESS)
    add('--print-needs', action='store_true', help=argparse.SUPPRESS)
    add('--print-build', action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def needs(args):
    """Which of the last options' programs a run needs."""
    used = [framework for name in args.workloads for framework in WORKLOADS[name].frameworks
            if framework in args.peers and not args.peer_binary and not args.table]
    return list(dict.fromkeys(FRAMEWORKS[framework].needs for framework in used))


def main():
    args = parse_args(sys.argv[1:])
    if args.print_needs:
        print(*needs(args))
        return 0
    if args.print_build:
        if args.instruction_sets:
            print(f'--config={args.instruction_sets.lower()}')
        return 0
    if args.table:
        write_table()
        return 0
    described = describe(args)
    print('{model}, {kind}, {cpus} CPUs, {f32_gflops:.0f} GFLOP/s of f32 and {bf16_gflops:.0f} of bf16; '
          '{date}, commit {commit}'.format(**described), file=sys.stderr)
    if message := slowed(described):
        print(message, file=sys.stderr)
    runner = machine.Runner(args.quiet_wait, settings(args))
    lines = []
    for name in args.workloads:
        with tempfile.TemporaryDirectory(prefix='tpurun_bench_') as folder:
            lines += results(WORKLOADS[name], *measure(WORKLOADS[name], args, runner, folder))
        if args.keep:
            keep(described, lines)
    if args.keep:
        write_table()
    print(*(map(json.dumps, lines) if args.format == 'json' else table(lines)), sep='\n')
    disturbed = [f'{line["name"]} {line["mode"]}' for line in lines
                 for of in (line['tpurun'], *line['peers'].values()) if of['others'] > QUIET_SHARE]
    if disturbed:
        print(f'tools/bench: in every attempt others took more than {QUIET_SHARE:.0%} of the machine '
              f'while some of these ran: {", ".join(dict.fromkeys(disturbed))}; do not trust them',
              file=sys.stderr)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f'tools/bench: {failure}')
