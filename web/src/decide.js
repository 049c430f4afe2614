// Decisions: what `rdmabench decide` says, in its order and language; a page of its own where there is nothing else.
import {stepChart} from './compare.js';
import {add, h, isNumber, list, object, table, text, unbroken} from './dom.js';

const said = (phrase) => text(object(phrase).text);
const kKorean = {Auto: '\uc790\ub3d9', Light: '\ubc1d\uac8c', Dark: '\uc5b4\ub461\uac8c', Colours: '\uc0c9\uc0c1', 'Skip to the results': '\uacb0\uacfc\ub85c \uac74\ub108\ub6f0\uae30'};
const kMade = {
  en: (data) => `Made by rdmabench ${text(data.version)}, ${text(data.generated)}. This file needs nothing else and asks nothing of a network.`,
  ko: (data) => `rdmabench ${text(data.version)}, ${text(data.generated)}. \uc774 \ud30c\uc77c\uc740 \ub2e4\ub978 \ud30c\uc77c\uc774\ub098 \ub124\ud2b8\uc6cc\ud06c \uc5c6\uc774 \uc5f4\ub9bd\ub2c8\ub2e4.`,
};

/** Step times over the number of nodes. One number alone is in the table. */
function chart(one) {
  const [compute, nodes, step] = list(one.labels).map(said);
  const lines = list(one.lines).map(object).map((line) => ({name: text(line.name), points: list(line.points).map(object)
      .filter((point) => point.nodes > 0 && isNumber(point.step_s)).map((point) => ({x: point.nodes, y: point.step_s, low: point.step_low_s, high: point.step_high_s}))}));
  const points = lines.flatMap((line) => line.points);
  if (!lines.every((line) => line.points.length > 1)) return null;
  lines.push({name: compute, plain: true, points: lines[0].points.map(({x}) => ({x, y: one.compute_s}))});
  const ticks = list(one.ticks).filter(isNumber);
  const last = ticks[ticks.length - 1];
  // The ticks end just above the largest time, in seconds or in milliseconds.
  const unit = last > 100 * Math.max(...points.map(({y, high}) => Math.max(y, high ?? 0))) ? 1e-3 : 1;
  const yText = (value) => String(Number((value / unit).toPrecision(3)));
  const xText = (value) => value.toLocaleString('en-US');
  return stepChart({title: step, lines, xName: nodes, yName: '', xText, yText, height: 270, paper: {width: 500, zoom: 0.55},
    x: (values) => ({axisTick: {customValues: values}, axisLabel: {customValues: values, formatter: xText}}), y: {min: 0, max: last * unit, interval: ticks[1] * unit}});
}

function tableOf(one, title) {
  const heads = list(one.heads).map(said);
  return table(title, heads.map((name, i) => ({name, number: i > 0 && one.words !== true})), list(one.rows).map((row) => list(row).map((cell) => h('span', {}, unbroken(said(cell))))), {class: 'scroll stack said'});
}

function block(one, title) {
  if (one.sentence) return h('p', {}, unbroken(said(one.sentence)));
  if (one.chart) return chart(object(one.chart));
  if (one.table) return tableOf(object(one.table), title);
  if (one.command) return [h('p', {}, unbroken(said(one.command.why))), h('pre', {}, unbroken(text(one.command.line)))];
  return h('p', {class: 'small'}, list(one.small).map((phrase, i) => [i > 0 ? '; ' : '', h('span', {}, said(phrase))]));
}

const notRdma = (body) => (text(body.not_rdma) ? h('p', {class: 'warning'}, unbroken(text(body.not_rdma))) : null);
const verdict = (body) => h('p', {class: `verdict ${text(body.answer).toLowerCase().replace(' ', '-')}`}, said(object(body.page).answer));
const sections = (page, heading) => list(page.sections).map(object).map((one) => h('section', {class: `s-${text(one.key)}`},
    one.title ? h(heading, {}, said(one.title)) : null, list(one.blocks).map((part) => block(object(part), said(one.title)))));

export function decideSection([{body}]) {
  const page = object(body.page);
  return [h('div', {lang: text(body.language)}, h('p', {}, said(page.question)), notRdma(body), verdict(body), h('p', {}, said(page.subject)), sections(page, 'h3'))];
}

/** The whole page, in the decision's language. */
export function decidePage({body}, data, main) {
  const page = object(body.page);
  const korean = body.language === 'ko';
  document.documentElement.lang = korean ? 'ko' : 'en';
  document.documentElement.dataset.page = 'decision';
  document.title = said(page.question);
  document.querySelector('h1').textContent = said(page.question);
  document.getElementById('about').textContent = said(page.subject);
  document.getElementById('made').textContent = kMade[korean ? 'ko' : 'en'](data);
  if (korean) {
    for (const node of document.querySelectorAll('.theme span, .theme legend, .skip-link')) node.textContent = kKorean[node.textContent] ?? node.textContent;
  }
  main.replaceChildren();
  add(main, [notRdma(body), verdict(body), sections(page, 'h2')]);
}
