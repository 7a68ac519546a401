// SPDX-License-Identifier: Apache-2.0
// --record-model: a secret that a model says in pieces, in text and in arguments, is in no recording, and neither are its pieces; the
// answer stays one that a harness can read.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startModelServer } from '../../harness/model-server.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, listenerOf, ModelConnection, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { wholeLines } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';

const SECRET = 'pa"ss/wörd-9c1f7e2a';
const KEY = 'sk-direct-0123456789abcdef';

let d, c, server;
before(async () => {
  server = await startModelServer({ key: KEY });
  d = await Daemon.start({ flags: { recordModel: true }, harnesses: [STUB_WITH_PROVIDER] });
  ({ c } = await connectTaker(d));
});
after(async () => {
  await endInOrder(d, c);
  await server.close();
});

const fileOf = (id) => path.join(d.stateDir, 'runs', id, 'model/calls.ndjson');
const recorded = (id) => wholeLines(fileOf(id)).map((line) => JSON.parse(line));
const answerOf = (lines) => lines.filter((l) => l.type === 'data').map((l) => l.text).join('');
const eventsOf = (text) => text.split('\n\n').filter(Boolean).map((e) => /^data: (.*)$/m.exec(e)[1]).filter((e) => e !== '[DONE]').map((e) => JSON.parse(e));

// What a client makes of a stream: {text, args}.
const APIS = {
  'openai-chat': { path: '/v1/chat/completions', request: (text, tools) => ({ messages: [{ role: 'user', content: text }], stream: true,
    tools: tools.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })) }),
    said: (events) => ({ text: events.map((e) => e.choices[0]?.delta.content ?? '').join(''),
      args: events.map((e) => e.choices[0]?.delta.tool_calls?.[0].function.arguments ?? '').join('') }) },
  'openai-responses': { path: '/v1/responses', request: (text, tools) => ({ input: [{ role: 'user', content: text }], stream: true,
    tools: tools.map((name) => ({ type: 'function', name, parameters: { type: 'object' } })) }),
    said: (events) => ({ text: events.map((e) => (e.type === 'response.output_text.delta' ? e.delta : '')).join(''),
      args: events.map((e) => (e.type === 'response.function_call_arguments.delta' ? e.delta : '')).join('') }) },
};

async function streamed(t, api, size) {
  const { sessionId: id } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, secrets: { MY_PASSWORD: SECRET },
    provider: { via: 'direct', api, key: KEY, baseUrl: `${server.url}/v1` } } });
  const g = await ModelConnection.open(listenerOf(id));
  t.after(() => g.close());
  const script = `PIECES:${size}\nTEXT:It is ${SECRET}, so\nTOOL:run ${JSON.stringify({ command: `login '${SECRET}' ${JSON.stringify(SECRET)}`, n: 1 })}`;

  g.send(APIS[api].path, { body: JSON.stringify({ model: 'scripted-1', ...APIS[api].request(script, ['run']) }) });
  await until(() => recorded(id).some((l) => l.type === 'end'), 'the end in the recording');
  await until(() => g.body?.whole, 'the harness has it all');
  return { lines: recorded(id), heard: g.body.bytes.toString() };
}

for (const api of Object.keys(APIS))
  for (const size of [1, 2, 5])
    test(`${api}, in pieces of ${size}`, async (t) => {
      const { lines, heard } = await streamed(t, api, size);
      const events = eventsOf(answerOf(lines)), sent = eventsOf(heard);
      const said = APIS[api].said(events);

      assert.equal(APIS[api].said(sent).text, `It is ${SECRET}, so`, 'the harness is told all');
      assert.deepEqual(said.text, 'It is ***, so');
      assert.deepEqual(JSON.parse(said.args), { command: 'login \'***\' "***"', n: 1 });
      assert.equal(events.length, sent.length);
      assert.deepEqual(events.map((e) => [e.type, e.id, e.output_index, e.sequence_number]), sent.map((e) => [e.type, e.id, e.output_index, e.sequence_number]));
      assert.deepEqual(lines.at(-1).how, 'complete');
      // nowhere else: the request, and the whole texts that come last
      assert.ok(!JSON.stringify(lines).includes('9c1f7e2a') && !JSON.stringify(events).includes('rd-9c'));
    });

test('an answer that is compressed is not recorded: its secrets could not be found', async (t) => {
  const to = await connectTaker(d);
  t.after(() => to.c.close());
  const { sessionId: id } = await to.newSession({}, {}, { secrets: { MY_PASSWORD: SECRET } });
  const g = await ModelConnection.open(listenerOf(id));
  t.after(() => g.close());
  g.send();
  const { callId } = await to.asked();
  to.head(callId, 200, { 'content-type': 'text/event-stream', 'content-encoding': 'br' });
  to.chunk(callId, undefined, { b64: Buffer.from([0x0b, 0x02, 0x80]).toString('base64') });
  to.end(callId);
  await until(() => g.body?.whole);
  assert.deepEqual(recorded(id).map((l) => [l.type, l.how, l.reason]), [['request', undefined, undefined], ['head', undefined, undefined], ['end', 'failed', 'ANSWER_NOT_RECORDED']]);
});
