// SPDX-License-Identifier: Apache-2.0
// Stdio MCP servers that print to the stream of their messages: every kind of noise, at every phase of a server's life. Calls work, and the
// noise is counted and shown in the log. Only a flood or a broken message ends a server.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { McpHttp, startHosting } from '../lib/mcp-http.mjs';
import { until } from '../lib/wait.mjs';
import { NOISE, assertCounted, hexOf, isLine, showsNoise } from '../lib/noise.mjs';

const PROGRAM = { command: process.execPath, args: [path.join(import.meta.dirname, 'noisy-server.mjs')] };
const lines = NOISE.filter(([, bytes]) => isLine(bytes)), starts = NOISE.filter(([, bytes]) => !isLine(bytes));
// All lines at once, and each of those that stand before a message: a process is dear.
const AT_START = [['every line', lines.map(([, bytes]) => bytes).join('')], ...starts];
const server = (bytes, at) => ({ ...PROGRAM, env: { NOISE: hexOf(bytes), NOISE_AT: at } });
const begin = (at, i) => `${at}-${i}`;
let d;

before(async () => {
  const early = ['start', 'discover'].flatMap((at) => AT_START.map(([, bytes], i) => [begin(at, i), server(bytes, at)]));

  d = await startHosting(Object.fromEntries([...early, ['talker', PROGRAM], ['mortal', PROGRAM], ['flooder', PROGRAM], ['torn', PROGRAM]]));
});
after(() => endInOrder(d));

const client = (name) => new McpHttp(d, `/mcp/${name}`);
const say = async (name, bytes, at) => (await (await client(name).modern('tools/call', { name: 'say', arguments: { noise: hexOf(bytes), at } })).over()).answer;
const shown = (name, bytes) => d.waitLog((l) => l.mod === 'mcp' && l.server === name && /output/.test(l.msg) && showsNoise(l, bytes));

async function works(name, bytes, at) {
  assert.equal((await say(name, bytes, at)).result.content[0].text, `${at} ${hexOf(bytes)}`);
}

for (const at of ['start', 'discover']) {
  describe(`noise at ${at}`, () => {
    for (const [i, [what, bytes]] of AT_START.entries()) {
      test(what, async () => {
        await works(begin(at, i), '', 'none');
        for (const [, one] of i ? [[what, bytes]] : lines)
          await shown(begin(at, i), one);
      });
    }
  });
}

for (const at of ['answer', 'after', 'list']) {
  describe(`noise at ${at}`, () => {
    for (const [what, bytes] of NOISE) {
      test(what, () => assertCounted(d, 'mcp', bytes, async () => {
        await works('talker', bytes, at);
        assert.equal((await (await client('talker').modern('tools/list')).over()).answer.result.tools.length, 1);
        await works('talker', '', 'none');
      }));
    }
  });
}

test('what a server printed is in the log by its first bytes, as often as the log has room', async () => {
  const [, bytes] = NOISE[0];

  await shown('talker', bytes);
});

test('a last answer without its newline counts, and what follows it is noise', async () => {
  await works('mortal', '\x1b[0m', 'last');
});

test('a message that is cut off ends the server with a reason, and the next call works', async () => {
  const { error } = await say('torn', '{"jsonrpc":"2.0","resu\n', 'answer');

  assert.equal(error.data.reason, 'SERVER_PROTOCOL');
  assert.match(error.message, /wrote a message that cannot be parsed/);
  await until(async () => (await say('torn', '', 'none')).result, 'it works again');
});

test('a flood ends the server with a reason', async () => {
  const { error } = await say('flooder', 'x\n'.repeat(10100), 'answer');

  assert.equal(error.data.reason, 'SERVER_PROTOCOL');
  assert.match(error.message, /too many lines that are not messages/);
});

// Nothing of acpd's prints there. A command can, by the file system, where nothing confines it.
test('noise of the built-in tools: without the secrets of the session; of no session without its text', async (t) => {
  const SECRET = 's3cret-of-the-session-0123456789';
  const own = await Daemon.startFor(t, { flags: { level: 'open' } });
  const c = await own.client();
  const { sessionId } = await c.newSession({ meta: { secrets: { TOKEN: SECRET } } });
  const print = async (where, text) => { // between the shell and the tools is the process that ends the command
    const command = `echo '${text}' > /proc/$(awk '/^PPid/ {print $2}' /proc/$PPID/status)/fd/1`;
    const { answer } = await (await new McpHttp(own, where).modern('tools/call', { name: 'runCommand', arguments: { command } })).over();
    assert.equal(answer.result.structuredContent.exitCode, 0, JSON.stringify(answer));
  };
  const lines = () => own.logs.filter((l) => l.mod === 'mcp' && l.server === 'acpd' && l.msg === 'server output skipped').map((l) => l.text);

  await print(`/mcp?session=${sessionId}`, `of a session: ${SECRET}.`);
  await until(() => lines().length === 1, 'its line');
  await print('/mcp', `of none: ${SECRET}.`);
  await until(() => lines().length === 2, 'its line');
  assert.deepEqual(lines(), ['of a session: ***.', '']);
  await own.stop();
});
