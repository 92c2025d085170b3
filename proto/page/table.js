// SPDX-License-Identifier: Apache-2.0
// The table of sites: lines of the user's own code that asked for memory.
import { breather } from './data.js';
import { byId, bytesText, countText, exactText, make, MINUS, percentText, withSign } from './text.js';

const PAGE_ROWS = 200;
const TOP_ROWS = 8;
const MOST_CALLERS = 4;

// Where i belongs among those of larger or equal size.
function rankIn(top, values, i) {
	let at = top.length;
	while (at > 0 && Math.abs(values[top[at - 1]]) < Math.abs(values[i]))
		at--;
	return at;
}

export class SiteTable {
	constructor(app) {
		this.app = app;
		this.key = null; // of the column that it is sorted by; null = the sample type
		this.down = true;
		this.limit = PAGE_ROWS;
		this.open = new Set(); // sites whose stack is shown
		this.turn = 0;
		byId('more').addEventListener('click', () => {
			this.limit += PAGE_ROWS * 5;
			this.draw();
		});
	}

	columns() {
		const { app } = this, { sites } = app.model, sign = app.isDiff ? withSign : (text) => text;
		const numbers = app.model.types.map(({ key, short, bytes }) => ({
			key, name: short, number: true, value: (i) => sites[key][i],
			text: (i) => sign(bytes ? bytesText(sites[key][i]) : countText(sites[key][i]), sites[key][i]),
			exact: (i) => exactText(sites[key][i]),
		}));
		const error = { key: 'error', name: '\u00b1', number: true, value: (i) => sites.error[i],
			text: (i) => (sites.error[i] ? bytesText(sites.error[i]) : ''), exact: () => 'standard error of live bytes' };
		return [
			...numbers.slice(0, 1), ...(app.model.head.estimate ? [error] : []), ...numbers.slice(1),
			{ key: 'site', name: 'Site', value: (i) => app.siteName(i), text: (i) => app.siteName(i), exact: (i) => app.siteFullName(i) },
			{ key: 'where', name: 'Where', value: (i) => app.siteWhere(i), text: (i) => app.siteWhere(i), exact: (i) => app.siteFile(i) },
			{ key: 'via', name: 'Via', value: (i) => app.text(sites.via[i]), text: (i) => app.text(sites.via[i]), exact: (i) => app.text(sites.via[i]) },
			{ key: 'callers', name: 'Called by', value: (i) => this.callers(i), text: (i) => this.callers(i), exact: (i) => this.callers(i, Infinity) },
			{ key: 'stacks', name: 'Stacks', number: true, value: (i) => sites.stacks[i], text: (i) => exactText(sites.stacks[i]), exact: () => 'different stacks of this site' },
		];
	}

	// The own code that led to the site, innermost first.
	callers(i, most = MOST_CALLERS) {
		const { app } = this, names = app.siteCallers(i).map((place) => app.placeName(place));
		return names.slice(0, most).join(' \u2039 ') + (names.length > most ? ' \u2039 \u2026' : '');
	}

	// A search shows the sites that it finds in their names or in the own code that led to them.
	rows() {
		const { app } = this, { found, model } = app, { sites } = model;
		const all = Array.from({ length: model.head.sites }, (_, i) => i);
		if (!found)
			return all;
		return all.filter((i) => (sites.place[i] >= 0 && found[sites.place[i]]) || app.tree.path(sites.node[i]).some((node) => found[model.place[node]]));
	}

	sorted(rows, columns) {
		const key = this.key ?? this.app.model.types[this.app.type].key, column = columns.find((each) => each.key === key);
		const values = new Map(rows.map((i) => [i, column.value(i)]));
		const size = column.number && this.key === null && this.app.isDiff ? Math.abs : (value) => value;
		const compare = (a, b) => {
			const x = size(values.get(a)), y = size(values.get(b));
			return (x < y ? -1 : x > y ? 1 : 0) * (this.down ? -1 : 1) || a - b;
		};
		return { key, rows: rows.sort(compare) };
	}

	heading(columns, key) {
		return make('tr', '', ...columns.map((column) => {
			const button = make('button', '', column.name);
			const head = make('th', column.number ? 'number' : column.key, button);
			if (column.key === key)
				head.setAttribute('aria-sort', this.down ? 'descending' : 'ascending');
			button.addEventListener('click', () => {
				this.down = column.key === key ? !this.down : Boolean(column.number);
				this.key = column.key;
				this.draw();
			});
			return head;
		}));
	}

	row(i, columns, key, biggest) {
		const row = make('tr', 'site', ...columns.map((column) => {
			const cell = make('td', column.number ? 'number' : column.key, column.text(i));
			cell.title = column.exact(i);
			if (column.number && column.key === key && biggest > 0) {
				const share = Math.min(1, Math.abs(column.value(i)) / biggest);
				cell.classList.add('bar', column.value(i) < 0 ? 'shrinks' : this.app.isDiff ? 'grows' : 'plain');
				cell.style.setProperty('--share', `${(100 * share).toFixed(1)}%`);
			}
			return cell;
		}));
		row.tabIndex = 0;
		row.addEventListener('click', () => this.toggle(i));
		row.addEventListener('keydown', (event) => {
			if (event.key === 'Enter')
				this.toggle(i);
		});
		return row;
	}

	toggle(i) {
		if (!this.open.delete(i))
			this.open.add(i);
		this.draw();
	}

	// The whole of the largest stack, innermost first; own code stands out.
	details(i, columns) {
		const { app } = this, { sites, place } = app.model, list = make('ol', 'stack');
		for (const node of app.tree.path(sites.node[i]).reverse()) {
			const item = make('li', app.className(place[node]), make('span', 'name', app.placeFullName(place[node])));
			item.append(make('span', 'where', app.placeWhere(place[node])), make('span', 'why', app.placeWhy(place[node])));
			list.append(item);
		}
		const button = make('button', '', 'Show in the flame graph');
		button.addEventListener('click', () => app.showNode(sites.node[i]));
		const others = sites.stacks[i] > 1 ? `The largest of its ${exactText(sites.stacks[i])} stacks, innermost first` : 'Its stack, innermost first';
		const cell = make('td', '', make('p', '', others, ' \u2002 ', button), list);
		cell.colSpan = columns.length;
		return make('tr', 'details', cell);
	}

	// Below the flame graph: what holds most, or changed most, in a line each.
	drawTop() {
		const { app } = this, { sites, head, types } = app.model, values = sites[types[app.type].key], top = [];
		for (let i = 0; i < head.sites; i++) { // each finds its place among the few that are kept
			const at = rankIn(top, values, i);
			if (at < TOP_ROWS && values[i] !== 0)
				top.splice(at, 0, i);
			top.length = Math.min(top.length, TOP_ROWS);
		}
		byId('top-title').textContent = top.length === 0 ? '' : app.isDiff ? 'Sites that changed most' : 'Largest sites';
		byId('top').replaceChildren(...top.map((i) => {
			const callers = this.callers(i), via = app.text(sites.via[i]);
			const where = [app.siteWhere(i), via && `via ${via}`, callers && `\u2039 ${callers}`].filter(Boolean).join('  ');
			const item = make('li', '', make('span', 'value', app.valueText(values[i])), make('span', 'name', app.siteName(i)), make('span', 'where', where));
			item.title = app.siteFullName(i);
			item.addEventListener('click', () => app.showNode(sites.node[i]));
			return item;
		}));
	}

	async draw() {
		const turn = ++this.turn, columns = this.columns(), { key, rows } = this.sorted(this.rows(), columns);
		const shown = rows.slice(0, this.limit), column = columns.find((each) => each.key === key), body = make('tbody', '');
		const biggest = column.number ? shown.reduce((most, i) => Math.max(most, Math.abs(column.value(i))), 0) : 0, breath = breather();
		byId('sites-head').replaceChildren(this.heading(columns, key));
		for (const i of shown) {
			body.append(this.row(i, columns, key, biggest));
			if (this.open.has(i))
				body.append(this.details(i, columns));
			await breath();
			if (turn !== this.turn) // another drawing has begun meanwhile
				return;
		}
		byId('sites').tBodies[0].replaceWith(body);
		byId('sites-note').textContent = this.note(rows, shown);
		byId('more').hidden = rows.length <= shown.length;
	}

	note(rows, shown) {
		const { app } = this, { key } = app.model.types[app.type], values = app.model.sites[key];
		const sum = rows.reduce((total, i) => total + values[i], 0), total = app.tree.sum(app.type).net[0];
		const share = app.isDiff ? '' : ` (${percentText(sum, total)} of all)`;
		const text = `${exactText(rows.length)} ${rows.length === 1 ? 'site' : 'sites'}, ${app.valueText(sum)}${share}`;
		return shown.length < rows.length ? `${text}; the first ${exactText(shown.length)} are shown` : text.replace('-', MINUS);
	}
}
