// PASS, WARN, FAIL, SKIP, ERROR and OPEN, of a limit that was not decided: by a word and a sign, never by colour alone.
import {h} from './dom.js';

const kSigns = {PASS: '\u2713', WARN: '!', FAIL: '\u2717', SKIP: '\u2013', OPEN: '\u25cb', ERROR: '?'};

export function badge(status, word = status) {
  return h('span', {class: `badge ${status.toLowerCase()}`}, h('span', {'aria-hidden': 'true'}, `${kSigns[status]} `), word);
}
