// Bundles src/ into one page. Usage: node build.mjs NODE_MODULES OUTPUT
//
// The page's policy lets one script run, the one whose hash it names, and lets nothing be loaded from anywhere.
import {createHash} from 'node:crypto';
import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const [modules, output] = process.argv.slice(2);
if (!modules || !output) {
  console.error('usage: node build.mjs NODE_MODULES OUTPUT');
  process.exit(2);
}
const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(path.resolve(modules), 'x.js'));
const esbuild = require('esbuild');
const kLimit = 1_000_000;  // bytes

const bundle = async (entry, extra) => {
  const result = await esbuild.build({
    entryPoints: [path.join(here, 'src', entry)],
    nodePaths: [path.resolve(modules)],
    bundle: true,
    minify: true,
    charset: 'ascii',
    legalComments: 'none',
    target: ['es2020'],
    write: false,
    ...extra,
  });
  return result.outputFiles[0].text.trim();
};

const script = (await bundle('main.js', {format: 'iife', define: {'process.env.NODE_ENV': '"production"'}}))
    .replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const style = await bundle('page.css', {});
const hash = createHash('sha256').update(script).digest('base64');
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
// ECharts and zrender are under licences that ask to be named with their code.
const notice = `<!-- Contains Apache ECharts ${require('echarts/package.json').version} (Apache License 2.0) and zrender (BSD 3-Clause). -->`;

// tests/lint/page.py compares it with the sources.
const sources = createHash('sha256');
for (const name of ['build.mjs', 'package-lock.json', ...readdirSync(path.join(here, 'src')).sort().map((file) => `src/${file}`)]) {
  sources.update(`${name}\0`).update(readFileSync(path.join(here, name)));
}
const origin = `<!-- Written by scripts/page from web/, SHA-256 ${sources.digest('hex')}. -->`;

const parts = {POLICY: policy, STYLE: style, SCRIPT: script, NOTICE: `${notice}\n${origin}`};
const page = readFileSync(path.join(here, 'src', 'page.html'), 'utf8')
    .replace(/@(POLICY|STYLE|SCRIPT|NOTICE)@/g, (_, name) => parts[name]);
if (page.split('@RDMABENCH_DATA@').length !== 2) throw new Error('the mark for the data must stand once in the page');
if (page.length > kLimit) throw new Error(`the page has ${page.length} bytes, more than ${kLimit}`);
writeFileSync(output, page);
