// Charts: Apache ECharts, only the parts in use, each with words for those who do not see it and a table beside it.
import * as echarts from 'echarts/core';
import {CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapPiecewiseComponent} from 'echarts/components';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';
import {fold, freshId, h, list, text} from './dom.js';

echarts.use([CustomChart, HeatmapChart, LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent,
  TooltipComponent, VisualMapPiecewiseComponent, CanvasRenderer, SVGRenderer]);

// Okabe and Ito's colours, told apart with any colour vision; symbols and dashes tell the series apart without any.
const kLight = {
  text: '#1c2530', muted: '#55616e', line: '#c9d1d9', grid: '#e6eaee', ground: '#ffffff', bad: '#b3261e',
  series: ['#0072b2', '#d55e00', '#007a5a', '#a6478c', '#8a6500', '#2b8cc4', '#4d4d4d'],
};
const kDark = {
  text: '#e8edf2', muted: '#a9b4bf', line: '#4a5561', grid: '#2b343d', ground: '#161c22', bad: '#ff8a80',
  series: ['#56b4e9', '#f0883e', '#35c89a', '#e19ac8', '#e6c229', '#9ecbff', '#d0d0d0'],
};
export const kSymbols = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin', 'arrow'];

const charts = new Set();
let dark = false;
export const palette = () => (dark ? kDark : kLight);
export const isDark = () => dark;

/** Draws every chart again in the other colours. */
export function setDark(value) {
  if (dark === value) return;
  dark = value;
  for (const one of charts) one.draw();
}

// CSS pixels that fit on A4 and Letter with a browser's margins: what a chart has of the screen's width would be cut off.
const kPaper = 640;
const kSquarePaper = 560;
let printing = false;

/** Lays every chart out for paper, and back for the screen. At once, because a browser prints before its next frame. */
export function setPrinting(value) {
  printing = value;
  for (const one of charts) one.fit();
}

const base = (colours, narrow) => ({
  animation: false,
  backgroundColor: 'transparent',
  textStyle: {color: colours.text, fontFamily: 'system-ui, sans-serif', fontSize: narrow ? 11 : 12},
  color: colours.series,
  tooltip: {
    trigger: 'item', confine: true, backgroundColor: colours.ground, borderColor: colours.line,
    textStyle: {color: colours.text, fontSize: 12}, transitionDuration: 0,
  },
});

/** Each name once, with its colour and kind of line. */
function legendOnPaper(series) {
  const known = new Set();
  return series.filter((one) => text(one.name) !== '' && !known.has(one.name) && known.add(one.name))
      .map((one) => h('li', {}, h('span', {class: 'line', style: `border-top:3px ${one.lineStyle?.type ?? 'solid'} ${one.color}`}), one.name));
}

/** An axis in the page's colours. */
export function axis(name, extra = {}) {
  const colours = palette();
  return {
    name, nameLocation: 'middle', nameTextStyle: {color: colours.muted},
    axisLine: {show: true, lineStyle: {color: colours.line}}, axisTick: {lineStyle: {color: colours.line}},
    splitLine: {show: true, lineStyle: {color: colours.grid}}, minorSplitLine: {show: false},
    ...extra, axisLabel: {color: colours.muted, hideOverlap: true, ...extra.axisLabel},
  };
}

/** From the low to the high ends of [x, low, high], as a band behind a line of that colour. */
export function bandSeries(points, color) {
  const around = [...points.map(([x, , high]) => [x, high]), ...points.map(([x, low]) => [x, low]).reverse()];
  // All of them are data, so that the axes have room for the band; the first one draws it.
  return {type: 'custom', silent: true, z: 1, clip: true, data: around, encode: {x: 0, y: 1}, tooltip: {show: false}, color,
    renderItem: ({dataIndex}, api) => (dataIndex > 0 ? null : {type: 'polygon', shape: {points: around.map((point) => api.coord(point))}, style: {fill: color, opacity: 0.16}})};
}

/**
 * `options(narrow)` gives what ECharts draws and may be called again at any time; `below` stands under the chart; `description` says in a sentence what is
 * to be seen; `tables()` gives the same numbers as tables, where none stands below the chart; `paper` is its {width, zoom} in print.
 */
export function figure({title, description = '', options, tables = null, height = 340, below = null, square = false, canvas = false, paper = {}}) {
  const titleId = freshId('chart');
  const canvasBox = h('div', {class: square ? 'chart square' : 'chart', role: 'img', 'aria-labelledby': titleId,
    'aria-describedby': `${titleId}-text`, style: square ? null : `height:${height}px`});
  const words = h('p', {id: `${titleId}-text`, class: 'words', hidden: description === ''}, description);
  const names = h('ul', {class: 'legend on-paper'});
  const node = h('figure', {}, h('figcaption', {id: titleId}, title), words, canvasBox, below, names,
      tables ? fold('The same as a table', tables) : null);
  const one = {
    chart: null,
    draw() {
      if (!one.chart) return;
      const narrow = canvasBox.clientWidth < 520;
      const given = options(narrow);
      // A legend that turns pages shows one of them on paper, so there all names stand below the chart.
      names.replaceChildren(...(given.legend ? legendOnPaper(list(given.series)) : []));
      if (printing && given.legend) {
        given.legend.show = false;
        given.grid.bottom = 48;
      }
      one.chart.setOption({...base(palette(), narrow), ...given}, {notMerge: true});
    },
    fit() {
      canvasBox.style.width = printing ? `${paper.width ?? (square ? kSquarePaper : kPaper)}px` : '';
      canvasBox.style.zoom = printing ? paper.zoom ?? '' : '';
      if (!one.chart) return;
      one.chart.resize();
      one.draw();
      one.chart.getZr().refreshImmediately();
    },
    say(sentence) {
      words.textContent = sentence;
    },
    node,
  };
  charts.add(one);
  // A chart wants its size, which it has when the page is laid out.
  const observer = new ResizeObserver(() => {
    if (canvasBox.clientWidth === 0) return;
    if (!one.chart) {
      one.chart = echarts.init(canvasBox, null, {renderer: canvas ? 'canvas' : 'svg'});
      one.narrow = canvasBox.clientWidth < 520;
      one.draw();
      canvasBox.dataset.drawn = '1';
      return;
    }
    one.chart.resize();
    if (one.narrow !== canvasBox.clientWidth < 520) {
      one.narrow = !one.narrow;
      one.draw();
    }
  });
  observer.observe(canvasBox);
  return one;
}

/** Words of a tooltip, as an element: what a file says is never markup. */
export const tip = (heading, lines) => h('div', {class: 'tip'}, h('strong', {}, heading),
    lines.map((line) => h('div', {}, line)));

export function legend(narrow, extra = {}) {
  const colours = palette();
  return {
    type: 'scroll', bottom: 0, left: 'center', itemWidth: 22, textStyle: {color: colours.text, fontSize: narrow ? 11 : 12},
    pageIconColor: colours.text, pageIconInactiveColor: colours.line, pageTextStyle: {color: colours.muted},
    formatter: (name) => (narrow && name.length > 34 ? `${name.slice(0, 33)}\u2026` : name), ...extra,
  };
}
