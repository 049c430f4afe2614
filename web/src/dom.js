// Builds the page's elements. Words from the files are set as text, never as markup.

/** h('td', {class: 'n'}, 'text', child, [children]); null and undefined are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

let numbered = 0;
export const freshId = (word) => `${word}-${++numbered}`;

/** Words in which no line ends within the name of an option, between a number and its unit, or behind its sign. */
export const unbroken = (words) => String(words).split(/(--[a-z][a-z0-9-]*|[-\u2212+]?\p{Sc}?[0-9][0-9.,]* (?:%|ms|min|s|h|days|[KMG]iB|[A-Z]{3})(?![A-Za-z])|[-\u2212+]\p{Sc}?[0-9][0-9.,]*)/u)
    .map((part, i) => (i % 2 ? h('span', {class: 'whole'}, part) : part));

const kTall = 40;  // rows, above which a table scrolls in a box

/** Says of a region that it has more columns than can be seen. */
const observer = new ResizeObserver((all) => {
  for (const {target} of all) target.parentElement.toggleAttribute('data-more', target.parentElement.scrollWidth > target.parentElement.clientWidth + 1);
});

/**
 * A table in a region of its own that scrolls, by keyboard too. A column is {name, number}; a row is its cells, or {cells, attributes}.
 * Of one of the class "stack" each row stands by itself on a phone, its cells below one another with the heads of their columns before them.
 */
export function table(caption, columns, rows, attributes = {}) {
  const stacks = attributes.class?.split(' ').includes('stack');
  const head = h('tr', {}, columns.map((one) => h('th', {scope: 'col', class: one.number ? 'n' : null}, one.name)));
  const body = rows.map((row) => h('tr', row.attributes ?? {}, (row.cells ?? row).map((cell, i) =>
    h(i === 0 ? 'th' : 'td', {scope: i === 0 ? 'row' : null, class: columns[i]?.number ? 'n' : null, 'data-head': stacks ? columns[i]?.name : null}, cell))));
  const node = h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, body));
  observer.observe(node);
  return h('div', {tabindex: 0, role: 'region', 'aria-label': caption, ...attributes, class: `${attributes.class ?? 'scroll'}${rows.length > kTall ? ' tall' : ''}`}, node);
}

/** What is costly is made when it is opened, or printed. */
export function fold(summary, make, open = false) {
  const details = h('details', {open}, h('summary', {}, summary));
  const fill = () => {
    if (details.open && details.childElementCount === 1) add(details, make());
  };
  details.addEventListener('toggle', fill);
  if (open) fill();
  return details;
}

/** A labelled <select>; `choices` are {value, text}. */
export function select(label, choices, onchange) {
  const id = freshId('choice');
  const box = h('select', {id, onchange: () => onchange(box.value)},
      choices.map((one) => h('option', {value: one.value}, one.text)));
  return {node: h('label', {for: id, class: 'choice'}, `${label} `, box), value: () => box.value, box};
}

export const list = (value) => (Array.isArray(value) ? value : []);
export const object = (value) => (value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {});
export const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
export const text = (value) => {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(text).join('; ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};
