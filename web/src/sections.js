// Draws what the program says of documents: words, tables and judgements, alike for every kind.
import {add, fold, freshId, h, list, object, table, text, unbroken} from './dom.js';
import {plural} from './format.js';
import {badge} from './status.js';

const kMostItems = 8;  // that stand open in a cell
const kMostRows = 8;  // that need no filter

function cellNode(value) {
  const {text: words, status, hint, items} = value !== null && typeof value === 'object' ? value : {text: value};
  const said = status ? badge(status, text(words) || status) : hint ? h('span', {class: 'weak', title: hint}, text(words)) : text(words) && unbroken(text(words));
  const all = list(items);
  const more = () => h('ul', {class: text(words) ? null : 'plain'}, all.map((one) => h('li', {}, unbroken(one))));
  return all.length > kMostItems ? fold(said || plural(all.length, 'item'), more) : [said, all.length > 0 ? more() : null];
}

/** Sentences; a judgement has its badge before its words. */
export function words(all, attributes = {}) {
  return list(all).map((one) => (one.status ? h('p', attributes, badge(one.status), ' ', unbroken(one.text)) : h('p', attributes, cellNode(one))));
}

/** Which rows of a judged table are shown. */
function filter(rows, box) {
  const statusOf = (row) => text(list(row.cells).map((cell) => object(cell).status).find(Boolean));
  const statuses = [...new Set(rows.map(statusOf))];
  if (rows.length <= kMostRows || statuses.length < 2 || statuses.includes('')) return null;
  const lines = [...box.querySelectorAll('tbody tr')];
  return h('fieldset', {class: 'filter'}, h('legend', {}, 'Show'), statuses.map((status) => {
    const mine = lines.filter((_, i) => statusOf(rows[i]) === status);
    const id = freshId('filter');
    const input = h('input', {type: 'checkbox', id, onchange: () => mine.forEach((line) => { line.hidden = !input.checked; })});
    input.checked = true;
    return h('label', {for: id}, input, ` ${status} (${mine.length})`);
  }));
}

export function tableOf(section, kind = section.columns.length > 4 ? 'scroll wide' : 'scroll') {
  const rows = list(section.rows);
  const box = table(section.title, list(section.columns), rows.map((row) => ({attributes: row.differs ? {class: 'differs'} : {}, cells: list(row.cells).map(cellNode)})),
      {class: kind});
  return [filter(rows, box), box, section.left_out > 0 ? h('p', {class: 'note'}, `${plural(section.left_out, 'more row')} left out.`) : null];
}

export function sectionNode(section) {
  const make = () => [words(section.words), list(section.rows).length > 0 ? tableOf(section) : null];
  const differing = list(section.rows).filter((row) => row.differs).length;
  if (section.open && differing === 0) return add(h('div'), make());
  return fold(section.title + (differing > 0 ? `: ${differing} ${differing === 1 ? 'differs' : 'differ'}` : ''), make, section.open);
}
