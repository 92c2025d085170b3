// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them, and elements whose texts are never markup.

export const MINUS = '\u2212';
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const COUNTS = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

function scaled(value, base, names) {
	let size = Math.abs(value), unit = 0;
	while (size >= base && unit < names.length - 1) {
		size /= base;
		unit++;
	}
	const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
	return { text: size.toFixed(digits), unit: names[unit], sign: value < 0 ? MINUS : '' };
}

export function bytesText(value) {
	const { text, unit, sign } = scaled(value, 1024, UNITS);
	return `${sign}${text} ${unit}`;
}

export function countText(value) {
	const { text, unit, sign } = scaled(value, 1000, COUNTS);
	return `${sign}${text}${unit}`;
}

// Every digit, in groups of three.
export function exactText(value) {
	return value.toLocaleString('en-US').replace('-', MINUS);
}

export const withSign = (text, value) => (value > 0 ? `+${text}` : text);

export function percentText(part, whole) {
	if (!whole)
		return '';
	const percent = (100 * part) / whole;
	return `${Math.abs(percent) >= 99.95 ? percent.toFixed(0) : percent.toFixed(1)} %`.replace('-', MINUS);
}

export function durationText(seconds) {
	if (seconds === 0)
		return '0';
	if (seconds < 1)
		return `${Math.round(seconds * 1000)} ms`;
	if (seconds < 120)
		return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
	if (seconds < 7200)
		return `${Math.round(seconds / 60)} min`;
	return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
}

export const timeText = (ms) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

export const plural = (count, one, many = `${one}s`) => `${exactText(count)} ${count === 1 ? one : many}`;

// make('td', 'number', 'text', child, …): an element of that class; strings become text nodes.
export function make(name, className, ...children) {
	const element = document.createElement(name);
	if (className)
		element.className = className;
	element.append(...children);
	return element;
}

export const byId = (id) => document.getElementById(id);
