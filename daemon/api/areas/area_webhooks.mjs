// SPDX-License-Identifier: Apache-2.0
// What is told to receivers of webhooks.
import { anyOf, array, boolean, foreign, integer, object, only, ref, string, time, word } from '../notation.mjs';

const head = { number: integer('rises by one for each receiver, from 1'), sessionId: string(), incarnation: string('the run of the daemon'), 'sandboxId?': string() };
const cut = object({ ...head, truncated: only(true) }, 'the rest had more than 16 KiB');
const data = (...forms) => anyOf([...forms.map((members) => object({ ...head, ...members })), cut]);

const turn = {
  'turn?': integer(), 'turnIncarnation?': string('the run of the daemon that began the turn, if it is another one'), 'key?': string('of the prompt'), 'attempt?': ref('Attempt'), 'traceparent?': string(), 'billingRef?': string(), 'configVersion?': string(),
  'checks?': object({ verdict: word(['verified', 'failed', 'unchecked']), results: array(object({ id: string(), kind: string(), ok: boolean(), 'exitCode?': integer(), durationMs: integer() })) }),
};
const asked = {
  id: string('SESSION:ASK'), turn: integer(), kind: only('ask_approval'), ask: integer(), 'expiresAt?': time(), 'default?': string('the answer when the time is up'),
  'leftOut?': integer('questions before it that were not told'),
};

export default {
  page: 'webhooks',
  webhooks: {
    'turn.ended': { says: 'A turn has ended', data: data({ ...turn, stopReason: string(), 'usage?': foreign('as ACP has it'), 'stopDetail?': ref('StopDetail') }, { ...turn, error: ref('TurnError') }) },
    'question.open': { says: 'Nobody but a human can answer', data: data(
      { ...asked, elicitation: only(false), 'toolCallId?': string(), 'title?': string(), 'options?': array(foreign('as ACP has them')) },
      { ...asked, elicitation: only(true), 'toolCallId?': string(), 'title?': string(), 'message?': string(), 'mode?': string(), 'requestedSchema?': foreign(), 'url?': string(), 'elicitationId?': string() }) },
    'budget.warning': { says: '80 % of a budget are used', data: data({ turn: integer('0: none is running'), budget: string(), scope: word(['prompt', 'turn', 'session']), limit: { type: 'number' }, used: { type: 'number' } }) },
    'session.broken': { says: 'Its harness has gone or does not come, or its journal is damaged', data: data({ reason: string('daemon/protocol/errors.md'), message: string('for people') }) },
    'artifact.created': { says: 'A file was kept', data: data({ artifact: ref('Artifact') }) },
    'check.failed': { says: 'A check has failed', data: data({ 'turn?': integer(), check: object({ id: string(), kind: string(), 'exitCode?': integer(), 'signal?': string(), 'reason?': string() }) }) },
    'draft.ready': { says: 'A turn has left changes in a draft', data: data({ turn: integer(), patchDigest: string(), changesTotal: integer(), conflictsTotal: integer() }) },
    webhook_gap: { says: 'Some of the numbers from `from` to `to` never come', data: object({ from: integer(), to: integer(), 'sandboxId?': string() }) },
  },
};
