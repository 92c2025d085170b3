// SPDX-License-Identifier: Apache-2.0
// Reads the blocks of data (proto/page/page_data.h) one after the other, and lets the browser breathe between them.

export const CLASSES = ['unknown', 'own', 'allocator', 'wrapper', 'container', 'runtime', 'library'];
export const OWN = CLASSES.indexOf('own');
const VALUE_TYPES = [
	{ key: 'live_bytes', name: 'Live bytes', short: 'Live', bytes: true },
	{ key: 'live_objects', name: 'Live blocks', short: 'Blocks', bytes: false },
	{ key: 'alloc_bytes', name: 'Allocated bytes', short: 'Allocated', bytes: true },
	{ key: 'alloc_objects', name: 'Allocated blocks', short: 'In blocks', bytes: false },
	{ key: 'temporary_objects', name: 'Temporary blocks', short: 'Temporary', bytes: false }, // not in all pages
];
const BREATH_MS = 12;

// A turn of the event loop, without the four milliseconds that a timer would wait.
export function breathe() {
	return new Promise((resolve) => {
		const channel = new MessageChannel();
		channel.port1.onmessage = () => {
			channel.port1.close();
			resolve();
		};
		channel.port2.postMessage(null);
	});
}

// breath(): to be awaited in long work; gives way where more than BREATH_MS have gone since it last did. breath.longest
// is the longest time, ms, that it was not asked for.
export function breather() {
	let last = performance.now();
	const breath = async () => {
		const gone = performance.now() - last;
		breath.longest = Math.max(breath.longest, gone);
		if (gone < BREATH_MS)
			return;
		await breathe();
		last = performance.now();
	};
	breath.longest = 0;
	return breath;
}

const PLACE_COLUMNS = ['name', 'full', 'file', 'module', 'why', 'via', 'line', 'class'];
const SITE_COLUMNS = ['place', 'node', 'via', 'own', 'stacks', 'error'];

function columns(names, count) {
	return Object.fromEntries(names.map((name) => [name, new Float64Array(count)]));
}

function makeModel(head) {
	const types = VALUE_TYPES.slice(0, head.total.length);
	return {
		head,
		types,
		strings: [],
		places: columns(PLACE_COLUMNS, head.places),
		parent: new Int32Array(head.nodes),
		place: new Int32Array(head.nodes),
		self: types.map(() => new Float64Array(head.nodes)),
		sites: columns([...SITE_COLUMNS, ...types.map((type) => type.key)], head.sites),
		filled: { places: 0, nodes: 1, sites: 0 },
	};
}

function addColumns(model, kind, block) {
	const from = model.filled[kind];
	for (const [name, column] of Object.entries(model[kind]))
		column.set(block[name], from);
	model.filled[kind] += block[Object.keys(block)[0]].length;
}

function addNodes(model, block) {
	const from = model.filled.nodes;
	for (let i = 0; i < block.up.length; i++)
		model.parent[from + i] = from + i - block.up[i];
	model.place.set(block.place, from);
	model.types.forEach((type, i) => model.self[i].set(block[type.key], from));
	model.filled.nodes += block.up.length;
}

function addBlock(model, block) {
	if (block.strings)
		for (const text of block.strings)
			model.strings.push(text);
	else if (block.nodes)
		addNodes(model, block.nodes);
	else if (block.places)
		addColumns(model, 'places', block.places);
	else if (block.sites)
		addColumns(model, 'sites', block.sites);
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new Error(`the file is not complete (${error.message})`);
	}
}

// The model; `progress` is told the share that is done. Throws where the data is not all there: a file that was cut.
export async function load(progress, breath) {
	const elements = [...document.querySelectorAll('script.data')];
	let model = null;
	for (const [i, element] of elements.entries()) {
		const block = parse(element.textContent);
		if (block.head)
			model = makeModel(block.head);
		else
			addBlock(model, block);
		element.remove(); // its text is no longer needed
		progress((i + 1) / elements.length);
		await breath();
	}
	const { head, filled } = model ?? { head: null };
	if (!head || model.strings.length !== head.strings || filled.nodes !== head.nodes || filled.places !== head.places ||
	    filled.sites !== head.sites)
		throw new Error('the file is not complete');
	return model;
}
