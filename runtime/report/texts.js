// Histograms, images, texts.

function caption(entry) {
  return make('figcaption', {}, entry.tag, ' ',
      make('small', {}, swatch(runs[entry.run]), `${runs[entry.run].name}, step ${entry.step}`));
}

function histogramFigure(entry) {
  const [edges, counts] = [entry.edges.map(Number), entry.counts.map(Number)];
  const figure = make('figure', {}, caption(entry));
  const [first, last] = [edges[0], edges[edges.length - 1]];
  if (!(last > first) || ![...edges, ...counts].every(Number.isFinite)) return figure;
  // Buckets differ in width: the height is the count a width, so that the area is the count.
  const narrowest = (last - first) * 1e-3;
  const density = counts.map((count, i) => count / Math.max(edges[i + 1] - edges[i], narrowest));
  const tallest = Math.max(...density, Number.MIN_VALUE);
  const x = (edge) => (edge - first) / (last - first) * 220;
  const bars = density.map((height, i) => makeSvg('rect', {
    x: x(edges[i]), width: Math.max(0.5, x(edges[i + 1]) - x(edges[i])),
    y: 60 - height / tallest * 58, height: height / tallest * 58, fill: runs[entry.run].color}));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const range = `${numberText(first)} to ${numberText(last)}`;
  const baseline = makeSvg('line', {class: 'axis', x1: 0, x2: 220, y1: 60.5, y2: 60.5});
  const label = `${numberText(total)} values, ${range}`;
  figure.append(
      makeSvg('svg', {viewBox: '0 0 220 61', role: 'img', 'aria-label': label}, ...bars, baseline),
      make('small', {}, label));
  return figure;
}

function imageFigure(entry) {
  const alt = `${entry.tag} at step ${entry.step}`;
  return make('figure', {}, caption(entry), make('img', {src: entry.uri, alt}));
}

function inlineCode(text) {
  return text.split(/`([^`]+)`/).map((part, i) => i % 2 ? make('code', {}, part) : part);
}

function tableOf(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  const ruled = lines.length > 1 && cells(lines[1]).every((cell) => /^:?-+:?$/.test(cell));
  const table = make('table');
  lines.filter((_, i) => !(ruled && i === 1)).forEach((line, i) => {
    const kind = ruled && i === 0 ? 'th' : 'td';
    table.append(make('tr', {}, ...cells(line).map((cell) => make(kind, {}, ...inlineCode(cell)))));
  });
  return table;
}

// Markdown's tables, fenced code, headings and paragraphs; everything else stays the text it is.
function markdown(text) {
  const nodes = [];
  const lines = text.split('\n');
  const take = (accept) => {
    const taken = [];
    while (lines.length > 0 && accept(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length > 0) {
    const line = lines[0];
    if (line.startsWith('```')) {
      lines.shift();
      nodes.push(make('pre', {}, take((next) => !next.startsWith('```')).join('\n')));
      lines.shift();
    } else if (line.trim().startsWith('|')) {
      nodes.push(tableOf(take((next) => next.trim().startsWith('|'))));
    } else if (/^#{1,6} /.test(line)) {
      nodes.push(make('h3', {}, ...inlineCode(lines.shift().replace(/^#+ /, ''))));
    } else if (line.trim() === '') {
      lines.shift();
    } else {
      const paragraph = take((next) => next.trim() !== '' && !/^(```|\s*\||#{1,6} )/.test(next));
      nodes.push(make('p', {}, ...inlineCode(paragraph.join('\n'))));
    }
  }
  return nodes;
}

// Longer texts are folded.
const FOLDED_LINES = 12;

// What this run's configuration has and others have not, as the table of the results says.
function differencesOf(row) {
  const {columns, rows, kinds} = data.table;
  return columns.map((name, column) => [name, rows[row][column], kinds[column]])
      .filter(([, value, kind]) => kind === 'hyperparameter' && value !== '');
}

function textFigure(entry) {
  const figure = make('figure', {class: 'text'}, caption(entry));
  const differences = entry.tag === 'run_config' ? differencesOf(runs[entry.run].row) : [];
  if (differences.length > 0) {
    figure.append(make('table', {class: 'differences'}, ...differences.map(([name, value]) =>
      make('tr', {}, make('td', {}, ...breakable(name)), make('td', {class: 'value'}, value)))));
  }
  const lines = entry.markdown.split('\n').length;
  if (lines <= FOLDED_LINES) {
    figure.append(...markdown(entry.markdown));
  } else {
    figure.append(make('details', {}, make('summary', {}, `All ${lines} lines`),
        ...markdown(entry.markdown)));
  }
  return figure;
}
