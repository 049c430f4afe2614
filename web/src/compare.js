// Comparisons and projections.
import {axis, figure, kSymbols, legend, palette, tip} from './chart.js';
import {add, fold, h, isNumber, list, object, table, text} from './dom.js';
import {count, percent, plural, rate, size, time} from './format.js';
import {badge} from './status.js';

const kOpen = {INCONCLUSIVE: 'WARN', DRIFTING: 'WARN', REFUSED: 'SKIP', CONFOUNDED: 'WARN'};
const cellName = (cell) => size(cell.size_bytes) + (isNumber(cell.load) ? ` at ${percent(cell.load, 0)}` : '');
const valueText = (cell, value) => (cell.unit === 'ns' ? time(value) : rate(value));
const sideName = (body, side) => text(object(body[side]).name) || side.toUpperCase();

/** By how much a ratio is over or under 1; in times where `typical` is half, double or beyond. */
function signed(ratio, typical = ratio) {
  if (!isNumber(ratio)) return '\u2013';
  if (typical >= 2 || typical <= 0.5) return `${Number(ratio.toPrecision(3))} times`;
  return `${ratio >= 1 ? '+' : '\u2212'}${Math.abs((ratio - 1) * 100).toFixed(2)} %`;
}

/** better, worse, mixed or ''. Documents of older releases do not say it, but their metric does. */
function directionOf(metric, one) {
  if (text(one.verdict) !== 'DIFFERENT') return '';
  if (text(one.direction)) return text(one.direction);
  const {ratio} = object(one.estimate ?? one);
  return isNumber(ratio) ? ((ratio > 1) === (metric === 'bandwidth') ? 'better' : 'worse') : '';
}

const verdictWord = (verdict, direction) => (direction || text(verdict)).toUpperCase().replaceAll('_', ' ');

/** As the exit code judges it. */
function cellStatus(body, cell, direction) {
  const settings = object(body.settings);
  const fails = (what) => (Array.isArray(settings.fail_on) ? settings.fail_on.includes(what) : what === 'worse');
  const verdict = text(cell.verdict);
  if (verdict === 'EQUIVALENT' || verdict === 'DIFFERENT_BUT_IMMATERIAL') return 'PASS';
  if (verdict === 'INCONCLUSIVE' || verdict === 'DRIFTING') return fails('inconclusive') ? 'FAIL' : 'WARN';
  if (verdict !== 'DIFFERENT') return kOpen[verdict] ?? 'ERROR';
  if (isNumber(cell.p_beyond_margin_holm) && isNumber(settings.alpha) && cell.p_beyond_margin_holm >= settings.alpha) return 'WARN';
  return fails('different') || (direction !== 'better' && fails('worse')) ? 'FAIL' : 'PASS';
}

function bodyStatus(body) {
  if (body.failed === true) return 'FAIL';
  const verdict = text(body.verdict);
  if (verdict !== 'DIFFERENT') return verdict === 'EQUIVALENT' || verdict === 'DIFFERENT_BUT_IMMATERIAL' ? 'PASS' : kOpen[verdict] ?? 'ERROR';
  if (text(body.direction) === '' && body.failed === undefined) return 'FAIL';  // of an older release
  return text(body.direction) === 'better' ? 'PASS' : 'WARN';
}

const bodyWord = (body) => verdictWord(body.verdict, text(body.verdict) === 'DIFFERENT' ? text(body.direction) : '');

function cellBadge(body, family, cell) {
  const direction = directionOf(text(family.metric), cell);
  return badge(cellStatus(body, cell, direction), verdictWord(cell.verdict, direction));
}

function familyTable(body, family, cells) {
  return table(`${text(family.operation)}, ${text(family.metric)}: ${sideName(body, 'b')} against ${sideName(body, 'a')}`, [{name: 'Size'}, {name: sideName(body, 'a'), number: true}, {name: sideName(body, 'b'), number: true},
    {name: 'Change', number: true}, {name: 'Interval', number: true}, {name: 'Launches', number: true}, {name: 'Verdict'}, {name: 'Remark'}],
  cells.map((cell) => {
    const estimate = object(cell.estimate);
    const more = isNumber(cell.more_launches) && !text(cell.obstacle) ? `${cell.more_launches} more ${cell.more_launches === 1 ? 'launch' : 'launches'} of each side would tell` : '';
    return [cellName(cell), valueText(cell, cell.a), valueText(cell, cell.b), signed(estimate.ratio), isNumber(estimate.ratio_low) ? `${signed(estimate.ratio_low, estimate.ratio)} to ${signed(estimate.ratio_high, estimate.ratio)}` : '\u2013',
      `${text(cell.a_units)}, ${text(cell.b_units)}`, cellBadge(body, family, cell), [text(cell.reason), more].filter(Boolean).join('; ')];
  }));
}

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
  if (drawn.length === 0) return familyTable(body, family, cells);
  const words = (cell) => verdictWord(cell.verdict, directionOf(text(family.metric), cell));
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
    height: 96 + 34 * drawn.length, tables: () => familyTable(body, family, cells)}).node;
}

function confounds(body) {
  const all = list(body.confounds).map(object);
  if (all.length === 0) return h('p', {}, 'Nothing else differed between the two sides, as far as their environments tell.');
  return table('What else differs', [{name: 'Fact'}, {name: 'In'}, {name: sideName(body, 'a')}, {name: sideName(body, 'b')}, {name: 'Declared?'}],
      all.map((one) => ({attributes: one.declared === true ? {} : {class: 'differs'}, cells: [text(one.name), text(one.where) || 'all', text(one.a), text(one.b), one.declared === true ? 'declared' : 'not declared']})));
}

function side(name, value) {
  const one = object(value);
  const words = [`${text(one.launches)} launches`, isNumber(one.pairs) ? plural(one.pairs, 'pair of nodes').replace('nodess', 'nodes') : ''];
  for (const [code, number] of Object.entries(object(one.suspicions))) words.push(`${text(number)} suspect (${code})`);
  for (const [kind, number] of Object.entries(object(one.counters))) words.push(`${kind}: ${text(number)}`);
  return h('li', {}, `${name}: ${words.filter(Boolean).join(', ')}`, list(one.failed).length > 0 ? h('ul', {}, list(one.failed).map((line) => h('li', {}, text(line)))) : null);
}

const notesOf = (body) => (list(body.notes).length > 0 ? h('ul', {}, list(body.notes).map((one) => h('li', {}, text(one)))) : null);

function planSection(body) {
  const plan = object(body.plan);
  return add(h('div'), [
    h('p', {}, isNumber(plan.launches_per_side) ? `${plan.launches_per_side} launches of each side` : 'More launches than are planned for',
        ` would tell, at a margin of ${percent(plan.margin)} with a power of ${percent(plan.power, 0)}, from ${text(plan.pilot_launches)} pilot launches.`),
    table('Launches of each side, by quantity', [{name: 'Quantity'}, {name: 'Launches vary by', number: true}, {name: 'Launches of each side', number: true}],
        list(plan.quantities).map(object).map((one) => [text(one.what), percent(one.log_stddev, 2), isNumber(one.launches_per_side) ? text(one.launches_per_side) : 'too many'])),
    notesOf(body),
  ]);
}

/** The verdict in words. */
function sentence(body, margin) {
  if (text(body.summary)) return text(body.summary);
  const stands = text(body.verdict) === 'CONFOUNDED' ? `; something differs that is not what is compared. As they stand: ${verdictWord(body.as_they_stand, '')}` : '';
  return `${sideName(body, 'b')} against ${sideName(body, 'a')}, at a margin of ${percent(margin)}${stands}`;
}

export function compareSection({body}) {
  if (body.plan !== undefined) return planSection(body);
  const settings = object(body.settings);
  const margin = isNumber(settings.margin) && settings.margin > 0 ? settings.margin : 0.05;
  const undeclared = list(body.confounds).map(object).some((one) => one.declared !== true);
  return add(h('div'), [
    h('p', {class: 'verdict'}, badge(bodyStatus(body), bodyWord(body)), ` ${sentence(body, margin)}`),
    list(body.families).map((family) => forest(body, object(family), margin)),
    fold('Details: the launches of both sides, what else differs, notes', () => [
      h('ul', {class: 'plain'}, side(sideName(body, 'a'), body.a), side(sideName(body, 'b'), body.b)), confounds(body), notesOf(body)], undeclared),
  ]);
}

export function comparePoints({source, body}) {
  if (body.plan !== undefined) return [];
  const stands = text(body.verdict) === 'CONFOUNDED' ? `; as they stand ${verdictWord(body.as_they_stand, '')}` : '';
  return [{status: bodyStatus(body), text: `${source}: ${text(body.summary) || bodyWord(body) + stands}`}];
}

/** Numbers that were asked for, as they were asked for. */
function exact(value, unit = '') {
  if (!isNumber(value)) return `${text(value)} ${unit}`;
  if (unit === 'bytes') return size(value);
  return `${Math.abs(value) < 1e5 ? String(Number(value.toPrecision(6))) : count(value)} ${unit}`;
}

const seconds = (value) => (isNumber(value) ? time(value * 1e9) : '\u2013');
const stepOf = (row, key) => object(object(row)[key]);
const hasTwo = (rows) => rows.some((row) => isNumber(stepOf(row, 'b').step_s));

function projectionTable(body, rows, axisName) {
  const two = hasTwo(rows);
  const interval = (one) => (isNumber(one.step_low_s) ? `${seconds(one.step_low_s)} to ${seconds(one.step_high_s)}` : '\u2013');
  const heads = (name) => [{name, number: true}, {name: 'interval', number: true}, {name: 'communication', number: true}];
  return table('Projected time of a step', [{name: axisName, number: true}, ...heads(two ? sideName(body, 'a') : 'step'),
    ...(two ? [...heads(sideName(body, 'b')), {name: 'Change', number: true}] : []), {name: 'Verdict'}],
  rows.map((row) => {
    const cells = (key) => [seconds(stepOf(row, key).step_s), interval(stepOf(row, key)), seconds(stepOf(row, key).communication_s)];
    const difference = object(row.difference);
    const direction = directionOf('step', difference);
    return [exact(row.value), ...cells('a'), ...(two ? [...cells('b'), signed(difference.ratio)] : []),
      text(row.refusal) ? [badge('SKIP', 'refused'), ` ${text(row.refusal)}`] : text(difference.verdict) ? badge('INFO', verdictWord(difference.verdict, direction)) : ''];
  }), {class: 'scroll wide'});
}

/** What a step costs, where there are prices. */
function costTable(body, rows, axisName) {
  const priced = ['a', 'b'].filter((key) => rows.some((row) => isNumber(stepOf(row, key).cost_per_step)));
  if (priced.length === 0) return null;
  const cost = (row, key) => stepOf(row, key).cost_per_step;
  const shown = rows.filter((row) => priced.some((key) => isNumber(cost(row, key))));
  return table('Cost of one step, in the currency of the prices per node and hour', [{name: axisName, number: true}, ...priced.map((key) => ({name: sideName(body, key), number: true})), ...(priced.length > 1 ? [{name: 'Change', number: true}] : [])],
      shown.map((row) => [exact(row.value), ...priced.map((key) => (isNumber(cost(row, key)) ? String(Number(cost(row, key).toPrecision(4))) : '\u2013')),
        ...(priced.length > 1 ? [signed(cost(row, 'b') / cost(row, 'a'))] : [])]));
}

/** How long a step is with no overlap, and with all that there can be. */
function overlapTable(body, rows, axisName) {
  const sides = ['a', 'b'].filter((key) => rows.some((row) => isNumber(stepOf(row, key).nothing_hidden_s)));
  if (sides.length === 0) return null;
  return table('Bounds by overlap of communication and computation', [{name: axisName, number: true}, ...sides.flatMap((key) => {
    const name = sides.length > 1 ? `${sideName(body, key)}: ` : '';
    return [{name: `${name}nothing hidden`, number: true}, {name: `${name}all hidden that can be`, number: true}];
  })], rows.filter((row) => sides.some((key) => isNumber(stepOf(row, key).nothing_hidden_s)))
      .map((row) => [exact(row.value), ...sides.flatMap((key) => [seconds(stepOf(row, key).nothing_hidden_s), seconds(stepOf(row, key).all_hidden_s)])]));
}

/** Where one side becomes better, or the two come within the margin. */
function breakEvens(body, axisName) {
  const all = list(body.break_evens).map(object).filter((one) => isNumber(one.about));
  if (all.length === 0) return null;
  const words = (one) => {
    const where = `from about ${count(one.about)} ${axisName} on (between ${exact(one.from).trim()} and ${exact(one.to).trim()})`;
    if (text(one.then) === 'within_margin') return `Within the margin of ${percent(body.margin)} ${where}.`;
    const name = {better: sideName(body, 'b'), worse: sideName(body, 'a')}[text(one.direction)];
    return name ? `${name} is better by more than the margin of ${percent(body.margin)} ${where}.` : `Beyond the margin of ${percent(body.margin)} ${where}.`;
  };
  return h('ul', {class: 'plain'}, all.map((one) => h('li', {}, `Break-even: ${words(one)}`)));
}

/**
 * Times of steps, with their intervals as bands. `lines` are {name, points: [{x, y, low, high}]}, one that is `plain` has neither symbols nor a band; `xText`
 * and `yText` write values, `x` and `y` are what else the axes take; the rest is of figure().
 */
export function stepChart({lines, xName, yName, xText, yText, x = () => ({}), y = {}, evens = [], ...rest}) {
  const values = lines.flatMap((line) => line.points.map((point) => point.x));
  const options = (narrow) => {
    const colours = palette();
    const bandOf = (line) => [...line.points.map((point) => [point.x, point.high]), ...line.points.map((point) => [point.x, point.low]).reverse()];
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
        return [drawn, {type: 'custom', silent: true, z: 1, clip: true, data: [bandOf(line)[0]], encode: {x: 0, y: 1}, tooltip: {show: false},
          renderItem: (_, api) => ({type: 'polygon', shape: {points: bandOf(line).map((point) => api.coord(point))}, style: {fill: color, opacity: 0.16}})}];
      }),
    };
  };
  return figure({options, ...rest}).node;
}

function projectionChart(body, rows, axisName) {
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
    evens: list(body.break_evens).map(object).map((one) => one.about).filter(isNumber), tables: () => projectionTable(body, rows, axisName)});
}

export function projectSection({body}) {
  const rows = list(body.rows).map(object);
  const axisName = text(body.axis).replaceAll('_', ' ') || 'value';
  const facts = Object.entries(body).filter(([key, value]) => (value === null || typeof value !== 'object') && key !== 'schema' && key !== 'summary' && text(value) !== '');
  return add(h('div'), [
    text(body.summary) ? h('p', {class: 'verdict'}, text(body.summary)) : null,
    projectionChart(body, rows, axisName), projectionTable(body, rows, axisName), breakEvens(body, axisName), costTable(body, rows, axisName),
    overlapTable(body, rows, axisName),
    fold('Details: what was assumed, how it was asked, notes', () => [
      table('What was assumed', [{name: 'Assumption'}, {name: 'Value'}, {name: 'From'}],
          list(body.assumptions).map((one) => (object(one) === one ? [text(one.name).replaceAll('_', ' '), exact(one.value, text(one.unit)), text(one.origin)] : [text(one), '', '']))),
      table('Settings', [{name: 'What'}, {name: 'Value'}], facts.map(([key, value]) => [key.replaceAll('_', ' '), text(value)])), notesOf(body)]),
  ]);
}
