// SPDX-License-Identifier: Apache-2.0
// Questions seen and answered by those who do not drive the session, over ACP and HTTP: who may, what is refused, what the driver hears, and
// what is bounded.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { brief, never, openApprovals, post, questionAnswers, questionEvents, selected } from '../../../lib/approvals.mjs';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { wrongObjects } from '../../../lib/fields.mjs';
import { sleep } from '../../../lib/rawws.mjs';
import { constant, fieldTables } from '../../../lib/tables.mjs';
import { until } from '../../../lib/wait.mjs';

const BODY_MAX = constant('APPROVAL_BODY_MAX');
const SHOWN_MAX = constant('APPROVAL_SHOWN_MAX');
const PAGE = constant('APPROVALS_PAGE_BYTES');
const CAPS = { elicitation: { form: {} }, _meta: { acpd: {} } };

let d, c, other;
before(async () => {
  d = await Daemon.start();
  c = await d.client({ init: { clientCapabilities: CAPS } });
  other = await d.client({ init: { clientCapabilities: {} } });
  for (const method of ['session/request_permission', 'elicitation/create'])
    c.onRequest(method, never);
});
after(() => endInOrder(d, c));

// A turn that waits: {sessionId, id, turn, asked}.
async function waiting(script = 'perm a', opts = {}) {
  const { sessionId } = await c.newSession(opts), from = c.requests.length;
  const turn = c.startPrompt(sessionId, `${script}; echo on`);
  const asked = await until(() => c.requests[from], script);
  const [{ id }] = await openApprovals(d, sessionId);

  return { sessionId, id, turn, asked };
}
const refused = async (params) => (await other.request('_acpd/approvals/answer', params).answer).error;
const withdrawn = (client, asked) => client.waitFor((m) => m.method === '$/cancel_request' && m.params.requestId === asked.id);

describe('answering', () => {
  test('by HTTP: the harness has it, the driver is told, and its own answer counts for nothing', async () => {
    const { sessionId, id, turn, asked } = await waiting();

    assert.equal(id, `${sessionId}:1`);
    const { status, json } = await post(d, id, { optionId: 'allow' });
    assert.deepEqual([status, json], [200, { id, answer: selected('allow') }]);
    await withdrawn(c, asked);
    c.respond(asked.id, selected('reject'));
    await turn.answer;
    assert.deepEqual(c.chunks(sessionId), ['permission:allow', 'on']);
    assert.deepEqual((await questionAnswers(d, sessionId)).map(brief), [['client', 'http', 'allow']]);
    assert.deepEqual(await openApprovals(d, sessionId), []);
  });

  test('by a human, if the client says so', async () => {
    for (const by of ['human', 'client']) {
      const { sessionId, id, turn } = await waiting();

      assert.deepEqual((await post(d, id, { optionId: 'allow', by: 'root' })).json.error.field, 'by');
      assert.equal((await post(d, id, { optionId: 'allow', by })).status, 200);
      await turn.answer;
      assert.deepEqual((await questionAnswers(d, sessionId)).map(brief), [[by, 'http', 'allow']]);
    }
  });

  test('by a connection that drives nothing, and has announced nothing', async () => {
    const { sessionId, turn, asked } = await waiting('perm a; perm b');
    const { approvals: [one] } = await other.call('_acpd/approvals/list', { sessionId });

    assert.deepEqual([one.kind, one.sessionId, one.turn, one.request, one.default], ['permission', sessionId, 1,
      { toolCall: asked.params.toolCall, options: asked.params.options }, 'reject']);
    assert.ok(!('expiresAt' in one) && Math.abs(Date.parse(one.askedAt) - Date.now()) < 60000);
    await other.call('_acpd/approvals/answer', { id: one.id, outcome: { outcome: 'cancelled' } });
    const two = await until(async () => (await openApprovals(d, sessionId)).find(({ id }) => id !== one.id));
    await other.call('_acpd/approvals/answer', { sessionId, id: two.id, outcome: { outcome: 'selected', optionId: 'reject' } });
    await turn.answer;
    assert.deepEqual(c.chunks(sessionId), ['permission:cancelled', 'permission:reject', 'on']);
    assert.deepEqual((await questionAnswers(d, sessionId)).map(brief), [['client', 'acp', 'cancelled'], ['client', 'acp', 'reject']]);
    assert.deepEqual(other.requests, []);
  });

  test('an elicitation, with its content', async () => {
    const { sessionId, id, turn } = await waiting('elicit');
    const [one] = await openApprovals(d, sessionId);
    const { requestedSchema } = (await questionEvents(d, sessionId))[0];

    assert.deepEqual([one.kind, one.request.mode, one.request.message, one.default], ['elicitation', 'form', 'Which branch?', 'cancel']);
    assert.deepEqual(requestedSchema, one.request.requestedSchema, 'who reads the events can show it, too');
    for (const [body, field] of [[{ optionId: 'x' }, 'optionId'], [{ outcome: {} }, 'outcome'], [{}, 'action'], [{ action: 'maybe' }, 'action'],
      [{ action: 'cancel', content: {} }, 'content'], [{ action: 'accept', content: [] }, 'content']])
      assert.equal((await post(d, id, body)).json.error.field, field, JSON.stringify(body));
    assert.equal((await post(d, id, { action: 'accept', content: { branch: 'dev' } })).status, 200);
    await turn.answer;
    assert.deepEqual(c.chunks(sessionId), ['elicit:{"action":"accept","content":{"branch":"dev"}}', 'on']);
    assert.deepEqual((await questionAnswers(d, sessionId)).map(brief), [['client', 'http', 'accept']]);
  });

  test('for good: it is a rule of the session from then on, and nobody is asked', async () => {
    const { sessionId, id, turn } = await waiting();
    const asked = c.requests.length;

    assert.deepEqual((await post(d, id, { optionId: 'always' })).json.answer, selected('always'));
    await turn.answer;
    await c.prompt(sessionId, 'perm b');
    assert.deepEqual((await questionAnswers(d, sessionId)).map(brief), [['client', 'http', 'always'], ['rule', 'session.rules[1]', 'allow']]);
    assert.equal(c.requests.length, asked);
    assert.deepEqual((await post(d, `${sessionId}:2`, { optionId: 'reject' })).json.error,
      { reason: 'APPROVAL_ANSWERED', message: 'the question has been answered already: by rule', by: 'rule', rule: 'session.rules[1]' });
  });

  test('while nobody is connected, and after another client has become the driver: the id stays', async () => {
    const first = await d.client(), next = await d.client();
    const { sessionId } = await first.newSession();

    next.onRequest('session/request_permission', never);
    first.startPrompt(sessionId, 'perm a; perm b; echo on');
    await first.waitRequest('session/request_permission');
    const [{ id }] = await openApprovals(d, sessionId);
    first.ws.reset();
    await until(async () => (await openApprovals(d, sessionId))[0].expiresAt, 'it is held');
    await next.load(sessionId);
    const again = await next.waitRequest('session/request_permission');
    assert.deepEqual((await openApprovals(d, sessionId)).map((a) => [a.id, a.expiresAt]), [[id, undefined]]);
    await other.call('_acpd/approvals/answer', { id, optionId: 'allow' });
    await withdrawn(next, again);
    await next.waitRequest('session/request_permission', { from: 1 });
    next.ws.reset();
    await until(async () => (await openApprovals(d, sessionId))[0].expiresAt, 'it is held');
    assert.equal((await post(d, `${sessionId}:2`, { optionId: 'reject' })).status, 200);
    await until(async () => (await questionEvents(d, sessionId)).length === 4);
    await first.close();
    await next.close();
  });

  test('who comes too late is told who was first', async () => {
    const { sessionId, id, turn, asked } = await waiting('perm a; perm b');
    const late = { reason: 'APPROVAL_ANSWERED', by: 'client', via: 'driver' };

    c.respond(asked.id, selected('allow'));
    await until(async () => (await questionEvents(d, sessionId)).length === 3);
    assert.deepEqual((await refused({ id, optionId: 'allow' })).data, late);
    const { status, json } = await post(d, id, { optionId: 'nothing that was offered' });
    assert.deepEqual([status, json.error], [409, { ...late, message: json.error.message }]);
    c.cancel(sessionId);
    await turn.answer;
    assert.deepEqual((await refused({ id: `${sessionId}:2`, optionId: 'allow' })).data, { reason: 'APPROVAL_ANSWERED', by: 'cancelled' });
    await c.call('session/close', { sessionId });
    assert.equal((await refused({ id, optionId: 'allow' })).data.reason, 'APPROVAL_ANSWERED', 'of a closed session, too');
  });

  test('an id that never was', async () => {
    const { sessionId, turn } = await waiting();

    for (const id of ['', ':', 'x', '1', ':1', 'sess_none:1', sessionId, `${sessionId}:`, `${sessionId}:0`, `${sessionId}:2`, `${sessionId}:-1`, `${sessionId}:01`,
      `${sessionId}:1x`, `${sessionId}:99999999999999999999`, `${sessionId}:1:1`]) {
      assert.deepEqual((await refused({ id, optionId: 'allow' })).data, { reason: 'APPROVAL_UNKNOWN', field: 'id' }, id);
      if (id)
        assert.deepEqual([(await post(d, id, {})).status, (await post(d, id, {})).json.error.reason], [404, 'APPROVAL_UNKNOWN'], id);
    }
    const { code, data } = await refused({ id: `${sessionId}:1`, sessionId: (await c.newSession()).sessionId, optionId: 'allow' });
    assert.deepEqual([code, data], [-32602, { reason: 'FIELD_INVALID', field: 'sessionId' }]);
    c.cancel(sessionId);
    await turn.answer;
  });

  test('what is no answer is refused by name, and the question stays open', async () => {
    const { id, turn } = await waiting();
    const rows = [...wrongObjects(fieldTables().get('daemon/http/routes/route_approvals.c:body_fields'), {})];

    for (const { label, object, reason, field } of rows.filter((r) => r.reason)) {
      const { status, json } = await post(d, id, JSON.stringify(object));
      assert.deepEqual([status, json.error.reason, json.error.field ?? json.error.reason], [400, reason, field || json.error.reason], label);
    }
    for (const [body, reason, field] of [['', 'BODY_INVALID'], ['{', 'BODY_INVALID'], ['[]', 'BODY_INVALID'], [{}, 'FIELD_MISSING', 'optionId'],
      [{ optionId: 'Allow' }, 'FIELD_INVALID', 'optionId'], [{ optionId: 'allow', outcome: { outcome: 'cancelled' } }, 'FIELD_INVALID', 'outcome'],
      [{ outcome: { outcome: 'selected', optionId: 'x' } }, 'FIELD_INVALID', 'outcome'], [{ outcome: { optionId: 'allow' } }, 'FIELD_INVALID', 'outcome'],
      [{ action: 'accept' }, 'FIELD_INVALID', 'action'], [{ content: {} }, 'FIELD_INVALID', 'content'], [{ optionId: 'allow', zz: 1 }, 'PARAM_UNSUPPORTED', 'zz']]) {
      const { status, json } = await post(d, id, body);
      assert.deepEqual([status, json.error.reason, json.error.field], [400, reason, field], JSON.stringify(body));
      if (typeof body === 'object' && !('zz' in body))
        assert.deepEqual((await refused({ id, ...body })).data, { reason, field }, JSON.stringify(body));
    }
    assert.equal((await post(d, id, { optionId: 'allow' })).status, 200);
    await turn.answer;
  });
});

describe('who may', () => {
  test('nobody without the token', async () => {
    const { id, sessionId, turn } = await waiting();

    for (const token of [null, 'x', `${d.token}x`])
      for (const answer of [await d.http('/v1/approvals', { token }), await post(d, id, { optionId: 'allow' }, { token })])
        assert.deepEqual([answer.status, answer.json.error.reason], [401, 'UNAUTHORIZED']);
    assert.equal((await openApprovals(d, sessionId)).length, 1);
    c.cancel(sessionId);
    await turn.answer;
  });

  test('nobody while the daemon is not claimed', async (t) => {
    const empty = await Daemon.startFor(t, { flags: { tokenFile: false } });

    for (const answer of [await empty.http('/v1/approvals', { token: 'x' }), await empty.http('/v1/approvals/s:1', { method: 'POST', token: 'x', body: '{}' })])
      assert.deepEqual([answer.status, answer.json.error.reason], [503, 'UNCLAIMED']);
    await empty.stop();
  });
});

describe('the list', () => {
  test('of one session, of all, and their count in the status', async () => {
    const [one, two] = [await waiting(), await waiting('perms 3')];
    const counts = async () => {
      const { json } = await d.http('/v1/sessions', { token: d.token });
      return [one, two].map(({ sessionId }) => json.sessions.find((s) => s.sessionId === sessionId).questions);
    };

    await until(async () => (await openApprovals(d)).length === 4);
    assert.deepEqual((await openApprovals(d)).map(({ id }) => id), [one.id, ...[1, 2, 3].map((n) => `${two.sessionId}:${n}`)]);
    assert.deepEqual((await openApprovals(d, one.sessionId)).map(({ id }) => id), [one.id]);
    assert.deepEqual(await counts(), [1, 3]);
    assert.equal((await d.http('/v1/status', { token: d.token })).json.work.questions, 4);
    assert.equal((await d.http('/v1/approvals?session=none', { token: d.token })).status, 404);
    assert.equal((await d.http('/v1/approvals?cursor=after-x', { token: d.token })).json.error.reason, 'CURSOR_INVALID');
    for (const { sessionId, turn } of [one, two]) {
      c.cancel(sessionId);
      await turn.answer;
    }
    assert.deepEqual(await counts(), [undefined, undefined]);
  });

  test('secrets of the session are hidden in it', async () => {
    const secret = 'correct-horse-battery';
    const ask = { toolCall: { toolCallId: 'a', title: `print ${secret}`, kind: 'execute', rawInput: { command: `echo ${secret} | base64` },
      content: [{ type: 'content', content: { type: 'text', text: Buffer.from(`token=${secret}`).toString('base64') } }] },
    options: [{ optionId: 'yes', name: `Use ${secret}`, kind: 'allow_once' }] };
    const { sessionId, id, turn } = await waiting(`ask session/request_permission ${JSON.stringify(ask)}`, { meta: { secrets: { S: secret } } });
    const { body } = await d.http('/v1/approvals', { token: d.token });

    assert.ok(body.includes(id) && body.includes('print '));
    assert.ok(!body.includes(secret) && !JSON.stringify(await other.call('_acpd/approvals/list', { sessionId })).includes(secret));
    assert.equal((await post(d, id, { optionId: 'yes' })).status, 200);
    await turn.answer;
  });

  test('comes in pages, and leaves out what is too large', async () => {
    const large = (n) => `ask session/request_permission ${JSON.stringify({ toolCall: { toolCallId: 'a', title: 'T', rawInput: { text: 'x'.repeat(n) } },
      options: [{ optionId: 'yes', name: 'Y', kind: 'allow_once' }] })}`;
    const all = [];

    for (const n of [...Array(6).fill(SHOWN_MAX - 1000), SHOWN_MAX + 1])
      all.push(await waiting(large(n)));
    const seen = [];
    let cursor, pages = 0;
    do {
      const { body, json } = await d.http(`/v1/approvals${cursor ? `?cursor=${cursor}` : ''}`, { token: d.token });
      assert.ok(body.length < PAGE + SHOWN_MAX + 4096, `${body.length} bytes`);
      seen.push(...json.approvals);
      cursor = json.nextCursor;
      pages++;
    } while (cursor);
    assert.ok(pages > 1);
    assert.deepEqual(seen.map(({ id }) => id), all.map(({ id }) => id));
    assert.deepEqual(seen.map((a) => ['request' in a, 'requestBytes' in a]), [...Array(6).fill([true, false]), [false, true]]);
    assert.equal((await other.call('_acpd/approvals/list', { cursor: `after-${seen.length}` }).catch((e) => e)).data.reason, 'CURSOR_INVALID');
    for (const { id, turn } of all) {
      assert.equal((await post(d, id, { optionId: 'yes' })).status, 200);
      await turn.answer;
    }
  });
});

describe('bounds', () => {
  test('an answer of 1 MiB is taken, a longer one refused', async () => {
    const { sessionId, id, turn } = await waiting('elicit');
    const body = (n) => {
      const empty = JSON.stringify({ action: 'accept', content: { text: '' } });
      return empty.replace('""', `"${'x'.repeat(n - empty.length)}"`);
    };
    const long = await post(d, id, body(BODY_MAX + 1));

    assert.deepEqual([long.status, long.json.error.reason], [413, 'BODY_TOO_LARGE']);
    assert.equal((await post(d, id, body(BODY_MAX))).status, 200);
    await turn.answer;
    assert.equal(c.chunks(sessionId)[0].length, `elicit:${body(BODY_MAX)}`.length);
  });

  test('one answer of many at once counts, and half a body holds nothing up', async () => {
    const { sessionId, id, turn } = await waiting();
    const body = JSON.stringify({ outcome: { outcome: 'cancelled' } });
    const halves = await Promise.all([...Array(20).keys()].map(() => new Promise((resolve) => {
      const socket = net.connect(d.port, '127.0.0.1', () => socket.write(
        `POST /v1/approvals/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${d.token}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
        () => resolve(socket)));
    })));
    await sleep(50);
    const answers = await Promise.all([...Array(40).keys()].map((i) => post(d, id, { optionId: i % 2 ? 'allow' : 'reject' })));
    const first = answers.findIndex((a) => a.status === 200);

    assert.equal(answers.filter((a) => a.status === 200).length, 1);
    assert.equal(answers.filter((a) => a.status === 409).length, 39);
    const [rest] = await Promise.all(halves.slice(0, 10).map((socket) => new Promise((resolve) => {
      socket.on('data', (data) => resolve(`${data}`));
      socket.write(body.slice(5));
    })));
    assert.match(rest, /^HTTP\/1.1 409 .*APPROVAL_ANSWERED/s);
    for (const socket of halves)
      socket.destroy();
    await turn.answer;
    assert.deepEqual(c.chunks(sessionId), [`permission:${first % 2 ? 'allow' : 'reject'}`, 'on']);
    assert.equal((await questionAnswers(d, sessionId)).length, 1);
  });
});

test('a daemon that is killed leaves no question open: numbers go on, and who answered is still known', async (t) => {
  const own = await Daemon.startFor(t);
  let client = await own.client();
  const { sessionId } = await client.newSession();

  client.onRequest('session/request_permission', (params) => (params.toolCall.toolCallId === 'a' ? selected('allow') : never()));
  client.startPrompt(sessionId, 'perm a; perms 2');
  await until(async () => (await openApprovals(own, sessionId)).length === 2);
  await own.kill9();
  await own.restart();
  client = await own.client();
  await client.load(sessionId);
  assert.deepEqual((await questionAnswers(own, sessionId)).map(brief),
    [['client', 'driver', 'allow'], ['cancelled', undefined, 'cancelled'], ['cancelled', undefined, 'cancelled']]);
  assert.deepEqual(await openApprovals(own), []);
  assert.deepEqual((await post(own, `${sessionId}:1`, {})).json.error.via, 'driver');
  assert.deepEqual((await post(own, `${sessionId}:3`, {})).json.error.by, 'cancelled');
  assert.equal((await post(own, `${sessionId}:4`, {})).status, 404);
  client.onRequest('session/request_permission', never);
  const turn = client.startPrompt(sessionId, 'perm d');
  await client.waitRequest('session/request_permission');
  assert.equal((await post(own, `${sessionId}:4`, { optionId: 'allow' })).status, 200);
  await turn.answer;
  await own.stop();
});
