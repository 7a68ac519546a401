// SPDX-License-Identifier: Apache-2.0
// Odd text in every place where text of another party enters, and what arrives at the other end. What is not Unicode is repaired, once, as it
// enters, and told once in each turn; all else arrives as it was sent. Readers here are strict: every message is held to be well-formed
// (lib/acp.mjs), and so is each line that the harness reads. tests/harness/scenarios/odd-text.mjs does the same with the real harnesses.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, STUB, endInOrder } from '../../lib/daemon.mjs';
import { post } from '../../lib/agui.mjs';
import { openRelay } from '../../lib/mcp-relay.mjs';
import { ODD_TEXTS, arrives, inOneLine, shown } from '../../lib/odd-text.mjs';
import { member } from '../../lib/mcp.mjs';
import { until } from '../../lib/wait.mjs';

// Writes the text of a file in the place of the stub's own words.
const REPLACE = `const fs = require('node:fs');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const odd = fs.readFileSync(process.argv[1], 'utf8');
  console.log(line.replaceAll('@ODD@', () => odd).replaceAll('"Ask"', () => '"' + odd + '"').replaceAll('"Stub agent"', () => '"' + odd + '"'));
});`;

let d, c, heard, replacement;
before(async () => {
  replacement = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-odd-')), 'text');
  fs.chmodSync(path.dirname(replacement), 0o755);
  d = await Daemon.start({ harnesses: [{ id: 'odd', command: '/bin/sh', args: ['-c', '"$1" --no-store | "$2" -e "$3" "$4"', 'sh', STUB, process.execPath, REPLACE, replacement] }, { id: 'tee', command: '/bin/sh', args: ['-c', 'tee -a "$1" | "$2" --no-store --embedded', 'sh', '/dev/null', STUB],
    capabilities: { promptCapabilities: { embeddedContext: true } } }] });
  heard = path.join(d.dir, 'heard');
  d.opts.harnesses[1].args[3] = heard;
  fs.writeFileSync(heard, '');
  fs.chmodSync(heard, 0o666);
  await d.restart();
  c = await d.client();
});
after(async () => {
  await endInOrder(d);
  fs.rmSync(path.dirname(replacement), { recursive: true });
});

let next = 1e6;
// A request of which the text of params is given.
function ask(client, method, params) {
  const id = next++;

  return client.call(method, JSON.parse(params), { id, raw: `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}` });
}

const repaired = (client, sessionId, from) => client.notifications.slice(from)
  .filter((n) => n.method === '_acpd/event' && n.params.sessionId === sessionId && n.params.event.event === 'text_repaired')
  .map(({ params: { event: { kind, event, ...counts } } }) => counts);

// The newest request of that method that the harness has read.
async function read(method) {
  const lines = () => fs.readFileSync(heard, 'utf8').split('\n').slice(0, -1).filter((line) => line.includes(`"${method}"`));

  await until(() => lines().length > 0);
  const [last] = lines().slice(-1);

  fs.truncateSync(heard); // the next one is found alone
  return JSON.parse(last);
}

// --- of a client to a harness --------------------------------------------------------------------

const text = (odd) => `{"type":"text","text":"echo done"},{"type":"text","text":"${odd}"}`;
const PROMPTS = [
  ['a text block', text, (p) => p.prompt[1].text],
  ['a link\'s name', (odd) => `${text('')},{"type":"resource_link","uri":"u:x","name":"${odd}"}`, (p) => p.prompt[2].name],
  ['a link\'s uri', (odd) => `${text('')},{"type":"resource_link","uri":"u:${odd}","name":"n"}`, (p) => p.prompt[2].uri.slice(2)],
  ['a resource\'s text', (odd) => `${text('')},{"type":"resource","resource":{"uri":"u:x","text":"${odd}"}}`, (p) => p.prompt[2].resource.text],
  ['a resource\'s uri', (odd) => `${text('')},{"type":"resource","resource":{"uri":"${odd}","text":"t"}}`, (p) => p.prompt[2].resource.uri],
  ['a name of annotations', (odd) => `{"type":"text","text":"echo done","annotations":{"_meta":{"${odd}":1}}}`, (p) => Object.keys(p.prompt[0].annotations._meta)[0]],
];

describe('what a client says in a prompt', () => {
  for (const [place, blocks, got] of PROMPTS)
    test(place, async () => {
      const { sessionId } = await c.newSession({ meta: { harness: 'tee' } });

      for (const [what, odd, places] of ODD_TEXTS) {
        const from = c.notifications.length;

        assert.equal((await ask(c, 'session/prompt', `{"sessionId":"${sessionId}","prompt":[${blocks(odd)}]}`)).stopReason, 'end_turn', what);
        const { params } = await read('session/prompt');
        assert.equal(got(params), arrives(odd), what);
        assert.deepEqual(repaired(c, sessionId, from), places ? [{ client: places }] : [], what);
      }
    });

  test('_meta', async () => {
    const { sessionId } = await c.newSession({ meta: { harness: 'tee' } });

    for (const [what, odd] of ODD_TEXTS) {
      await ask(c, 'session/prompt', `{"sessionId":"${sessionId}","prompt":[{"type":"text","text":"echo x"}],"_meta":{"own":{"a":["${odd}"]}}}`);
      assert.equal((await read('session/prompt')).params._meta.own.a[0], arrives(odd), what);
    }
  });

  test('of AG-UI', async () => {
    for (const [what, odd] of ODD_TEXTS) {
      const res = await post(d, `{"threadId":"t-${next}","runId":"r-${next++}","protocolVersion":"1.0","state":{},"tools":[],"context":[],"forwardedProps":{},` +
        `"messages":[{"id":"m","role":"user","content":[{"type":"text","text":"echo done"},{"type":"text","text":"${odd}"}]}]}`, { harness: 'tee' });

      assert.equal(res.status, 200, what);
      await res.text();
      assert.ok((await read('session/prompt')).params.prompt.some((block) => block.text === arrives(odd)), what);
    }
  });
});

test('an id is echoed as it was sent', async () => {
  const answer = new Promise((resolve) => c.ws.on('message', ({ payload }) => payload.includes('i-\\ud83d') && resolve(payload.toString())));

  c.validate = 'none';
  c.ws.text('{"jsonrpc":"2.0","id":"i-\\ud83d","method":"session/list","params":{"cursor":"\\ud83d"}}');
  assert.equal(member(await answer, 'id'), '"i-\\ud83d"');
  c.validate = 'all';
});

// --- of a harness to a client --------------------------------------------------------------------

const chunk = (odd) => `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"${odd}"}}`;
const call = (more) => `{"sessionUpdate":"tool_call","toolCallId":"t1","title":"T",${more}}`;
const UPDATES = [
  ['a chunk of a message', chunk, (u) => u.content.text],
  ['a chunk of a thought', (odd) => chunk(odd).replace('message_chunk', 'thought_chunk'), (u) => u.content.text],
  ['the title of a call', (odd) => call('"status":"pending"').replace('"T"', `"${odd}"`), (u) => u.title],
  ['rawInput', (odd) => call(`"rawInput":{"a":["${odd}"]}`), (u) => u.rawInput.a[0]],
  ['a name in rawInput', (odd) => call(`"rawInput":{"${odd}":1}`), (u) => Object.keys(u.rawInput)[0]],
  ['rawOutput', (odd) => `{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","rawOutput":"${odd}"}`, (u) => u.rawOutput],
  ['the content of a call', (odd) => call(`"content":[{"type":"content","content":{"type":"text","text":"${odd}"}}]`), (u) => u.content[0].content.text],
  ['a diff', (odd) => call(`"content":[{"type":"diff","path":"/a","oldText":"o","newText":"${odd}"}]`), (u) => u.content[0].newText],
  ['a plan', (odd) => `{"sessionUpdate":"plan","entries":[{"content":"${odd}","priority":"high","status":"pending"}]}`, (u) => u.entries[0].content],
  ['a link in a chunk', (odd) => `{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"u:x","name":"${odd}"}}`, (u) => u.content.name],
  ['the uri of a link in a chunk', (odd) => `{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"u:${odd}","name":"n"}}`, (u) => u.content.uri.slice(2)],
  ['a resource in a chunk', (odd) => `{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u:x","text":"${odd}"}}}`, (u) => u.content.resource.text],
  ['_meta of a chunk', (odd) => `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"},"_meta":{"own":{"a":"${odd}"}}}`, (u) => u._meta.own.a],
  ['a location', (odd) => call(`"locations":[{"path":"/${odd}"}]`), (u) => u.locations[0].path.slice(1)],
  ['the text before a diff', (odd) => call(`"content":[{"type":"diff","path":"/a","oldText":"${odd}","newText":"n"}]`), (u) => u.content[0].oldText],
  ['the path of a diff', (odd) => call(`"content":[{"type":"diff","path":"/${odd}","newText":"n"}]`), (u) => u.content[0].path.slice(1)],
  ['the title of the session', (odd) => `{"sessionUpdate":"session_info_update","title":"${odd}"}`, (u) => u.title],
  ['the name of an option', (odd) => `{"sessionUpdate":"config_option_update","configOptions":[{"id":"o","name":"${odd}","type":"select","currentValue":"v","options":[{"value":"v","name":"V"}]}]}`,
    (u) => u.configOptions.find(({ id }) => id === 'o').name],
  ['the name of a value', (odd) => `{"sessionUpdate":"config_option_update","configOptions":[{"id":"o","name":"O","type":"select","currentValue":"v","options":[{"value":"v","name":"${odd}"}]}]}`,
    (u) => u.configOptions.find(({ id }) => id === 'o').options[0].name],
  ['the name of a command', (odd) => `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"${odd}","description":"d"}]}`, (u) => u.availableCommands[0].name],
  ['the hint of a command', (odd) => `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"d","input":{"hint":"${odd}"}}]}`,
    (u) => u.availableCommands[0].input.hint],
  ['a command', (odd) => `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"${odd}"}]}`, (u) => u.availableCommands[0].description],
];

describe('what a harness says in an update', () => {
  for (const [place, update, got] of UPDATES)
    test(place, async () => {
      const { sessionId } = await c.newSession();

      for (const [what, odd, places] of ODD_TEXTS) {
        const [from, notes] = [c.updates.length, c.notifications.length];
        const { stopReason } = await c.prompt(sessionId, `update ${update(odd).replaceAll(';', '\\;')}; echo end`);
        const [first] = c.updates.slice(from).filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === JSON.parse(update('')).sessionUpdate);

        assert.equal(stopReason, 'end_turn', what);
        assert.equal(got(first.update), arrives(odd), what);
        assert.deepEqual(repaired(c, sessionId, notes), places ? [{ harness: places }] : [], what);
      }
    });
});

test('what a harness asks, and what a client answers', async () => {
  const other = await d.client({ init: { caps: { elicitation: { form: {} } } } });
  const { sessionId } = await other.newSession({ meta: { harness: 'tee' } });

  await other.prompt(sessionId, 'echo done');
  const native = (await read('session/prompt')).params.sessionId;

  for (const [i, [what, odd]] of ODD_TEXTS.entries()) {
    const gate = path.join(d.dir, `asked-${i}`);
    const asked = new Promise((resolve) => other.onRequest('elicitation/create', (params, msg) => {
      other.ws.text(`{"jsonrpc":"2.0","id":${msg.id},"result":{"action":"accept","content":{"n":${i},"a":"${odd}"}}}`);
      resolve(params);
      return new Promise(() => {});
    }));
    const turn = other.prompt(sessionId, `raw {"jsonrpc":"2.0","id":${900 + i},"method":"elicitation/create","params":{"sessionId":"${native}","mode":"form",` +
      `"message":"${odd.replaceAll(';', '\\;')}","requestedSchema":{"type":"object","properties":{}}}}; hold ${gate}`);

    assert.equal((await asked).message, arrives(odd), what);
    assert.equal((await read('content":{"n')).result.content.a, arrives(odd), what);
    fs.writeFileSync(gate, '');
    await turn;
  }
});

test('a permission that a harness asks for', async () => {
  const { sessionId } = await c.newSession();

  for (const [i, [what, odd]] of ODD_TEXTS.entries()) {
    const id = odd.length < 1000 ? odd : 'long'; // there is a limit for ids
    const asked = new Promise((resolve) => c.onRequest('session/request_permission', (params) => {
      resolve(params);
      return { outcome: { outcome: 'selected', optionId: params.options[0].optionId } };
    }));

    await c.prompt(sessionId, `raw {"jsonrpc":"2.0","id":${800 + i},"method":"session/request_permission","params":{"sessionId":"s",`.concat(
      `"toolCall":{"toolCallId":"p${i}","title":"${odd}"},"options":[{"optionId":"${id}","name":"${odd}","kind":"allow_once"}]}}`).replaceAll(';', '\\;') + '; echo end');
    const { toolCall, options: [option] } = await asked;

    assert.deepEqual([toolCall.title, option.name, option.optionId], [arrives(odd), arrives(odd), arrives(id)], what);
  }
});

test('what a harness says of itself, and its error', async () => {
  for (const [what, odd] of ODD_TEXTS) {
    fs.writeFileSync(replacement, odd);
    const { sessionId, modes } = await c.newSession({ meta: { harness: 'odd' } });

    assert.equal(modes.availableModes[0].name, arrives(odd), what);
    const error = await c.fails('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'error -32000 @ODD@' }] });
    const { message } = error.data.turn;

    assert.ok(message.isWellFormed() && error.rpcMessage.isWellFormed(), what);
    assert.equal(message, inOneLine(shown(odd)).slice(0, message.length), what);
    assert.ok(message.length >= Math.min(shown(odd).length, 60), what);
    await c.call('session/close', { sessionId });
  }
});

test('the title of a session is listed', async () => {
  const { sessionId } = await c.newSession();

  for (const [what, odd] of ODD_TEXTS) {
    await c.prompt(sessionId, `update {"sessionUpdate":"session_info_update","title":"${odd.replaceAll(';', '\\;')}"}; echo end`);
    const { sessions } = await c.call('session/list', {});
    const { title } = sessions.find((s) => s.sessionId === sessionId);

    assert.equal(title, shown(odd).slice(0, 4096), what);
  }
});

test('bytes that are not UTF-8', async () => {
  const { sessionId } = await c.newSession();
  const [from, notes] = [c.updates.length, c.notifications.length];

  assert.equal((await c.prompt(sessionId, 'badutf8')).stopReason, 'end_turn');
  assert.deepEqual([c.chunks(sessionId, from).join(''), repaired(c, sessionId, notes)], ['bad \ufffd\ufffd\ufffd( utf8', []]);
});

test('an error with which a turn ends', async () => {
  const { sessionId } = await c.newSession();

  for (const [what, odd] of ODD_TEXTS.filter(([, json]) => json.length < 50)) {
    const error = await c.fails('session/prompt', { sessionId, prompt: [{ type: 'text', text: `raw {"jsonrpc":"2.0","id":"x","result":{"${odd}":1}}; error -32000 ${arrives(odd)}` }] });

    assert.ok(error.rpcMessage.isWellFormed() && error.data.turn.message.length, what);
  }
});

// --- MCP -----------------------------------------------------------------------------------------

for (const era of ['2025-11-25', '2026-07-28'])
  test(`a tool of the client, called in the revision ${era}`, async (t) => {
    const calls = [];
    const { o, c: client } = await openRelay(t, d, { era, handlers: { 'tools/call': (request) => {
      calls.push(request);
      request.result(`{"resultType":"complete","content":[{"type":"text","text":${member(request.inner, 'arguments', 'odd')}}],"structuredContent":{"a":${answer}}}`);
    } } });
    let answer;

    for (const [what, odd] of ODD_TEXTS) {
      answer = `"${odd}"`;
      const meta = client.modern ? `,"_meta":${JSON.stringify(client.meta())}` : '';
      const { raw } = await client.request('tools/call', `{"name":"raw","arguments":{"odd":"${odd}"}${meta}}`);
      const { content, structuredContent } = JSON.parse(member(raw, 'result'));

      assert.deepEqual([content[0].text, structuredContent.a, JSON.parse(calls.at(-1).inner).arguments.odd], Array(3).fill(arrives(odd)), what);
    }
    assert.equal(calls.length, ODD_TEXTS.length);
    o.client.assertClean?.();
  });
