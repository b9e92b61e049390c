// ---- curves ----

// An exponential moving average that starts without a bias to 0, as TensorBoard's: with weight w,
// a_i = w a_(i-1) + (1 - w) v_i, divided by 1 - w^i. Values that are not finite pass through.
function smooth(values, weight) {
  if (weight === 0) return values;
  let average = 0;
  let count = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    average = weight * average + (1 - weight) * value;
    return average / (1 - weight ** ++count);
  });
}

// The index of the value of a list that is nearest to x.
function nearestOfAny(list, x) {
  let best = 0;
  let least = Infinity;
  list.forEach((value, i) => {
    const distance = Math.abs(value - x);
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

// The same for a list that rises.
function nearestIndex(list, x) {
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - list[low - 1] < list[low] - x ? low - 1 : low;
}

const CHART_HEIGHT = 230;
// What is larger has no place on an axis whose ends must have a finite distance.
const LARGEST = 1e300;
const READOUT_ROWS = 10;
// Behind more smoothed curves than these, what was logged is not drawn: it would be one grey band.
const RAW_CURVES = 20;

let chartsMade = 0;

// One tag's curves. A curve is {run, x: {step, relative, wall}, values}; a run {name, color, dashes,
// evaluation, shown}; `view`, shared by all charts, {xAxis, logX, logY, smoothing, outliers}, which
// gives xOf(curve), the places of a curve's values on the axis of x.
class Chart {
  constructor(tag, curves, view) {
    this.tag = tag;
    this.curves = curves;
    this.view = view;
    this.dirty = true;
    this.svg = makeSvg('svg', {tabindex: '0', role: 'img', height: CHART_HEIGHT});
    this.readout = make('div', {class: 'readout', role: 'status', hidden: ''});
    this.outside = make('small', {class: 'outside', hidden: ''});
    this.clip = `clip-${++chartsMade}`;
    const caption = make('figcaption', {}, tag);
    this.figure = make('figure', {class: 'chart'}, caption, this.svg, this.outside, this.readout);
    this.svg.addEventListener('pointermove', (event) => this.follow(event));
    this.svg.addEventListener('pointerdown', (event) => this.follow(event));
    this.svg.addEventListener('pointerleave', () => this.hideCursor());
    this.svg.addEventListener('blur', () => this.hideCursor());
    this.svg.addEventListener('keydown', (event) => this.moveCursor(event));
  }

  shownCurves() {
    return this.curves.filter((curve) => curve.run.shown);
  }

  draw() {
    const width = this.svg.clientWidth;
    if (width === 0) return;
    this.dirty = false;
    this.hideCursor();
    this.prepare();
    this.svg.setAttribute('aria-label', this.description());
    if (!(this.yRange[0] <= this.yRange[1])) return this.drawEmpty(width);
    const yTicks = (this.view.logY ? logTicks : linearTicks)(...this.yRange, 6, tickText);
    this.scale(10 + 6.4 * Math.max(...yTicks.map((tick) => tick.text.length)), width - 8);
    this.cursorGroup = makeSvg('g', {'aria-hidden': 'true'});
    const lines = this.lines.flatMap((line) => this.drawLine(line));
    const {left, top} = this.box;
    const frame = makeSvg('clipPath', {id: this.clip}, makeSvg('rect', {
      x: left - 4, y: top - 4, width: this.box.right - left + 8,
      height: this.box.bottom - top + 4}));
    this.svg.replaceChildren(frame, ...this.drawAxes(yTicks),
        makeSvg('g', {'clip-path': `url(#${this.clip})`}, ...lines), this.cursorGroup);
    this.outside.hidden = !this.cutsOff;
    this.outside.textContent = this.cutsOff ? 'Outliers are outside' : '';
  }

  // The lines to draw and their ranges, that of the values in logarithms where the axis is one.
  prepare() {
    const {logY, smoothing} = this.view;
    this.axis = xAxisOf(this.view.xAxis);
    this.logX = this.view.logX && this.axis.tick !== undefined;
    this.nearest = this.view.xAxis.startsWith(TAG_AXIS) ? nearestOfAny : nearestIndex;
    this.lines = this.shownCurves().map((curve) => {
      return {curve, x: this.view.xOf(curve), raw: curve.values,
              y: smooth(curve.values, smoothing)};
    });
    this.acceptX = (x) => Number.isFinite(x) && (!this.logX || x > 0);
    this.showsRaw = smoothing > 0 && this.lines.length <= RAW_CURVES;
    const lowest = logY ? Number.MIN_VALUE : -LARGEST;
    this.accept = (value) => value >= lowest && value <= LARGEST;
    this.xRange = extent(this.lines.map((line) => line.x), this.acceptX)
        .map((x) => this.logX ? Math.log10(x) : x);
    const drawn = this.lines.map((line) => (this.showsRaw ? line.raw : line.y)
        .filter((value, i) => this.accept(value) && this.acceptX(line.x[i]))
        .map((value) => logY ? Math.log10(value) : value));
    const full = extent(drawn, Number.isFinite);
    const [least, greatest] = this.view.outliers ? full : robustRange(drawn);
    this.cutsOff = least > full[0] || greatest < full[1];
    const pad = (greatest - least) * 0.04 || Math.abs(least) * 0.1 || 1;
    this.yRange = [least - pad, greatest + pad];
  }

  // From values to pixels.
  scale(left, right) {
    const box = {left, right, top: 8, bottom: CHART_HEIGHT - 24};
    const [first, last] = this.xRange;
    const [least, greatest] = this.yRange;
    const {logY} = this.view;
    const up = (box.bottom - box.top) / (greatest - least);
    const across = last > first ? (right - left) / (last - first) : 0;
    this.box = box;
    const place = (x) => across > 0 ? left + (x - first) * across : (left + right) / 2;
    const value = (pixel) => across > 0 ? first + (pixel - left) / across : first;
    this.toX = (x) => place(this.logX ? Math.log10(x) : x);
    this.fromX = (pixel) => this.logX ? 10 ** value(pixel) : value(pixel);
    this.toY = (y) => box.bottom - ((logY ? Math.log10(y) : y) - least) * up;
  }

  drawEmpty(width) {
    this.lines = [];
    const text = this.shownCurves().length === 0 ? 'no run is chosen' : 'no value to draw';
    this.svg.replaceChildren(
        makeSvg('text', {x: width / 2, y: CHART_HEIGHT / 2, 'text-anchor': 'middle'}, text));
  }

  description() {
    const last = this.lines.slice(0, READOUT_ROWS).map(
        (line) => `${line.curve.run.name} ends at ${numberText(line.raw[line.raw.length - 1])}`);
    return `Chart of ${this.tag}, ${this.lines.length} curves. ${last.join('; ')}. ` +
        'Arrow keys read values.';
  }

  drawAxes(yTicks) {
    const box = this.box;
    const xCount = Math.max(2, Math.floor((box.right - box.left) / 55));
    const xTicks = this.logX ? logTicks(...this.xRange, xCount, this.axis.tick) :
                               this.axis.ticks(...this.xRange, xCount);
    const [least, greatest] = this.yRange;
    const nodes = [];
    const line = (kind, x1, y1, x2, y2) => {
      nodes.push(makeSvg('line', {class: kind, x1, y1, x2, y2}));
    };
    for (const tick of yTicks) {
      const y = box.bottom - (tick.at - least) / (greatest - least) * (box.bottom - box.top);
      line('grid', box.left, y, box.right, y);
      nodes.push(makeSvg('text', {x: box.left - 6, y: y + 3.5, 'text-anchor': 'end'}, tick.text));
    }
    for (const tick of xTicks) {
      const x = this.toX(this.logX ? 10 ** tick.at : tick.at);
      line('axis', x, box.bottom, x, box.bottom + 4);
      const fits = x + tick.text.length * 4 < box.right + 8;
      nodes.push(makeSvg('text', {x: fits ? x : box.right + 8, y: box.bottom + 16,
                                  'text-anchor': fits ? 'middle' : 'end'}, tick.text));
    }
    line('axis', box.left, box.bottom, box.right, box.bottom);
    return nodes;
  }

  drawLine(line) {
    const {run} = line.curve;
    const kind = 'curve' + (run.evaluation ? ' evaluation' : '');
    const attributes = {class: kind, stroke: run.color, 'stroke-dasharray': run.dashes,
                        'data-run': run.index};
    const nodes = [];
    if (this.showsRaw) {
      const d = this.path(line.x, line.raw);
      nodes.push(makeSvg('path', {...attributes, class: kind + ' raw', d}));
    }
    nodes.push(makeSvg('path', {...attributes, d: this.path(line.x, line.y)}));
    return nodes.concat(this.drawPoints(line));
  }

  path(x, y) {
    let d = '';
    let pen = 'M';
    for (let i = 0; i < y.length; ++i) {
      if (!this.accept(y[i]) || !this.acceptX(x[i])) {
        pen = 'M';
        continue;
      }
      d += pen + this.toX(x[i]).toFixed(1) + ' ' + this.toY(y[i]).toFixed(1);
      pen = 'L';
    }
    return d;
  }

  // Points of few, and a triangle where values begin not to be finite.
  drawPoints({curve, x, y}) {
    const nodes = [];
    for (let i = 0; i < y.length; ++i) {
      if (!this.acceptX(x[i])) continue;
      const at = this.toX(x[i]);
      if (!Number.isFinite(y[i])) {
        if (i > 0 && !Number.isFinite(y[i - 1])) continue;
        const d = `M${at - 4} ${this.box.bottom}h8l-4 -7z`;
        nodes.push(makeSvg('path', {d, fill: curve.run.color, 'data-run': curve.run.index},
            makeSvg('title', {}, `${y[i]} at ${this.axis.text(x[i])}`)));
      } else if (y.length <= 12 && this.accept(y[i])) {
        nodes.push(this.dot(curve, at, this.toY(y[i]), 2.5));
      }
    }
    return nodes;
  }

  dot(curve, cx, cy, r) {
    return makeSvg('circle', {cx, cy, r, fill: curve.run.color, 'data-run': curve.run.index});
  }

  // ---- reading values ----

  follow(event) {
    if (!this.lines || this.lines.length === 0) return;
    const bounds = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const distance = (line, i) => Math.abs(this.toX(line.x[i]) - x);
    let best = null;
    for (const line of this.lines) {
      const i = this.nearest(line.x, this.fromX(x));
      if (!this.acceptX(line.x[i])) continue;
      if (best === null || distance(line, i) < distance(best.line, best.i)) best = {line, i};
    }
    if (best !== null) this.showCursor(best.line.x[best.i], y);
  }

  moveCursor(event) {
    if (event.key === 'Escape') return this.hideCursor();
    const move = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
    if (move === undefined || !this.lines || this.lines.length === 0) return;
    event.preventDefault();
    const longest = this.lines.reduce((a, b) => b.x.length > a.x.length ? b : a);
    const end = longest.x.length - 1;
    const start = move > 0 ? -1 : end + 1;
    const from = this.cursor === null ? start : this.nearest(longest.x, this.cursor);
    const next = longest.x[Math.max(0, Math.min(end, from + move))];
    if (this.acceptX(next)) this.showCursor(next, null);
  }

  hideCursor() {
    this.cursor = null;
    this.readout.hidden = true;
    if (this.cursorGroup) this.cursorGroup.replaceChildren();
  }

  // The values of all curves nearest to x, those nearest to the pointer's height first.
  showCursor(x, pointerY) {
    this.cursor = x;
    const {top, bottom} = this.box;
    const rows = this.lines.map((line) => {
      const i = this.nearest(line.x, x);
      return {line, i, y: this.accept(line.y[i]) ? this.toY(line.y[i]) : null};
    }).filter(({line, i}) => this.acceptX(line.x[i]));
    if (pointerY !== null) {
      const away = (row) => row.y === null ? Infinity : Math.abs(row.y - pointerY);
      rows.sort((a, b) => away(a) - away(b));
    }
    const shown = rows.slice(0, READOUT_ROWS).sort((a, b) => a.y - b.y);
    const at = this.toX(x);
    this.cursorGroup.replaceChildren(
        makeSvg('line', {class: 'cursor', x1: at, x2: at, y1: this.box.top, y2: this.box.bottom}),
        ...shown.filter((row) => row.y !== null && row.y >= top - 4 && row.y <= bottom)
            .map((row) => this.dot(row.line.curve, this.toX(row.line.x[row.i]), row.y, 3.5)));
    this.fillReadout(x, shown, rows.length - shown.length);
    this.placeReadout(at);
  }

  // Below the chart, or above it at the lower end of the window: the curves stay in sight.
  placeReadout(at) {
    const {offsetWidth: width, offsetHeight: height, style} = this.readout;
    const bounds = this.figure.getBoundingClientRect();
    const below = bounds.bottom + height + 8 < innerHeight || bounds.top < height;
    style.top = `${below ? bounds.height + 2 : -height - 4}px`;
    style.left = `${Math.max(0, Math.min(at - width / 2, bounds.width - width))}px`;
  }

  fillReadout(x, rows, more) {
    const axis = this.axis;
    const table = make('table');
    for (const {line, i} of rows) {
      const smoothed = line.raw !== line.y ? ` (${numberText(line.raw[i])})` : '';
      const elsewhere = line.x[i] !== x ? axis.text(line.x[i]) : '';
      table.append(make('tr', {},
          make('td', {}, swatch(line.curve.run), ...breakable(line.curve.run.name)),
          make('td', {class: 'number'}, numberText(line.y[i]) + smoothed),
          make('td', {}, elsewhere)));
    }
    this.readout.replaceChildren(make('p', {}, axis.text(x)), table);
    if (more > 0) this.readout.append(make('p', {}, `and ${more} more`));
    this.readout.hidden = false;
  }
}
