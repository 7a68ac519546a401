// SPDX-License-Identifier: Apache-2.0
// AG-UI clients of the daemon: the official one, whose verifier reads every stream, and a reader of the bare events, which
// holds each against the schemas of @ag-ui/core.

import assert from 'node:assert/strict';
import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as HttpAgent0 } from '@ag-ui/client-0';
import { EventSchema } from '@ag-ui/core/schemas';

let last = 0;

export const user = (content, id = `m${++last}`) => ({ id, role: 'user', content });
export const input = (threadId, messages, more = {}) => ({ threadId, runId: `r${++last}`, protocolVersion: '1.0', state: {}, messages, tools: [], context: [], forwardedProps: {}, ...more });

export function parsed(event) {
  const r = EventSchema.safeParse(event);

  assert.ok(r.success, `${JSON.stringify(event)}: ${r.success || JSON.stringify(r.error.issues)}`);
  return event;
}

export const where = (d, harness = 'stub', query = '') => `http://127.0.0.1:${d.port}/v1/agui/${harness}${query}`;
export const headers = (d, token = d.token) => ({ Authorization: `Bearer ${token}` });

// The answer to one input; its events are read one by one.
export async function post(d, body, { harness, query, token, signal } = {}) {
  return fetch(where(d, harness, query), { method: 'POST', signal, headers: { ...headers(d, token), 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body) });
}

export async function* events(res) {
  let text = '';

  assert.equal(res.status, 200);
  assert.match(res.headers.get('content-type'), /^text\/event-stream/);
  for await (const piece of res.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let at; (at = text.indexOf('\n\n')) >= 0; text = text.slice(at + 2)) {
      assert.match(text, /^data: /);
      yield parsed(JSON.parse(text.slice(6, at)));
    }
  }
  assert.equal(text, '', 'the stream ends with a whole event');
}

export async function run(d, body, options) {
  const all = [];

  for await (const e of events(await post(d, body, options)))
    all.push(e);
  return all;
}

export const types = (all) => all.map((e) => e.type);
export const said = (all) => all.filter((e) => e.type === 'TEXT_MESSAGE_CONTENT').map((e) => e.delta).join('');
export const end = (all) => all.at(-1);

// A client that has a thread of its own; runs gives the events of each of its runs.
export function agent(d, { old = false, harness, query, ...options } = {}) {
  const a = new (old ? HttpAgent0 : HttpAgent)({ url: where(d, harness, query), headers: headers(d), ...options });

  a.seen = [];
  a.subscribe({ onEvent: ({ event }) => void a.seen.push(event) });
  a.say = async (content, parameters) => {
    a.seen = [];
    if (content !== undefined)
      a.addMessage(user(content));
    const out = await a.runAgent(parameters);

    for (const e of a.seen)
      parsed(e);
    return out;
  };
  return a;
}
