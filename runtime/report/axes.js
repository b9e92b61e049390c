'use strict';

// Elements, numbers as text, and the axes of charts.

// ---- elements ----

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

// An element with its attributes and children; strings among them become text, never markup.
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function makeSvg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// ---- numbers as text ----

function numberText(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return String(Number(value.toPrecision(5)));
  return String(Number(value.toPrecision(6)));
}

// 1500 -> "1.5k"
function stepText(step) {
  for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (Math.abs(step) >= size) return numberText(step / size) + unit;
  }
  return numberText(step);
}

// On an axis there is no room for 1000000.
function tickText(value) {
  return Math.abs(value) >= 1e5 && Math.abs(value) < 1e13 ? stepText(value) : numberText(value);
}

const TIME_UNITS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

function durationText(seconds) {
  for (const [size, unit] of TIME_UNITS) {
    if (Math.abs(seconds) >= size) return Number((seconds / size).toPrecision(4)) + ' ' + unit;
  }
  return Number(seconds.toPrecision(3)) + ' s';
}

function clockText(milliseconds) {
  const two = (number) => String(number).padStart(2, '0');
  const date = new Date(milliseconds);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
      `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

// ---- ticks: [{at, text}] inside [least, greatest] ----

function roundStep(size, count) {
  const raw = size / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
}

function ticksOf(least, greatest, step, text, offset = 0) {
  const ticks = [];
  const first = Math.ceil((least + offset) / step - 1e-9);
  for (let i = first; i * step - offset <= greatest + step * 1e-9; ++i) {
    // Not a sum of steps, whose roundings would add up.
    const at = i * step - offset;
    ticks.push({at, text: text(at)});
    if (ticks.length > 50) break;
  }
  return ticks;
}

function linearTicks(least, greatest, count, text) {
  return greatest > least ? ticksOf(least, greatest, roundStep(greatest - least, count), text) :
                            [{at: least, text: text(least)}];
}

// `least` and `greatest` are logarithms to base 10.
function logTicks(least, greatest, count, text) {
  const textOfPower = (at) => text(10 ** at);
  if (greatest - least < 1) {  // round values, not round logarithms
    const values = greatest > least ? linearTicks(10 ** least, 10 ** greatest, count, text) :
                                      [{at: 10 ** least, text: textOfPower(least)}];
    return values.map((tick) => ({at: Math.log10(tick.at), text: tick.text}));
  }
  return ticksOf(least, greatest, Math.max(1, Math.ceil((greatest - least) / count)), textOfPower);
}

function durationTicks(least, greatest, count) {
  const [size] = TIME_UNITS.find(([unit]) => greatest - least >= 2 * unit) || [1];
  const step = size * roundStep(Math.max(greatest - least, 1e-3) / size, count);
  return ticksOf(least, greatest, step, durationText);
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
                     43200, 86400, 172800, 604800, 2592000, 31536000];

function clockTicks(least, greatest, count) {
  const seconds = Math.max(greatest - least, 1) / 1000;
  const step = seconds < count ? roundStep(seconds, count) :
                                 CLOCK_STEPS.find((size) => size >= seconds / count) || seconds / count;
  // Full hours and days are those of the clock on the wall.
  const offset = -new Date(least).getTimezoneOffset() * 60000;
  const part = step >= 86400 ? [0, 10] : step >= 60 ? [11, 16] : [11, 19];
  const fraction = (at) => step < 1 ? (at / 1000 % 1).toFixed(3).slice(1) : '';
  const text = (at) => clockText(at).slice(...part) + fraction(at);
  return ticksOf(least, greatest, step * 1000, (at) => text(Math.round(at)), offset);
}

// The axes of x, by the value of their choice. `ticks` are those of a linear axis, `tick` is the text
// of a tick of a logarithmic one; without it there is none.
const X_AXES = {
  step: {text: (x) => 'step ' + x, tick: stepText,
         ticks: (a, b, count) => linearTicks(a, b, count, stepText)},
  relative: {text: durationText, tick: durationText, ticks: durationTicks},
  wall: {text: clockText, ticks: clockTicks},
};
const TAG_AXIS = 'tag:';

// Of the choice 'tag:TAG' the axis of the tag's values.
function xAxisOf(choice) {
  if (!choice.startsWith(TAG_AXIS)) return X_AXES[choice];
  const tag = choice.slice(TAG_AXIS.length);
  return {text: (x) => `${tag} ${numberText(x)}`, tick: tickText,
          ticks: (a, b, count) => linearTicks(a, b, count, tickText)};
}

// ---- ranges ----

function extent(lists, accept) {
  let least = Infinity;
  let greatest = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (!accept(value)) continue;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  }
  return [least, greatest];
}

function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

function median(values) {
  return quantile([...values].sort((a, b) => a - b), 0.5);
}

// Values stretch a curve's range, and curves that of all curves, if it is more than so many times the
// range without them: less, as the beginning of a curve that falls, is not cut off.
const STRETCH = 4;

// The range of a curve's values without its spikes: as TensorBoard's, that of the middle 90 % and a
// fifth of it on either side.
function rangeWithoutSpikes(values) {
  const full = extent([values], Number.isFinite);
  if (values.length < 20) return full;
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [quantile(sorted, 0.05), quantile(sorted, 0.95)];
  if (!(full[1] - full[0] > STRETCH * (high - low)) || high === low) return full;
  const pad = (high - low) * 0.2;
  return [Math.max(full[0], low - pad), Math.min(full[1], high + pad)];
}

// The range of several curves, lists of values, without outliers: spikes, and curves that are far from
// the others, which are fewer than half. TensorBoard's, of the values of all curves together, still has
// curves that are more than a twentieth.
function robustRange(curves) {
  const ranges = curves.filter((values) => values.length > 0).map(rangeWithoutSpikes);
  if (ranges.length === 0) return [Infinity, -Infinity];
  const [low, high] = [0, 1].map((end) => median(ranges.map((range) => range[end])));
  const span = median(ranges.map(([least, greatest]) => greatest - least));
  const near = ([least, greatest]) => span === 0 ||
      (greatest <= high + STRETCH * span && least >= low - STRETCH * span);
  return extent(ranges.filter(near), Number.isFinite);
}

// ---- runs ----

// Each run has one of so many colors; those beyond have one of these patterns of dashes as well. Of
// each pair the first is for a training, the second for its evaluations.
const COLORS = 12;
const DASHES = [['none', '5 3'], ['9 3 2 3', '4 2 1 2'], ['1.5 3', '1.5 6']];

const colorOf = (row) => `var(--c${row % COLORS})`;

function dashesOf(row, evaluation) {
  return DASHES[Math.floor(row / COLORS) % DASHES.length][evaluation ? 1 : 0];
}

// A stroke as the run's curves have it.
function swatch(run) {
  const stroke = makeSvg('line', {x1: 0, x2: 20, y1: 5, y2: 5, stroke: run.color,
                                  'stroke-dasharray': run.dashes});
  return makeSvg('svg', {class: 'swatch', viewBox: '0 0 20 10', 'aria-hidden': 'true'}, stroke);
}
