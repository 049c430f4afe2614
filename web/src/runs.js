// Runs of lat, bw and load: curves over size, percentiles and load.
import {axis, bandSeries, figure, kSymbols, legend, palette, tip} from './chart.js';
import {h, isNumber, list, object, select, text} from './dom.js';
import {count, median, messages, percent, rate, shortSize, size, time} from './format.js';

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

/** What was measured, by what. */
const setup = ({document, rows: [row]}) => [text(row.operation), text(row.backend), text(row.provider), text(object(document.body.resolved).transport), text(row.device),
  text(row.kind ?? row.direction).replaceAll('_', ' '), text(row.completion).replaceAll('_', ' ')];

/** Names say what tells the lines apart, and no more. */
function name(all) {
  const known = all.map((line) => [...setup(line), line.document.source]);
  const chosen = [0];
  const distinct = (columns) => new Set(known.map((one) => columns.map((k) => one[k]).join('\u0000'))).size;
  for (let k = 1; k < (known[0] ?? []).length && distinct(chosen) < all.length; ++k) {
    if (distinct([...chosen, k]) > distinct(chosen)) chosen.push(k);
  }
  all.forEach((line, i) => {
    line.name = [...chosen.map((k) => known[i][k]), line.launches ? `${line.launches} launches` : ''].filter((word) => word !== '').join(', ');
  });
}

/** The rows of one size, as one: the median of each number, and `ends`, its least and its most. */
function together(rows) {
  const ends = {};
  const one = {...rows[0], ends, unsupported_percentiles: [...new Set(rows.flatMap((row) => list(row.unsupported_percentiles)))]};
  for (const key of Object.keys(rows[0])) {
    const values = rows.map((row) => row[key]);
    if (key === 'size_bytes' || !values.every(isNumber)) continue;
    one[key] = median(values);
    ends[key] = [Math.min(...values), Math.max(...values)];
  }
  return one;
}

/** What a launch was asked for and what came of it, but for what tells launches of one setup apart: sizes, names, times, and what the run counted or was given. */
const kOfOneLaunch = new Set(['sizes', 'device', 'source_ip', 'timeout_s', 'reason', 'details', 'retries', 'path', 'registration_note', 'write_order',
  ...['lid', 'gid', 'qpn', 'psn', 'dctn', 'rkey', 'vaddr'].flatMap((name) => [name, `remote_${name}`]), 'address', 'port']);
const configuration = ({body}) => [body.config, body.resolved, object(body.resolved).details]
    .map((part) => Object.entries(object(part)).filter(([name]) => !kOfOneLaunch.has(name)).sort());

/** What the names of the files of launches have in common, "lat-*.json" of lat-1.json and lat-2.json; the file's alone where all are of one. */
function common(names) {
  const files = new Set(names.map((name) => name.replace(/#[0-9]+$/, '')));
  if (files.size === 1) return [...files][0];
  const [first] = names;
  const whole = (from, to, step) => {  // a number that differs is left out whole
    let length = from;
    while (length < to && names.every((name) => name.at(step(length)) === first.at(step(length)))) ++length;
    while (length > 0 && /[0-9]/.test(first.at(step(length - 1)))) --length;
    return length;
  };
  const shortest = Math.min(...names.map((name) => name.length));
  const before = whole(0, shortest, (i) => i);
  const after = whole(0, shortest - before, (i) => -1 - i);
  return `${first.slice(0, before)}*${after > 0 ? first.slice(-after) : ''}`;
}

/** Launches of one setup and configuration between the same hosts, whose files differ by their numbers alone, are one line. A host without a name may be any. */
function sides(documents) {
  const hosts = ({body}) => ['client', 'server'].map((side) => list(object(body.environment)[side]).map(object).find((fact) => fact.name === 'hostname')?.value);
  const file = (source) => source.replace(/[0-9]+/g, '*');
  const groups = new Map();
  for (const [place, line] of lines(documents).entries()) {
    const known = hosts(line.document);
    const key = known.every(text) ? JSON.stringify([...setup(line), ...known, file(line.document.source), configuration(line.document)]) : place;
    groups.set(key, [...groups.get(key) ?? [], line]);
  }
  const all = [...groups.values()].map((every) => {
    const launches = every.filter(({document}) => !(document.body.over_launches > 1));  // what they have in common is none of them
    const group = launches.length > 0 ? launches : every;
    if (group.length < 2) return group[0];
    const rows = group.flatMap((line) => line.rows);
    const sizes = [...new Set(rows.map((row) => row.size_bytes))];
    return {document: {...group[0].document, source: common(group.map((line) => line.document.source))}, launches: group.length, rows: sizes.map((bytes) => together(rows.filter((row) => row.size_bytes === bytes)))};
  });
  name(all);
  return all;
}

const kBand = ' The line is the median of the launches, shaded from the lowest to the highest of them.';
const bandText = (all) => (all.some((line) => line.launches) ? kBand : '');

const logAxis = (title, label, extra = {}) => axis(title, {type: 'log', axisLabel: {formatter: label}, ...extra});

/** Ticks at the sizes that were measured. */
function sizeAxis(rows) {
  const sizes = [...new Set(rows.map((row) => row.size_bytes))].sort((a, b) => a - b);
  return axis('message size', {type: 'log', logBase: 2, nameGap: 28, min: sizes[0], max: sizes[sizes.length - 1],
    axisTick: {customValues: sizes, lineStyle: {color: palette().line}}, axisLabel: {formatter: shortSize, customValues: sizes}});
}

function curve({all, title, description, yTitle, format, series}) {
  const rows = all.flatMap((line) => line.rows);
  const points = (line, one) => line.rows.filter((row) => isNumber(one.value(row)) && one.value(row) > 0)
      .sort((a, b) => a.size_bytes - b.size_bytes);
  const options = (narrow) => ({
    legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 14 : 24, top: 14, bottom: 78},
    xAxis: sizeAxis(rows), yAxis: logAxis(yTitle, (value) => format(value, 3), {nameGap: narrow ? 48 : 58}),
    tooltip: {formatter: ({data, seriesName}) => tip(seriesName, [size(data[0]), format(data[1])]), trigger: 'item', confine: true,
      backgroundColor: palette().ground, borderColor: palette().line, textStyle: {color: palette().text}},
    series: all.flatMap((line, i) => series.flatMap((one, k) => [{
      name: series.length > 1 ? `${line.name}, ${one.name}` : line.name, type: 'line', symbol: kSymbols[(i + k * 3) % kSymbols.length], symbolSize: 8,
      lineStyle: {width: 2, type: one.dash ?? 'solid'}, color: palette().series[i % palette().series.length],
      data: points(line, one).map((row) => [row.size_bytes, one.value(row)]),
    }, line.launches ? bandSeries(points(line, one).map((row) => [row.size_bytes, ...row.ends?.[one.key] ?? [one.value(row), one.value(row)]]), palette().series[i % palette().series.length]) : null])).filter(Boolean),
  });
  return figure({title, description: description + bandText(all), options}).node;
}

/** Percentile p at -log10(1 - p): each 9 more takes the same room, which is where tails are to be seen. */
const nines = (p) => -Math.log10(1 - p);

function percentileChart(all) {
  const sizes = [...new Set(all.flatMap((line) => line.rows.map((row) => row.size_bytes)))].sort((a, b) => a - b);
  const state = {size: sizes[0]};
  const points = (row) => {
    const known = kPercentiles.filter(([key]) => isNumber(row[key]) && row[key] > 0)
        .map(([key, word, p]) => ({value: [nines(p), row[key]], word, weak: unsupported(row, key), ends: row.ends?.[key]}));
    if (isNumber(row.max_ns) && row.max_ns > 0 && row.iterations > 1) {
      known.push({value: [Math.log10(row.iterations), row.max_ns], word: 'max', weak: true, ends: row.ends?.max_ns});
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
      series: chosen().flatMap(({line, i, row}) => [{
        name: line.name, type: 'line', color: colours.series[i % colours.series.length], symbol: kSymbols[i % 4], symbolSize: 8, lineStyle: {width: 2},
        data: points(row).map((point) => ({...point, itemStyle: point.weak ? {color: colours.ground, borderColor: colours.series[i % colours.series.length], borderWidth: 2} : {}})),
      }, line.launches ? bandSeries(points(row).filter((point) => point.ends).map((point) => [point.value[0], ...point.ends]), colours.series[i % colours.series.length]) : null]).filter(Boolean),
    };
  };
  const describe = () => `Latency at each percentile, ${size(state.size)}. Hollow marks rest on fewer than 10 samples beyond them, or are the largest one of all.${bandText(all)}`;
  const chart = figure({title: 'Latency by percentile', description: describe(), options});
  if (sizes.length < 2) return chart.node;
  const choice = select('Size', sizes.map((one) => ({value: String(one), text: size(one)})), (value) => {
    state.size = Number(value);
    chart.say(describe());
    chart.draw();
  });
  return h('div', {}, h('div', {class: 'choices'}, choice.node), chart.node);
}

const several = (all) => new Set(all.flatMap((line) => line.rows.map((row) => row.size_bytes))).size > 1;

export function latency(documents) {
  const every = sides(documents);
  const means = every.filter((line) => !line.rows.some((row) => isNumber(row.p50_ns)));  // of other tools
  const all = every.filter((line) => !means.includes(line));
  const meanCurve = means.length === 0 ? null : curve({all: means, title: 'Mean latency over message size', yTitle: 'mean latency', format: time,
    description: 'The mean of each size: no percentile is known.', series: [{name: 'mean', key: 'mean_ns', value: (row) => row.mean_ns}]});
  if (all.length === 0) return [meanCurve].filter(Boolean);
  return [
    meanCurve,
    several(all) ? curve({all, title: 'Latency over message size', yTitle: 'latency', format: time,
      description: 'The median and the 99th percentile of each size.',
      series: [{name: 'p50', key: 'p50_ns', value: (row) => row.p50_ns}, {name: 'p99', key: 'p99_ns', dash: 'dashed', value: (row) => (unsupported(row, 'p99_ns') ? null : row.p99_ns)}]}) : null,
    percentileChart(all),
  ];
}

export function bandwidth(documents) {
  const all = sides(documents);
  if (!several(all)) return [];
  return [
    curve({all, title: 'Bandwidth over message size', yTitle: 'bandwidth', format: rate, description: 'Payload over time.',
      series: [{name: 'bandwidth', key: 'bits_per_s', value: (row) => row.bits_per_s}]}),
    all.every((line) => line.rows.every((row) => !isNumber(row.messages_per_s))) ? null : curve({all, title: 'Message rate over message size', yTitle: 'messages per second', format: (value) => messages(value), description: '',
      series: [{name: 'message rate', key: 'messages_per_s', value: (row) => row.messages_per_s}]}),
  ];
}

function loadChart(line, bytes) {
  const rows = line.rows.filter((row) => row.size_bytes === bytes && isNumber(row.offered_messages_per_s)).sort((a, b) => a.offered_messages_per_s - b.offered_messages_per_s);
  const marked = rows.find((row) => row.knee === true);
  // Where the rate alone was not kept, and latency is what it was, there is nothing to be seen of a knee.
  const beyond = rows.slice(rows.indexOf(marked) + 1);
  const rises = [['p50_ns', 2], ['p99_ns', 4]].some(([key, factor]) => median(beyond.map((row) => row[key]).filter(isNumber)) > factor * marked?.[key]);
  const knee = rises ? marked : undefined;
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
    : marked ? `Above ${messages(marked.offered_messages_per_s)}, ${percent(marked.load, 0)} of capacity, the offered rate was not kept or latency was disturbed; it did not rise with the load.`
    : doubt ? 'Latency already rose steeply at the lowest load.' : 'No knee was found: latency did not rise steeply, or it did at once.')
    + (doubt ? ` This is not reliable: ${fine ? `at ${percent(fine.load, 0)} it was normal again` : 'at a higher load it was normal again'}.` : '');
  return figure({title: `Latency under load: ${line.name}, ${size(bytes)}`, description: `${words} Measured from each message's intended start.`, options}).node;
}

export function load(documents) {
  return lines(documents).flatMap((line) => [...new Set(line.rows.map((row) => row.size_bytes))].map((bytes) => loadChart(line, bytes)));
}
