// SPDX-License-Identifier: Apache-2.0
// 1 000 questions, each answered by the driver, by another connection, by HTTP and by its time-out at nearly the same moment: one of them
// wins, all others hear who it was, and the harness gets one answer.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { brief, questionAnswers, selected } from '../../../lib/approvals.mjs';
import { chance } from '../../../lib/chance.mjs';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { SLOW, sleep } from '../../../lib/rawws.mjs';
import { withLimit } from '../../../lib/wait.mjs';

const SESSIONS = 2, ROUNDS = 10, AT_ONCE = 50, TIMEOUT = 300 * SLOW;

let d, driver, other;
const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
before(async () => {
  d = await Daemon.start();
  driver = await d.client();
  other = await d.client();
});
after(async () => {
  agent.destroy();
  await endInOrder(d, driver);
});

// {status, error}
const overHttp = (id, optionId) => new Promise((resolve, reject) => {
  const req = http.request({ host: '127.0.0.1', port: d.port, path: `/v1/approvals/${id}`, method: 'POST', agent, headers: { Authorization: `Bearer ${d.token}` } },
    (res) => {
      let text = '';

      res.on('data', (data) => { text += data; });
      res.on('end', () => resolve({ status: res.statusCode, error: JSON.parse(text).error }));
    });

  req.on('error', reject);
  req.end(JSON.stringify({ optionId }));
});

// So many questions with that time each: how many each way won.
async function race(timeoutMs) {
  const random = chance(1000), from = driver.messages.length;
  // Some race each other well before the time is up, some with it.
  const moments = () => (random() < 0.5 ? () => timeoutMs * (0.1 + 0.4 * random()) : () => timeoutMs * (0.9 + 0.3 * random()));
  const choice = () => (random() < 0.5 ? 'allow' : 'reject');
  const tries = new Map(); // id → what each of the three was told
  const wins = { driver: 0, acp: 0, http: 0, timeout: 0 };
  const asks = new Map(); // sessionId → the questions of the driver so far

  driver.onRequest('session/request_permission', async ({ sessionId }) => {
    const id = `${sessionId}:${(asks.get(sessionId) ?? 0) + 1}`, said = {}, moment = moments();

    asks.set(sessionId, (asks.get(sessionId) ?? 0) + 1);
    tries.set(id, said);
    said.all = Promise.all([
      sleep(moment()).then(async () => { said.acp = (await other.request('_acpd/approvals/answer', { id, optionId: choice() }).answer).error?.data ?? 'won'; }),
      sleep(moment()).then(async () => { said.http = await overHttp(id, choice()); }),
    ]);
    await sleep(moment());
    return selected(choice());
  });
  await Promise.all([...Array(SESSIONS)].map(async () => {
    const { sessionId } = await driver.newSession({ meta: { approvals: { timeoutMs } } });

    for (let round = 0; round < ROUNDS; round++) {
      await driver.prompt(sessionId, `perms ${AT_ONCE}`);
      await Promise.all([...tries].filter(([id]) => id.startsWith(sessionId)).map(([, said]) => said.all));
    }
    await driver.prompt(sessionId, 'twice');
    const answers = await questionAnswers(d, sessionId);
    const told = driver.chunks(sessionId);

    assert.equal(told.at(-1), 'twice:0', 'no request of the harness was answered twice');
    assert.equal(answers.length, ROUNDS * AT_ONCE);
    const got = told.slice(0, -1).flatMap((text) => text.replace('perms:', '').split(','));
    for (const event of answers) {
      const { acp, http: posted } = tries.get(`${sessionId}:${event.ask}`);
      const [by, via, chosen] = brief(event), winner = via ?? by;

      assert.equal(got[event.ask - 1], chosen, 'the harness got what the event says');
      wins[winner]++;
      assert.equal(acp === 'won', winner === 'acp');
      assert.equal(posted.status, winner === 'http' ? 200 : 409);
      for (const error of [acp, posted.error].filter((e) => e && e !== 'won'))
        assert.deepEqual([error.reason, error.by, error.via], ['APPROVAL_ANSWERED', by, via]);
    }
  }));
  assert.equal(tries.size, SESSIONS * ROUNDS * AT_ONCE);
  const withdrawn = driver.messages.slice(from).filter((m) => m.method === '$/cancel_request').length;
  assert.equal(withdrawn, tries.size - wins.driver, 'the driver is told of each that somebody else answered');
  assert.equal((await d.http('/v1/approvals', { token: d.token })).json.approvals.length, 0);
  return wins;
}

test('exactly one answer each', async () => {
  // where a busy machine lets the time-out win all, there is more of it
  const wins = await withLimit(TIMEOUT, race, (each) => Object.values(each).includes(0), 3);

  for (const [way, n] of Object.entries(wins))
    assert.ok(n > 0, `${way} won ${n} times: this is no race`);
});
