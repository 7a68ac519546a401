// SPDX-License-Identifier: Apache-2.0
// A form that a session asks people to fill in: the flat schemas that MCP and ACP allow (text, number, choice, yes or no).

import { useState } from 'preact/hooks';
import type { Json, JsonObject } from '../model/event.ts';
import type { Question } from '../model/items.ts';
import { list, obj, optNum, str } from '../model/read.ts';
import { Visible } from '../views/Visible.tsx';

export interface ElicitationProps {
	question: Question;
	disabled: boolean;
	onAnswer: (answer: JsonObject) => void;
}

interface Field {
	name: string;
	title: string;
	about: string;
	type: string;
	choices: { value: string; title: string }[];
	required: boolean;
	schema: JsonObject;
}

function fieldsOf(schema: JsonObject | undefined): Field[] {
	const required = list(schema?.required);

	return Object.entries(obj(schema?.properties)).slice(0, 64).map(([name, v]) => {
		const s = obj(v);
		const named = list(s.oneOf).map((o) => ({ value: str(obj(o).const), title: str(obj(o).title) || str(obj(o).const) }));
		const names = list(s.enumNames);
		return {
			name, title: str(s.title) || name, about: str(s.description), type: str(s.type), required: required.includes(name), schema: s,
			choices: named.length ? named : list(s.enum).map((e, i) => ({ value: str(e), title: str(names[i]) || str(e) })),
		};
	});
}

function valueOf(f: Field, text: string | boolean): Json | undefined {
	if (typeof text === 'boolean')
		return text;
	if (f.type === 'number' || f.type === 'integer')
		return text === '' ? undefined : Number(text);
	return text === '' && !f.required ? undefined : text;
}

export function ElicitationForm({ question, disabled, onAnswer }: ElicitationProps) {
	const fields = fieldsOf(question.schema);
	const [values, setValues] = useState<Record<string, string | boolean>>({});
	const initial = (f: Field): string | boolean => (f.type === 'boolean' ? f.schema.default === true : str(f.schema.default) || (optNum(f.schema.default)?.toString() ?? ''));
	const submit = (e: Event): void => {
		e.preventDefault();
		const content: JsonObject = {};
		for (const f of fields) {
			const value = valueOf(f, values[f.name] ?? initial(f));
			if (value !== undefined)
				content[f.name] = value;
		}
		onAnswer({ action: 'accept', content });
	};

	return (
		<form class="elicitation" onSubmit={submit}>
			{question.url && <p>To be opened elsewhere: <Visible text={question.url} max={500} /></p>}
			{fields.map((f) => (
				<label key={f.name} class={f.type === 'boolean' ? 'check' : ''}>
					<Visible text={f.title} max={120} />
					<Input field={f} value={values[f.name] ?? initial(f)} onValue={(v) => setValues({ ...values, [f.name]: v })} />
					{f.about && <Visible class="muted" text={f.about} max={400} />}
				</label>
			))}
			<div class="question-options">
				<button type="submit" class="button button-main" disabled={disabled}>Send</button>
				<button type="button" class="button" disabled={disabled} onClick={() => onAnswer({ action: 'decline' })}>Decline</button>
				<button type="button" class="button" disabled={disabled} onClick={() => onAnswer({ action: 'cancel' })}>Cancel</button>
			</div>
		</form>
	);
}

function Input({ field: f, value, onValue }: { field: Field; value: string | boolean; onValue: (v: string | boolean) => void }) {
	if (f.type === 'boolean')
		return <input type="checkbox" checked={value === true} onChange={(e) => onValue(e.currentTarget.checked)} />;
	if (f.choices.length)
		return (
			<select value={String(value)} required={f.required} onChange={(e) => onValue(e.currentTarget.value)}>
				<option value="">–</option>
				{f.choices.map((c) => <option value={c.value}>{c.title}</option>)}
			</select>
		);
	if (f.type === 'number' || f.type === 'integer')
		return <input type="number" step={f.type === 'integer' ? 1 : 'any'} value={String(value)} required={f.required}
			onInput={(e) => onValue(e.currentTarget.value)} />;
	return <input type="text" value={String(value)} required={f.required} autocomplete="off" onInput={(e) => onValue(e.currentTarget.value)} />;
}
