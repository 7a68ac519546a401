// SPDX-License-Identifier: Apache-2.0
// An elicitation's schema -> the fields of a form, and what was typed -> its content. Names are an agent's ("__proto__" is one like any
// other), so values are kept by the place of their field. Patterns are left to who asked: one may take for ever.

export interface Choice { value: string; title: string }
export type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'choices';
export interface Field {
	name: string;
	title: string;
	description: string;
	kind: FieldKind;
	required: boolean;
	whole?: boolean; // of a number: no fraction
	input?: 'text' | 'email' | 'url' | 'date' | 'datetime-local';
	choices?: Choice[];
	min?: number; // of a number itself, of a text its length, of choices how many
	max?: number;
	initial: Value;
}
export type Value = string | boolean | string[];

const FIELDS = 64;
const CHOICES = 500;
const INPUTS: ReadonlyMap<unknown, Field['input']> = new Map<unknown, Field['input']>([['email', 'email'], ['uri', 'url'], ['date', 'date'], ['date-time', 'datetime-local']]);

type Bag = Record<string, unknown>;
const bag = (v: unknown): Bag => (v && typeof v === 'object' && !Array.isArray(v) ? (v as Bag) : {});
const own = (o: Bag, name: string): unknown => (Object.hasOwn(o, name) ? o[name] : undefined);
const text = (v: unknown): string => (typeof v === 'string' ? v : '');
const size = (v: unknown): number | undefined => (typeof v === 'number' && Number.isFinite(v) ? v : undefined);

// enum with enumNames, or oneOf / anyOf of {const, title}
function choicesOf(schema: Bag): Choice[] | undefined {
	const titled = own(schema, 'oneOf') ?? own(schema, 'anyOf');
	if (Array.isArray(titled)) {
		return titled.slice(0, CHOICES).map(bag).filter((c) => typeof own(c, 'const') === 'string').map((c) => ({ value: text(own(c, 'const')), title: text(own(c, 'title')) || text(own(c, 'const')) }));
	}
	const values = own(schema, 'enum');
	const names = own(schema, 'enumNames');
	if (!Array.isArray(values)) return undefined;
	return values.slice(0, CHOICES).filter((v) => typeof v === 'string').map((value, i) => ({ value, title: (Array.isArray(names) && text(names[i])) || value }));
}

function kindOf(schema: Bag, choices: Choice[] | undefined): FieldKind {
	const type = own(schema, 'type');
	if (type === 'array') return 'choices';
	if (choices) return 'choice';
	return type === 'boolean' ? 'boolean' : type === 'number' || type === 'integer' ? 'number' : 'text';
}

function initialOf(kind: FieldKind, value: unknown, choices: Choice[] | undefined): Value {
	if (kind === 'boolean') return value === true;
	if (kind === 'choices') return Array.isArray(value) ? value.filter((v) => choices?.some((c) => c.value === v)) : [];
	if (kind === 'choice') return choices?.some((c) => c.value === value) ? text(value) : '';
	return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function fieldOf(name: string, value: unknown, required: boolean): Field {
	const schema = bag(value);
	const choices = choicesOf(own(schema, 'type') === 'array' ? bag(own(schema, 'items')) : schema);
	const kind = kindOf(schema, choices);
	const ends = kind === 'number' ? ['minimum', 'maximum'] : kind === 'choices' ? ['minItems', 'maxItems'] : ['minLength', 'maxLength'];
	return {
		name,
		title: text(own(schema, 'title')) || name,
		description: text(own(schema, 'description')),
		kind,
		required,
		whole: own(schema, 'type') === 'integer',
		input: INPUTS.get(own(schema, 'format')) ?? 'text',
		choices,
		min: size(own(schema, ends[0]!)),
		max: size(own(schema, ends[1]!)),
		initial: initialOf(kind, own(schema, 'default'), choices),
	};
}

export function fieldsOf(schema: unknown): Field[] {
	const required = own(bag(schema), 'required');
	const wanted = new Set(Array.isArray(required) ? required : []);
	return Object.entries(bag(own(bag(schema), 'properties'))).slice(0, FIELDS).map(([name, value]) => fieldOf(name, value, wanted.has(name)));
}

const between = (n: number, f: Field, what: string): string | undefined => {
	if (f.min !== undefined && n < f.min) return `at least ${f.min}${what}`;
	return f.max !== undefined && n > f.max ? `at most ${f.max}${what}` : undefined;
};

// What is wrong with a value, in words; undefined: nothing.
export function faultOf(field: Field, value: Value): string | undefined {
	if (Array.isArray(value)) return (field.required && !value.length) ? 'is needed' : between(value.length, field, ' of them');
	if (typeof value === 'boolean') return undefined;
	if (value === '') return field.required ? 'is needed' : undefined;
	if (field.kind === 'choice') return undefined;
	if (field.kind !== 'number') return between([...value].length, field, ' characters');
	const n = Number(value);
	if (!Number.isFinite(n) || !value.trim()) return 'has to be a number';
	return field.whole && !Number.isInteger(n) ? 'has to be a whole number' : between(n, field, '');
}

// What is sent; a field that was left empty is not in it.
export function contentOf(fields: readonly Field[], values: readonly Value[]): Record<string, unknown> {
	const wire = (f: Field, v: Value): unknown => {
		if (f.kind === 'number') return Number(v);
		return f.input === 'datetime-local' && typeof v === 'string' && v ? new Date(v).toISOString() : v;
	};
	// fromEntries defines members, so that no name means anything else
	return Object.fromEntries(fields.flatMap((f, i) => (values[i] === '' ? [] : [[f.name, wire(f, values[i]!)] as const])));
}
