// SPDX-License-Identifier: Apache-2.0
// What may be wrong with an object of ours, made from the daemon's own table of its fields (tables.mjs): every wrong type, what is beyond a
// limit, an unknown member, a member that is missing. Each is {label, object, reason, field}: what has to be said of it.
//
// What a table does not know stands in a row of the test, `more`: {FIELD: {…}}
//   takes   [types] of a field that the table leaves open (RAW)
//   empty   the reason why an empty string is refused; OK: it is none
//   word    the reason why an unknown word is refused, where a field has words
//   bad     [[value, reason, below?, beside?]]: further wrong values; below: what follows the field's own path; beside: members that go with it
//   skip    [labels] that do not hold here, for a reason said there
// An entry of another name is not a field, and an error.

import assert from 'node:assert/strict';

export const OK = 'accepted';

const VALUES = { string: 'x', number: 7, bool: true, array: [], object: {} };
const TAKES = { STR: ['string'], TEXT: ['string'], INT: ['number'], BOOL: ['bool'], OBJ: ['object'], ARR: ['array'] };
const LONGEST = 100000; // longer ones cost more than they show

export const NUL = 'a\0b';
export const HALF = 'a\ud800b'; // half of a surrogate pair
export const HUGE = 1e308;
export const many = (n, of) => Array.from({ length: n }, (_, i) => of(i));

function* wrongStrings(f, { empty, word }, file) {
  yield ['NUL', NUL, 'FIELD_INVALID'];
  if (file)
    yield ['half a surrogate', HALF, 'FIELD_INVALID'];
  if (f.type === 'STR' && f.max < LONGEST)
    yield ['too long', 'x'.repeat(f.max + 1), 'FIELD_TOO_LONG'];
  if (empty !== OK && f.type === 'STR')
    yield ['empty', '', empty ?? 'FIELD_INVALID'];
  if (word)
    yield ['an unknown word', 'no-such-word', word];
}

function* wrongNumbers(f) {
  yield ['fraction', f.min + 0.5, 'FIELD_INVALID'];
  yield ['huge', HUGE, 'FIELD_INVALID'];
  yield ['too small', f.min - 1, 'FIELD_OUT_OF_RANGE'];
  yield ['negative', -1, 'FIELD_OUT_OF_RANGE'];
  yield ['too large', f.max < 2 ** 53 ? f.max + 1 : f.max * 1.01, 'FIELD_OUT_OF_RANGE'];
}

// [label, value, reason, below, beside] of one field.
function* wrongValues(f, more, file) {
  const takes = more.takes ?? TAKES[f.type] ?? assert.fail(`${f.name}: the row has to say what it takes`);

  for (const [type, value] of Object.entries(VALUES))
    if (!takes.includes(type))
      yield [`${type}`, value, 'FIELD_INVALID'];
  if (f.required) {
    yield ['missing', undefined, 'FIELD_MISSING'];
    yield ['null', null, 'FIELD_INVALID'];
  }
  if (takes.includes('string'))
    yield* wrongStrings(f, more, file);
  if (f.type === 'INT')
    yield* wrongNumbers(f);
  for (const [i, [value, reason, below, beside]] of (more.bad ?? []).entries())
    yield [`bad ${i}`, value, reason, below, beside];
}

// fields: of fieldTables(). at: where the object stands ('' for the parameters themselves). base: members that it needs besides. file: it
// is read from a file; of the text of a peer halves of surrogate pairs are repaired (integration/text).
export function* wrongObjects(fields, { at = '', base = {}, more = {}, strict = true, file = false }) {
  const path = (name) => (at ? `${at}.${name}` : name);
  const names = fields.map((f) => f.name);

  for (const name of Object.keys(more))
    assert.ok(names.includes(name), `${at}: there is no field ${name}`);
  for (const f of fields)
    for (const [label, value, reason, below = '', beside = {}] of wrongValues(f, more[f.name] ?? {}, file))
      if (!more[f.name]?.skip?.includes(label))
        yield { label: `${f.name}: ${label}`, object: { ...base, ...beside, [f.name]: value }, reason, field: path(f.name) + below };
  if (!strict)
    return;
  for (const name of ['zz', 'Env', '__proto__x', 'x'.repeat(300)])
    yield { label: `unknown: ${name.slice(0, 20)}`, object: { ...base, [name]: 1 }, reason: 'PARAM_UNSUPPORTED', field: path(name.slice(0, 40)) };
}
