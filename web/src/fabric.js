// A fabric: the heat map of its pairs on a fixed scale.
import {axis, figure, isDark, palette, tip} from './chart.js';
import {fold, h, isNumber, list, object, select, table, text} from './dom.js';
import {median, percent, plural, rate, size, time} from './format.js';

// Shares of the typical value. They are the same on every page: two reports can be laid side by side, and one lucky
// pair darkens nothing. Lightness falls steadily, so that the order can be seen with any colour vision, and on paper.
const kBands = [
  {from: 1.05, to: Infinity, name: 'over 105 %'},
  {from: 0.97, to: 1.05, name: '97 to 105 %, typical'},
  {from: 0.90, to: 0.97, name: '90 to 97 %'},
  {from: 0.80, to: 0.90, name: '80 to 90 %'},
  {from: 0.65, to: 0.80, name: '65 to 80 %'},
  {from: 0.50, to: 0.65, name: '50 to 65 %'},
  {from: 0, to: 0.50, name: 'under 50 %'},
];
const kLightBands = ['#dcecf9', '#eef1e6', '#fbdc8c', '#f6a05a', '#d85a4a', '#8e2a63', '#35104a'];
const kDarkBands = ['#1d3448', '#26303a', '#5b3f74', '#99476f', '#dc6a51', '#f7ae4d', '#fff3b0'];
const kMostCells = 160;  // of a side; beyond it a cell stands for a block of pairs, by its worst

const isLatency = (series) => series.metric === 'latency';
const share = (series, value) => (isLatency(series) ? series.typical / value : value / series.typical);
const valueText = (series, value) => (isLatency(series) ? time(value) : rate(value));
const seriesName = (series) => `${series.metric}, ${size(series.size_bytes)}`;

/**
 * What the file holds, by pair; the median where a pair was measured more than once. `pairs` of a series are those of
 * the screening rounds. Confirming rounds measure what stands out again, beside others than before: `again` has them.
 */
class Fabric {
  constructor(document) {
    this.body = object(document.body);
    this.verdict = object(this.body.verdict);
    this.errors = list(document.errors);
    this.lost = list(this.body.lost);
    this.ranks = [];
    this.nodes = new Map();
    this.shared = new Set();  // names of several nodes
    for (const node of list(this.body.nodes)) this.learn(node.rank, node);
    this.series = list(document.series).map((one) => this.read(one)).filter((one) => one.pairs.size + one.again.pairs.size > 0);
    for (const one of [...this.errors, ...this.lost]) {
      for (const rank of [one.rank, one.sender, one.receiver]) if (isNumber(rank)) this.learn(rank, {});
    }
    this.ranks.sort((a, b) => a - b);
    const known = new Set();
    for (const node of this.nodes.values()) {
      const name = text(object(node).host);
      if (known.has(name)) this.shared.add(name);
      known.add(name);
    }
  }

  learn(rank, node) {
    if (!isNumber(rank) || this.nodes.has(rank)) return;
    this.nodes.set(rank, node);
    this.ranks.push(rank);
  }

  /** With the rank where several nodes are on one host. */
  host(rank) {
    const name = text(object(this.nodes.get(rank)).host) || `node ${rank}`;
    return this.shared.has(name) ? `${name} (${rank})` : name;
  }

  railName(rail, rank = this.ranks[0]) {
    return text(list(object(this.nodes.get(rank)).rails)[rail]) || `rail ${rail}`;
  }

  read(one) {
    const series = {...one, pairs: new Map(), confirming: false, again: {...one, pairs: new Map(), confirming: true}};
    const confirming = new Set(list(one.confirming));
    const usual = [];
    list(one.value).forEach((value, i) => {
      const sender = one.sender[i];
      const receiver = one.receiver[i];
      this.learn(sender, {});
      this.learn(receiver, {});
      const key = `${sender} ${receiver}`;
      const {pairs} = confirming.has(i) ? series.again : series;
      if (!pairs.has(key)) pairs.set(key, {sender, receiver, values: []});
      pairs.get(key).values.push(value);
      if (!confirming.has(i)) usual.push(value);
    });
    const stated = list(this.verdict.typical).find((typical) => typical.metric === one.metric &&
        typical.size_bytes === one.size_bytes && (typical.rail === undefined || typical.rail === null || typical.rail === one.rail));
    series.typical = series.again.typical = isNumber(stated?.value) && stated.value > 0 ? stated.value : median(usual);
    for (const pair of [...series.pairs.values(), ...series.again.pairs.values()]) {
      pair.value = median(pair.values);
      pair.share = share(series, pair.value);
    }
    return series;
  }

  /** The series of one metric and size, one of each rail. */
  rails(name) {
    return this.series.filter((series) => seriesName(series) === name);
  }

  failures(series) {
    return this.errors.filter((one) => one.metric === series.metric && one.size_bytes === series.size_bytes && one.rail === series.rail &&
        (one.confirming === true) === series.confirming);
  }
}

function worstPairs(fabric, all, most) {
  const pairs = all.flatMap((series) => [...series.pairs.values()].map((pair) => ({series, pair})));
  pairs.sort((a, b) => a.pair.share - b.pair.share);
  return table(`The ${Math.min(most, pairs.length)} pairs furthest below typical`,
      [{name: 'Sender'}, {name: 'Receiver'}, {name: 'Rail'}, {name: 'Value', number: true}, {name: 'Of typical', number: true}],
      pairs.slice(0, most).map(({series, pair}) => [fabric.host(pair.sender), fabric.host(pair.receiver),
        fabric.railName(series.rail, pair.sender), valueText(series, pair.value), percent(pair.share, 0)]));
}

/** Every cell; for those who read, or copy, the numbers of a fabric that is not too large. */
function matrixTable(fabric, all) {
  const value = (sender, receiver) => all.map((series) => series.pairs.get(`${sender} ${receiver}`)).filter(Boolean)
      .reduce((worst, pair) => (worst === null || pair.share < worst.share ? pair : worst), null);
  return table('Every pair: the share of typical, in percent; senders down, receivers across',
      [{name: 'Sender'}, ...fabric.ranks.map((rank) => ({name: fabric.host(rank), number: true}))],
      fabric.ranks.map((sender) => [fabric.host(sender), ...fabric.ranks.map((receiver) => {
        const pair = value(sender, receiver);
        return pair ? (pair.share * 100).toFixed(0) : '';
      })]));
}

function lookUp(fabric) {
  const choices = fabric.ranks.map((rank) => ({value: String(rank), text: fabric.host(rank)}));
  const out = h('div', {'aria-live': 'polite', class: 'found'});
  const show = () => {
    out.replaceChildren();
    const key = `${sender.value()} ${receiver.value()}`;
    const rows = fabric.series.filter((series) => series.pairs.has(key) || series.again.pairs.has(key)).map((series) => {
      const [pair, again] = [series.pairs.get(key), series.again.pairs.get(key)];
      return [seriesName(series), fabric.railName(series.rail, (pair ?? again).sender), valueText(series, pair?.value), percent(pair?.share, 0), valueText(series, again?.value)];
    });
    const failed = fabric.errors.filter((one) => `${one.sender} ${one.receiver}` === key);
    for (const one of failed) {
      rows.push([`${text(one.metric)}, ${size(one.size_bytes)}`, fabric.railName(one.rail, one.sender), 'failed', text(one.error), '']);
    }
    if (rows.length === 0) out.append(h('p', {class: 'note'}, 'This pair was not measured in this direction.'));
    else out.append(table('What was measured of this pair', [{name: 'Metric'}, {name: 'Rail'}, {name: 'Value', number: true}, {name: 'Of typical', number: true}, {name: 'In confirming rounds', number: true}], rows));
  };
  const sender = select('Sender', choices, show);
  const receiver = select('receiver', choices, show);
  if (choices.length > 1) receiver.box.value = choices[1].value;
  show();
  return h('div', {}, h('div', {class: 'choices'}, sender.node, receiver.node), out);
}

/** Cells of the heat map: {value: [column, row, band], pair, series}, the worst pair of each block. */
function cellsOf(fabric, all, block) {
  const place = new Map(fabric.ranks.map((rank, i) => [rank, Math.floor(i / block)]));
  const worst = new Map();
  for (const series of all) {
    for (const pair of series.pairs.values()) {
      const key = `${place.get(pair.receiver)} ${place.get(pair.sender)}`;
      if (!worst.has(key) || pair.share < worst.get(key).pair.share) worst.set(key, {series, pair});
    }
  }
  return [...worst].map(([key, {series, pair}]) => {
    const [column, row] = key.split(' ').map(Number);
    return {value: [column, row, kBands.findIndex((band) => pair.share >= band.from)], pair, series};
  });
}

/** Of one metric and size; `every` are its series, one of each rail. */
function heatMap(fabric, title, every) {
  const block = Math.ceil(fabric.ranks.length / kMostCells);
  const places = Math.ceil(fabric.ranks.length / block);
  const suspects = new Set(list(fabric.verdict.findings).flatMap((one) => (isNumber(one.b) || one.part === 'rail' || one.element ? [] : [one.a])));
  for (const one of fabric.lost) suspects.add(one.rank);
  const labels = Array.from({length: places}, (_, i) => {
    const ranks = fabric.ranks.slice(i * block, (i + 1) * block);
    const bad = ranks.find((rank) => suspects.has(rank));
    return {words: ranks.length === 1 ? fabric.host(ranks[0]) : `${fabric.host(bad ?? ranks[0])} \u2026`, bad: bad !== undefined};
  });
  const state = {rail: 'worst'};
  const shown = () => every.filter((series) => state.rail === 'worst' || String(series.rail) === state.rail);
  const counts = (cells) => kBands.map((_, i) => cells.filter((cell) => cell.value[2] === i).length);

  const legend = h('ul', {class: 'legend'});
  const showLegend = (cells, bands) => {
    const number = counts(cells);
    legend.replaceChildren(...kBands.map((band, i) => h('li', {}, h('span', {class: 'swatch', style: `background:${bands[i]}`}), `${band.name} (${number[i]})`)),
        h('li', {}, h('span', {class: 'cross', 'aria-hidden': 'true'}, '\u2715'), 'failed'));
  };
  const options = (narrow) => {
    const colours = palette();
    const bands = isDark() ? kDarkBands : kLightBands;
    const all = shown();
    const cells = cellsOf(fabric, all, block);
    const place = new Map(fabric.ranks.map((rank, i) => [rank, Math.floor(i / block)]));
    const failures = all.flatMap((series) => fabric.failures(series));
    showLegend(cells, bands);
    const label = (index) => {
      const one = labels[index];
      if (!one) return '';
      const most = narrow ? 9 : 16;
      const words = one.words.length > most ? `\u2026${one.words.slice(1 - most)}` : one.words;
      return one.bad ? `{bad|\u25b6 ${words}}` : words;
    };
    const side = {
      type: 'category', data: labels.map((_, i) => String(i)), splitLine: {show: false}, axisTick: {show: false},
      splitArea: {show: false},
    };
    const font = places > 48 || narrow ? 9 : 11;
    // Those that stand out are named always, the others where there is room.
    const step = Math.max(1, Math.ceil(places / (narrow ? 16 : 40)));
    const near = Math.ceil((places * 12) / (narrow ? 270 : 640)) - 1;  // labels that one of 12 pixels covers
    const beside = (index) => Array.from({length: 2 * near + 1}, (_, i) => labels[index - near + i]).some((one) => one?.bad);
    const interval = (index) => labels[index]?.bad || (index % step === 0 && !beside(index));
    const axisLabel = {formatter: (i) => label(Number(i)), interval, hideOverlap: false, fontSize: font, rich: {bad: {color: colours.bad, fontWeight: 'bold', fontSize: font}}};
    const room = narrow ? 66 : 118;
    return {
      tooltip: {
        trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line, textStyle: {color: colours.text},
        // ECharts copies its data, so they are numbers alone, and the rest is found by their place.
        formatter: ({seriesIndex, dataIndex}) => {
          if (seriesIndex === 1) {
            const one = failures[dataIndex];
            return tip(`${fabric.host(one.sender)} to ${fabric.host(one.receiver)}`, ['failed', text(one.error)]);
          }
          const {pair, series} = cells[dataIndex];
          const again = series.again?.pairs.get(`${pair.sender} ${pair.receiver}`);
          return tip(`${fabric.host(pair.sender)} to ${fabric.host(pair.receiver)}`, [
            `${fabric.railName(series.rail, pair.sender)}: ${valueText(series, pair.value)}`, `${percent(pair.share, 0)} of typical`,
            again ? `in confirming rounds: ${valueText(series, again.value)}` : null, block > 1 ? 'the worst of its block' : null].filter(Boolean));
        },
      },
      grid: {left: room, right: 8, top: room, bottom: 8},
      xAxis: axis('receiver', {...side, position: 'top', nameGap: room - 18, axisLabel: {...axisLabel, rotate: 60}}),
      yAxis: axis('sender', {...side, inverse: true, nameGap: room - 14, axisLabel}),
      visualMap: {type: 'piecewise', show: false, dimension: 2, seriesIndex: 0, pieces: kBands.map((_, i) => ({value: i, color: bands[i]}))},
      series: [
        {type: 'heatmap', data: cells.map((cell) => cell.value), progressive: 0, itemStyle: {borderColor: colours.ground, borderWidth: places > 80 ? 0 : 0.6},
          emphasis: {itemStyle: {borderColor: colours.text, borderWidth: 2}}},
        {type: 'scatter', data: failures.map((one) => [place.get(one.receiver), place.get(one.sender)]), symbol: 'path://M0,1 L1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 Z',
          symbolSize: Math.max(4, Math.min(14, 400 / places)), itemStyle: {color: colours.bad}},
      ],
    };
  };
  const describe = () => {
    const all = shown();
    const cells = cellsOf(fabric, all, block);
    const number = counts(cells);
    const low = number.slice(3).reduce((sum, one) => sum + one, 0);
    const failed = all.reduce((sum, series) => sum + fabric.failures(series).length, 0);
    const typical = all.map((series) => `${valueText(series, series.typical)} on ${fabric.railName(series.rail)}`).join(', ');
    return `${every[0].confirming ? 'What stood out was measured again, beside other pairs than before. ' : ''}Typical: ${typical}. Of ${plural(cells.length, block > 1 ? 'block' : 'cell')}, ${low} ${low === 1 ? 'is' : 'are'} below 90 % of typical` +
        `${failed > 0 ? `, and ${plural(failed, 'measurement')} failed (crosses)` : ''}. ` +
        `${all.some(isLatency) ? 'Of latency the share is typical over measured. ' : ''}` +
        `${suspects.size > 0 ? 'Nodes of a finding are marked with a triangle. ' : ''}` +
        `${block > 1 ? `A cell is the worst of ${block} by ${block} pairs. ` : ''}Empty cells were not measured.`;
  };
  const chart = figure({
    title, description: describe(), options, below: legend, square: true, canvas: places > 100,
    tables: () => [worstPairs(fabric, every, 50),
      fabric.ranks.length <= 128 ? fold(`All ${plural(fabric.ranks.length ** 2, 'cell')}`, () => matrixTable(fabric, every)) : null],
  });
  const rails = every.map((series) => series.rail);
  if (rails.length < 2) return chart.node;
  const choice = select('Rail', [{value: 'worst', text: 'the worst of all'},
    ...rails.map((rail) => ({value: String(rail), text: fabric.railName(rail)}))], (value) => {
    state.rail = value;
    chart.say(describe());
    chart.draw();
  });
  return h('div', {}, h('div', {class: 'choices'}, choice.node), chart.node);
}

export function fabricCharts([document]) {
  const fabric = new Fabric(document);
  const names = [...new Set(fabric.series.map(seriesName))];
  const box = h('div');
  const draw = (name) => {
    const rails = fabric.rails(name);
    box.replaceChildren(heatMap(fabric, `Node pairs: ${name}`, rails));
    const again = rails.map((series) => series.again).filter((series) => series.pairs.size > 0 || fabric.failures(series).length > 0);
    if (again.length > 0) box.append(fold(`Confirming rounds: ${name}`, () => heatMap(fabric, `Node pairs, confirming rounds: ${name}`, again)));
  };
  const parts = [];
  if (names.length > 0) {
    if (names.length > 1) {
      parts.push(h('div', {class: 'choices'}, select('Metric', names.map((name) => ({value: name, text: name})), draw).node));
    }
    draw(names[0]);
    parts.push(box, h('h3', {}, 'One pair'), lookUp(fabric));
  } else {
    parts.push(h('p', {class: 'note'}, 'No pair was measured.'));
  }
  return parts;
}
