// A metric over a hyperparameter: one point a run.

const SCATTER_HEIGHT = 300;

// Where the values of a hyperparameter are: numbers at themselves, words next to each other in their
// order.
function scaleOf(cells) {
  const given = cells.filter((cell) => cell !== '');
  if (given.every((cell) => Number.isFinite(toNumber(cell)))) {
    return {words: null, place: toNumber, positive: given.every((cell) => toNumber(cell) > 0)};
  }
  const words = [...new Set(given)].sort((a, b) => a.localeCompare(b, undefined, {numeric: true}));
  return {words, place: (cell) => words.indexOf(cell), positive: false};
}

class Scatter {
  constructor() {
    const {columns, kinds} = data.table;
    const of = (kind) => columns.map((_, column) => column).filter((i) => kinds[i] === kind);
    this.metrics = of('metric').filter((column) => isNumberColumn(column));
    this.hyperparameters = of('hyperparameter');
    this.possible = this.metrics.length > 0 && this.hyperparameters.length > 0;
    this.svg = makeSvg('svg', {tabindex: '0', role: 'img', height: SCATTER_HEIGHT});
    this.readout = make('div', {class: 'readout', role: 'status', hidden: ''});
    this.caption = make('figcaption');
    this.figure = make('figure', {class: 'chart'}, this.caption, this.svg, this.readout);
    this.svg.addEventListener('pointermove', (event) => this.follow(event));
    this.svg.addEventListener('pointerdown', (event) => this.follow(event));
    this.svg.addEventListener('pointerleave', () => this.hide());
    this.svg.addEventListener('blur', () => this.hide());
    this.svg.addEventListener('keydown', (event) => this.move(event));
  }

  // Fills the choices and draws with the first of them: the metric of the order, or one of an
  // evaluation; the hyperparameter with most values.
  connect() {
    const {columns, rows, order, kinds} = data.table;
    const values = (column) => new Set(rows.map((row) => row[column])).size;
    const option = (column) => make('option', {value: column}, columns[column]);
    const [metric, hyperparameter] = [byId('scatter-metric'), byId('scatter-hyperparameter')];
    metric.append(...this.metrics.map(option));
    hyperparameter.append(...this.hyperparameters.map(option));
    const evaluated = this.metrics.find((column) => columns[column].startsWith('eval'));
    const sorted = order && kinds[order.column] === 'metric' ? order.column : undefined;
    metric.value = sorted ?? evaluated ?? this.metrics[0];
    hyperparameter.value =
        this.hyperparameters.reduce((a, b) => values(b) > values(a) ? b : a);
    byId('scatter-log-x').checked = this.spansDecades(Number(hyperparameter.value));
    hyperparameter.addEventListener('change', () => {
      byId('scatter-log-x').checked = this.spansDecades(Number(hyperparameter.value));
      this.draw();
    });
    for (const id of ['scatter-metric', 'scatter-log-x', 'scatter-log-y']) {
      byId(id).addEventListener('change', () => this.draw());
    }
    byId('scatter').append(this.figure);
    new ResizeObserver(() => this.draw()).observe(this.figure);
  }

  spansDecades(column) {
    const cells = data.table.rows.map((row) => row[column]);
    if (!scaleOf(cells).positive) return false;
    const [least, greatest] = extent([cells.filter((cell) => cell !== '').map(toNumber)],
                                     Number.isFinite);
    return greatest >= 20 * least;
  }

  draw() {
    const width = this.svg.clientWidth;
    if (width === 0) return;
    this.hide();
    const metric = Number(byId('scatter-metric').value);
    const hyperparameter = Number(byId('scatter-hyperparameter').value);
    const {columns, rows} = data.table;
    const scale = scaleOf(rows.map((row) => row[hyperparameter]));
    byId('scatter-log-x').disabled = !scale.positive;
    this.logX = byId('scatter-log-x').checked && scale.positive;
    this.logY = byId('scatter-log-y').checked;
    const log = (on, value) => on ? Math.log10(value) : value;
    this.points = rows.map((cells, row) => {
      const [x, y] = [cells[hyperparameter], cells[metric]];
      return {row, name: cells[0], cells: [x, y], x: log(this.logX, scale.place(x)),
              y: isMissing(y) ? NaN : log(this.logY, toNumber(y)), given: x !== ''};
    }).filter(({x, y, given}) => given && Number.isFinite(x) && Number.isFinite(y));
    this.points.sort((a, b) => a.x - b.x || a.row - b.row);
    this.names = [columns[hyperparameter], columns[metric]];
    const title = `${this.names[1]} over ${this.names[0]}`;
    this.caption.textContent = title;
    this.svg.setAttribute('aria-label', `${title}, ${this.points.length} runs. Arrow keys read values.`);
    if (this.points.length === 0) {
      this.svg.replaceChildren(makeSvg('text', {x: width / 2, y: SCATTER_HEIGHT / 2,
                                                'text-anchor': 'middle'}, 'no value to draw'));
      return;
    }
    this.drawPoints(width, scale);
  }

  drawPoints(width, scale) {
    const padded = (values) => {
      const [least, greatest] = extent([values], Number.isFinite);
      const pad = (greatest - least) * 0.06 || Math.abs(least) * 0.1 || 1;
      return [least - pad, greatest + pad];
    };
    const xRange = padded(this.points.map((point) => point.x));
    const yRange = padded(this.points.map((point) => point.y));
    const yTicks = (this.logY ? logTicks : linearTicks)(...yRange, 6, tickText);
    const box = {left: 10 + 6.4 * Math.max(...yTicks.map((tick) => tick.text.length)),
                 right: width - 12, top: 10, bottom: SCATTER_HEIGHT - 42};
    const along = (value, [least, greatest]) => (value - least) / (greatest - least);
    const toX = (x) => box.left + along(x, xRange) * (box.right - box.left);
    const toY = (y) => box.bottom - along(y, yRange) * (box.bottom - box.top);
    const xTicks = this.xTicks(xRange, scale, Math.max(2, Math.floor((box.right - box.left) / 60)));
    const nodes = yTicks.flatMap((tick) => [
      makeSvg('line', {class: 'grid', x1: box.left, x2: box.right, y1: toY(tick.at), y2: toY(tick.at)}),
      makeSvg('text', {x: box.left - 6, y: toY(tick.at) + 3.5, 'text-anchor': 'end'}, tick.text)]);
    for (const tick of xTicks) {
      const x = toX(tick.at);
      nodes.push(makeSvg('line', {class: 'axis', x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4}),
          makeSvg('text', {x, y: box.bottom + 16, 'text-anchor': 'middle'}, tick.text));
    }
    nodes.push(
        makeSvg('line', {class: 'axis', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}),
        makeSvg('text', {x: (box.left + box.right) / 2, y: box.bottom + 34, 'text-anchor': 'middle'},
                this.names[0]));
    this.cursor = makeSvg('g', {'aria-hidden': 'true'});
    for (const point of this.points) [point.px, point.py] = [toX(point.x), toY(point.y)];
    const dots = this.points.map(({row, px, py}) =>
      makeSvg('circle', {class: 'run', cx: px, cy: py, r: 4.5, fill: colorOf(row)}));
    this.svg.replaceChildren(...nodes, this.medians(toX, toY), ...dots, this.cursor);
  }

  xTicks(range, scale, count) {
    if (scale.words === null) {
      return (this.logX ? logTicks : linearTicks)(...range, count, tickText);
    }
    const most = Math.max(4, Math.floor(7 * count / scale.words.length));
    const text = (word) => word.length > most ? word.slice(0, most - 1) + '\u2026' : word;
    return scale.words.map((word, at) => ({at, text: text(word)}))
        .filter(({at}) => at >= range[0] && at <= range[1]);
  }

  // A line through the medians of the runs of each value, for example of several seeds.
  medians(toX, toY) {
    const byX = new Map();
    for (const {x, y} of this.points) byX.set(x, [...(byX.get(x) || []), y]);
    const d = [...byX].map(([x, values], i) =>
      `${i === 0 ? 'M' : 'L'}${toX(x).toFixed(1)} ${toY(median(values)).toFixed(1)}`).join('');
    return makeSvg('path', {class: 'median', d});
  }

  // ---- reading values ----

  follow(event) {
    if (!this.points || this.points.length === 0) return;
    const bounds = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const distance = ({px, py}) => Math.hypot(px - x, py - y);
    this.show(this.points.reduce((a, b) => distance(b) < distance(a) ? b : a));
  }

  move(event) {
    if (event.key === 'Escape') return this.hide();
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
    if (step === undefined || !this.points || this.points.length === 0) return;
    event.preventDefault();
    const last = this.points.length - 1;
    const from = this.read ? this.points.indexOf(this.read) : step > 0 ? -1 : last + 1;
    this.show(this.points[Math.max(0, Math.min(last, from + step))]);
  }

  hide() {
    this.read = null;
    this.readout.hidden = true;
    if (this.cursor) this.cursor.replaceChildren();
  }

  show(point) {
    this.read = point;
    this.cursor.replaceChildren(
        makeSvg('circle', {class: 'cursor-ring', cx: point.px, cy: point.py, r: 7}));
    const line = (name, value) => make('p', {}, `${name}: ${value}`);
    this.readout.replaceChildren(
        make('p', {class: 'name'}, ...breakable(point.name)),
        line(this.names[0], point.cells[0]), line(this.names[1], point.cells[1]));
    this.readout.hidden = false;
    const {offsetWidth: width, offsetHeight: height, style} = this.readout;
    const bounds = this.figure.getBoundingClientRect();
    style.left = `${Math.max(0, Math.min(point.px - width / 2, bounds.width - width))}px`;
    style.top = `${point.py > height + 16 ? point.py - height - 10 : point.py + 16}px`;
  }
}

function fillScatter() {
  const scatter = new Scatter();
  byId('scatter').parentElement.hidden = !scatter.possible;
  if (scatter.possible) scatter.connect();
}
