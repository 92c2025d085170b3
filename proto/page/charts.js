// SPDX-License-Identifier: Apache-2.0
// Modules as a tree map, and growth over time as lines.
import { hierarchy, line, max, min, scaleLinear, select, treemap, treemapSquarify } from 'd3';
import { deltaColor, palette } from './flame.js';
import { byId, bytesText, durationText, make, percentText, withSign } from './text.js';

const MOST_CELLS = 1500;
const CELL_TEXT = { width: 46, height: 15 }; // px, from which a text can be read

// Modules, their files, and the sites in each; what is beyond MOST_CELLS is one cell a module.
function moduleTree(app) {
	const { sites, head, types } = app.model, { key } = types[app.type], values = sites[key];
	const order = Array.from({ length: head.sites }, (_, i) => i).filter((i) => values[i] !== 0)
		.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
	const modules = new Map();
	order.forEach((i, rank) => {
		const name = app.siteModule(i) || '[module unknown]', file = app.siteFile(i) || '[file unknown]';
		const module = modules.get(name) ?? modules.set(name, { files: new Map(), net: 0 }).get(name);
		module.net += values[i];
		const cells = rank < MOST_CELLS ? module.files.get(file) ?? module.files.set(file, []).get(file) : null;
		if (cells)
			cells.push({ name: app.siteName(i), site: i, net: values[i], size: Math.abs(values[i]) });
		else
			module.rest = { name: 'others', net: (module.rest?.net ?? 0) + values[i], size: (module.rest?.size ?? 0) + Math.abs(values[i]) };
	});
	return {
		name: 'all',
		children: [...modules].map(([name, { files, rest, net }]) => ({
			name, net,
			children: [...files].map(([file, children]) => ({ name: file, children })).concat(rest ? [rest] : []),
		})),
	};
}

function cellElement(app, cell, color) {
	const { x0, x1, y0, y1 } = cell, { name, net, site } = cell.data;
	const element = make('div', 'cell');
	Object.assign(element.style, { left: `${x0}px`, top: `${y0}px`, width: `${x1 - x0}px`, height: `${y1 - y0}px`, background: color });
	const module = cell.ancestors().find((each) => each.depth === 1).data.name;
	element.title = `${name}\n${site === undefined ? '' : `${app.siteWhere(site)}\n`}${module}\n${app.valueText(net)}`;
	if (x1 - x0 >= CELL_TEXT.width && y1 - y0 >= CELL_TEXT.height)
		element.append(make('span', '', name), ...(y1 - y0 >= 2 * CELL_TEXT.height ? [make('span', 'size', app.valueText(net))] : []));
	if (site !== undefined)
		element.addEventListener('click', () => app.showNode(app.model.sites.node[site]));
	return element;
}

export function drawModules(app) {
	const box = byId('modules-map'), colors = palette(), width = box.clientWidth || 960, height = box.clientHeight || 560;
	const root = hierarchy(moduleTree(app)).sum((item) => item.size ?? 0).sort((a, b) => b.value - a.value);
	const elements = [];
	treemap().size([width, height]).tile(treemapSquarify.ratio(1.6)).paddingTop((node) => (node.depth === 1 ? 17 : 0))
		.paddingInner((node) => (node.depth === 0 ? 4 : 1)).round(true)(root);
	(root.children ?? []).forEach((module, i) => {
		const label = make('div', 'module', module.data.name, make('span', 'size', ` ${app.valueText(module.data.net)}${app.isDiff ? '' : ` \u00b7 ${percentText(module.value, root.value)}`}`));
		Object.assign(label.style, { left: `${module.x0}px`, top: `${module.y0}px`, width: `${module.x1 - module.x0}px` });
		label.title = label.textContent;
		elements.push(label);
		for (const cell of module.leaves().filter((each) => each.value > 0)) {
			const tone = `hsl(${(28 + i * 67) % 360}, ${colors.dark ? 26 : 42}%, ${(colors.dark ? 27 : 76) + (cell.parent.children.indexOf(cell) % 4) * 3}%)`;
			elements.push(cellElement(app, cell, app.isDiff ? deltaColor(colors, cell.data.net, cell.data.size) : tone));
		}
	});
	box.replaceChildren(...elements);
	byId('modules-empty').hidden = elements.length > 0;
}

const LINES = [
	{ name: 'RSS', column: 1, className: 'rss' },
	{ name: 'Recorded live', column: 2, className: 'live' },
];

function axis(group, scale, ticks, text, place) {
	for (const tick of ticks) {
		const at = group.append('g').attr('transform', place(scale(tick)));
		at.append('line').attr('class', 'grid');
		at.append('text').text(text(tick));
	}
}

// Whole numbers of a binary unit, some five of them.
function byteTicks(top) {
	let step = 2 ** Math.floor(Math.log2(Math.max(top, 1) / 4));
	while (top / step > 6)
		step *= 2;
	return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

// What went from the first point to the last one, and how fast.
function growthText({ name, column }, series) {
	const first = series[0], last = series[series.length - 1], grown = last[column] - first[column], seconds = last[0] - first[0];
	const rate = seconds > 0 ? `, ${withSign(bytesText((grown / seconds) * 60), grown)} a minute` : '';
	return `${name} ${bytesText(first[column])} \u2192 ${bytesText(last[column])} (${withSign(bytesText(grown), grown)}${rate})`;
}

export function drawGrowth(app) {
	const { series } = app.model.head, box = byId('growth-chart');
	byId('growth-empty').hidden = series.length > 1;
	box.replaceChildren();
	if (series.length < 2)
		return;
	const width = box.clientWidth || 960, height = 360, edge = { left: 70, right: 14, top: 12, bottom: 28 };
	const top = max(series, (point) => Math.max(point[1], point[2])) || 1, low = min([0, min(series, (point) => point[2])]);
	const x = scaleLinear([series[0][0], series[series.length - 1][0] || 1], [edge.left, width - edge.right]);
	const y = scaleLinear([low, top * 1.04], [height - edge.bottom, edge.top]);
	const svg = select(box).append('svg').attr('width', width).attr('height', height).attr('role', 'img');
	svg.append('title').text(LINES.map((each) => growthText(each, series)).join('; '));
	const left = svg.append('g').attr('class', 'axis left'), bottom = svg.append('g').attr('class', 'axis bottom');
	axis(left, y, byteTicks(top), bytesText, (at) => `translate(${edge.left}, ${at})`);
	left.selectAll('line').attr('x2', width - edge.left - edge.right);
	left.selectAll('text').attr('x', -8).attr('dy', '0.32em').attr('text-anchor', 'end');
	axis(bottom, x, x.ticks(7), durationText, (at) => `translate(${at}, ${height - edge.bottom})`);
	bottom.selectAll('line').attr('y2', 4);
	bottom.selectAll('text').attr('y', 18).attr('text-anchor', 'middle');
	for (const { className, column } of LINES) {
		svg.append('path').attr('class', `line ${className}`).attr('d', line((point) => x(point[0]), (point) => y(point[column]))(series));
		svg.append('g').selectAll('circle').data(series).join('circle').attr('class', className).attr('r', series.length > 60 ? 1.5 : 3)
			.attr('cx', (point) => x(point[0])).attr('cy', (point) => y(point[column]))
			.append('title').text((point) => `${durationText(point[0])}: ${bytesText(point[column])}`);
	}
	byId('growth-legend').replaceChildren(...LINES.map((each) => make('li', each.className, growthText(each, series))));
}
