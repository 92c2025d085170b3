// SPDX-License-Identifier: Apache-2.0
// What was looked at, how, and what is missing: in the head of the page, and line by line.
import { byId, bytesText, countText, durationText, exactText, make, plural, timeText, withSign } from './text.js';

function recordingText(head) {
	const most = Math.max(head.interval_most, head.period);
	if (!head.estimate)
		return 'every allocation recorded';
	return head.period > 1 ? `one sample in ${bytesText(head.period)}${most > head.period ? ` (at times in ${bytesText(most)})` : ''}`
		: `every allocation recorded now, one sample in ${bytesText(most)} before`;
}

function metaTexts(head) {
	return [head.pid > 0 ? `process ${head.pid}` : '', timeText(head.time), head.duration > 0 ? `recorded for ${durationText(head.duration)}` : '',
		recordingText(head), head.stopped ? 'recording was stopped' : ''].filter(Boolean);
}

// One sentence of what is in here and one of what is not: nobody shall take a small number for "no problem".
function sentences(head) {
	const [bytes, objects] = head.total, error = head.estimate ? ` \u00b1${bytesText(head.bytes_error)}` : '';
	if (head.compared_with !== null)
		return [`What changed since ${head.compared_with}: ${withSign(bytesText(bytes), bytes)}${error} in ${withSign(countText(objects), objects)} blocks that were recorded.`,
			'Red grew, blue shrank; a frame is as wide as all that changed below it. Memory that malloc did not give is in neither profile.'];
	const since = head.duration > 0 ? `since the attach ${durationText(head.duration)} before` : 'since the attach', { memory } = head;
	const process = memory ? `Process RSS ${bytesText(memory.rss)} (anonymous ${bytesText(memory.anonymous)}${memory.swapped ? `; swapped out ${bytesText(memory.swapped)}` : ''}). ` : '';
	const only = head.selection ? `Only blocks ${head.selection}: ` : 'Recorded: ', what = 'blocks older than the attach, freed memory that malloc keeps, and memory that was mapped by other means.';
	const unrecorded = memory && memory.anonymous + memory.swapped > bytes && !head.selection ? `${bytesText(memory.anonymous + memory.swapped - bytes)}: ` : '';
	return [`${process}${only}${bytesText(bytes)}${error} in ${plural(objects, 'block')}, allocated ${since} and not freed.`,
		`Not recorded: ${unrecorded}${what}${head.other_heap ? ` ${head.other_heap}` : ''}`];
}

// What was found, and what it was found by.
function finding(each) {
	const list = make('ul', '');
	list.replaceChildren(...each.reasons.map((reason) => make('li', 'note', reason)));
	return [make('strong', '', each.text), list];
}

export function drawHead(head) {
	document.title = `${head.title} \u2013 heapsnap`;
	byId('title').textContent = head.title;
	byId('meta').replaceChildren(...metaTexts(head).map((text) => make('li', '', text)));
	const [shown, missing] = sentences(head), truth = byId('truth');
	byId('shown').replaceChildren(make('strong', '', shown), ` ${missing}`);
	truth.textContent = head.completeness ?? '';
	truth.hidden = !head.completeness;
	truth.className = head.complete ? 'whole' : 'loss';
	byId('verdict').replaceChildren(...head.verdict.flatMap(finding));
	byId('verdict').hidden = head.verdict.length === 0;
}

function pairs(list, entries) {
	for (const [name, value] of entries.filter((each) => each[1] !== '' && each[1] !== null))
		list.append(make('dt', '', name), make('dd', '', value));
}

function lineRow(each) {
	return make('tr', each.loss && each.value > 0 ? 'loss' : '', make('td', 'number', each.fact ? '' : exactText(each.value)),
		make('td', '', each.text), make('td', 'machine', each.name));
}

export function drawLedger(model) {
	const { head } = model, facts = byId('facts'), [main] = head.mappings;
	facts.replaceChildren();
	pairs(facts, [
		['Program', head.program], ['Process', head.pid > 0 ? String(head.pid) : ''], ['Main module', main?.[0] ?? ''], ['Build id', main?.[1] ?? ''],
		['Time', timeText(head.time)], ['Recorded for', head.duration > 0 ? durationText(head.duration) : ''], ['Recording', recordingText(head)],
		['Compared with', head.compared_with],
		...model.types.map((type, i) => [type.name, exactText(head.total[i]) + (i < 2 && head.estimate ? ` \u00b1${exactText(i === 0 ? head.bytes_error : head.objects_error)}` : '')]),
		['Stacks', exactText(head.stacks)], ['Sites', exactText(head.sites)],
	]);
	const lines = head.ledger, zero = lines.filter((each) => each.value === 0 && !each.fact);
	const rank = (each) => (each.loss ? 0 : each.fact ? 1 : 2);
	const kept = lines.filter((each) => each.value !== 0 || each.fact).sort((a, b) => rank(a) - rank(b));
	byId('ledger-lines').replaceChildren(...kept.map(lineRow));
	byId('zero-lines').replaceChildren(...zero.map(lineRow));
	byId('zeros').hidden = zero.length === 0;
	byId('zeros').querySelector('summary').textContent = `${plural(zero.length, 'line')} of zero`;
}
