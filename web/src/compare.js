// Comparisons and projections.
import {axis, figure, kSymbols, legend, palette, tip} from './chart.js';
import {add, fold, h, isNumber, list, object, table, text} from './dom.js';
import {count, percent, plural, rate, size, time} from './format.js';
import {badge} from './status.js';

const kStatus = {EQUIVALENT: 'PASS', DIFFERENT_BUT_IMMATERIAL: 'PASS', DIFFERENT: 'FAIL', INCONCLUSIVE: 'WARN', DRIFTING: 'WARN', REFUSED: 'SKIP', CONFOUNDED: 'WARN'};
const verdictBadge = (verdict) => badge(kStatus[text(verdict)] ?? 'ERROR', text(verdict).replaceAll('_', ' '));
const cellName = (cell) => size(cell.size_bytes) + (isNumber(cell.load) ? ` at ${percent(cell.load, 0)}` : '');
const valueText = (cell, value) => (cell.unit === 'ns' ? time(value) : rate(value));
const signed = (ratio) => (isNumber(ratio) ? `${ratio >= 1 ? '+' : '\u2212'}${Math.abs((ratio - 1) * 100).toFixed(2)} %` : '\u2013');

function familyTable(family, cells) {
  return table(`${text(family.operation)}, ${text(family.metric)}: B against A`, [{name: 'Size'}, {name: 'A', number: true}, {name: 'B', number: true},
    {name: 'B against A', number: true}, {name: 'Interval', number: true}, {name: 'Launches A, B', number: true}, {name: 'Verdict'}, {name: 'Remark'}],
  cells.map((cell) => {
    const estimate = object(cell.estimate);
    return [cellName(cell), valueText(cell, cell.a), valueText(cell, cell.b), signed(estimate.ratio), isNumber(estimate.ratio_low) ? `${signed(estimate.ratio_low)} to ${signed(estimate.ratio_high)}` : '\u2013',
      `${text(cell.a_units)}, ${text(cell.b_units)}`, verdictBadge(cell.verdict), [text(cell.reason), isNumber(cell.more_launches) ? ` ${plural(cell.more_launches, 'more launch').replace('launchs', 'launches')} of each side` : '']];
  }));
}

/** A forest plot: each size's interval against the margin. */
function forest(family, margin) {
  const cells = list(family.cells).map(object);
  const drawn = cells.filter((cell) => isNumber(object(cell.estimate).ratio_low));
  if (drawn.length === 0) return familyTable(family, cells);
  const change = (ratio) => (ratio - 1) * 100;
  const options = (narrow) => {
    const colours = palette();
    const colour = (cell) => ({PASS: colours.series[0], FAIL: colours.series[1]}[kStatus[text(cell.verdict)]] ?? colours.muted);
    const reach = Math.max(margin * 150, ...drawn.flatMap((cell) => [Math.abs(change(cell.estimate.ratio_low)), Math.abs(change(cell.estimate.ratio_high))]));
    const limit = Math.ceil(reach * 1.08);
    return {
      grid: {left: narrow ? 78 : 110, right: 24, top: 24, bottom: 46},
      xAxis: axis('B against A, in percent', {type: 'value', min: -limit, max: limit, nameGap: 28, axisLabel: {formatter: (value) => `${value > 0 ? '+' : ''}${value}`}}),
      yAxis: axis('', {type: 'category', inverse: true, data: drawn.map(cellName), splitLine: {show: false}}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({dataIndex}) => tip(cellName(drawn[dataIndex]), [`${signed(drawn[dataIndex].estimate.ratio)} (${signed(drawn[dataIndex].estimate.ratio_low)} to ${signed(drawn[dataIndex].estimate.ratio_high)})`, text(drawn[dataIndex].verdict).replaceAll('_', ' ')])},
      series: [{
        type: 'custom', data: drawn.map((cell, i) => [change(cell.estimate.ratio), i, change(cell.estimate.ratio_low), change(cell.estimate.ratio_high)]), encode: {x: [0, 2, 3], y: 1},
        renderItem: (_, api) => {
          const [x, y] = api.coord([api.value(0), api.value(1)]);
          const [low] = api.coord([api.value(2), api.value(1)]);
          const [high] = api.coord([api.value(3), api.value(1)]);
          const fill = colour(drawn[api.value(1)]);
          const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style: {stroke: fill, lineWidth: 2}});
          return {type: 'group', children: [line(low, y, high, y), line(low, y - 5, low, y + 5), line(high, y - 5, high, y + 5),
            {type: 'circle', shape: {cx: x, cy: y, r: 5}, style: {fill}}]};
        },
        markLine: {silent: true, symbol: 'none', lineStyle: {color: colours.muted, type: 'dashed'}, label: {show: !narrow, color: colours.muted, position: 'start', formatter: ({value}) => (value === 0 ? 'alike' : 'margin')},
          data: [{xAxis: 0, lineStyle: {type: 'solid'}}, {xAxis: change(1 + margin)}, {xAxis: change(1 / (1 + margin))}]},
      }],
    };
  };
  const better = text(family.metric) === 'bandwidth' ? 'More is better.' : 'Less is better.';
  return figure({title: `${text(family.operation)}, ${text(family.metric)} (${text(family.test)}, ${text(family.kind).replaceAll('_', ' ')})`,
    description: `B against A with its interval; between the dashed lines a difference does not matter. ${better}`, options,
    height: 110 + 34 * drawn.length, tables: () => familyTable(family, cells)}).node;
}

function confounds(body) {
  const all = list(body.confounds).map(object);
  if (all.length === 0) return h('p', {}, 'Nothing else differed between the two sides, as far as their environments tell.');
  return table('What else differs between A and B', [{name: 'Fact'}, {name: 'In'}, {name: 'A'}, {name: 'B'}, {name: 'Declared?'}],
      all.map((one) => ({attributes: one.declared === true ? {} : {class: 'differs'}, cells: [text(one.name), text(one.where) || 'all', text(one.a), text(one.b), one.declared === true ? 'declared' : 'not declared']})));
}

function side(name, value) {
  const one = object(value);
  const words = [`${text(one.launches)} launches`, isNumber(one.pairs) ? plural(one.pairs, 'pair of nodes').replace('nodess', 'nodes') : ''];
  for (const [code, number] of Object.entries(object(one.suspicions))) words.push(`${text(number)} suspect (${code})`);
  for (const [kind, number] of Object.entries(object(one.counters))) words.push(`${kind}: ${text(number)}`);
  return h('li', {}, `${name}: ${words.filter(Boolean).join(', ')}`, list(one.failed).length > 0 ? h('ul', {}, list(one.failed).map((line) => h('li', {}, text(line)))) : null);
}

function planSection(body) {
  const plan = object(body.plan);
  return add(h('div'), [
    h('p', {}, isNumber(plan.launches_per_side) ? `${plan.launches_per_side} launches of each side` : 'More launches than are planned for',
        ` would tell, at a margin of ${percent(plan.margin)} with a power of ${percent(plan.power, 0)}, from ${text(plan.pilot_launches)} pilot launches.`),
    table('Launches of each side, by quantity', [{name: 'Quantity'}, {name: 'Launches vary by', number: true}, {name: 'Launches of each side', number: true}],
        list(plan.quantities).map(object).map((one) => [text(one.what), percent(one.log_stddev, 2), isNumber(one.launches_per_side) ? text(one.launches_per_side) : 'too many'])),
    list(body.notes).length > 0 ? h('ul', {}, list(body.notes).map((one) => h('li', {}, text(one)))) : null,
  ]);
}

export function compareSection({body}) {
  if (body.plan !== undefined) return planSection(body);
  const settings = object(body.settings);
  const margin = isNumber(settings.margin) && settings.margin > 0 ? settings.margin : 0.05;
  return add(h('div'), [
    h('p', {class: 'verdict'}, verdictBadge(body.verdict), ` B against A, at a margin of ${percent(margin)}`, isNumber(body.more_launches) ? `; ${body.more_launches} more launches of each side would tell` : ''),
    text(body.verdict) === 'CONFOUNDED' ? h('p', {class: 'warning'}, 'Something differs that is not what is compared, so this is no verdict about that. As the two sides stand: ', verdictBadge(body.as_they_stand)) : null,
    h('ul', {class: 'plain'}, side('A', body.a), side('B', body.b)),
    list(body.families).map((family) => forest(object(family), margin)),
    h('h3', {}, 'What else differs'), confounds(body),
    list(body.notes).length > 0 ? h('ul', {}, list(body.notes).map((one) => h('li', {}, text(one)))) : null,
  ]);
}

export function comparePoints({source, body}) {
  if (body.plan !== undefined) return [];
  const verdict = text(body.verdict);
  return [{status: kStatus[verdict] ?? 'ERROR', text: `${source}: ${verdict.replaceAll('_', ' ')}${verdict === 'CONFOUNDED' ? `; as they stand ${text(body.as_they_stand).replaceAll('_', ' ')}` : ''}`}];
}

/** Numbers that were asked for, as they were asked for. */
function exact(value, unit = '') {
  if (!isNumber(value)) return `${text(value)} ${unit}`;
  if (unit === 'bytes') return size(value);
  return `${Math.abs(value) < 1e5 ? String(Number(value.toPrecision(6))) : count(value)} ${unit}`;
}

function projectionTable(body, rows, axisName) {
  const two = rows.some((row) => object(row.b).step_s !== undefined);
  const step = (one) => (isNumber(object(one).step_s) ? time(one.step_s * 1e9) : '\u2013');
  const interval = (one) => (isNumber(object(one).step_low_s) ? `${time(one.step_low_s * 1e9)} to ${time(one.step_high_s * 1e9)}` : '\u2013');
  return table('Projected time of a step', [{name: axisName, number: true}, {name: two ? 'A' : 'step', number: true}, {name: 'interval', number: true},
    {name: 'communication', number: true}, ...(two ? [{name: 'B', number: true}, {name: 'interval', number: true}, {name: 'communication', number: true}, {name: 'B against A', number: true}] : []), {name: 'Verdict'}],
  rows.map((row) => {
    const side = (one) => [step(one), interval(one), isNumber(object(one).communication_s) ? time(one.communication_s * 1e9) : '\u2013'];
    const difference = object(row.difference);
    return [exact(row.value), ...side(row.a), ...(two ? [...side(row.b), signed(difference.ratio)] : []),
      text(row.refusal) ? [badge('SKIP', 'refused'), ` ${text(row.refusal)}`] : text(difference.verdict) ? verdictBadge(difference.verdict) : ''];
  }), {class: 'scroll wide'});
}

function projectionChart(body, rows, axisName) {
  const sides = ['a', 'b'].filter((side) => rows.some((row) => isNumber(object(row[side]).step_s)));
  if (sides.length === 0) return null;
  const options = (narrow) => {
    const colours = palette();
    const known = (side) => rows.filter((row) => isNumber(row.value) && row.value > 0 && isNumber(object(row[side]).step_s));
    const even = list(body.break_evens).map(object).filter((one) => isNumber(one.about));
    const end = (side, key) => ({name: `${side.toUpperCase()}, interval`, type: 'line', symbol: 'none', lineStyle: {type: 'dotted', width: 1.5}, color: colours.series[sides.indexOf(side)],
      data: known(side).filter((row) => isNumber(row[side][key])).map((row) => [row.value, row[side][key]])});
    return {
      legend: legend(narrow), grid: {left: narrow ? 62 : 74, right: narrow ? 18 : 30, top: 30, bottom: 78},
      xAxis: axis(axisName, {type: 'log', logBase: 2, nameGap: 28, axisLabel: {formatter: (value) => count(value, 3)}, min: Math.min(...sides.flatMap((side) => known(side).map((row) => row.value))),
        max: Math.max(...sides.flatMap((side) => known(side).map((row) => row.value)))}),
      yAxis: axis('time of a step', {type: 'value', nameGap: narrow ? 46 : 56, scale: true, axisLabel: {formatter: (value) => time(value * 1e9, 3)}}),
      tooltip: {trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        formatter: ({data, seriesName}) => tip(seriesName, [`${axisName}: ${count(data[0])}`, time(data[1] * 1e9)])},
      series: sides.flatMap((side, i) => [
        {name: side.toUpperCase(), type: 'line', symbol: kSymbols[i], symbolSize: 8, color: colours.series[i], lineStyle: {width: 2}, data: known(side).map((row) => [row.value, row[side].step_s]),
          markLine: i === 0 && even.length > 0 ? {silent: true, symbol: 'none', lineStyle: {color: colours.muted, type: 'dashed'}, label: {formatter: 'break-even', color: colours.muted}, data: even.map((one) => ({xAxis: one.about}))} : undefined},
        end(side, 'step_low_s'), end(side, 'step_high_s')]),
    };
  };
  const refused = rows.filter((row) => text(row.refusal)).length;
  return figure({title: `Projected time of a step over ${axisName}`, description: `Dotted: the interval.${refused > 0 ? ` ${plural(refused, 'point')} could not be projected; the table says why.` : ''}`, options,
    tables: () => projectionTable(body, rows, axisName)}).node;
}

export function projectSection({body}) {
  const rows = list(body.rows).map(object);
  const axisName = text(body.axis).replaceAll('_', ' ') || 'value';
  const facts = Object.entries(body).filter(([key, value]) => (value === null || typeof value !== 'object') && key !== 'schema' && text(value) !== '');
  return add(h('div'), [
    projectionChart(body, rows, axisName), projectionTable(body, rows, axisName),
    table('What was assumed', [{name: 'Assumption'}, {name: 'Value', number: true}, {name: 'From'}],
        list(body.assumptions).map((one) => (object(one) === one ? [text(one.name).replaceAll('_', ' '), exact(one.value, text(one.unit)), text(one.origin)] : [text(one), '', '']))),
    list(body.notes).length > 0 ? h('ul', {}, list(body.notes).map((one) => h('li', {}, text(one)))) : null,
    fold('How it was asked', () => table('Settings', [{name: 'What'}, {name: 'Value'}], facts.map(([key, value]) => [key.replaceAll('_', ' '), text(value)]))),
  ]);
}
