// Where things ran: the two sides of a run beside one another, and what differs between them said in a word.
import {fold, h, list, object, table, text} from './dom.js';

// These differ always, and that says nothing.
const kOwn = new Set(['hostname', 'collected_utc']);

const factsDiffer = (number) => (number === 1 ? '1 fact differs' : `${number} facts differ`);
const facts = (value) => new Map(list(value).map(object).map((one) => [text(one.name), text(one.value)]));

function sides(title, columns) {
  const names = [...new Set(columns.flatMap(({known}) => [...known.keys()]))];
  let differing = 0;
  const rows = names.map((name) => {
    const values = columns.map(({known}) => known.get(name) ?? '');
    const differs = columns.length > 1 && !kOwn.has(name) && new Set(values).size > 1;
    differing += differs ? 1 : 0;
    return {differs, row: {attributes: differs ? {class: 'differs'} : {}, cells: [name, ...values, ...(columns.length > 1 ? [differs ? 'differs' : ''] : [])]}};
  });
  rows.sort((a, b) => Number(b.differs) - Number(a.differs));
  const head = [{name: 'Fact'}, ...columns.map(({name}) => ({name})), ...(columns.length > 1 ? [{name: 'Alike?'}] : [])];
  const words = columns.length < 2 ? '' : differing === 0 ? ': alike' : `: ${factsDiffer(differing)}`;
  return fold(title + words, () => table(title, head, rows.map((one) => one.row)), differing > 0 && columns.length > 1);
}

function ofRun({source, body}) {
  const environment = object(body.environment);
  const columns = ['client', 'server'].map((side) => ({name: side, known: facts(environment[side])})).filter(({known}) => known.size > 0);
  const resolved = object(body.resolved);
  const asked = {...object(body.config)};
  for (const [name, value] of Object.entries(resolved)) if (name !== 'details') asked[`resolved ${name}`] = value;
  Object.assign(asked, object(resolved.details));
  const clock = object(body.clock);
  for (const [name, value] of Object.entries(clock)) asked[`clock ${name}`] = value;
  return h('section', {class: 'inner'}, h('h3', {}, source), columns.length > 0 ? sides('Machines', columns) : null,
      fold('What was asked for and what it came to', () => table('Configuration', [{name: 'What'}, {name: 'Value'}], Object.entries(asked).map(([name, value]) => [name, text(value)]))));
}

/** Of many nodes only what the majority has, and who has something else. */
function ofFabric({source, body}) {
  const nodes = list(body.nodes).map(object);
  const byFact = new Map();
  for (const node of nodes) {
    for (const [name, value] of facts(node.environment)) {
      if (kOwn.has(name)) continue;
      if (!byFact.has(name)) byFact.set(name, new Map());
      const values = byFact.get(name);
      values.set(value, [...(values.get(value) ?? []), text(node.host) || `node ${text(node.rank)}`]);
    }
  }
  if (byFact.size === 0) return null;
  const rows = [...byFact].map(([name, values]) => {
    const sorted = [...values].sort((a, b) => b[1].length - a[1].length);
    const odd = sorted.slice(1);
    return {odd: odd.length, row: {attributes: odd.length > 0 ? {class: 'differs'} : {}, cells: [name, `${sorted[0][0]} (${sorted[0][1].length})`,
      odd.map(([value, hosts]) => h('div', {}, `${value}: ${hosts.slice(0, 12).join(', ')}${hosts.length > 12 ? ` and ${hosts.length - 12} more` : ''}`)), odd.length > 0 ? 'differs' : '']}};
  }).sort((a, b) => b.odd - a.odd);
  const differing = rows.filter((one) => one.odd > 0).length;
  return h('section', {class: 'inner'}, h('h3', {}, source), fold(`${nodes.length} nodes: ${differing === 0 ? 'alike' : factsDiffer(differing)}`,
      () => table('Facts of the nodes', [{name: 'Fact'}, {name: 'Most have'}, {name: 'Others'}, {name: 'Alike?'}], rows.map((one) => one.row)), differing > 0));
}

export function environmentSection(documents) {
  const parts = documents.map((document) => (document.schema === 'rdmabench/1' ? ofRun(document) : document.schema === 'rdmabench-fabric/1' ? ofFabric(document) : null)).filter(Boolean);
  return parts.length > 0 ? h('div', {}, parts) : null;
}
