// The page: reads its data (html_report.cc says how it looks) and fills the sections.

const COLORS = 7;

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const view = {xAxis: 'step', logY: false, smoothing: 0};
const runs = data.runs.map((run, index) => {
  return {...run, index, color: `var(--c${run.row % COLORS})`, shown: true};
});

// ---- reading ----

function undoDifferences(list) {
  let last = 0;
  return list.map((difference) => last += difference);
}

// Relative time is the time since the first event of the training or of its evaluations.
function readCurves() {
  const curves = data.curves.map((curve) => {
    return {tag: curve.tag, run: runs[curve.run], values: curve.values.map(Number),
            x: {step: undoDifferences(curve.steps), wall: undoDifferences(curve.times)}};
  });
  const starts = new Map();
  for (const {run, x} of curves) {
    starts.set(run.row, Math.min(starts.get(run.row) ?? Infinity, x.wall[0]));
  }
  for (const {run, x} of curves) {
    x.relative = x.wall.map((time) => (time - starts.get(run.row)) / 1000);
  }
  return curves;
}

function chartsOf(curves) {
  const byTag = new Map();
  for (const curve of curves) byTag.set(curve.tag, [...(byTag.get(curve.tag) || []), curve]);
  const isRate = (tag) => tag.endsWith('/sec');
  const tags = [...byTag.keys()].sort((a, b) => isRate(a) - isRate(b));
  return tags.map((tag) => new Chart(tag, byTag.get(tag), view));
}

// ---- the table ----

const isLong = (name) => name.length > 20;

// A name that may break behind its dots and slashes.
function breakable(name) {
  return (name.match(/[^./_]*[./_]|[^./_]+/g) || []).flatMap((part) => [part, make('wbr')]);
}

const isMissing = (cell) => cell === '' || cell === 'nan';
const toNumber = (cell) => Number(cell.replace('inf', 'Infinity'));

function isNumberColumn(column) {
  const cells = data.table.rows.map((row) => row[column]).filter((cell) => !isMissing(cell));
  return column > 0 && cells.every((cell) => !Number.isNaN(toNumber(cell)));
}

// Cells without a value come last, whichever way the others go.
function compareCells(a, b, direction) {
  if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
  const [x, y] = [toNumber(a), toNumber(b)];
  const numbers = !Number.isNaN(x) && !Number.isNaN(y);
  return direction * (numbers ? x - y : a.localeCompare(b, undefined, {numeric: true}));
}

function tableRow(cells, index, numbers) {
  const row = make('tr');
  cells.forEach((cell, column) => {
    if (column === 0) {
      const run = {color: `var(--c${index % COLORS})`};
      row.append(make('th', {scope: 'row'}, swatch(run), ...breakable(cell)));
    } else {
      const kind = (numbers[column] ? 'number' : '') + (cell === '' ? ' missing' : '');
      row.append(make('td', {class: kind.trim()}, cell === '' ? '–' : cell));
    }
  });
  return row;
}

function fillTable() {
  const {columns, rows} = data.table;
  const numbers = columns.map((_, column) => isNumberColumn(column));
  const body = make('tbody');
  const lines = rows.map((cells, index) => ({cells, row: tableRow(cells, index, numbers)}));
  body.append(...lines.map((line) => line.row));
  const headings = columns.map((name, column) => {
    const button = make('button', {type: 'button'}, ...(isLong(name) ? breakable(name) : [name]));
    const kind = (numbers[column] ? 'number' : '') + (isLong(name) ? ' long' : '');
    const heading = make('th', {scope: 'col', 'aria-sort': 'none', class: kind.trim()}, button);
    button.addEventListener('click', () => sortBy(column));
    return heading;
  });
  const sortBy = (column) => {
    const ascending = headings[column].getAttribute('aria-sort') !== 'ascending';
    headings.forEach((heading) => heading.setAttribute('aria-sort', 'none'));
    headings[column].setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    lines.sort((a, b) => compareCells(a.cells[column], b.cells[column], ascending ? 1 : -1));
    body.append(...lines.map((line) => line.row));
  };
  byId('results').append(make('table', {}, make('thead', {}, make('tr', {}, ...headings)), body));
}

// ---- runs ----

function highlight(index) {
  for (const node of document.querySelectorAll('[data-run]')) {
    node.classList.toggle('faded', index !== null && Number(node.dataset.run) !== index);
  }
}

function fillRuns(update) {
  const items = runs.map((run) => {
    const box = make('input', {type: 'checkbox'});
    box.checked = true;
    box.addEventListener('change', () => {
      run.shown = box.checked;
      update();
    });
    const label = make('label', {}, box, swatch(run), make('span', {}, ...breakable(run.name)));
    label.addEventListener('pointerenter', () => highlight(run.index));
    label.addEventListener('pointerleave', () => highlight(null));
    return {run, box, item: make('li', {}, label)};
  });
  byId('runs').append(...items.map((entry) => entry.item));
  byId('run-filter').addEventListener('input', (event) => {
    for (const {run, item} of items) item.hidden = !run.name.includes(event.target.value);
  });
  // Those that the search has found.
  const choose = (shown) => {
    for (const {run, box, item} of items) {
      if (!item.hidden) run.shown = box.checked = shown;
    }
    update();
  };
  byId('all-runs').addEventListener('click', () => choose(true));
  byId('no-runs').addEventListener('click', () => choose(false));
}

// ---- charts ----

// Charts are drawn when they come into sight, or all of them for paper.
function showCharts(charts) {
  const visible = new Set();
  const drawSoon = () => requestAnimationFrame(() => {
    for (const chart of visible) if (chart.dirty) chart.draw();
  });
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.find((one) => one.figure === entry.target);
      if (entry.isIntersecting) visible.add(chart); else visible.delete(chart);
    }
    drawSoon();
  }, {rootMargin: '200px'});
  const update = () => {
    for (const chart of charts) chart.dirty = true;
    drawSoon();
  };
  byId('charts').append(...charts.map((chart) => chart.figure));
  for (const chart of charts) sight.observe(chart.figure);
  if (charts.length === 0) {
    byId('charts').append(make('p', {class: 'empty'}, 'These runs have no scalars.'));
  }
  let width = 0;
  new ResizeObserver(() => {
    const now = byId('charts').clientWidth;
    if (now !== width) update();
    width = now;
  }).observe(byId('charts'));
  addEventListener('beforeprint', () => charts.forEach((chart) => chart.draw()));
  return update;
}

function connectControls(charts, update) {
  byId('controls').addEventListener('submit', (event) => event.preventDefault());
  byId('smoothing').addEventListener('input', (event) => {
    view.smoothing = Number(event.target.value);
    byId('smoothing-value').textContent = event.target.value;
    update();
  });
  byId('x-axis').addEventListener('change', (event) => {
    view.xAxis = event.target.value;
    update();
  });
  byId('log-y').addEventListener('change', (event) => {
    view.logY = event.target.checked;
    update();
  });
  byId('tag-filter').addEventListener('input', (event) => {
    for (const chart of charts) chart.figure.hidden = !chart.tag.includes(event.target.value);
  });
}

// ---- profiles ----

// Of a cell such as "1,024" or "12.5%"; NaN if it is no number.
const numberOf = (cell) => Number(cell.replace(/[,%]/g, ''));

// A cell of numbers stands on the right; the last column of shares has a bar behind it.
function profileTable({columns, rows}) {
  const isNumber = columns.map((_, i) => rows.every((row) => !Number.isNaN(numberOf(row[i]))));
  const share = columns.findIndex((name) => name.startsWith('share'));
  const heading = columns.map((name, i) =>
    make('th', {scope: 'col', class: isNumber[i] ? 'number' : ''}, name));
  const lines = rows.map((row) => make('tr', {}, ...row.map((cell, i) => {
    const td = make(i === 0 ? 'th' : 'td', {class: isNumber[i] ? 'number' : ''},
        ...(isNumber[i] ? [cell] : breakable(cell)));
    if (i === 0) td.setAttribute('scope', 'row');
    if (i === share) {
      const part = `${Math.min(100, numberOf(cell))}%`;
      td.style.background = `linear-gradient(to left, var(--line) ${part}, transparent ${part})`;
    }
    return td;
  })));
  return make('div', {class: 'scroll'}, make('table', {},
      make('thead', {}, make('tr', {}, ...heading)), make('tbody', {}, ...lines)));
}

function profileFigure(entry, ...content) {
  const name = make('small', {}, swatch(runs[entry.run]), runs[entry.run].name);
  return make('figure', {class: 'profile'}, make('figcaption', {}, name), ...content);
}

const profileOfRun = (entry) =>
  profileFigure(entry, make('p', {}, entry.text), ...entry.tables.map(profileTable));

// ---- forecasts ----

function forecastOfRun(entry) {
  if (entry.error) return profileFigure(entry, make('p', {class: 'lines'}, entry.error));
  const tables = entry.tables.flatMap((table) =>
    [make('h3', {}, table.title), profileTable(table)]);
  const advice = entry.advice.map((line) => make('li', {}, line));
  if (advice.length > 0) tables.push(make('h3', {}, 'What helps'), make('ul', {}, ...advice));
  return profileFigure(entry, make('p', {class: 'lines'}, entry.verdict.join('\n')), ...tables);
}

function fillForecasts({title, table, runs}) {
  byId('forecasts-heading').textContent = title;
  if (table.rows.length > 1) {
    byId('forecasts').append(make('div', {class: 'profile'}, profileTable(table)));
  }
  fillGallery('forecasts', runs, forecastOfRun);
}

// ---- histograms, images, texts ----

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

function textFigure(entry) {
  return make('figure', {class: 'text'}, caption(entry), ...markdown(entry.markdown));
}

function fillGallery(id, entries, figure) {
  byId(id).append(...entries.map(figure));
  byId(id).parentElement.hidden = entries.length === 0;
}

// ---- all of it ----

function count(number, what) {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function fillPage() {
  const curves = readCurves();
  const charts = chartsOf(curves);
  const points = curves.reduce((sum, curve) => sum + curve.values.length, 0);
  document.title = `${data.title} – tpurun report`;
  byId('title').textContent = data.title;
  const counts = [count(runs.length, 'run'), count(charts.length, 'tag'), count(points, 'point')];
  byId('summary').textContent = counts.join(', ');
  byId('notes').append(...data.notes.map((note) => make('li', {}, note)));
  byId('notes').hidden = data.notes.length === 0;
  fillTable();
  const update = showCharts(charts);
  fillRuns(update);
  connectControls(charts, update);
  fillGallery('profiles', data.profiles, profileOfRun);
  if (data.forecasts) fillForecasts(data.forecasts);
  fillGallery('histograms', data.histograms, histogramFigure);
  fillGallery('images', data.images, imageFigure);
  fillGallery('texts', data.texts, textFigure);
}

fillPage();
