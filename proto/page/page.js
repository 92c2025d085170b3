// SPDX-License-Identifier: Apache-2.0
// The page: what is shown, and what keys and clicks do. Texts from the data reach the document as text nodes alone.
import { drawGrowth, drawModules } from './charts.js';
import { breather, CLASSES, load } from './data.js';
import { deltaColor, Flame, palette } from './flame.js';
import { drawHead, drawLedger } from './ledger.js';
import { SiteTable } from './table.js';
import { byId, bytesText, countText, exactText, make, percentText, plural, withSign } from './text.js';
import { findPlaces, foundSum, Tree } from './tree.js';

const TABS = ['flame', 'table', 'modules', 'growth', 'ledger'];
const SEARCH_WAIT_MS = 120;

class App {
	constructor(model) {
		this.model = model;
		this.tree = new Tree(model);
		this.isDiff = model.head.compared_with !== null;
		this.type = 0;
		this.found = null; // a byte for each place; null = no search
		this.tab = 'flame';
		this.drawn = new Set(); // tabs that show what is the case
		this.flame = new Flame(this);
		this.table = new SiteTable(this);
	}

	// Live bytes, unless there are none, as in a profile of what was allocated.
	firstType() {
		return Math.max(0, this.model.types.findIndex((_, type) => this.tree.sum(type).width[0] > 0));
	}

	text(number) {
		return this.model.strings[number];
	}

	valueText(value) {
		const text = this.model.types[this.type].bytes ? bytesText(value) : countText(value);
		return this.isDiff ? withSign(text, value) : text;
	}

	netAndWidth(node) {
		const { net, width } = this.tree.sum(this.type);
		return [net[node], width[node]];
	}

	placeName(place) {
		return this.text(this.model.places.name[place]);
	}

	placeFullName(place) {
		return this.text(this.model.places.full[place]) || this.placeName(place);
	}

	placeFile(place) {
		return this.text(this.model.places.file[place]);
	}

	placeModule(place) {
		return this.text(this.model.places.module[place]);
	}

	// "leak.cpp:18", else the module.
	placeWhere(place) {
		const file = this.placeFile(place), line = this.model.places.line[place];
		const short = file.slice(file.lastIndexOf('/') + 1);
		return short ? short + (line > 0 ? `:${line}` : '') : this.placeModule(place);
	}

	className(place) {
		return CLASSES[this.model.places.class[place]] ?? 'unknown';
	}

	placeWhy(place) {
		const why = this.text(this.model.places.why[place]);
		return why ? `${this.className(place)}: ${why}` : this.className(place);
	}

	sitePlace(site) {
		return this.model.sites.place[site];
	}

	siteName(site) {
		return this.sitePlace(site) < 0 ? '[stack unknown]' : this.placeName(this.sitePlace(site));
	}

	siteFullName(site) {
		return this.sitePlace(site) < 0 ? '' : this.placeFullName(this.sitePlace(site));
	}

	siteWhere(site) {
		return this.sitePlace(site) < 0 ? '' : this.placeWhere(this.sitePlace(site));
	}

	siteFile(site) {
		return this.sitePlace(site) < 0 ? '' : this.placeFile(this.sitePlace(site));
	}

	siteModule(site) {
		return this.sitePlace(site) < 0 ? '' : this.placeModule(this.sitePlace(site));
	}

	// Own code above the site's place in its largest stack.
	siteCallers(site) {
		const { sites } = this.model;
		return sites.own[site] ? this.tree.ownPath(sites.node[site]).slice(1) : this.tree.ownPath(sites.node[site]);
	}

	nodeName(node) {
		return node === 0 ? 'all' : this.placeName(this.model.place[node]);
	}

	// "12.3 MiB, 45.6 %"; of differences the share would be of nothing.
	nodeValue(node) {
		const { net } = this.tree.sum(this.type);
		return this.isDiff ? this.valueText(net[node]) : `${this.valueText(net[node])}, ${percentText(net[node], net[0])}`;
	}

	nodeText(node) {
		const where = node === 0 ? '' : this.placeWhere(this.model.place[node]);
		return [node === 0 ? 'all' : this.placeFullName(this.model.place[node]), where, this.nodeValue(node)].filter(Boolean).join('\n');
	}

	// The line below the graph.
	nodeDetails(node) {
		const place = this.model.place[node], { net } = this.tree.sum(this.type), own = this.model.self[this.type][node];
		const values = `${this.nodeValue(node)} (${exactText(net[node])} ${this.model.types[this.type].bytes ? 'B' : 'blocks'}${own && own !== net[node] ? `, ${this.valueText(own)} of it right here` : ''})`;
		if (node === 0)
			return [make('strong', '', 'all'), make('span', 'where', values)];
		const file = this.placeFile(place), line = this.model.places.line[place];
		const where = [file + (file && line > 0 ? `:${line}` : ''), this.placeModule(place)].filter(Boolean).join(' in ');
		return [make('strong', '', this.placeFullName(place)), make('span', 'where', values), make('br', ''), make('span', '', where),
			make('span', 'why', this.placeWhy(place))];
	}

	showNode(node) {
		this.flame.zoom = node;
		this.flame.cursor = node;
		this.drawn.delete('flame');
		this.show('flame');
		this.flame.point(node);
	}

	show(tab) {
		this.tab = tab;
		for (const button of byId('tabs').children) {
			button.setAttribute('aria-selected', String(button.dataset.tab === tab));
			byId(`tab-${button.dataset.tab}`).hidden = button.dataset.tab !== tab;
		}
		if (this.drawn.has(tab))
			return;
		this.drawn.add(tab);
		const draw = { flame: () => this.drawFlame(), table: () => this.table.draw(), modules: () => drawModules(this),
			growth: () => drawGrowth(this), ledger: () => drawLedger(this.model) };
		draw[tab]();
	}

	drawFlame() {
		this.flame.draw();
		this.flame.point(this.flame.cursor);
		this.drawLegend();
		this.table.drawTop();
	}

	drawLegend() {
		const colors = palette(), items = this.isDiff
			? [['grew', deltaColor(colors, 1, 1)], ['both', deltaColor(colors, 0, 1)], ['shrank', deltaColor(colors, -1, 1)]]
			: [['own code', 'own'], ['library', 'library'], ['container', 'container'], ['runtime', 'runtime'], ['allocator', 'allocator'], ['unknown', 'unknown']]
				.map(([name, kind]) => [name, colors.classes[CLASSES.indexOf(kind)](0.5)]);
		byId('legend').replaceChildren(...items.map(([name, color]) => {
			const box = make('i', '');
			box.style.background = color;
			return make('li', '', box, name);
		}));
	}

	// All tabs are out of date.
	redraw() {
		this.drawn.clear();
		this.show(this.tab);
		this.drawFound();
	}

	setType(type) {
		this.type = type;
		byId('type').value = String(type);
		this.redraw();
	}

	search(wanted) {
		this.found = wanted ? findPlaces(this.model, wanted) : null;
		this.redraw();
	}

	drawFound() {
		if (!this.found) {
			byId('found').textContent = '';
			return;
		}
		const sum = foundSum(this.tree, this.type, this.found), { width } = this.tree.sum(this.type);
		byId('found').textContent = sum.nodes === 0 ? 'nothing found'
			: `${plural(sum.nodes, 'frame')}, ${this.valueText(sum.net)}, ${percentText(sum.width, width[0])}${this.isDiff ? ' of all changes' : ''}`;
	}

	setTheme(dark) {
		document.documentElement.dataset.theme = dark ? 'dark' : 'light';
		byId('theme').textContent = dark ? 'Light' : 'Dark';
		this.redraw();
	}

	turnTheme() {
		this.setTheme(document.documentElement.dataset.theme !== 'dark');
	}

	turnDirection() {
		this.flame.rootOnTop = !this.flame.rootOnTop;
		byId('direction').textContent = this.flame.rootOnTop ? 'Root at the bottom' : 'Root on top';
		this.drawn.delete('flame');
		this.show('flame');
	}

	escape() {
		if (this.found) {
			byId('search').value = '';
			this.search('');
		} else if (this.tab === 'flame') {
			this.flame.zoomTo(0);
		}
	}

	// True: the key meant something.
	key(event) {
		const { key } = event, tab = TABS[Number(key) - 1];
		if (tab)
			this.show(tab);
		else if (key === '/')
			byId('search').focus();
		else if (key === 't')
			this.setType((this.type + 1) % this.model.types.length);
		else if (key === 'd')
			this.turnTheme();
		else if (key === 'i')
			this.turnDirection();
		else if (key === 'Escape')
			this.escape();
		else if (this.tab === 'flame' && key === 'Enter' && !event.target.closest('button'))
			this.flame.zoomTo(this.flame.cursor);
		else if (this.tab === 'flame' && key.startsWith('Arrow'))
			this.flame.move(key);
		else
			return false;
		return true;
	}
}

function listen(app) {
	let waiting = 0, width = window.innerWidth;
	byId('tabs').addEventListener('click', (event) => event.target.dataset.tab && app.show(event.target.dataset.tab));
	byId('type').addEventListener('change', (event) => app.setType(Number(event.target.value)));
	byId('theme').addEventListener('click', () => app.turnTheme());
	byId('direction').addEventListener('click', () => app.turnDirection());
	byId('reset').addEventListener('click', () => app.flame.zoomTo(0));
	byId('search').addEventListener('input', (event) => {
		clearTimeout(waiting);
		waiting = setTimeout(() => app.search(event.target.value.trim()), SEARCH_WAIT_MS);
	});
	document.addEventListener('keydown', (event) => {
		const typing = event.target.closest?.('input, select');
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (typing && event.key === 'Escape') {
			typing.blur();
			app.escape();
		} else if (!typing && app.key(event)) {
			event.preventDefault();
		}
	});
	window.addEventListener('resize', () => {
		if (window.innerWidth === width)
			return;
		width = window.innerWidth;
		app.redraw();
	});
	const dark = matchMedia('(prefers-color-scheme: dark)');
	dark.addEventListener('change', () => app.setTheme(dark.matches));
}

async function start() {
	const began = performance.now(), dark = matchMedia('(prefers-color-scheme: dark)').matches;
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	const breath = breather(), model = await load((share) => (byId('progress').value = share), breath);
	drawHead(model.head);
	byId('loading').hidden = true;
	byId('main').hidden = false;
	await breath();
	const app = new App(model);
	await breath();
	app.type = app.firstType();
	await breath();
	byId('type').append(...model.types.map((type, i) => {
		const option = make('option', '', type.name);
		option.value = String(i);
		return option;
	}));
	byId('type').value = String(app.type);
	listen(app);
	app.setTheme(dark);
	// For who measures: ms until all is there, and the longest time for which nothing else could be done.
	await breath();
	document.documentElement.dataset.ready = `${Math.round(performance.now() - began)} ${Math.round(breath.longest)}`;
}

// The script comes before the data, so that a file that was cut can say so.
document.addEventListener('DOMContentLoaded', () => {
	start().catch((error) => {
		byId('loading').hidden = true;
		byId('failure').textContent = `This page cannot be shown: ${error.message}`;
		byId('failure').hidden = false;
		console.error(error);
	});
});
