// The page: reads the data that lie in it, and puts the sections together.
import {setDark, setPrinting} from './chart.js';
import {collPoints, collSection} from './coll.js';
import {comparePoints, compareSection, projectSection} from './compare.js';
import {decidePage, decideSection} from './decide.js';
import {add, h, list, object, table, text} from './dom.js';
import {environmentSection} from './environment.js';
import {fabricSection, fabricSummary} from './fabric.js';
import {doctorPoints, doctorSection} from './findings.js';
import {netpluginPoints, netpluginSection} from './netplugin.js';
import {plural} from './format.js';
import {runPoints, runSections} from './runs.js';
import {badge, kOrder} from './status.js';

const kMostPoints = 12;

/** One part that cannot be drawn must not take the others with it. */
function safely(draw) {
  try {
    return draw();
  } catch (error) {
    return h('p', {class: 'warning'}, badge('ERROR'), ` This part could not be drawn: ${error.message}`);
  }
}

/** What came of --expect, in all documents. */
function expected(documents) {
  return documents.flatMap(({source, body}) => list(body.expectations).map(object).map((one) => ({
    status: text(one.status), limit: text(one.expectation), row: text(one.row), why: text(one.text),
    text: `${source}: ${text(one.expectation)}${text(one.row) ? `, ${text(one.row)}` : ''}: ${text(one.text)}`,
  })));
}

function expectedSection(all) {
  return table('What came of each limit', [{name: 'Limit'}, {name: 'Status'}, {name: 'Of'}, {name: 'Measured'}],
      all.map((one) => [one.limit, badge(one.status), one.row, one.why]));
}

function sections(documents) {
  const of = (schema) => documents.filter((one) => one.schema === schema);
  const titled = (word, all, one) => (all.length > 1 ? `${word}: ${one.source}` : word);
  const all = [];
  const limits = expected(documents);
  if (limits.length > 0) all.push({title: 'Expected', draw: () => expectedSection(limits)});
  const fabrics = of('rdmabench-fabric/1');
  for (const one of fabrics) all.push({title: titled('Fabric', fabrics, one), draw: () => fabricSection(one)});
  const doctors = of('rdmabench-doctor/1');
  if (doctors.length > 0) all.push({title: 'Node checks', draw: () => doctorSection(doctors)});
  const plugins = of('rdmabench-netplugin/1');
  for (const one of plugins) all.push({title: titled('Network plugin', plugins, one), draw: () => netpluginSection(one)});
  const collectives = of('rdmabench-coll/1');
  for (const one of collectives) all.push({title: titled('Collectives', collectives, one), draw: () => collSection(one)});
  const compared = of('rdmabench-compare/1');
  for (const one of compared) all.push({title: titled('Comparison', compared, one), draw: () => compareSection(one)});
  const projected = of('rdmabench-project/1');
  for (const one of projected) all.push({title: titled('Projection', projected, one), draw: () => projectSection(one)});
  const decided = of('rdmabench-decide/1');
  for (const one of decided) all.push({title: titled('Decision', decided, one), draw: () => decideSection(one)});
  const runs = of('rdmabench/1');
  if (runs.length > 0) {
    try {
      for (const {title, node} of runSections(runs)) all.push({title, draw: () => node});
    } catch (error) {
      all.push({title: 'Runs', draw: () => { throw error; }});
    }
  }
  all.push({title: 'Environment', draw: () => environmentSection(documents)});
  return all;
}

function points(documents) {
  const all = documents.flatMap((one) => {
    try {
      return {'rdmabench-fabric/1': () => fabricSummary(one).points, 'rdmabench-compare/1': () => comparePoints(one), 'rdmabench-netplugin/1': () => netpluginPoints(one), 'rdmabench-coll/1': () => collPoints(one)}[one.schema]?.() ?? [];
    } catch (error) {
      return [{status: 'ERROR', text: `${one.source}: ${error.message}`}];
    }
  });
  all.push(...expected(documents));
  all.push(...runPoints(documents.filter((one) => one.schema === 'rdmabench/1')));
  const doctors = documents.filter((one) => one.schema === 'rdmabench-doctor/1');
  if (doctors.length > 0) all.push(...doctorPoints(doctors));
  return all.filter((one) => one.status !== 'PASS').sort((a, b) => kOrder.indexOf(a.status) - kOrder.indexOf(b.status));
}

function summary(documents) {
  const all = points(documents);
  const counts = kOrder.map((status) => [status, all.filter((one) => one.status === status).length]).filter(([, number]) => number > 0);
  const notes = documents.flatMap((one) => list(one.notes).map((note) => `${one.source}: ${text(note)}`));
  return h('section', {id: 'summary', 'aria-labelledby': 'summary-title'}, h('h2', {id: 'summary-title'}, 'What to look at first'),
      all.length === 0 ? h('p', {}, badge('PASS'), ' Nothing in these documents asks for attention.') : [
        h('p', {class: 'counts'}, counts.map(([status, number]) => [badge(status, `${number} ${status}`), ' '])),
        h('ol', {class: 'points'}, all.slice(0, kMostPoints).map((one) => h('li', {}, badge(one.status), ` ${one.text}`))),
        all.length > kMostPoints ? h('p', {class: 'note'}, `${plural(all.length - kMostPoints, 'more')}`.replace('mores', 'more'), ' below.') : null,
      ], notes.length > 0 ? h('ul', {class: 'note'}, notes.map((note) => h('li', {}, note))) : null);
}

function build(data) {
  const documents = list(data.documents).map((one) => ({...object(one), body: object(object(one).body), source: text(object(one).source)}));
  const main = document.getElementById('main');
  const [first] = documents;
  if (documents.length === 1 && first.schema === 'rdmabench-decide/1' && list(first.notes).length === 0 && expected(documents).length === 0) {
    decidePage(first, data, main);
    return;
  }
  const contents = document.getElementById('contents');
  document.getElementById('about').textContent = `${plural(documents.length, 'document')}: ${documents.slice(0, 6).map((one) => one.source).join(', ')}${documents.length > 6 ? ', \u2026' : ''}`;
  document.getElementById('made').textContent = `Made by rdmabench ${text(data.version)}, ${text(data.generated)}. This file needs nothing else and asks nothing of a network.`;
  main.replaceChildren(summary(documents));
  sections(documents).forEach(({title, draw}, i) => {
    const node = safely(draw);
    if (!node) return;
    const id = `section-${i + 1}`;
    main.append(h('section', {id, 'aria-labelledby': `${id}-title`}, h('h2', {id: `${id}-title`}, title), node));
    add(contents, [h('a', {href: `#${id}`}, title), ' ']);
  });
}

function followTheme() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = () => document.querySelector('input[name=theme]:checked').value;
  const apply = (printing = false) => {
    const dark = !printing && (chosen() === 'dark' || (chosen() === 'auto' && system.matches));
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    setDark(dark);
  };
  document.querySelectorAll('input[name=theme]').forEach((input) => input.addEventListener('change', () => apply()));
  system.addEventListener('change', () => apply());
  addEventListener('beforeprint', () => { apply(true); setPrinting(true); });
  addEventListener('afterprint', () => { apply(); setPrinting(false); });
  apply();
}

followTheme();
try {
  build(object(JSON.parse(document.getElementById('data').textContent)));
} catch (error) {
  document.getElementById('main').replaceChildren(h('p', {class: 'warning'}, `The data of this page cannot be read: ${error.message}`));
}
document.documentElement.dataset.ready = '1';
