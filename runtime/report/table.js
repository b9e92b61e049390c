// The table of the results, which can be sorted.

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
      const run = {color: colorOf(index), dashes: dashesOf(index, '')};
      row.append(make('th', {scope: 'row'}, swatch(run), ...breakable(cell)));
    } else {
      const kind = (numbers[column] ? 'number' : '') + (cell === '' ? ' missing' : '');
      row.append(make('td', {class: kind.trim()}, cell === '' ? '–' : cell));
    }
  });
  return row;
}

// True if a cell of a metric is better than another; nothing is worse than no number.
function isBetter(a, b, mode) {
  if (isMissing(a) || isMissing(b)) return !isMissing(a) && isMissing(b);
  return mode === 'MAX' ? toNumber(a) > toNumber(b) : toNumber(a) < toNumber(b);
}

// Marks the row with the best value of a metric.
function markBest(lines, column, mode) {
  for (const {row} of lines) {
    row.classList.remove('best');
    row.querySelector('.star')?.remove();
  }
  if (mode === '') return;
  const best = lines.reduce(
      (a, b) => isBetter(b.cells[column], a.cells[column], mode) ? b : a, lines[0]);
  if (!best || isMissing(best.cells[column])) return;
  const title = `the best ${data.table.columns[column]}`;
  best.row.classList.add('best');
  best.row.firstChild.append(make('span', {class: 'star', title, role: 'img', 'aria-label': title},
                                  ' \u2605'));
}

// The columns stay on their sides; a click on a heading sorts, at first the better values of a metric
// to the top.
function fillTable() {
  const {columns, rows, modes, order} = data.table;
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
  const modeOf = (column) => order && order.column === column ? order.mode : modes[column];
  const show = (column, direction) => {
    headings.forEach((heading) => heading.setAttribute('aria-sort', 'none'));
    headings[column].setAttribute('aria-sort', direction);
    markBest(lines, column, modeOf(column));
  };
  const sortBy = (column) => {
    const first = modeOf(column) === 'MAX' ? 'descending' : 'ascending';
    const other = first === 'ascending' ? 'descending' : 'ascending';
    const direction = headings[column].getAttribute('aria-sort') === first ? other : first;
    show(column, direction);
    const sign = direction === 'ascending' ? 1 : -1;
    lines.sort((a, b) => compareCells(a.cells[column], b.cells[column], sign));
    body.append(...lines.map((line) => line.row));
  };
  byId('results').append(make('table', {}, make('thead', {}, make('tr', {}, ...headings)), body));
  if (order) show(order.column, order.mode === 'MAX' ? 'descending' : 'ascending');
}
