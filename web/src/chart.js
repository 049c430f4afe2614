// Charts: Apache ECharts, only the parts in use, each with words for those who do not see it and a table beside it.
import * as echarts from 'echarts/core';
import {CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapPiecewiseComponent} from 'echarts/components';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';
import {fold, h, freshId} from './dom.js';

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

/** Of paper: what a chart had of the screen's width would be cut off. */
export function resizeAll() {
  for (const one of charts) one.chart?.resize();
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

/**
 * `options(narrow)` gives what ECharts draws and may be called again at any time; `below` stands under the chart; `description` says in a sentence what is
 * to be seen; `tables()` gives the same numbers as tables.
 */
export function figure({title, description, options, tables, height = 340, below = null, square = false, canvas = false}) {
  const titleId = freshId('chart');
  const canvasBox = h('div', {class: square ? 'chart square' : 'chart', role: 'img', 'aria-labelledby': titleId,
    'aria-describedby': `${titleId}-text`, style: square ? null : `height:${height}px`});
  const words = h('p', {id: `${titleId}-text`, class: 'words'}, description);
  const node = h('figure', {}, h('figcaption', {id: titleId}, title), words, canvasBox, below,
      fold('The same as a table', tables));
  const one = {
    chart: null,
    draw() {
      if (!one.chart) return;
      const narrow = canvasBox.clientWidth < 520;
      one.chart.setOption({...base(palette(), narrow), ...options(narrow)}, {notMerge: true});
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
