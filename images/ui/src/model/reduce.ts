// SPDX-License-Identifier: Apache-2.0
// From events to what the viewer shows: the rows (rows.ts), and what is known of the session (run.ts).

import type { RawEvent } from './event.ts';
import type { Run } from './run.ts';
import { Assembler, applyToRow } from './assemble.ts';
import { addCall, newRun } from './run-calls.ts';
import { Marks } from './marks.ts';
import { Rows } from './rows.ts';
import { num, obj, oneLine, str, time } from './read.ts';
import { readCost } from './usage.ts';

const TITLE = 300;

export class Model {
	run: Run;
	rows = new Rows();
	#assembler = new Assembler();
	#marks: Marks;

	constructor(sessionId: string) {
		this.run = newRun(sessionId);
		this.#marks = new Marks(this.run);
	}

	/** size: about how many bytes the event takes. */
	apply(e: RawEvent, size: number): void {
		const id = typeof e.seq === 'number' ? e.seq : this.run.lastSeq + 0.5;
		const place = this.#assembler.place(e, id);

		this.#note(e);
		if (!place)
			return;
		if (place.fresh) {
			const item = applyToRow(null, e, id);
			this.#marks.begun(this.rows.push(item, size), item, e);
		} else {
			this.#change(place.id, e, size);
		}
	}

	#change(id: number, e: RawEvent, size: number): void {
		const i = this.rows.find(id);
		const old = i < 0 ? null : this.rows.get(i);
		const item = old && applyToRow(old, e, id);

		if (i < 0)
			return;
		this.rows.set(i, item, size, num(e.seq));
		this.#marks.changed(i, id, item, e);
	}

	/** What an event changes besides rows. */
	#note(e: RawEvent): void {
		const { run } = this;
		const at = time(e.ts);

		run.events++;
		run.lastSeq = Math.max(run.lastSeq, num(e.seq));
		run.lastAt = Math.max(run.lastAt, at);
		run.firstAt ||= at;
		if (e.kind === 'usage')
			this.#usage(e);
		else if (e.kind === 'lifecycle')
			this.#lifecycle(e);
	}

	#usage(e: RawEvent): void {
		if (e.event === 'usage_update') {
			this.run.context = { used: num(e.used), size: num(e.size) };
			this.run.harnessCost = readCost(e.cost) ?? this.run.harnessCost;
			return;
		}
		addCall(this.run, e);
	}

	#lifecycle(e: RawEvent): void {
		const { run } = this;

		if (e.event === 'session_info_update' && 'title' in e)
			run.title = oneLine(str(e.title), TITLE);
		else if (e.event === 'current_mode_update')
			run.mode = str(e.currentModeId);
		else if (e.event === 'config_option_update')
			run.model = modelOf(e) || run.model;
		else if (e.event === 'closed')
			run.closed = true;
		else if (e.event === 'deleted')
			run.deleted = true;
		else if (typeof e.event === 'string' && e.event.startsWith('draft_'))
			run.draft = { on: e.event === 'draft_on' || (e.event === 'draft_applied' && (run.draft?.on ?? false)), event: e.event };
	}
}

function modelOf(e: RawEvent): string {
	for (const o of Array.isArray(e.configOptions) ? e.configOptions : [])
		if (obj(o).category === 'model' || obj(o).id === 'model')
			return str(obj(o).currentValue);
	return '';
}

