// PASS, WARN, FAIL, SKIP, ERROR and OPEN, of a limit that was not decided: by a word and a sign, never by colour alone.
import {h} from './dom.js';

const kSigns = {PASS: '\u2713', WARN: '!', FAIL: '\u2717', SKIP: '\u2013', OPEN: '\u25cb', ERROR: '?', INFO: 'i'};
/** The worst first. */
export const kOrder = ['FAIL', 'ERROR', 'WARN', 'OPEN', 'SKIP', 'PASS'];

export function known(status) {
  return status in kSigns ? status : 'ERROR';
}

export function badge(status, word = null) {
  const one = known(status);
  return h('span', {class: `badge ${one.toLowerCase()}`}, h('span', {'aria-hidden': 'true'}, `${kSigns[one]} `), word ?? String(status));
}
