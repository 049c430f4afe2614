// Collectives: bus bandwidth and time over size.
import {axis, figure, kSymbols, legend, palette, tip} from './chart.js';
import {h, isNumber, list, object, select, text} from './dom.js';
import {count, shortSize, size, time} from './format.js';

const kMostLines = 14;
const kAll = 'all';
const kNone = '\u2013';
const kBitsPerByte = 8;

const bytesPerSecond = (value, places) => (isNumber(value) ? `${count(value, places)}B/s` : kNone);
const rowsOf = (document) => list(document.body.results).map(object).filter((row) => isNumber(row.size_bytes));
/** The median; of what another tool measured often only a mean is known. */
const typical = (row) => (isNumber(row.p50_ns) ? row.p50_ns : row.mean_ns);
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
  const drawing = figure({title, description: words(), options});
  return choices.length > 0 ? h('div', {}, h('div', {class: 'choices'}, choices), drawing.node) : drawing.node;
}

/** The slowest pair of neighbours, which is what a ring can reach; null where it was not measured. */
function wireOf(rows) {
  const known = rows.map((row) => factOf(row, 'wire_bits_per_s')).filter((value) => isNumber(value) && value > 0);
  return known.length > 0 ? {value: known[0] / kBitsPerByte, name: `the wire, ${bytesPerSecond(known[0] / kBitsPerByte)}`} : null;
}

export function collCharts([document]) {
  const rows = rowsOf(document);
  const all = lines(rows);
  const wire = wireOf(rows);
  const kind = rows.some((row) => isNumber(row.p50_ns)) ? 'median' : 'mean';
  return [
    chart({all, title: 'Bus bandwidth over size', yTitle: 'bus bandwidth', format: bytesPerSecond, value: (row) => row.bus_bytes_per_s, mark: wire,
      description: `What the links carry, as nccl-tests counts it.${wire ? ' The dashed line is the slowest pair of neighbours, point to point.' : ''}`}),
    chart({all, title: 'Time over size', yTitle: `${kind} time`, format: time, value: typical, description: `The ${kind} of each size.`}),
  ];
}
