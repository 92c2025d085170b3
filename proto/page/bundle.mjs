// SPDX-License-Identifier: Apache-2.0
// bundle.mjs SOURCE OUT: makes the page of page.html, page.css and page.js, in two halves between which the data
// belongs (page_image.S), and the licences of what is bundled with it. The same input gives the same bytes.
//
// Runs in the folder of the build where npm has put node_modules.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [source, out] = process.argv.slice(2).map((path) => resolve(path));
const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');

async function bundle(name) {
	return build({
		absWorkingDir: source,
		entryPoints: [name],
		nodePaths: [modules],
		bundle: true,
		minify: true,
		keepNames: false,
		write: false,
		metafile: true,
		format: 'iife',
		target: ['chrome100', 'firefox100', 'safari16'],
		charset: 'ascii',
		legalComments: 'none', // all licences are added below, whole
		loader: { '.css': name.endsWith('.css') ? 'css' : 'empty' }, // page.css styles what d3-flame-graph draws
		logLevel: 'warning',
	});
}

// The packages of which something is in the bundle, by name.
function packagesOf(metafile) {
	const names = new Set();
	for (const [path, use] of Object.entries(Object.values(metafile.outputs)[0].inputs)) {
		const match = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
		if (match && use.bytesInOutput > 0)
			names.add(match[1]);
	}
	return [...names].sort();
}

function licenceOf(name) {
	const folder = join(modules, name);
	const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
	if (!file)
		throw new Error(`${name} has no file with its licence`);
	const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
	return { title: `${name} ${version}`, text: readFileSync(join(folder, file), 'utf8').trim() };
}

// Each text of a licence once, below the packages that have it.
function licencesText(names) {
	const titles = new Map();
	for (const { title, text } of names.map(licenceOf))
		titles.set(text, [...(titles.get(text) ?? []), title]);
	return [...titles].map(([text, packages]) => `${packages.join(', ')}\n\n${text}\n`).join('\n\n');
}

const hashOf = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

const script = await bundle('page.js');
const style = (await bundle('page.css')).outputFiles[0].text.trim();
// Inside of a script element only these would mean something to the parser of HTML.
const code = script.outputFiles[0].text.trim().replace(/<(\/script|!--)/gi, '\\x3c$1');
const licences = licencesText(packagesOf(script.metafile));
const policy = `default-src 'none'; script-src ${hashOf(code)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
const filled = { POLICY: policy, STYLE: style, SCRIPT: code, LICENCES: escaped(licences) };
const page = readFileSync(join(source, 'page.html'), 'utf8').replace(/%(POLICY|STYLE|SCRIPT|LICENCES)%/g, (_, name) => filled[name]);
const halves = page.split('%DATA%\n');
if (halves.length !== 2)
	throw new Error('page.html has no place for the data, or two');
writeFileSync(join(out, 'page_head.html'), halves[0]);
writeFileSync(join(out, 'page_tail.html'), halves[1]);
writeFileSync(join(out, 'licences.txt'), licences);
