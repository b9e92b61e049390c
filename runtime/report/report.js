// The page: reads its data (html_report.cc says how it looks) and fills the sections.

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const view = {xAxis: 'step', logX: false, logY: false, smoothing: 0, outliers: false, xOf};
const runs = data.runs.map((run, index) => {
  return {...run, index, color: colorOf(run.row), dashes: dashesOf(run.row, run.evaluation),
          shown: true};
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

// The loss, what evaluations have, what only trainings have, and rates.
function chartsOf(curves) {
  const byTag = new Map();
  for (const curve of curves) byTag.set(curve.tag, [...(byTag.get(curve.tag) || []), curve]);
  const group = (tag) => tag === 'loss' ? 0 : tag.endsWith('/sec') ? 3 :
                         byTag.get(tag).some((curve) => curve.run.evaluation) ? 1 : 2;
  const tags = [...byTag.keys()].sort((a, b) => group(a) - group(b));
  return tags.map((tag) => new Chart(tag, byTag.get(tag), view));
}

// ---- a tag as the axis of x ----

// The curve of a tag that an axis shows for the runs of a row: that of the training.
const axisCurves = new Map();

function fillAxes(curves) {
  for (const curve of curves) {
    if (!curve.run.evaluation) axisCurves.set(`${curve.run.row} ${curve.tag}`, curve);
  }
  const tags = [...new Set(curves.filter((curve) => !curve.run.evaluation).map(({tag}) => tag))];
  byId('x-axis').append(...tags.map((tag) => make('option', {value: TAG_AXIS + tag}, tag)));
}

// Where the values of a curve are: of a tag's axis at the value that the tag had at the nearest step.
function xOf(curve) {
  if (view.xAxis in curve.x) return curve.x[view.xAxis];
  const tag = axisCurves.get(`${curve.run.row} ${view.xAxis.slice(TAG_AXIS.length)}`);
  curve.x[view.xAxis] = curve.x.step.map(
      (step) => tag ? tag.values[nearestIndex(tag.x.step, step)] : NaN);
  return curve.x[view.xAxis];
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
  for (const [id, key] of [['log-x', 'logX'], ['log-y', 'logY'], ['outliers', 'outliers']]) {
    byId(id).addEventListener('change', (event) => {
      view[key] = event.target.checked;
      update();
    });
  }
  byId('tag-filter').addEventListener('input', (event) => {
    for (const chart of charts) chart.figure.hidden = !chart.tag.includes(event.target.value);
  });
}

// ---- models ----

const MOST_NAMES = 6;

// The runs that have a model, if there are others.
function namesOf(model) {
  if (data.models.length === 1) return [];
  const names = model.runs.map((row) => data.table.rows[row][0]);
  const more = names.length - MOST_NAMES;
  return [make('p', {}, names.slice(0, MOST_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : ''))];
}

function modelFigure(model) {
  const table = profileTable(model);
  table.classList.add('layers');
  return make('figure', {class: 'profile'}, make('figcaption', {}, model.title || 'Layers'),
      ...namesOf(model), table, make('p', {}, model.totals.join('. ') + '.'));
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
  const counts = [count(data.table.rows.length, 'run'), count(charts.length, 'tag'), count(points, 'point')];
  byId('summary').textContent = counts.join(', ');
  byId('notes').append(...data.notes.map((note) => make('li', {}, note)));
  byId('notes').hidden = data.notes.length === 0;
  fillTable();
  fillScatter();
  fillAxes(curves);
  const update = showCharts(charts);
  fillRuns(update);
  connectControls(charts, update);
  fillGallery('models', data.models, modelFigure);
  fillGallery('profiles', data.profiles, profileOfRun);
  if (data.forecasts) fillForecasts(data.forecasts);
  fillGallery('histograms', data.histograms, histogramFigure);
  fillGallery('images', data.images, imageFigure);
  fillGallery('texts', data.texts, textFigure);
}

fillPage();
