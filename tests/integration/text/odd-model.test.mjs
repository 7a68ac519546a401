// SPDX-License-Identifier: Apache-2.0
// Odd text in every text of a provider's answer: the harness gets the bytes that the provider sent, and what the daemon reads of them is Unicode
// in usage records and in errors. The provider writes the bytes itself. tests/harness/scenarios/odd-text.mjs does the same with real harnesses.

import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { KEY, tunnelTo } from '../../harness/rig.mjs';
import { API, listenerOf, PATH, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { inOneLine, ODD_TEXTS, shown } from '../../lib/odd-text.mjs';
import { connectSdk } from '../../lib/sdk.mjs';
import { until } from '../../lib/wait.mjs';
import { records } from '../ledger.mjs';

const LONGEST = 512; // of a text in a record, in bytes: longer ones are cut or left out

// Bytes of another encoding stand in the body as they are.
const TEXTS = [...ODD_TEXTS, ['Latin-1', 'caf\xe9 \xa0'], ['an overlong slash', '..\xc0\xaf']].map(([what, json], i) =>
  [what, json, i < ODD_TEXTS.length ? Buffer.from(json) : Buffer.from(json, 'latin1')]);

let d, c, url, provider, answer;
before(async () => {
  provider = http.createServer((req, res) => req.resume().on('end', () => {
    res.writeHead(answer.status, { 'content-type': answer.status === 200 ? 'text/event-stream' : 'application/json' });
    res.end(answer.body);
  })).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  url = `http://127.0.0.1:${provider.address().port}`;
  const tunnel = tunnelTo(url);

  c = await connectSdk(d, { tunnel });
  await c.initialize({ acpd: { model: tunnel.capability } });
});
after(async () => {
  await c?.close();
  provider.closeAllConnections();
  provider.close();
  await endInOrder(d);
});

const ROUTES = { direct: () => ({ via: 'direct', key: KEY, baseUrl: `${url}/v1` }), tunnel: () => ({}) };

const open = (route) => c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: API, ...ROUTES[route]() } } });

// What the harness gets of an answer, and the record of the call.
async function called({ sessionId }, body, status = 200) {
  const { root, key } = listenerOf(sessionId);
  const mine = () => records(d).filter((r) => r.type === 'model_call' && r.sessionId === sessionId);
  const had = mine().length;

  answer = { status, body };
  const res = await fetch(root + PATH, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"m","messages":[],"stream":true}' });
  const bytes = Buffer.from(await res.arrayBuffer());

  await until(() => mine().length > had, 'its record');
  return { bytes, record: mine().at(-1) };
}

const around = (odd, json) => Buffer.concat(json.split('ODD').flatMap((piece, i) => i ? [odd, Buffer.from(piece)] : [Buffer.from(piece)]));
const STREAM = 'data: {"id":"i","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":DELTA,"finish_reason":null}]}\n\n'
  + 'data: {"id":"i","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
  + 'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}\n\ndata: [DONE]\n\n';
const delta = (json) => STREAM.replace('DELTA', json);
// [where, body, what of the record is that text]
const PLACES = [
  ['text', delta('{"content":"ODD"}')],
  ['reasoning', delta('{"reasoning_content":"ODD"}')],
  ['arguments of a tool call', delta('{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"ODD\\"}"}}]}')],
  ['the name and the id of a tool call', delta('{"tool_calls":[{"index":0,"id":"ODD","type":"function","function":{"name":"ODD","arguments":"{}"}}]}')],
  ['a name that nobody knows', delta('{"ODD":"ODD"}')],
  ['the id', delta('{}').replaceAll('"id":"i"', '"id":"ODD"'), (r) => r.responseId],
  ['the model', delta('{}').replaceAll('"model":"m"', '"model":"ODD"'), (r) => r.model],
  ['why it ends', delta('{}').replace('"finish_reason":"stop"', '"finish_reason":"ODD"'), (r) => r.finishReason],
];

for (const route of Object.keys(ROUTES))
  describe(`an answer by ${route}`, () => {
    for (const [place, body, told] of PLACES)
      test(place, async () => {
        const s = await open(route);

        for (const [what, json, odd] of TEXTS) {
          const sent = around(odd, body);
          const { bytes, record } = await called(s, sent);

          assert.ok(bytes.equals(sent), `${what}: ${bytes.length} bytes of ${sent.length}`);
          assert.deepEqual([record.complete, record.usage?.inputTokens, record.usage?.outputTokens], [true, 12, 3], what);
          if (told && odd.length < LONGEST)
            assert.equal(told(record), shown(json, odd), what);
        }
        await c.request('session/close', { sessionId: s.sessionId });
      });

    for (const [place, status, body] of [['a refusal', 400, '{"error":{"message":"ODD","type":"invalid_request_error"}}'],
      ['an error in the stream', 200, 'data: {"error":{"message":"ODD","type":"server_error"}}\n\n']])
      test(place, async () => {
        const s = await open(route);

        for (const [what, json, odd] of TEXTS) {
          const sent = around(odd, body);
          const { bytes, record } = await called(s, sent, status);

          assert.ok(bytes.equals(sent), what);
          assert.ok(record.error.message.isWellFormed(), what);
          assert.equal(record.error.message, inOneLine(shown(json, odd)).slice(0, record.error.message.length), what);
          assert.ok(record.error.message.length >= Math.min(shown(json, odd).length, 100), what);
        }
        await c.request('session/close', { sessionId: s.sessionId });
      });
  });
