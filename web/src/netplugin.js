// A network plugin of NCCL: its cases, and what was measured.
import {add, h, list, object, table, text} from './dom.js';
import {badge, kOrder, known} from './status.js';

const cases = (document) => list(document.body.cases).map(object);
const place = (one) => kOrder.indexOf(known(one.status));

function measurements(document, metric, title, columns) {
  const rows = list(document.body.results).map(object).filter((one) => one.metric === metric);
  if (rows.length === 0) return null;
  return [h('h3', {}, title), table(title, [{name: 'Interface'}, {name: 'Bytes'}, ...columns.map(([name]) => ({name})), {name: 'Error'}],
      rows.map((one) => ({cells: [`v${one.api_version}`, String(one.size_bytes),
        ...columns.map(([, key, unit]) => (typeof one[key] === 'number' ? (one[key] / unit).toPrecision(4) : '-')), text(one.error)]})), {class: 'scroll wide'})];
}

export function netpluginSection(document) {
  const plugin = object(document.body.plugin);
  const rows = [...cases(document)].sort((a, b) => place(a) - place(b));
  return add(h('div'), [
    h('p', {}, `The plugin '${text(plugin.name)}' of ${text(plugin.file)}, both ends in ${text(document.body.ends)}.`),
    document.body.error ? h('p', {class: 'warning'}, badge('FAIL'), ` The run ended early: ${text(document.body.error)}`) : null,
    table('Cases', [{name: 'Interface'}, {name: 'Case'}, {name: 'Status'}, {name: 'What'}, {name: 'Reason'}],
        rows.map((one) => ({attributes: {'data-status': known(one.status)}, cells: [`v${one.api_version}`, text(one.id), badge(one.status), text(one.title), text(one.reason)]})), {class: 'scroll wide'}),
    measurements(document, 'latency', 'Half a round trip, us', [['Minimum', 'min_ns', 1e3], ['Median', 'p50_ns', 1e3], ['99 %', 'p99_ns', 1e3], ['Maximum', 'max_ns', 1e3]]),
    measurements(document, 'bandwidth', 'One way, Gb/s', [['Minimum', 'min_bits_per_s', 1e9], ['Median', 'bits_per_s', 1e9], ['Maximum', 'max_bits_per_s', 1e9]]),
  ]);
}

export function netpluginPoints(document) {
  return cases(document).filter((one) => !['PASS', 'SKIP'].includes(known(one.status)))
      .map((one) => ({status: known(one.status), text: `plugin ${text(object(document.body.plugin).name)}, ${text(one.id)}: ${text(one.reason)}`}));
}
