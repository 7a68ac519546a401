// SPDX-License-Identifier: Apache-2.0
// Model calls by both routes, before scripted providers of all four APIs: through the orchestrator's module (images/model-tunnel.ts) on
// the official SDK, and by the daemon itself. What a harness gets is what the provider sent, byte for byte, also where that is no answer
// at all.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MISBEHAVIOURS } from '../../harness/misbehaviours.mjs';
import { eventsOf, FORMATS } from '../../harness/model-formats.mjs';
import { startModelServer } from '../../harness/model-server.mjs';
import { KEY, tunnelTo } from '../../harness/rig.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { listenerOf, STUB_WITH_GOOGLE, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { connectSdk } from '../../lib/sdk.mjs';
import { until } from '../../lib/wait.mjs';

const ROUTES = ['tunnel', 'direct'];
let d, model, tunnel, c;
const listeners = { tunnel: {}, direct: {} }; // by API

before(async () => {
  model = await startModelServer({ key: KEY });
  tunnel = tunnelTo(model.url);
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER, STUB_WITH_GOOGLE] });
  c = await connectSdk(d, { tunnel });
  await c.initialize({ acpd: { model: tunnel.capability } });
  for (const via of ROUTES)
    for (const api of Object.keys(FORMATS))
      listeners[via][api] = await listenerFor(via, api);
});
after(async () => {
  await c?.close();
  await model?.close();
  await endInOrder(d);
});

async function listenerFor(via, api) {
  const harness = api === 'google' ? STUB_WITH_GOOGLE.id : STUB_WITH_PROVIDER.id;
  const place = via === 'direct' ? { baseUrl: `${model.url}/${api === 'google' ? 'v1beta' : 'v1'}`, key: KEY } : {};
  const { sessionId } = await c.newSession({ meta: { harness, provider: { api, via, ...place } } });

  return listenerOf(sessionId);
}

// One call of the harness: {answer, record}; record: what the provider saw and sent.
async function call(via, api, lines, { stream = true, signal } = {}) {
  const { root, key } = listeners[via][api];
  const format = FORMATS[api];
  const at = model.requests.length;
  const asked = fetch(root + format.path('m1', stream), { method: 'POST', signal, headers: { 'content-type': 'application/json', ...format.headers(key) },
    body: JSON.stringify({ model: 'm1', stream, ...format.body([{ role: 'user', text: lines.join('\n') }], ['bash']) }) });

  await until(() => model.requests.length > at, 'the provider is asked');
  return { asked, record: model.requests[at] };
}

for (const via of ROUTES) {
  for (const [api, format] of Object.entries(FORMATS)) {
    describe(`${via}: ${api}`, () => {
      test('a streamed answer, one that is not, models, and a count', async () => {
        const { asked, record } = await call(via, api, ['THINK:why', 'TEXT:π and 🙂', 'TOOL:bash {"command":"ls"}']);
        const text = await (await asked).text();
        const said = format.answer(eventsOf(text));

        assert.equal(text, record.answer);
        assert.deepEqual([said.text, said.thought, said.call.name, said.usage], ['π and 🙂', 'why', 'bash', format.usage]);
        assert.deepEqual([record.keyMatches, record.headers['accept-encoding']], [true, 'identity']);
        const whole = await call(via, api, ['TEXT:whole'], { stream: false });
        const answer = await whole.asked;
        assert.equal(answer.headers.get('x-request-id'), 'req_scripted');
        assert.equal(await answer.text(), whole.record.answer);
        const { root, key } = listeners[via][api];
        const [list, ids] = format.listed;
        assert.deepEqual(ids(await (await fetch(root + list, { headers: format.headers(key) })).json()), ['scripted-1']);
        if (format.counted) {
          const [path, count] = format.counted;
          const asked = await fetch(root + path, { method: 'POST', headers: format.headers(key), body: '{"model":"m1"}' });
          assert.ok(count(await asked.json()) > 0);
        }
      });

      for (const { name, lines, status, headers = {}, says = '', ends } of MISBEHAVIOURS) {
        test(`the provider: ${name}`, async () => {
          const abort = new AbortController();
          const { asked, record } = await call(via, api, lines, { signal: abort.signal });
          let text = '', ended = 'whole';

          if (ends === 'never')
            until(() => status === undefined || text.includes(says), 'what it says before').then(() => abort.abort());
          try {
            const answer = await asked;
            assert.equal(answer.status, status);
            for (const [header, value] of Object.entries(headers))
              assert.equal(answer.headers.get(header), value);
            for await (const bytes of answer.body.pipeThrough(new TextDecoderStream()))
              text += bytes;
          } catch (e) {
            if (e instanceof assert.AssertionError)
              throw e;
            ended = e.name === 'AbortError' ? 'never' : 'cut';
          }
          assert.deepEqual([ended, text], [ends, record.answer]);
          assert.ok(text.includes(says));
          await until(() => tunnel.open === 0, 'the call is over');
          if (ends === 'never')
            await until(() => record.aborted, 'the provider is not asked any more');
        });
      }
    });
  }

  test(`${via}: request and answer of more than two windows`, async () => {
    const words = '🙂π x'.repeat(100_000);
    const { asked, record } = await call(via, 'openai-chat', [`TEXT:${words}`]);
    const text = await (await asked).text();

    assert.equal(text, record.answer);
    assert.equal(FORMATS['openai-chat'].answer(eventsOf(text)).text, words);
  });
}
