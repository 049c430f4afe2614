// What doctor found: the failures of all nodes first, with what to do; then every check of each node.
import {add, fold, freshId, h, list, object, table, text} from './dom.js';
import {plural} from './format.js';
import {badge, kOrder, known} from './status.js';

const place = (status) => kOrder.indexOf(known(status));
const isBad = (status) => ['FAIL', 'ERROR', 'WARN'].includes(known(status));
const hostOf = (document) => text(document.body.host) || document.source;

function who(document, finding) {
  const subject = text(finding.subject);
  const host = hostOf(document);
  return subject === '' || subject === host ? host : `${host}, ${subject}`;
}

/** The same trouble of many nodes is told once. */
function troubles(documents) {
  const groups = new Map();
  for (const document of documents) {
    for (const finding of list(document.body.findings)) {
      if (!isBad(finding.status)) continue;
      const key = [finding.id, finding.status, finding.remedy, finding.expected].map(text).join('\u0000');
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push({document, finding});
    }
  }
  return [...groups.values()].sort((a, b) => place(a[0].finding.status) - place(b[0].finding.status) || b.length - a.length);
}

function trouble(group) {
  const {finding} = group[0];
  const differs = new Set(group.map((one) => text(one.finding.observed))).size > 1;
  const names = group.map((one) => (differs && text(one.finding.observed) ? `${who(one.document, one.finding)}: ${text(one.finding.observed)}` : who(one.document, one.finding)));
  const source = text(finding.expected_source);
  const pairs = [
    ['Where', names.length <= 8 ? h('ul', {class: 'plain'}, names.map((one) => h('li', {}, one))) : fold(plural(names.length, 'place'), () => h('ul', {class: 'plain'}, names.map((one) => h('li', {}, one))))],
    ['Why', text(finding.reason)], ['Observed', differs ? '' : text(finding.observed)],
    ['Expected', text(finding.expected) ? `${text(finding.expected)}${source ? ` (${source === 'derived' ? 'derived from the hardware' : `from ${source}`})` : ''}` : ''],
    ['Action', text(finding.action)],
    ['Remedy', text(finding.remedy) ? h('strong', {}, text(finding.remedy)) : ''],
    ['Read from', list(finding.evidence).length > 0 ? list(finding.evidence).map((one) => h('code', {}, `${text(one)} `)) : text(finding.evidence)],
  ].filter(([, value]) => value !== '');
  return h('article', {class: `finding ${known(finding.status).toLowerCase()}`},
      h('h3', {}, badge(finding.status), ` ${text(finding.title) || text(finding.id)} `, h('code', {}, text(finding.id))),
      h('dl', {}, pairs.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])));
}

function checks(document) {
  const findings = list(document.body.findings).map(object);
  const counts = Object.fromEntries(kOrder.map((status) => [status, 0]));
  for (const finding of findings) counts[known(finding.status)] += 1;
  const words = kOrder.filter((status) => counts[status] > 0).map((status) => `${counts[status]} ${status}`).join(', ');
  return fold(`${hostOf(document)}: ${words || 'no checks'}`, () => {
    const ids = freshId('filter');
    const rows = [...findings].sort((a, b) => place(a.status) - place(b.status)).map((one) => ({attributes: {'data-status': known(one.status)}, cells: [
      text(one.id), badge(one.status), text(one.subject), text(one.title), text(one.observed), text(one.expected), text(one.reason)]}));
    const box = table(`Checks of ${hostOf(document)}`, [{name: 'Check'}, {name: 'Status'}, {name: 'Of'}, {name: 'What'}, {name: 'Observed'}, {name: 'Expected'}, {name: 'Reason'}], rows, {class: 'scroll wide'});
    const boxes = kOrder.filter((status) => counts[status] > 0).map((status) => {
      const input = h('input', {type: 'checkbox', id: `${ids}-${status}`, onchange: () => {
        for (const row of box.querySelectorAll(`tr[data-status="${status}"]`)) row.hidden = !input.checked;
      }});
      input.checked = true;
      return h('label', {for: `${ids}-${status}`}, input, ` ${status} (${counts[status]})`);
    });
    return [h('fieldset', {class: 'filter'}, h('legend', {}, 'Show'), boxes), box];
  });
}

export function doctorSection(documents) {
  const groups = troubles(documents);
  return add(h('div'), [
    groups.length === 0 ? h('p', {}, badge('PASS'), ` Nothing failed on ${plural(documents.length, 'node')}.`) : groups.map(trouble),
    h('h3', {}, 'Every check'), documents.map(checks),
  ]);
}

export function doctorPoints(documents) {
  return troubles(documents).map((group) => {
    const {finding, document} = group[0];
    const where = group.length === 1 ? who(document, finding) : plural(group.length, 'place');
    return {status: known(finding.status), text: `${text(finding.title) || text(finding.id)} (${where}): ${text(finding.reason) || text(finding.remedy)}`};
  });
}
