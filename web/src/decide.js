// Decisions: what the page of `rdmabench decide` says, in its order; its picture is in that page.
import {add, h, list, object, table, text} from './dom.js';

const said = (phrase) => text(object(phrase).text);

function block(one) {
  if (one.sentence) return h('p', {}, said(one.sentence));
  if (one.table) {
    const [caption, ...others] = list(one.table.heads).map(said);
    return table(caption, [caption, ...others].map((name, i) => ({name, number: i > 0})), list(one.table.rows).map((row) => list(row).map(said)));
  }
  if (one.command) return h('p', {}, said(one.command.why), ' ', h('code', {}, text(one.command.line)));
  return list(one.small).map((phrase) => h('p', {}, h('small', {}, said(phrase))));
}

export function decideSection({body}) {
  const page = object(body.page);
  return add(h('div'), [
    h('p', {}, said(page.question)), h('p', {class: 'verdict'}, said(page.answer)), h('p', {}, said(page.subject)),
    list(page.sections).map((section) => [object(section).title ? h('h3', {}, said(section.title)) : null, list(object(section).blocks).map((one) => block(object(one)))]),
  ]);
}
