"""`init` of tables as people and programs write them: missing values, codes, dates, blank lines."""
import csv
import io
import json
import random
import re
import statistics

from program import ProgramTest, read, write


def csv_text(table, delimiter=','):
    text = io.StringIO()
    csv.writer(text, lineterminator='\n', delimiter=delimiter).writerows(table)
    return text.getvalue()


class InitTablesTest(ProgramTest):

    def init(self, *arguments, output='out'):
        done = self.succeed('init', *arguments, f'--output={output}')
        self.assertEqual(done.warnings, [], str(done))
        return self.result(done), done

    def run_text(self, output='out'):
        return read(self.path(output, 'run.textproto')).decode()

    def train(self, output='out', steps=50):
        self.succeed('train', f'--config={output}/run.textproto', f'--max_steps={steps}')

    def predict(self, text, output='out', keys='probabilities'):
        write(self.path('new'), text)
        done = self.succeed('predict', f'--config={output}/run.textproto', '--input=new', f'--keys={keys}')
        return [json.loads(line)[keys] for line in done.out.splitlines()]

    def test_several_spellings_of_a_missing_value(self):
        draw = random.Random(1)
        spellings = ['NA', '', '?', 'null', '-']
        table = [['x', 'color', 'z', 'y']]
        for number in range(400):
            table.append([spellings[number // 4 % 5] if number % 4 == 0 else draw.randrange(100),
                          draw.choice(['red', 'blue', '?', 'NA']), draw.randrange(9), 'ab'[number % 3 > 0]])
        write(self.path('a.csv'), csv_text(table))
        result, _ = self.init('csv', 'a.csv', '--missing_indicator')
        self.assertEqual(result['features'], ['x', 'color', 'z', 'x_is_missing'])
        text = self.run_text()
        self.assertIn('na_value: ["?", "NA", "null", "-"]', text)
        self.assertIn('vocabulary_list: ["blue", "red"]', text)
        known = [row[0] for i, row in enumerate(table[1:]) if i % 10 != 9 and row[0] not in spellings]
        found = re.search(r'"x" default_value: "(\S+)" missing', text).group(1)
        self.assertAlmostEqual(float(found), statistics.fmean(known), places=3)
        self.train()
        rows = self.predict('x,color,z\n' + ''.join(f'{x},red,3\n' for x in [*spellings, 99]))
        self.assertEqual(rows[:5], [rows[0]] * 5)
        self.assertNotEqual(rows[0], rows[5])
        self.assertEqual(*self.predict('x,color,z\n1,NA,3\n1,-,3\n'))

    def test_zeros_lead_codes_not_numbers(self):
        draw = random.Random(2)
        towns = [f'{draw.randrange(100, 99999):05}' for _ in range(40)] + ['00123']
        table = [['number', 'zip', 'month', 'level', 'kind', 'sold']]
        for number in range(1200):
            town = draw.choice(towns)
            table.append([f'{number:06}', town, f'{draw.randrange(1, 13):02}', f'{draw.randrange(9):02}.5',
                          f'{draw.randrange(-9, 9):03}', 'yes' if towns.index(town) % 2 else 'no'])
        write(self.path('a.csv'), csv_text(table))
        result, done = self.init('csv', 'a.csv')
        self.assertEqual((result['features'], result['left_out']),
                         (['zip', 'month', 'level', 'kind'], ['number']))
        notes = [line for line in done.log if 'taken for codes' in line]
        self.assertEqual(len(notes), 2, str(done))
        self.assertIn('The values of "zip" are taken for codes, not numbers: zeros lead them, as in '
                      '"0', notes[0])
        self.assertIn('--numbers=zip makes numbers of them', notes[0])
        self.assertIn('--numbers=month', notes[1])
        text = self.run_text()
        self.assertIn('column { name: "zip" dtype: STRING }', text)
        self.assertIn('; no numbers, as zeros lead "0', text)
        self.assertIn('"00123"', text)
        self.train(steps=300)
        evaluated = self.result(self.succeed('evaluate', '--config=out/run.textproto'))
        self.assertGreaterEqual(evaluated['accuracy'], 0.95)
        # A town without its zeros is another one, and so unknown.
        head = 'zip,month,level,kind\n'
        self.assertNotEqual(*self.predict(f'{head}00123,01,1,1\n123,01,1,1\n'))
        result, done = self.init('csv', 'a.csv', '--numbers=zip,month', output='numbers')
        self.assertNotIn('taken for codes', str(done.log))
        self.assertNotIn('STRING }', self.run_text('numbers'))
        for flags, message in (
                (['--numbers=sold', '--label=zip'], '--numbers: column "sold" has other values than numbers'),
                (['--numbers=zip', '--ids=zip'], '--numbers: column "zip" is named by --ids too'),
                (['--numbers=zap'], '--numbers: no column is called "zap", did you mean "zip"?')):
            done = self.call('init', 'csv', 'a.csv', '--output=none', *flags)
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(message, done.messages[0])

    def test_numbers_are_of_csv_files(self):
        write(self.path('a.jsonl'), ''.join(f'{{"x":"0{i}","y":{i % 2}}}\n' for i in range(50)))
        done = self.call('init', 'jsonl', 'a.jsonl', '--output=out', '--numbers=x')
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('--numbers is for the texts of CSV files, and not for init jsonl', done.messages[0])

    def test_words_that_count_as_missing_are_told(self):
        rows = [['grade', 'x', 'y'], *([['-', 'A', 'B'][i % 3], ['-', i][i % 4 > 0], i % 2] for i in range(90))]
        write(self.path('a.csv'), csv_text(rows))
        _, done = self.init('csv', 'a.csv')
        self.assertIn('30 values of "grade" are "-", which count as missing, as among the numbers of another column.',
                      done.log)

    def test_a_label_of_codes_is_of_classes(self):
        write(self.path('a.csv'), csv_text([['x', 'y'], *([i % 7, f'{i % 3 * 5:03}'] for i in range(200))]))
        result, _ = self.init('csv', 'a.csv')
        self.assertEqual(result['classes'], 3)
        self.train(steps=10)
        self.assertIn(self.predict('x\n1\n', keys='classes')[0][0], ['000', '005', '010'])
        result, _ = self.init('csv', 'a.csv', '--numbers=y', output='numbers')
        self.assertIn('vocabulary_list: ["0", "5", "10"]', self.run_text('numbers'))

    def test_more_codes_than_a_vocabulary_has(self):
        draw = random.Random(3)
        table = [['zip', 'y'], *([f'{draw.randrange(3000):05}', draw.randrange(2)] for _ in range(9000))]
        write(self.path('a.csv'), csv_text(table))
        self.init('csv', 'a.csv')
        self.assertIn('string_to_hash_bucket_fast { feature: "zip" num_buckets: 1024 }', self.run_text())

    def test_complete_columns_that_new_rows_lack(self):
        draw = random.Random(6)
        kinds = ['red', 'blue']
        rows = [[draw.randrange(100), draw.choice(kinds), f'2023-0{draw.randrange(1, 9)}-11',
                 f'{draw.randrange(1, 9)},000', draw.randrange(2)] for _ in range(300)]
        head = ['x', 'color', 'day', 'price', 'y']
        write(self.path('a.csv'), csv_text([head, *rows]))
        write(self.path('a.jsonl'), ''.join(json.dumps(dict(zip(head, row))) + '\n' for row in rows))
        self.init('csv', 'a.csv')
        self.train(steps=10)
        advice = ': leave the row out, or add one'
        for row, message, such in (
                (',red,2023-01-11,"1,000"', 'new:3: column 1 "x": the field is empty and has no default_value',
                 ', such as the mean in training'),
                ('1,,2023-01-11,"1,000"', 'new:3: column 2 "color": the field is empty and has no default_value', '')):
            write(self.path('new'), 'x,color,day,price\n1,red,2023-01-11,"1,000"\n' + row + '\n')
            done = self.call('predict', '--config=out/run.textproto', '--input=new')
            self.assertEqual((done.code, done.messages), (65, [f'tpurun: {message}{advice}{such}']))
        self.init('csv', 'a.csv', '--impute', output='imputed')
        self.train('imputed', steps=10)
        text = self.run_text('imputed')
        known = [row[0] for i, row in enumerate(rows) if i % 10 != 9]
        mean = re.search(r'"x" default_value: "(\S+)" }', text).group(1)
        self.assertAlmostEqual(float(mean), statistics.fmean(known), places=3)
        got = self.predict(f'x,color,day,price\n,,,\n{mean},green,,\n1,red,2023-01-11,"1,000"\n', 'imputed')
        self.assertEqual(got[0], got[1])
        self.assertNotEqual(got[0], got[2])
        self.init('jsonl', 'a.jsonl', '--impute', output='json')
        self.train('json', steps=10)
        self.assertEqual(*self.predict('{}\n{"x": null}\n', 'json'))

    def test_dates_of_many_forms(self):
        draw = random.Random(4)
        forms = {'short': '{m:02}/{d:02}/{y2:02}', 'swapped': '{d:02}/{m:02}/{y2:02}',
                 'named': '{d:02} {name} {y}', 'american': '{name} {d}, {y}',
                 'clock': '{m}/{d}/{y} {h}:{d:02} {noon}', 'month': '{y}-{m:02}'}
        table = [[*forms, 'y']]

        def row(y, m, d):
            named = {'y': y, 'y2': y % 100, 'm': m, 'd': d, 'h': d % 12 + 1, 'noon': ['AM', 'PM'][d % 2],
                     'name': 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()[m - 1]}
            return [form.format(**named) for form in forms.values()]
        for _ in range(600):
            y, m, d = draw.randrange(2019, 2024), draw.randrange(1, 13), draw.randrange(1, 29)
            table.append([*row(y, m, d), 'yes' if m < 7 else 'no'])
        write(self.path('a.csv'), csv_text(table))
        result, done = self.init('csv', 'a.csv')
        want = [f'{name}_{part}' for name in forms for part in ('days', 'month', 'day_of_week', 'hour')
                if (name, part) != ('month', 'day_of_week') and (part != 'hour' or name == 'clock')]
        self.assertEqual(result['features'], want)
        text = self.run_text()
        for form in '%m/%d/%y', '%d/%m/%y', '%d %b %Y', '%b %d, %Y', '%m/%d/%Y %I:%M %p', '%Y-%m':
            self.assertIn(f'format: "{form}"', text)
        self.train(steps=300)
        new = [list(forms), row(2022, 2, 3), row(2022, 11, 20)]
        self.assertEqual(self.predict(csv_text(new), keys='classes'), [['yes'], ['no']])
        write(self.path('few.csv'), 'day,y\n' + ''.join(
            f'{1 + i % 12}/{1 + i % 11}/{20 + i % 3},{"ab"[i % 2]}\n' for i in range(60)))
        _, done = self.init('csv', 'few.csv', output='few')
        self.assertIn('"day": the month is taken to come before the day; run.textproto has the format.',
                      ' '.join(done.log))

    def test_what_numbers_lose_is_warned_of(self):
        rows = [[f'{"$€"[i % 2]}{i * 7 % 50}', f'2024{i * 5 % 12 + 1:02}{i * 7 % 28 + 1:02}',
                 1700000000 + i * 37 % 101, 'ab'[i % 3 == 0]] for i in range(60)]
        write(self.path('a.csv'), csv_text([['price', 'day', 'sent', 'y'], *rows]))
        done = self.succeed('init', 'csv', 'a.csv', '--output=out')
        self.assertEqual([re.split('[;,]', warning)[0] for warning in done.warnings], [
            '"price": "$" and "€" are read alike',
            f'"day": dates such as {max(row[1] for row in rows)} are numbers to the model',
            f'"sent": integers up to {max(row[2] for row in rows)} are rounded to multiples of 128'], str(done))
        # As ids and with the dates as people write them there is nothing to lose.
        write(self.path('b.csv'), csv_text([['day', 'sent', 'y'], *(
            [f'{day[:4]}-{day[4:6]}-{day[6:]}', sent, y] for _, day, sent, y in rows)]))
        self.init('csv', 'b.csv', '--ids=sent', output='ids')
        write(self.path('a.jsonl'), ''.join(f'{{"x":{i % 7},"y":{2 ** 24 + 1 + i * 7 % 60}}}\n' for i in range(60)))
        done = self.succeed('init', 'jsonl', 'a.jsonl', '--output=json')
        self.assertIn('label "y": integers up to 16777276 are rounded to multiples of 2', done.warnings[0])
        # Of integers far apart nothing is lost.
        write(self.path('c.csv'), csv_text([['x', 'y'], *([i * 4096 + 2 ** 25, 'ab'[i % 3 == 0]] for i in range(60))]))
        self.init('csv', 'c.csv', output='apart')

    def test_a_class_that_the_model_does_not_know(self):
        write(self.path('a.csv'), csv_text([['x', 'y'], *([i % 7, 2 * (i % 7 > 3) - 1] for i in range(60))]))
        self.init('csv', 'a.csv')
        self.train(steps=10)
        write(self.path('b.csv'), 'x,y\n1,-1\n2,0\n')
        done = self.call('evaluate', '--config=out/run.textproto', '--input=b.csv')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: b.csv:3: label "y" is 0, which is not in the vocabulary of its lookup (known: -1, 1)']))

    def test_elements_of_json_arrays_have_scales_of_their_own(self):
        draw = random.Random(7)
        arrays = [[draw.random() * 1e6, draw.random()] for _ in range(100)]
        text = ''.join(json.dumps({'v': array, 'y': array[1] > 0.5}) + '\n' for array in arrays)
        write(self.path('a.jsonl'), text)
        write(self.path('b.jsonl'), text[:text.rindex('{')])
        self.init('jsonl', 'a.jsonl', '--eval=b.jsonl')
        scales = re.search(r'feature: "v"\s+mean: \[(.*?)\]\s+stddev: \[(.*?)\]', self.run_text(), re.S)
        for text, statistic in zip(scales.groups(), (statistics.fmean, statistics.pstdev)):
            for got, column in zip(map(float, text.split(',')), zip(*arrays), strict=True):
                self.assertAlmostEqual(got / statistic(column), 1, places=5)

    def test_texts_of_another_encoding(self):
        rows = [['schön' if i % 2 else 'schän', 'gut' if i % 3 else 'schlecht'] for i in range(60)]
        text = csv_text([['wort', 'y'], *rows])
        write(self.path('a.csv'), text.encode('latin-1'))
        done = self.call('init', 'csv', 'a.csv', '--output=out')
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertRegex(done.messages[0], 'a.csv:2: "wort" is not UTF-8: iconv -f ISO-8859-1')
        write(self.path('a.csv'), text.encode())
        self.init('csv', 'a.csv')

    def test_a_title_twice_is_warned_of(self):
        write(self.path('a.csv'), csv_text([['x', 'x', 'y'], *(
            [i * 7 % 11, i * 5 % 13, 'ab'[i % 3 == 0]] for i in range(60))]))
        done = self.succeed('init', 'csv', 'a.csv', '--output=out')
        self.assertEqual(done.warnings, ['The header has "x" twice: columns are found by their place, and '
                                         'every file must have them in this order.'])

    def test_blank_lines_are_no_rows(self):
        draw = random.Random(5)
        rows = [[draw.randrange(50), draw.choice(['u', 'v'])] for _ in range(60)]
        lines = [f'{x},{y}\n' for x, y in rows]
        objects = [json.dumps({'x': x, 'y': y}) + '\n' for x, y in rows]
        for name, kind, head, items in (('a', 'csv', 'x,y\n', lines), ('a', 'jsonl', '', objects),
                                        ('bare', 'csv', '', lines)):
            results = []
            for blanks in '', '\n  \n':
                write(self.path(f'{name}.{kind}'), blanks + head + blanks.join(items) + blanks)
                output = f'{name}.{kind}.{len(blanks)}'
                result, _ = self.init(kind, f'{name}.{kind}', output=output)
                self.assertEqual((result['train_examples'], result['eval_examples']), (54, 6))
                self.train(output, 20)
                evaluated = self.result(self.succeed('evaluate', f'--config={output}/run.textproto'))
                results.append([evaluated['loss'], evaluated['examples'], self.run_text(output)])
            self.assertEqual(*results)
        # Line 4 of what is read is line 6.
        config = 'a.csv.0/run.textproto'
        write(self.path('new'), 'x\n\n1\n2\n \nword\n')
        done = self.call('predict', f'--config={config}', '--input=new')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: new:6: column 1 "x": want FLOAT32, got "word"']))
        write(self.path('new'), '{"x": 1}\n\n\n{"x": "word"}\n')
        done = self.call('predict', '--config=a.jsonl.0/run.textproto', '--input=new')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: new:4: feature "x": want FLOAT32, got a string']))
        write(self.path('bad.csv'), 'x,y\n1,u\n\n2,v,3\n')
        done = self.call('init', 'csv', 'bad.csv', '--output=bad')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: bad.csv:4: got 3 columns, want 2 as in the first row']))
        write(self.path('other.csv'), '\n' + 'x,y\n' + ''.join(lines))
        write(self.path('a.csv'), 'x,y\n' + ''.join(lines))
        done = self.call('init', 'csv', 'a.csv', 'other.csv', '--output=bad')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: other.csv:2: the header is in this line, want line 1 as in the first file']))

    def test_ids_beyond_int64_are_left_out(self):
        for first, left_out in (10 ** 18, []), (2 ** 64, ['u']):
            write(self.path('ids'), ''.join(
                f'{{"u": {first + i % 4}, "x": {i * 7 % 40}.5, "y": "{i % 2}a"}}\n' for i in range(40)))
            result, _ = self.init('jsonl', 'ids', '--label=y', '--ids=u', output=f'of_{first}')
            self.assertEqual(result['left_out'], left_out)

    def test_delimiters(self):
        write(self.path('a'), 'x;y\n1,5;0\n2,5;1\n')
        features = '--features=x:string:0,y:int64:1'
        done = self.call('convert', 'csv', 'a', features, '--skip_lines=1', '--output=b')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: a:2: column 1: want an integer for feature "y", got "5;0"']))
        done = self.call('convert', 'csv', 'a', features, '--output=b')
        self.assertEqual((done.code, done.messages), (65, [
            'tpurun: a:1: got 1 columns, want column 1 (from 0) for feature "y"; --delimiter=";" '
            'separates the columns where the row has it']))
        write(self.path('tabs'), 'x\ty\n1,5\t0\n2,5\t1\n')
        for name, delimiter in ('a', ';'), ('tabs', 'tab'), ('tabs', '\t'):
            self.succeed('convert', 'csv', name, features, '--skip_lines=1', '--output=b',
                         f'--delimiter={delimiter}')
            shown = self.succeed('inspect', 'b', '--limit=2', '--format=json')
            values = [json.loads(line).get('values') for line in shown.out.splitlines()]
            self.assertIn({'x': ['2,5'], 'y': [1]}, values)
        # Without a header the first line has a comma, which is a decimal one.
        write(self.path('c'), ''.join(f'{i % 7},5;{i % 9},25;{"ab"[i % 2]}\n' for i in range(60)))
        result, _ = self.init('csv', 'c', '--delimiter=;')
        self.assertEqual(result['features'], ['column_1', 'column_2'])
        self.assertIn('field_delim: ";"', self.run_text())
        for arguments, message in (
                (['init', 'csv', 'c', '--delimiter=ab'],
                 '--delimiter: want one character, such as \';\', or tab, got "ab"'),
                (['init', 'csv', 'c', '--delimiter='], 'or tab, got ""'),
                (['init', 'jsonl', 'c', '--delimiter=;'],
                 '--delimiter is for the columns of CSV files, and not for init jsonl'),
                (['convert', 'text', 'c', '--delimiter=;'], '--delimiter is for convert csv, got convert text')):
            done = self.call(*arguments, '--output=none')
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(message, done.messages[0])
