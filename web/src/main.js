// The page: reads the data that lie in it, and puts the parts together.
import {setDark, setPrinting} from './chart.js';
import {collCharts} from './coll.js';
import {compareCharts, projectChart} from './compare.js';
import {decidePage, decideSection} from './decide.js';
import {add, h, list, object, text, unbroken} from './dom.js';
import {fabricCharts} from './fabric.js';
import {plural} from './format.js';
import {bandwidth, latency, load} from './runs.js';
import {sectionNode, tableOf, words} from './sections.js';
import {badge} from './status.js';

/** By the kind of a part: what is drawn of its documents. */
const kCharts = {
  'rdmabench-fabric/1': fabricCharts, 'rdmabench-coll/1': collCharts, 'rdmabench-compare/1': compareCharts, 'rdmabench-project/1': projectChart,
  'rdmabench-decide/1': decideSection, latency, bandwidth, load,
};

/** One part that cannot be drawn must not take the others with it. */
function safely(draw) {
  try {
    return draw();
  } catch (error) {
    return h('p', {class: 'warning'}, badge('ERROR'), ` This part could not be drawn: ${error.message}`);
  }
}

function partNode(part, all) {
  const sections = list(part.sections);
  const first = sections.filter((one) => one.open && one.rows.length === 0);
  const charts = kCharts[part.kind];
  return add(h('div'), [
    words(part.headlines, {class: 'verdict'}), part.found ? tableOf(part.found, 'scroll stack') : null, first.map(sectionNode),
    charts ? safely(() => add(h('div'), charts(part.documents.map((i) => all[i])))) : null,
    sections.filter((one) => !first.includes(one)).map(sectionNode),
  ]);
}

function summary({counts, points, more}, documents) {
  const notes = documents.flatMap((one) => list(one.notes).map((note) => `${one.source}: ${text(note)}`));
  return h('section', {id: 'summary', 'aria-labelledby': 'summary-title'}, h('h2', {id: 'summary-title'}, 'What to look at first'),
      points.length === 0 ? h('p', {}, badge('PASS'), ' Nothing in these documents asks for attention.') : [
        h('p', {class: 'counts'}, counts.map((one) => [badge(one.status, one.text), ' '])),
        h('ol', {class: 'points'}, points.map((one) => h('li', {}, badge(one.status), ' ', unbroken(one.text)))),
        more > 0 ? h('p', {class: 'note'}, `${more} more below.`) : null,
      ], notes.length > 0 ? h('ul', {class: 'note'}, notes.map((note) => h('li', {}, note))) : null);
}

function build(data) {
  const documents = list(data.documents).map((one) => ({...object(one), body: object(object(one).body), source: text(object(one).source)}));
  const main = document.getElementById('main');
  const [first] = documents;
  if (documents.length === 1 && first.schema === 'rdmabench-decide/1' && list(first.notes).length === 0 && list(first.body.expectations).length === 0) {
    decidePage(first, data, main);
    return;
  }
  const contents = document.getElementById('contents');
  document.title = data.title;
  document.querySelector('h1').textContent = data.title;
  document.getElementById('about').textContent = `${plural(documents.length, 'document')}: ${documents.slice(0, 6).map((one) => one.source).join(', ')}${documents.length > 6 ? ', \u2026' : ''}`;
  document.getElementById('made').textContent = `Made by rdmabench ${text(data.version)}, ${text(data.generated)}. This file needs nothing else and asks nothing of a network.`;
  main.replaceChildren(summary(data.first, documents));
  data.parts.forEach((part, i) => {
    const id = `section-${i + 1}`;
    main.append(h('section', {id, 'aria-labelledby': `${id}-title`}, h('h2', {id: `${id}-title`}, part.title), safely(() => partNode(part, documents))));
    add(contents, [h('a', {href: `#${id}`}, part.title), ' ']);
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
  addEventListener('beforeprint', () => {
    apply(true);
    setPrinting(true);
    for (const one of document.querySelectorAll('td details:not([open])')) {  // the places that a finding names
      one.open = one.forPaper = true;
      one.dispatchEvent(new Event('toggle'));  // the browser's own comes after the print
    }
  });
  addEventListener('afterprint', () => {
    apply();
    setPrinting(false);
    for (const one of document.querySelectorAll('td details[open]')) {
      if (one.forPaper) one.open = one.forPaper = false;
    }
  });
  apply();
}

followTheme();
try {
  build(object(JSON.parse(document.getElementById('data').textContent)));
} catch (error) {
  document.getElementById('main').replaceChildren(h('p', {class: 'warning'}, `The data of this page cannot be read: ${error.message}`));
}
document.documentElement.dataset.ready = '1';
