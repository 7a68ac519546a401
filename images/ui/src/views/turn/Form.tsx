// SPDX-License-Identifier: Apache-2.0
// The form of an elicitation.
import { h } from 'preact';
import { useId, useMemo, useState } from 'preact/hooks';
import { contentOf, faultOf, fieldsOf } from './form.ts';
import type { Field, Value } from './form.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export interface FormProps { schema: unknown; busy?: boolean; onSubmit: (content: Record<string, unknown>) => void; onDecline: () => void }

interface InputProps { field: Field; value: Value; id: string; invalid: boolean; onValue: (v: Value) => void }

function Choices({ field, value, id, onValue }: InputProps) {
	const chosen = value as string[];
	return (
		<div class="form-choices" id={id}>
			{field.choices?.map((c) => (
				<label><input type="checkbox" checked={chosen.includes(c.value)} onChange={(e) => onValue(e.currentTarget.checked ? [...chosen, c.value] : chosen.filter((v) => v !== c.value))} /> <Visible text={c.title} max={200} /></label>
			))}
		</div>
	);
}

function Input({ field, value, id, invalid, onValue }: InputProps) {
	const common = { id, 'aria-invalid': invalid, 'aria-describedby': `${id}-help`, 'aria-required': field.required };
	if (field.kind === 'boolean') return <input type="checkbox" {...common} checked={value === true} onChange={(e) => onValue(e.currentTarget.checked)} />;
	if (field.kind === 'choice') {
		return (
			<select {...common} value={String(field.choices!.findIndex((c) => c.value === value))} onChange={(e) => onValue(field.choices![Number(e.currentTarget.value)]?.value ?? '')}>
				<option value="-1">{field.required ? 'Choose…' : '(none)'}</option>
				{field.choices?.map((c, i) => <option value={String(i)}>{plain(c.title, 200)}</option>)}
			</select>
		);
	}
	const typed = { ...common, autocomplete: 'off', value: value as string, onInput: (e: { currentTarget: HTMLInputElement }) => onValue(e.currentTarget.value) };
	if (field.kind === 'number') return <input type="number" step={field.whole ? 1 : 'any'} {...typed} />;
	return h('input', { type: field.input ?? 'text', ...typed });
}

function Row({ field, value, id, fault, onValue }: InputProps & { fault?: string }) {
	const props = { field, value, id, invalid: Boolean(fault), onValue };
	const name = <><Visible text={field.title} max={200} />{field.required && <span class="form-needed"> (needed)</span>}</>;
	const help = <p class="form-help" id={`${id}-help`}><Visible text={field.description} max={600} />{fault && <span class="form-fault"> {fault}</span>}</p>;
	if (field.kind === 'choices') return <fieldset class="form-row"><legend>{name}</legend><Choices {...props} />{help}</fieldset>;
	return <div class={`form-row form-${field.kind}`}><label for={id}>{name}</label><Input {...props} />{help}</div>;
}

export function Form({ schema, busy = false, onSubmit, onDecline }: FormProps) {
	const id = useId();
	const fields = useMemo(() => fieldsOf(schema), [schema]);
	const [values, setValues] = useState<Value[]>(() => fields.map((f) => f.initial));
	const [tried, setTried] = useState(false);
	const faults = fields.map((f, i) => faultOf(f, values[i] ?? f.initial));
	const submit = (e: Event) => {
		e.preventDefault();
		setTried(true);
		if (!faults.some(Boolean)) onSubmit(contentOf(fields, values));
	};
	return (
		<form class="form" noValidate onSubmit={submit}>
			{fields.map((field, i) => (
				<Row field={field} id={`${id}-${i}`} value={values[i] ?? field.initial} invalid={false} fault={tried ? faults[i] : undefined}
					onValue={(v) => setValues((old) => old.map((o, j) => (j === i ? v : o)))} />
			))}
			{fields.length === 0 && <p class="form-help">Nothing is to be filled in.</p>}
			<div class="form-buttons">
				<button type="submit" class="button button-main" disabled={busy}>Send</button>
				<button type="button" class="button" disabled={busy} onClick={onDecline}>Decline</button>
				{tried && faults.some(Boolean) && <span role="alert" class="form-fault">Not sent: see above.</span>}
			</div>
		</form>
	);
}
