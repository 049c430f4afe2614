// Runs of lat, bw and load: curves over size, percentiles and load.
import {axis, figure, kSymbols, legend, palette, tip} from './chart.js';
import {h, isNumber, list, object, select, text} from './dom.js';
import {count, messages, percent, rate, shortSize, size, time} from './format.js';

const kPercentiles = [['p50_ns', 'p50', 0.5], ['p90_ns', 'p90', 0.9], ['p99_ns', 'p99', 0.99], ['p999_ns', 'p99.9', 0.999], ['p9999_ns', 'p99.99', 0.9999]];

const rowsOf = (document) => list(document.body.results).map(object).filter((row) => isNumber(row.size_bytes));
const unsupported = (row, key) => list(row.unsupported_percentiles).includes(key);

/** Groups of the rows of documents that make one line: by operation and kind, in each document. */
function lines(documents) {
  const all = [];
  for (const document of documents) {
    const groups = new Map();
    for (const row of rowsOf(document)) {
      const key = [row.operation, row.kind, row.direction, row.completion].map(text).join('\u0000');
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    for (const rows of groups.values()) all.push({document, rows});
  }
  name(all);
  return all;
}

/** Names say what tells the lines apart, and no more. */
function name(all) {
  const words = ({document, rows: [row]}) => [text(row.operation), text(row.backend), text(row.provider), text(object(document.body.resolved).transport), text(row.device),
    text(row.kind ?? row.direction).replaceAll('_', ' '), text(row.completion).replaceAll('_', ' '), document.source];
  const known = all.map(words);
  const chosen = [0];
  const distinct = (columns) => new Set(known.map((one) => columns.map((k) => one[k]).join('\u0000'))).size;
  for (let k = 1; k < (known[0] ?? []).length && distinct(chosen) < all.length; ++k) {
    if (distinct([...chosen, k]) > distinct(chosen)) chosen.push(k);
  }
  all.forEach((line, i) => {
    line.name = chosen.map((k) => known[i][k]).filter((word) => word !== '').join(', ');
  });
}

const logAxis = (title, label, extra = {}) => axis(title, {type: 'log', axisLabel: {formatter: label}, ...extra});

/** Ticks at the sizes that were measured. */
function sizeAxis(rows) {
  const sizes = [...new Set(rows.map((row) => row.size_bytes))].sort((a, b) => a - b);
  return axis('message size', {type: 'log', logBase: 2, nameGap: 28, min: sizes[0], max: sizes[sizes.length - 1],
    axisTick: {customValues: sizes, lineStyle: {color: palette().line}}, axisLabel: {formatter: shortSize, customValues: sizes}});
}

function curve({all, title, description, yTitle, format, series, tables}) {
  const rows = all.flatMap((line) => line.rows);
  const points = (line, one) => line.rows.filter((row) => isNumber(one.value(row)) && one.value(row) > 0)
      .sort((a, b) => a.size_bytes - b.size_bytes);
  const options = (narrow) => ({
    legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 14 : 24, top: 14, bottom: 78},
    xAxis: sizeAxis(rows), yAxis: logAxis(yTitle, (value) => format(value, 3), {nameGap: narrow ? 48 : 58}),
    tooltip: {formatter: ({data, seriesName}) => tip(seriesName, [size(data[0]), format(data[1])]), trigger: 'item', confine: true,
      backgroundColor: palette().ground, borderColor: palette().line, textStyle: {color: palette().text}},
    series: all.flatMap((line, i) => series.map((one, k) => ({
      name: series.length > 1 ? `${line.name}, ${one.name}` : line.name, type: 'line', symbol: kSymbols[(i + k * 3) % kSymbols.length], symbolSize: 8,
      lineStyle: {width: 2, type: one.dash ?? 'solid'}, color: palette().series[i % palette().series.length],
      data: points(line, one).map((row) => [row.size_bytes, one.value(row)]),
    }))),
  });
  return figure({title, description, options, tables}).node;
}

/** Percentile p at -log10(1 - p): each 9 more takes the same room, which is where tails are to be seen. */
const nines = (p) => -Math.log10(1 - p);

function percentileChart(all, tables) {
  const sizes = [...new Set(all.flatMap((line) => line.rows.map((row) => row.size_bytes)))].sort((a, b) => a - b);
  const state = {size: sizes[0]};
  const points = (row) => {
    const known = kPercentiles.filter(([key]) => isNumber(row[key]) && row[key] > 0)
        .map(([key, word, p]) => ({value: [nines(p), row[key]], word, weak: unsupported(row, key)}));
    if (isNumber(row.max_ns) && row.max_ns > 0 && row.iterations > 1) {
      known.push({value: [Math.log10(row.iterations), row.max_ns], word: 'max', weak: true});
    }
    return known.sort((a, b) => a.value[0] - b.value[0]);
  };
  const marks = new Map(kPercentiles.map(([, word, p]) => [nines(p).toFixed(3), word]));
  const chosen = () => all.map((line, i) => ({line, i, row: line.rows.find((row) => row.size_bytes === state.size)})).filter((one) => one.row);
  const options = (narrow) => {
    const colours = palette();
    return {
      legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 18 : 30, top: 14, bottom: 78},
      xAxis: axis('percentile', {type: 'value', min: 0, max: (extent) => Math.max(4, Math.ceil(extent.max)), nameGap: 28, interval: 1,
        axisLabel: {formatter: (value) => (value === 0 ? 'p0' : marks.get(value.toFixed(3)) ?? `p${(100 - 100 * 10 ** -value).toFixed(Math.max(0, value - 2))}`)}}),
      yAxis: logAxis('latency', (value) => time(value, 3), {nameGap: narrow ? 48 : 58}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({data, seriesName}) => tip(seriesName, [`${data.word}: ${time(data.value[1])}`, data.weak && data.word !== 'max' ? 'fewer than 10 samples lie beyond it' : null].filter(Boolean))},
      series: chosen().map(({line, i, row}) => ({
        name: line.name, type: 'line', color: colours.series[i % colours.series.length], symbol: kSymbols[i % 4], symbolSize: 8, lineStyle: {width: 2},
        data: points(row).map((point) => ({...point, itemStyle: point.weak ? {color: colours.ground, borderColor: colours.series[i % colours.series.length], borderWidth: 2} : {}})),
      })),
    };
  };
  const describe = () => `Latency at each percentile, ${size(state.size)}. Hollow marks rest on fewer than 10 samples beyond them, or are the largest one of all.`;
  const chart = figure({title: 'Latency by percentile', description: describe(), options, tables});
  if (sizes.length < 2) return chart.node;
  const choice = select('Size', sizes.map((one) => ({value: String(one), text: size(one)})), (value) => {
    state.size = Number(value);
    chart.say(describe());
    chart.draw();
  });
  return h('div', {}, h('div', {class: 'choices'}, choice.node), chart.node);
}

const several = (all) => new Set(all.flatMap((line) => line.rows.map((row) => row.size_bytes))).size > 1;

export function latency(documents, tables) {
  const every = lines(documents);
  const means = every.filter((line) => !line.rows.some((row) => isNumber(row.p50_ns)));  // of other tools
  const all = every.filter((line) => !means.includes(line));
  const meanCurve = means.length === 0 ? null : curve({all: means, title: 'Mean latency over message size', yTitle: 'mean latency', format: time,
    description: 'The mean of each size: no percentile is known. Both axes are logarithmic.', series: [{name: 'mean', value: (row) => row.mean_ns}], tables});
  if (all.length === 0) return [meanCurve].filter(Boolean);
  return [
    meanCurve,
    several(all) ? curve({all, title: 'Latency over message size', yTitle: 'latency', format: time,
      description: 'The median and the 99th percentile of each size; both axes are logarithmic.',
      series: [{name: 'p50', value: (row) => row.p50_ns}, {name: 'p99', dash: 'dashed', value: (row) => (unsupported(row, 'p99_ns') ? null : row.p99_ns)}], tables}) : null,
    percentileChart(all, tables),
  ];
}

export function bandwidth(documents, tables) {
  const all = lines(documents);
  if (!several(all)) return [];
  return [
    curve({all, title: 'Bandwidth over message size', yTitle: 'bandwidth', format: rate, description: 'Payload over time; both axes are logarithmic.',
      series: [{name: 'bandwidth', value: (row) => row.bits_per_s}], tables}),
    all.every((line) => line.rows.every((row) => !isNumber(row.messages_per_s))) ? null : curve({all, title: 'Message rate over message size', yTitle: 'messages per second', format: (value) => messages(value), description: 'Messages per second; both axes are logarithmic.',
      series: [{name: 'message rate', value: (row) => row.messages_per_s}], tables}),
  ];
}

function loadChart(line, bytes, tables) {
  const rows = line.rows.filter((row) => row.size_bytes === bytes && isNumber(row.offered_messages_per_s)).sort((a, b) => a.offered_messages_per_s - b.offered_messages_per_s);
  const knee = rows.find((row) => row.knee === true);
  const keys = [['p50_ns', 'p50', 'solid'], ['p99_ns', 'p99', 'dashed'], ['p999_ns', 'p99.9', 'dotted']];
  const options = (narrow) => {
    const colours = palette();
    return {
      legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 18 : 30, top: 30, bottom: 78},
      xAxis: axis('offered messages per second', {type: 'value', nameGap: 28, min: 0, axisLabel: {formatter: (value) => count(value, 3)}}),
      yAxis: logAxis('latency', (value) => time(value, 3), {nameGap: narrow ? 48 : 58}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({data, seriesName}) => tip(seriesName, [`${messages(data[0])} offered, ${percent(data[2], 0)} of capacity`, time(data[1])])},
      series: keys.map(([key, word, dash], i) => ({
        name: word, type: 'line', color: colours.series[i], symbol: kSymbols[i], symbolSize: 8, lineStyle: {width: 2, type: dash},
        data: rows.filter((row) => isNumber(row[key]) && row[key] > 0 && !unsupported(row, key)).map((row) => [row.offered_messages_per_s, row[key], row.load]),
        markLine: i === 0 && knee ? {silent: true, symbol: 'none', lineStyle: {color: colours.bad, type: 'dashed', width: 1.5},
          label: {formatter: 'knee', color: colours.bad, position: 'end'}, data: [{xAxis: knee.offered_messages_per_s}]} : undefined,
      })),
    };
  };
  const doubt = rows.some((row) => row.knee_reliable === false);
  const fine = rows.filter((row) => (row.saturated ?? row.taken_off) === false).at(-1);
  const words = (knee ? `The knee, the highest load before latency rises steeply, is at ${messages(knee.offered_messages_per_s)}, ${percent(knee.load, 0)} of capacity.`
    : doubt ? 'Latency already rose steeply at the lowest load.' : 'No knee was found: latency did not rise steeply, or it did at once.')
    + (doubt ? ` This is not reliable: ${fine ? `at ${percent(fine.load, 0)} it was normal again` : 'at a higher load it was normal again'}.` : '');
  return figure({title: `Latency under load: ${line.name}, ${size(bytes)}`, description: `${words} Measured from each message's intended start.`, options, tables}).node;
}

export function load(documents, tables) {
  return lines(documents).flatMap((line) => [...new Set(line.rows.map((row) => row.size_bytes))].map((bytes) => loadChart(line, bytes, tables)));
}
