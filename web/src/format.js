// Numbers as people read them. Sizes go by powers of 1024, rates and times by powers of 1000.
import {isNumber} from './dom.js';

const digits = (value, count = 3) => {
  if (!isNumber(value)) return '\u2013';
  if (value === 0) return '0';
  const text = value.toPrecision(count);
  return text.includes('e') ? String(Number(text)) : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
};

const scaled = (value, steps, count) => {
  if (!isNumber(value)) return '\u2013';
  if (value === 0) return '0';
  const step = steps.find(([limit]) => Math.abs(value) >= limit) ?? steps[steps.length - 1];
  return `${digits(value / (step[0] || 1), count)} ${step[1]}`;
};

export const time = (ns, count) => scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [0, 'ns']], count);
export const rate = (bits, count) => scaled(bits, [[1e12, 'Tb/s'], [1e9, 'Gb/s'], [1e6, 'Mb/s'], [1e3, 'kb/s'], [0, 'b/s']], count);
export const count = (value, places) => {
  const text = scaled(value, [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [0, '']], places);
  return text.trim();
};
export const messages = (value) => (isNumber(value) ? `${count(value)}/s` : '\u2013');
export const percent = (ratio, places = 1) => (isNumber(ratio) ? `${(ratio * 100).toFixed(places)} %` : '\u2013');

export function size(bytes) {
  if (!isNumber(bytes)) return '\u2013';
  for (const [step, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
    if (bytes >= step && bytes % step === 0) return `${bytes / step} ${unit}`;
  }
  return `${bytes} B`;
}

/** For axes, where room is short. */
export const shortSize = (bytes) => size(bytes).replace(' ', '').replace('iB', '').replace(/B$/, '');

export const plural = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;

export function median(values) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[(sorted.length - 1) >> 1];
}
