// What is drawn of comparisons and projections.
import {axis, bandSeries, figure, kSymbols, legend, palette, tip} from './chart.js';
import {isNumber, list, object, text} from './dom.js';
import {count, percent, plural, size, time} from './format.js';

const cellName = (cell) => size(cell.size_bytes) + (isNumber(cell.load) ? ` at ${percent(cell.load, 0)}` : '');
const sideName = (body, side) => text(object(body[side]).name) || side.toUpperCase();

/** By how much a ratio is over or under 1; in times where `typical` is half, double or beyond. */
function signed(ratio, typical = ratio) {
  if (!isNumber(ratio)) return '\u2013';
  if (typical >= 2 || typical <= 0.5) return `${Number(ratio.toPrecision(3))} times`;
  return `${ratio >= 1 ? '+' : '\u2212'}${Number(Math.abs((ratio - 1) * 100).toPrecision(3))} %`;
}

/** As the document says it. */
const verdictWord = (cell) => ((text(cell.verdict) === 'DIFFERENT' && text(cell.direction)) || text(cell.verdict)).toUpperCase().replaceAll('_', ' ');

// Ratios that an axis may have ticks at, the nearest to 1 first: "+5 %", then "2 times" and "1/2".
const kTicks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5].map((one) => [1 + one, 1 - one])
    .concat([2, 5, 10, 20, 50, 100, 200, 500, 1000, 1e4, 1e5, 1e6].map((one) => [one, 1 / one]));

/** Ticks between the ends of a logarithmic axis, with room for their words. */
function ticksOf(low, high, most) {
  const room = (high - low) / most;
  const ticks = [0];
  for (const ratio of kTicks.reverse().flat()) {
    const at = Math.log(ratio);
    if (at >= low && at <= high && ticks.every((one) => Math.abs(one - at) >= room)) ticks.push(at);
  }
  kTicks.reverse();
  return ticks.sort((a, b) => a - b);
}

function tickText(at) {
  const ratio = Math.exp(at);
  if (Math.abs(at) < 1e-9) return 'alike';
  if (ratio > 1.9) return `${Number(ratio.toPrecision(3))} times`;
  if (ratio < 0.51) return `1/${Number((1 / ratio).toPrecision(3))}`;
  return `${ratio > 1 ? '+' : '\u2212'}${Number((Math.abs(ratio - 1) * 100).toPrecision(3))} %`;
}

/** A forest plot: each size's interval against the margin, as ratios on a logarithmic axis. */
function forest(body, family, margin) {
  const cells = list(family.cells).map(object);
  const drawn = cells.filter((cell) => ['ratio', 'ratio_low', 'ratio_high'].every((key) => object(cell.estimate)[key] > 0));
  if (drawn.length === 0) return null;
  const words = verdictWord;
  const ends = drawn.flatMap((cell) => [Math.log(cell.estimate.ratio_low), Math.log(cell.estimate.ratio_high)]);
  const low = Math.min(-1.5 * Math.log1p(margin), ...ends);
  const high = Math.max(1.5 * Math.log1p(margin), ...ends);
  const pad = (high - low) * 0.04;
  const both = `${sideName(body, 'b')} against ${sideName(body, 'a')}`;
  const options = (narrow) => {
    const colours = palette();
    const colour = (cell) => ({EQUIVALENT: colours.series[0], 'DIFFERENT BUT IMMATERIAL': colours.series[0], BETTER: colours.series[2], WORSE: colours.series[1]}[words(cell)] ?? colours.muted);
    const ticks = ticksOf(low - pad, high + pad, narrow ? 4 : 9);
    return {
      grid: {left: narrow ? 78 : 210, right: 30, top: 10, bottom: 46},
      xAxis: axis(both, {type: 'value', min: low - pad, max: high + pad, nameGap: 28, axisTick: {customValues: ticks}, axisLabel: {customValues: ticks, formatter: tickText, hideOverlap: true}, splitLine: {show: false}}),
      yAxis: axis('', {type: 'category', inverse: true, data: drawn.map((cell) => (narrow ? cellName(cell) : `${cellName(cell)}  ${words(cell) === 'DIFFERENT BUT IMMATERIAL' ? 'IMMATERIAL' : words(cell)}`)), splitLine: {show: false}}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({dataIndex}) => {
          const {ratio, ratio_low: from, ratio_high: to} = drawn[dataIndex].estimate;
          return tip(cellName(drawn[dataIndex]), [`${signed(ratio)} (${signed(from, ratio)} to ${signed(to, ratio)})`, words(drawn[dataIndex])]);
        }},
      series: [{
        type: 'custom', data: drawn.map((cell, i) => [Math.log(cell.estimate.ratio), i, Math.log(cell.estimate.ratio_low), Math.log(cell.estimate.ratio_high)]), encode: {x: [0, 2, 3], y: 1},
        renderItem: (_, api) => {
          const [x, y] = api.coord([api.value(0), api.value(1)]);
          const [from] = api.coord([api.value(2), api.value(1)]);
          const [to] = api.coord([api.value(3), api.value(1)]);
          const fill = colour(drawn[api.value(1)]);
          const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style: {stroke: fill, lineWidth: 2}});
          return {type: 'group', children: [line(from, y, to, y), line(from, y - 5, from, y + 5), line(to, y - 5, to, y + 5),
            {type: 'circle', shape: {cx: x, cy: y, r: 5}, style: {fill}}]};
        },
        // Without words: they would stand over one another where the margin is narrow. The sentence above names the lines.
        markLine: {silent: true, symbol: 'none', lineStyle: {color: colours.muted, type: 'dashed'}, label: {show: false},
          data: [{xAxis: 0, lineStyle: {type: 'solid'}}, {xAxis: Math.log1p(margin)}, {xAxis: -Math.log1p(margin)}]},
      }],
    };
  };
  const better = text(family.metric) === 'bandwidth' ? 'More is better: to the right' : 'Less is better: to the left';
  return figure({title: `${text(family.operation)}, ${text(family.metric)} (${text(family.test)}, ${text(family.kind).replaceAll('_', ' ')})`,
    description: `${both}, with its interval. ${better}. Between the dashed lines, the margin of ${percent(margin)}, a difference does not matter.`, options,
    height: 96 + 34 * drawn.length}).node;
}

export function compareCharts([{body}]) {
  const {margin} = object(body.settings);
  const families = list(body.families).map(object).filter((family) => list(family.cells).length > 0);  // those that have a table
  return families.map((family) => forest(body, family, isNumber(margin) && margin > 0 ? margin : 0.05));
}

const stepOf = (row, key) => object(object(row)[key]);

/**
 * Times of steps, with their intervals as bands. `lines` are {name, points: [{x, y, low, high}]}, one that is `plain` has neither symbols nor a band; `xText`
 * and `yText` write values, `x` and `y` are what else the axes take; the rest is of figure().
 */
export function stepChart({lines, xName, yName, xText, yText, x = () => ({}), y = {}, evens = [], ...rest}) {
  const values = lines.flatMap((line) => line.points.map((point) => point.x));
  const options = (narrow) => {
    const colours = palette();
    return {
      legend: legend(narrow, {type: 'plain'}), grid: {left: narrow ? 56 : 74, right: narrow ? 18 : 30, top: 18, bottom: narrow ? 52 + 22 * lines.length : 78},
      xAxis: axis(xName, {type: 'log', logBase: 2, nameGap: 28, min: Math.min(...values), max: Math.max(...values), ...x(values)}),
      yAxis: axis(yName, {type: 'value', nameGap: narrow ? 46 : 56, ...y, axisLabel: {formatter: yText}}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({data, seriesName}) => tip(seriesName, [`${xName}: ${xText(data[0])}`, yText(data[1])])},
      series: lines.flatMap((line, i) => {
        const color = line.plain ? colours.muted : colours.series[i];
        const drawn = {name: line.name, type: 'line', symbol: line.plain ? 'none' : kSymbols[i], symbolSize: 8, color, lineStyle: {width: line.plain ? 1.5 : 2, type: line.plain ? 'dotted' : i > 0 ? 'dashed' : 'solid'},
          data: line.points.map((point) => [point.x, point.y]),
          markLine: i === 0 && evens.length > 0 ? {silent: true, symbol: 'none', lineStyle: {color: colours.muted, type: 'dashed'}, label: {formatter: 'break-even', color: colours.muted}, data: evens.map((at) => ({xAxis: at}))} : undefined};
        if (line.plain || !line.points.every((point) => isNumber(point.low) && isNumber(point.high))) return [drawn];
        return [drawn, bandSeries(line.points.map((point) => [point.x, point.low, point.high]), color)];
      }),
    };
  };
  return figure({options, ...rest}).node;
}

export function projectChart([{body}]) {
  const rows = list(body.rows).map(object);
  const axisName = text(body.axis).replaceAll('_', ' ') || 'value';
  const sides = ['a', 'b'].filter((key) => rows.some((row) => isNumber(stepOf(row, key).step_s)));
  if (sides.length === 0) return null;
  const known = (key) => rows.filter((row) => isNumber(row.value) && row.value > 0 && isNumber(stepOf(row, key).step_s));
  const refused = rows.filter((row) => text(row.refusal)).length;
  return stepChart({
    title: `Projected time of a step over ${axisName}`, description: `Shaded: the interval.${refused > 0 ? ` ${plural(refused, 'point')} could not be projected; the table says why.` : ''}`,
    lines: sides.map((key) => ({name: sides.length > 1 ? sideName(body, key) : 'step',
      points: known(key).map((row) => ({x: row.value, y: row[key].step_s, low: row[key].step_low_s, high: row[key].step_high_s}))})),
    xName: axisName, yName: 'time of a step', xText: (value) => count(value), yText: (value) => time(value * 1e9, 3), y: {scale: true},
    x: () => ({axisLabel: {formatter: (value) => count(value, 3)}}),
    evens: list(body.break_evens).map(object).map((one) => one.about).filter(isNumber)});
}
