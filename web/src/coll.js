// Collectives: bus bandwidth and time over size, every row as a table, and what share of the wire they reach.
import {axis, figure, kSymbols, legend, palette, tip} from './chart.js';
import {add, fold, h, isNumber, list, object, select, table, text} from './dom.js';
import {count, percent, plural, shortSize, size, time} from './format.js';
import {badge} from './status.js';

const kMostLines = 14;
const kAll = 'all';
const kNone = '\u2013';
const kBitsPerByte = 8;

const bytesPerSecond = (value, places) => (isNumber(value) ? `${count(value, places)}B/s` : kNone);
const rowsOf = (document) => list(document.body.results).map(object).filter((row) => isNumber(row.size_bytes));
/** The median; of what another tool measured often only a mean is known. */
const typical = (row) => (isNumber(row.p50_ns) ? row.p50_ns : row.mean_ns);
const typicalText = (row) => (isNumber(row.p50_ns) || !isNumber(row.mean_ns) ? time(row.p50_ns) : `mean ${time(row.mean_ns)}`);
const measured = (row) => !text(row.skipped) && isNumber(typical(row));
const factOf = (row, name) => object(list(row.facts).map(object).find((one) => one.name === name)).value;
const lineName = (row) => [text(row.operation), text(row.type), text(row.reduction), text(row.group), isNumber(row.root) ? `root ${row.root}` : '', row.in_place === true ? 'in place' : '']
    .filter((word) => word !== '').join(', ');

/** Rows that make one line: all but the size is the same. Where a size came twice, both are drawn. */
function lines(rows) {
  const all = new Map();
  for (const row of rows.filter(measured)) {
    const name = lineName(row);
    if (!all.has(name)) all.set(name, []);
    all.get(name).push(row);
  }
  return [...all].map(([name, mine]) => ({name, rows: mine.sort((a, b) => a.size_bytes - b.size_bytes)}));
}

function chart({all, title, description, yTitle, format, value, mark = null}) {
  const shown = all.map((line) => ({...line, points: line.rows.filter((row) => row.size_bytes > 0 && isNumber(value(row)) && value(row) > 0)}))
      .filter((line) => line.points.length > 0);
  if (shown.length === 0) return null;
  const sizes = [...new Set(shown.flatMap((line) => line.points.map((row) => row.size_bytes)))].sort((a, b) => a - b);
  if (sizes.length < 2) return null;  // the table says it all
  const state = {};
  const fits = (line) => Object.entries(state).every(([key, wanted]) => wanted === kAll || text(line.rows[0][key]) === wanted);
  const options = (narrow) => {
    const colours = palette();
    const drawn = shown.filter(fits).slice(0, kMostLines);
    return {
      legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 14 : 24, top: mark ? 26 : 14, bottom: 78},
      xAxis: axis('size', {type: 'log', logBase: 2, nameGap: 28, min: sizes[0], max: sizes[sizes.length - 1],
        axisTick: {customValues: sizes, lineStyle: {color: colours.line}}, axisLabel: {formatter: shortSize, customValues: sizes}}),
      yAxis: axis(yTitle, {type: 'log', nameGap: narrow ? 48 : 58, axisLabel: {formatter: (one) => format(one, 3)}, max: (extent) => Math.max(extent.max, mark?.value ?? 0)}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({data, seriesName}) => tip(seriesName, [size(data[0]), format(data[1])])},
      series: drawn.map((line, i) => ({
        name: line.name, type: 'line', symbol: kSymbols[i % kSymbols.length], symbolSize: 8, color: colours.series[i % colours.series.length],
        lineStyle: {width: 2, type: i < colours.series.length ? 'solid' : 'dashed'}, data: line.points.map((row) => [row.size_bytes, value(row)]),
        markLine: i === 0 && mark ? {silent: true, symbol: 'none', lineStyle: {color: colours.muted, type: 'dashed', width: 1.5},
          label: {formatter: mark.name, color: colours.muted, position: 'insideEndTop'}, data: [{yAxis: mark.value}]} : undefined,
      })),
    };
  };
  const words = () => {
    const number = shown.filter(fits).length;
    return number > kMostLines ? `${description} Of ${number} lines the first ${kMostLines} are drawn; the table has all.` : description;
  };
  const choices = ['operation', 'type'].map((key) => {
    const values = [...new Set(shown.map((line) => text(line.rows[0][key])))];
    if (values.length < 2) return null;
    state[key] = shown.length > kMostLines ? values[0] : kAll;
    const choice = select(key === 'type' ? 'Type' : 'Operation', [kAll, ...values].map((value) => ({value, text: value})), (value) => {
      state[key] = value;
      drawing.say(words());
      drawing.draw();
    });
    choice.box.value = state[key];
    return choice.node;
  }).filter(Boolean);
  const drawing = figure({title, description: words(), options, tables: () => rowTable(title, shown.flatMap((line) => line.points))});
  return choices.length > 0 ? h('div', {}, h('div', {class: 'choices'}, choices), drawing.node) : drawing.node;
}

function wrongCell(row) {
  const wrong = object(row.wrong);
  if (!isNumber(wrong.checked_results)) return 'not checked';
  const first = object(wrong.first);
  if (!(wrong.wrong_elements > 0)) return `0 of ${count(wrong.checked_results)} results`;
  return [badge('FAIL', plural(wrong.wrong_elements, 'element')), isNumber(first.rank) ?
    ` rank ${first.rank}, iteration ${text(first.iteration)}, byte ${text(first.offset_bytes)} on for ${text(first.run_bytes)}: ${text(first.pattern)}, ${text(first.actual)} for ${text(first.expected)}` : ''];
}

function lateCell(row) {
  const late = object(row.late);
  if (!isNumber(late.rank)) return text(row.late_reason) || kNone;
  return `rank\u00a0${late.rank} by\u00a0${time(late.by_ns).replace(' ', '\u00a0')} \u00b1 ${time(late.error_bound_ns)}, last in ${percent(late.share, 0)}`;
}

/** What the exit code 1 rests on beside wrong results. */
const failures = (body) => [text(object(body.blame).text), ...list(body.unmet).map(text),
  list(object(body.bisected).suspects).length > 0 ? text(object(body.bisected).text) : ''].filter((one) => one !== '');

const factsCell = (row) => list(row.facts).map(object).filter((one) => !['wire_bits_per_s', 'wire_share'].includes(text(one.name)))
    .map((one) => `${text(one.name)}: ${text(one.value)}`).join('; ');

function rowTable(caption, rows) {
  const wire = rows.some((row) => isNumber(factOf(row, 'wire_share')));
  const columns = [{name: 'Operation'}, {name: 'Size', number: true}, {name: 'p50', number: true}, {name: 'p99', number: true}, {name: 'max', number: true}, {name: 'algorithm', number: true}, {name: 'bus', number: true},
    ...(wire ? [{name: 'Of the wire', number: true}] : []), {name: 'Wrong'}, {name: 'Late'}, {name: 'Facts'}];
  return table(caption, columns, rows.map((row) => {
    const share = wire ? [percent(factOf(row, 'wire_share'))] : [];
    if (text(row.skipped)) return [lineName(row), size(row.size_bytes), kNone, kNone, kNone, kNone, kNone, ...(wire ? [kNone] : []), `skipped: ${text(row.skipped)}`, kNone, factsCell(row)];
    const weak = list(row.unsupported_percentiles).includes('p99_ns');
    return [lineName(row), size(row.size_bytes), typicalText(row), weak ? h('span', {class: 'weak', title: 'Fewer than 10 samples lie beyond it.'}, `(${time(row.p99_ns)})`) : time(row.p99_ns), time(row.max_ns),
      bytesPerSecond(row.algorithm_bytes_per_s), isNumber(row.bus_bytes_per_s) ? bytesPerSecond(row.bus_bytes_per_s) : h('span', {title: text(row.bus_reason)}, 'n/a'),
      ...share, wrongCell(row), lateCell(row), factsCell(row)];
  }), {class: 'scroll wide'});
}

/** The slowest pair of neighbours, which is what a ring can reach; null where it was not measured. */
function wireOf(rows) {
  const known = rows.map((row) => factOf(row, 'wire_bits_per_s')).filter((value) => isNumber(value) && value > 0);
  return known.length > 0 ? {value: known[0] / kBitsPerByte, name: `the wire, ${bytesPerSecond(known[0] / kBitsPerByte)}`} : null;
}

function wireWords(document, rows, wire) {
  const pairs = list(document.body.notes).map(text).filter((note) => note.startsWith('Wire, '));
  if (!wire && pairs.length === 0) return null;
  const shares = rows.map((row) => ({row, share: factOf(row, 'wire_share')})).filter((one) => isNumber(one.share)).sort((a, b) => b.share - a.share);
  const best = shares[0];
  return h('div', {}, best ? h('p', {}, `Of the wire, the slowest pair of neighbours with ${bytesPerSecond(wire?.value)}, bus bandwidth reaches ${percent(best.share)} at most: ${lineName(best.row)}, ${size(best.row.size_bytes)}.`,
      best.share > 1 ? ' More than 100 %: the ranks have a faster way than this wire (NVLink, shared memory), or the algorithm sends less than a ring does.' : '') :
    h('p', {}, badge('WARN', 'no share'), ' A pair of the wire failed, so there is no share of it.'),
  fold(plural(pairs.length, 'pair') + ' of the wire', () => h('ul', {}, pairs.map((one) => h('li', {}, one)))));
}

const factTable = (caption, facts) => (list(facts).length === 0 ? null : fold(caption, () => table(caption, [{name: 'Name'}, {name: 'Value'}], list(facts).map(object).map((one) => [text(one.name), text(one.value)]))));

export function collSection(document) {
  const {body} = document;
  const rows = rowsOf(document);
  const all = lines(rows);
  const wire = wireOf(rows);
  const hosts = new Set(list(body.ranks).map((one) => text(object(one).host)));
  const notes = list(body.notes).map(text).filter((note) => !note.startsWith('Wire, '));
  return add(h('div'), [
    h('p', {}, `${hosts.size > 0 ? `${plural(list(body.ranks).length, 'rank')} on ${plural(hosts.size, 'host')}` : 'An unknown number of ranks'}, by ${text(body.backend)}. Times are of one operation: the longest that any rank took.`),
    text(body.error) ? h('p', {class: 'warning'}, badge('FAIL', 'ended early'), ` ${text(body.error)}`) : null,
    ...failures(body).map((one) => h('p', {class: 'warning'}, badge('FAIL'), ` ${one}`)),
    chart({all, title: 'Bus bandwidth over size', yTitle: 'bus bandwidth', format: bytesPerSecond, value: (row) => row.bus_bytes_per_s, mark: wire,
      description: `What the links carry, as nccl-tests counts it; both axes are logarithmic.${wire ? ' The dashed line is the slowest pair of neighbours, point to point.' : ''}`}),
    chart({all, title: 'Time over size', yTitle: rows.some((row) => isNumber(row.p50_ns)) ? 'median time' : 'mean time', format: time, value: typical, description: `The ${rows.some((row) => isNumber(row.p50_ns)) ? 'median' : 'mean'} of each size; both axes are logarithmic.`}),
    wireWords(document, rows, wire),
    rows.length === 0 ? h('p', {class: 'note'}, 'Nothing was measured.') : rowTable('Every row', rows),
    factTable('The library', body.library), factTable('What was asked for', body.config), factTable('The machine of rank 0', body.environment),
    notes.length > 0 ? fold(plural(notes.length, 'note'), () => h('ul', {}, notes.map((one) => h('li', {}, one)))) : null,
  ]);
}

export function collPoints(document) {
  const {source, body} = document;
  const points = [];
  if (text(body.error)) points.push({status: 'FAIL', text: `${source} ended early: ${text(body.error)}`});
  for (const one of failures(body)) points.push({status: 'FAIL', text: `${source}: ${one}`});
  for (const row of rowsOf(document)) {
    const wrong = object(row.wrong);
    if (wrong.wrong_elements > 0) points.push({status: 'FAIL', text: `${source}, ${lineName(row)}, ${size(row.size_bytes)}: ${plural(wrong.wrong_elements, 'wrong element')}`});
  }
  const late = new Map();
  for (const {rank, by_ns: by} of rowsOf(document).map((row) => object(row.late))) {
    if (isNumber(rank)) late.set(rank, [...(late.get(rank) ?? []), isNumber(by) ? by : 0]);
  }
  for (const [rank, all] of late) points.push({status: 'WARN', text: `${source}: rank ${rank} came late in ${plural(all.length, 'row')} of ${rowsOf(document).length}, by ${time(Math.max(...all))} at most`});
  if (rowsOf(document).length === 0 && !text(body.error)) points.push({status: 'ERROR', text: `${source} holds no result`});
  return points;
}
