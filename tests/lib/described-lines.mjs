// SPDX-License-Identifier: Apache-2.0
// What the daemon sends line by line, held against daemon/api: NDJSON, and the data of server-sent events.
//
// Of a long stream not every line is looked at: all of the first WHOLE, then the first FIRST of each shape (its kind, and the names of its
// members) and each EACH-th.

import assert from 'node:assert/strict';
import { problems } from './described-schemas.mjs';
import { validateAs } from './schema.mjs';

const NDJSON = 'application/x-ndjson';
const SSE = 'text/event-stream';

export const comesInLines = (type) => type === NDJSON || type === SSE;

export const WHOLE = 500, FIRST = 3, EACH = 100;

export class Sample {
  #n = 0;
  #shapes = new Map();

  // Whether this one is looked at.
  takes(value) {
    if (++this.#n <= WHOLE)
      return true;
    const shape = value === null || typeof value !== 'object' ? '' : `${value.kind ?? value.type} ${value.event} ${Object.keys(value)}`;
    const seen = (this.#shapes.get(shape) ?? 0) + 1;

    this.#shapes.set(shape, seen);
    return seen <= FIRST || this.#n % EACH === 0;
  }
}

// --- updates of ACP among the events of a session --------------------------------------------------------------------------------

const OURS = new Set(['seq', 'ts', 'sessionId', 'turnId', 'traceparent', 'clientRequestId', 'attempt', 'billingRef', 'configVersion', 'sandboxId', 'kind', 'event', 'final']);
const CHUNKS = { prompt: 'user_message_chunk', message: 'agent_message_chunk', thought: 'agent_thought_chunk' };
const RENAMED = /^update([A-Z])/;

const nameOf = (name) => (name === 'toolKind' ? 'kind' : name.replace(RENAMED, (_, c) => c.toLowerCase()));

// The update that an event was made of (protocol/delivery.md, "Events over HTTP"); the other members are not ours to describe.
export function updateOf(event) {
  const members = Object.entries(event).filter(([name]) => !OURS.has(name)).map(([name, value]) => [nameOf(name), value]);

  return { sessionUpdate: event.event ?? CHUNKS[event.kind], ...Object.fromEntries(members) };
}

const OF_ACP = /^(prompt|message|thought|plan|tool_call|result)$/;
const ofAcp = ({ kind, event }) => OF_ACP.test(kind) || /_(update|chunk)$|^notice$/.test(event ?? '');

const eventProblems = (event, what) => (ofAcp(event) ? validateAs('SessionUpdate', updateOf(event)).map((found) => `${what}: ${found}`) : []);

// --- one stream -----------------------------------------------------------------------------------------------------------------

const FIELD = /^(?:id|event|data):/;

// The text of a frame's data; null: a comment; undefined: no frame of ours.
function dataOf(frame) {
  const fields = frame.split('\n');
  const data = fields.filter((f) => f.startsWith('data:'));

  if (frame.startsWith(':') && fields.length === 1)
    return null;
  return data.length === 1 && fields.every((f) => FIELD.test(f)) ? data[0].slice('data:'.length) : undefined;
}

const valueOf = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export class Lines {
  #sample = new Sample();
  #rest = '';

  constructor(schema, type, what) {
    Object.assign(this, { schema, what, sse: type === SSE, of: schema.$ref?.split('/').pop() });
  }

  // What is wrong with the next one, which somebody else has parsed; [] if nothing, or if it is not looked at.
  next(value) {
    if (!this.#sample.takes(value))
      return [];
    const found = problems(this.schema, value, `a line of ${this.what}`);

    return found.length || this.of !== 'Event' ? found : eventProblems(value, `a line of ${this.what}`);
  }

  #line(text) {
    const data = this.sse ? dataOf(text) : text;

    if (data === null)
      return [];
    const value = valueOf(data ?? '');

    return value === undefined ? [`a line of ${this.what} is no JSON, or in no frame: ${text.slice(0, 200)}`] : this.next(value);
  }

  // The next piece of the text.
  feed(text) {
    const all = (this.#rest + text).split(this.sse ? '\n\n' : '\n');

    this.#rest = all.pop();
    return all.filter(Boolean).flatMap((line) => this.#line(line));
  }

  // All of it.
  whole(text) {
    const found = this.feed(text);

    return this.#rest ? [...found, ...this.#line(this.#rest)] : found;
  }

  assertNext(value) {
    assert.deepEqual(this.next(value), [], 'a line that the API does not have');
  }
}

// The same answer of fetch, whose reader fails where a line is not as described; it is read no faster than its reader reads.
export function watched(res, lines) {
  const decoder = new TextDecoder();
  const look = new TransformStream({
    transform(piece, controller) {
      assert.deepEqual(lines.feed(decoder.decode(piece, { stream: true })), [], 'a line that the API does not have');
      controller.enqueue(piece);
    },
  });
  const { status, statusText, headers, url } = res;

  return Object.defineProperty(new Response(res.body.pipeThrough(look), { status, statusText, headers }), 'url', { value: url });
}
