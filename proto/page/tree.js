// SPDX-License-Identifier: Apache-2.0
// The tree of stacks: what is below each node, and the part of it that can be seen. A node's number is above its
// parent's, so that loops over numbers do what recursion would, and no depth is too much.
import { OWN } from './data.js';

// `net` is the sum of values; `width` that of sizes: the same, unless values are differences. There what grew and what
// shrank would cancel out, and a frame would be narrower than those above it.
export class Tree {
	constructor(model) {
		const count = model.parent.length;
		this.model = model;
		this.count = count;
		this.firstChild = new Int32Array(count).fill(-1);
		this.nextSibling = new Int32Array(count).fill(-1);
		for (let i = count - 1; i > 0; i--) {
			this.nextSibling[i] = this.firstChild[model.parent[i]];
			this.firstChild[model.parent[i]] = i;
		}
		this.sums = model.types.map(() => null);
	}

	// { net, width } of the sample type, made when it is first looked at.
	sum(type) {
		if (!this.sums[type]) {
			const { parent, self } = this.model;
			const net = Float64Array.from(self[type]), width = net.map(Math.abs);
			for (let i = this.count - 1; i > 0; i--) {
				net[parent[i]] += net[i];
				width[parent[i]] += width[i];
			}
			this.sums[type] = { net, width };
		}
		return this.sums[type];
	}

	children(node) {
		const found = [];
		for (let child = this.firstChild[node]; child >= 0; child = this.nextSibling[child])
			found.push(child);
		return found;
	}

	// Those that have a width, widest first.
	shownChildren(node, type) {
		const { width } = this.sum(type);
		return this.children(node).filter((child) => width[child] > 0).sort((a, b) => width[b] - width[a] || a - b);
	}

	// From the root's child to the node.
	path(node) {
		const found = [];
		for (let at = node; at > 0; at = this.model.parent[at])
			found.push(at);
		return found.reverse();
	}

	// The own code of a stack, innermost first.
	ownPath(node) {
		const { place, places } = this.model;
		return this.path(node).reverse().map((at) => place[at]).filter((at) => places.class[at] === OWN);
	}

	// The node and what is below it, but nothing narrower than `least` and at most `most` frames:
	// { root: { node, width, children }, hidden: how many frames were left out at the edges }.
	cull(node, type, least, most) {
		const { width } = this.sum(type);
		const root = { node, width: width[node], children: [] };
		let shown = [root], count = 1, hidden = 0;
		while (shown.length > 0 && count < most) { // level by level: what is left out is deepest
			const next = [];
			for (const frame of shown)
				for (const child of this.shownChildren(frame.node, type)) {
					if (width[child] < least || count >= most) {
						hidden++;
						continue;
					}
					const made = { node: child, width: width[child], children: [] };
					frame.children.push(made);
					next.push(made);
					count++;
				}
			shown = next;
		}
		return { root, hidden };
	}
}

// Which places a search finds: in functions, files and modules, whatever the case.
export function findPlaces(model, wanted) {
	const { strings, places } = model;
	const text = wanted.toLowerCase(), holds = new Uint8Array(strings.length);
	const found = new Uint8Array(places.name.length);
	strings.forEach((string, i) => (holds[i] = string.toLowerCase().includes(text)));
	for (let i = 0; i < found.length; i++)
		found[i] = holds[places.name[i]] | holds[places.full[i]] | holds[places.file[i]] | holds[places.module[i]];
	return found;
}

// What the stacks hold that a found place is on: { net, width, nodes }.
export function foundSum(tree, type, found) {
	const { parent, place } = tree.model, { net, width } = tree.sum(type);
	const within = new Uint8Array(tree.count), sum = { net: 0, width: 0, nodes: 0 };
	for (let i = 1; i < tree.count; i++) {
		within[i] = within[parent[i]] | found[place[i]];
		sum.nodes += found[place[i]];
		if (within[i] && !within[parent[i]]) {
			sum.net += net[i];
			sum.width += width[i];
		}
	}
	return sum;
}
