// SPDX-License-Identifier: Apache-2.0
// The flame graph. d3-flame-graph draws; it is only given what can be seen, so that a hundred thousand stacks cost no
// more than a few, and zooming gives it another part.
import { select } from 'd3';
import flamegraph from 'd3-flame-graph';
import { CLASSES } from './data.js';
import { byId, plural } from './text.js';

const CELL = 18; // px
const NARROWEST = 1.5; // px; a frame below that can be neither read nor hit
const MOST = 4000; // frames

export class Flame {
	constructor(app) {
		this.app = app;
		this.zoom = 0; // node
		this.cursor = 0; // node
		this.box = byId('flame');
		this.chart = null;
		this.rootOnTop = true;
		// d3-flame-graph's own zoom would only know the frames that it was given.
		this.box.addEventListener('click', (event) => {
			const frame = event.target.closest('g.frame');
			event.stopPropagation();
			if (frame)
				this.zoomTo(select(frame).datum().data.node);
		}, true);
		// Browsers also tell of a mouse that rests while frames move below it; the keyboard's frame stays then.
		let x, y;
		document.addEventListener('mousemove', (event) => {
			const frame = event.target.closest?.('#flame g.frame');
			if (frame && (event.screenX !== x || event.screenY !== y))
				this.point(select(frame).datum().data.node);
			x = event.screenX;
			y = event.screenY;
		});
	}

	// The frames from the root to the zoomed one, each as wide as it, then what is below.
	frames() {
		const { tree, type } = this.app, width = this.box.clientWidth || 960;
		const { width: sizes } = tree.sum(type);
		const { root, hidden } = tree.cull(this.zoom, type, (sizes[this.zoom] * NARROWEST) / width, MOST);
		let frame = root;
		for (let node = this.zoom; node > 0;) {
			node = tree.model.parent[node];
			frame = { node, width: root.width, children: [frame], fade: true };
		}
		return { frame, hidden, width };
	}

	draw() {
		const { app } = this;
		if (app.tree.sum(app.type).width[this.zoom] === 0)
			this.zoom = 0;
		const { frame, hidden, width } = this.frames();
		this.colors = palette();
		this.chart?.destroy();
		const chart = flamegraph().width(width).cellHeight(CELL).transitionDuration(0).inverted(this.rootOnTop)
			.getName((d) => app.nodeName(d.data.node))
			.getValue((item) => item.width)
			.label((d) => app.nodeText(d.data.node))
			.color((d) => this.color(d.data.node));
		this.chart = chart;
		select(this.box).datum(frame).call(chart);
		this.settle();
		const shown = app.tree.sum(app.type).width[0] > 0;
		byId('flame-empty').hidden = shown;
		this.box.hidden = !shown;
		byId('hidden').textContent = hidden > 0 ? `${plural(hidden, 'narrower frame')} not drawn; zoom in to see more` : '';
		byId('reset').disabled = this.zoom === 0;
		this.mark();
	}

	// d3-flame-graph lets frames and labels come in slowly, whatever transitionDuration says. They are there at once.
	settle() {
		const { app } = this, frames = select(this.box).selectAll('g.frame');
		frames.interrupt().select('rect').interrupt().attr('width', function () {
			return this.parentNode.getAttribute('width');
		});
		frames.select('.d3-flame-graph-label').interrupt().text((d) => app.nodeName(d.data.node));
		if (this.rootOnTop) { // it leaves room for a title
			const svg = select(this.box).select('svg');
			svg.attr('height', Math.max(CELL, svg.attr('height') - 2 * CELL));
		}
	}

	color(node) {
		const { app, colors } = this;
		if (node > 0 && app.found?.[app.model.place[node]])
			return colors.found;
		if (node === 0)
			return colors.root;
		if (app.isDiff)
			return deltaColor(colors, ...app.netAndWidth(node));
		const kind = colors.classes[app.model.places.class[app.model.place[node]]];
		return kind(shade(app.nodeName(node)));
	}

	zoomTo(node) {
		this.zoom = node;
		this.point(node);
		this.draw();
		if (this.rootOnTop)
			return;
		const cursor = this.box.querySelector('.cursor');
		cursor?.scrollIntoView({ block: 'nearest' });
	}

	// The frame that the keyboard and the line below the graph are at.
	point(node) {
		this.cursor = node;
		byId('details').replaceChildren(...this.app.nodeDetails(node));
		this.mark();
	}

	mark() {
		const { cursor } = this;
		select(this.box).selectAll('g.frame').classed('cursor', (d) => d.data.node === cursor);
	}

	// Arrow keys: along the stack and between callees. False: nothing is there.
	move(key) {
		const { tree, type, model } = this.app;
		const deeper = this.rootOnTop ? 'ArrowDown' : 'ArrowUp';
		let next;
		if (key === 'ArrowDown' || key === 'ArrowUp') {
			next = key === deeper ? tree.shownChildren(this.cursor, type)[0] : this.cursor > 0 ? model.parent[this.cursor] : 0;
		} else if (this.cursor > 0) {
			const row = tree.shownChildren(model.parent[this.cursor], type);
			next = row[row.indexOf(this.cursor) + (key === 'ArrowRight' ? 1 : -1)];
		}
		if (next === undefined)
			return;
		this.point(next);
		this.box.querySelector('.cursor')?.scrollIntoView({ block: 'nearest' });
	}
}

// From 0 to 1, by the name's beginning: neighbours differ, and a function looks the same everywhere.
function shade(name) {
	let hash = 0;
	for (let i = 0; i < name.length && i < 64; i++)
		hash = (hash * 31 + name.charCodeAt(i)) | 0;
	return ((hash >>> 0) % 97) / 96;
}

// Colours of frames: those of own code are warm, all others are quiet.
export function palette() {
	const dark = getComputedStyle(document.documentElement).getPropertyValue('--dark').trim() === '1';
	const tone = (hue, saturation, spread) => (t) =>
		`hsl(${hue + spread * t}, ${saturation}%, ${dark ? 30 + 9 * t : 70 + 12 * t}%)`;
	const kinds = {
		unknown: tone(0, 0, 0), own: tone(22, dark ? 62 : 88, 26), allocator: tone(280, 22, 10), wrapper: tone(280, 22, 10),
		container: tone(170, 24, 10), runtime: tone(240, 18, 12), library: tone(205, 26, 12),
	};
	return {
		dark,
		classes: CLASSES.map((name) => kinds[name]),
		root: dark ? '#3a3d42' : '#d9dbde',
		found: dark ? '#b03fd0' : '#d873f0',
		neutral: dark ? [62, 65, 70] : [226, 227, 229],
		grows: dark ? [190, 52, 46] : [240, 108, 96],
		shrinks: dark ? [48, 96, 190] : [110, 158, 238],
	};
}

// Red grows, blue shrinks; the more of what changed below goes one way, the stronger.
export function deltaColor(colors, net, width) {
	const share = width > 0 ? Math.max(-1, Math.min(1, net / width)) : 0;
	const to = share < 0 ? colors.shrinks : colors.grows;
	const part = share === 0 ? 0 : 0.25 + 0.75 * Math.abs(share);
	return `rgb(${colors.neutral.map((from, i) => Math.round(from + (to[i] - from) * part)).join(', ')})`;
}
