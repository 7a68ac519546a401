// SPDX-License-Identifier: Apache-2.0
// The questions of a session: what is open, as anybody sees it, and what its events say of those that are over.

import assert from 'node:assert/strict';

export const selected = (optionId) => ({ outcome: { outcome: 'selected', optionId } });
// A handler of requests that never answers.
export const never = () => new Promise(() => {});

export async function questionEvents(d, sessionId) {
  const { body } = await d.http(`/v1/sessions/${sessionId}/events`, { token: d.token });

  return body.trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.kind === 'ask_approval');
}

// [{ask, by, …}] of the answers, in order. Each belongs to one question, which was put before it; open: numbers without an answer.
export async function questionAnswers(d, sessionId, open = []) {
  const waiting = new Set(), said = [];

  for (const event of await questionEvents(d, sessionId))
    if (event.answer) {
      assert.ok(waiting.delete(event.ask), `question ${event.ask} was open`);
      said.push(event);
    } else {
      assert.ok(!waiting.has(event.ask));
      waiting.add(event.ask);
    }
  assert.deepEqual([...waiting], open, 'what is open');
  return said;
}

// [by, via or the like, what was chosen]
export const brief = ({ by, via, rule, reason, answer }) =>
  [by, via ?? rule ?? reason, answer.outcome?.optionId ?? answer.outcome?.outcome ?? answer.action];

// {status, json} of an answer over HTTP; body: an object, or text.
export const post = (d, id, body, more = {}) => d.http(`/v1/approvals/${encodeURIComponent(id)}`,
  { method: 'POST', token: d.token, body: typeof body === 'string' ? body : JSON.stringify(body), ...more });

export async function openApprovals(d, sessionId) {
  const { status, json } = await d.http(`/v1/approvals${sessionId ? `?session=${sessionId}` : ''}`, { token: d.token });

  assert.equal(status, 200);
  return json.approvals;
}
