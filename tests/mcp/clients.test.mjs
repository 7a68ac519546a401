// SPDX-License-Identifier: Apache-2.0
// build: release
// The MCP clients that people really use (lib/mcp-clients.mjs): each lists and calls every built-in tool, over /mcp and over
// `acpd mcp --builtin`, and a relayed server through the shim.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../lib/daemon.mjs';
import { CLIENTS } from '../lib/mcp-clients.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { Forwarder, SdkOrchestrator, givenServers } from '../lib/mcp-orchestrators.mjs';
import { SLOW } from '../lib/rawws.mjs';

const PATCH = '--- a/patched.txt\n+++ b/patched.txt\n@@ -1 +1 @@\n-old\n+new\n';

// A call of every tool, in an order in which each can succeed. Arguments that are a function are given the answers so far; a third member
// says when an answer is enough, until then the tool is called again.
const background = ({ runCommand }) => runCommand.pid;
const CALLS = [
  ['createSandbox', {}],
  ['createDirectory', { path: 'dir' }],
  ['writeFile', { path: 'dir/a.txt', content: 'hello\n' }],
  ['writeFiles', { files: [{ path: 'patched.txt', data: 'old\n' }, { path: 'dir/b.txt', content: 'needle\n' }] }],
  ['readFile', { path: 'dir/a.txt' }],
  ['readFiles', { glob: 'dir/*.txt' }],
  ['editFile', { path: 'dir/a.txt', oldText: 'hello', newText: 'goodbye' }],
  ['listFiles', { path: 'dir' }],
  ['grep', { pattern: 'needle' }],
  ['getFileInfo', { path: 'dir/a.txt' }],
  ['checkFileExists', { path: 'dir/none' }],
  ['getFileSize', { path: 'dir/a.txt', humanReadable: true }],
  ['watchDirectory', { path: 'dir', watchDuration: 50 }],
  ['applyDiff', { patch: PATCH }],
  ['runCode', { code: 'print(6 * 7)', language: 'python' }],
  ['runTests', { target: 'make' }],
  ['runCommand', { command: 'echo err >&2; echo out; cat', background: true, stdin: 'pipe' }],
  ['listProcesses', {}],
  ['writeProcessInput', (so) => ({ pid: background(so), data: 'more\n' })],
  ['getProcessOutput', (so) => ({ pid: background(so) }), (out) => out.stdout && out.stderr],
  ['killProcess', (so) => ({ pid: background(so) })],
  ['deleteFile', { path: 'dir/b.txt' }],
  ['openPR', { title: 'A change', body: 'What it does' }],
];

// What the source documents and the design promise by name.
const PROMISED = ['createSandbox', 'runCode', 'readFile', 'writeFile', 'writeFiles', 'listFiles', 'deleteFile', 'createDirectory', 'getFileInfo',
  'checkFileExists', 'getFileSize', 'watchDirectory', 'runCommand', 'readFiles', 'applyDiff', 'runTests', 'openPR', 'editFile', 'grep',
  'getProcessOutput', 'killProcess'];

function repository(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-clients-'));
  const git = (...args) => execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], { stdio: 'pipe' });

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.writeFileSync(path.join(dir, 'Makefile'), "test:\n\t@printf '1..1\\nok 1 - it works\\n'\n");
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@example.test');
  git('add', '.');
  git('commit', '-qm', 'first');
  return dir;
}

// Calls every tool that is listed; says what each answered.
async function callAll(client) {
  const names = await client.tools();
  const so = {};

  for (const [name, args, until = () => true] of CALLS.filter(([call]) => names.includes(call)))
    do {
      const answer = await client.call(name, typeof args === 'function' ? args(so) : args);

      assert.equal(answer.failed, false, `${name}: ${JSON.stringify(answer)}`);
      assert.equal(typeof answer.structured, 'object', name);
      so[name] = answer.structured;
    } while (!until(so[name]));
  assert.deepEqual(Object.keys(so).sort(), [...names].sort(), 'a tool is listed that this test does not call');
  assert.deepEqual(PROMISED.filter((name) => !names.includes(name)), [], 'not offered');
  return so;
}

function check(so) {
  assert.equal(so.readFile.content, 'hello\n');
  assert.equal(so.checkFileExists.exists, false);
  assert.equal(so.runCode.stdout, '42\n');
  assert.equal(so.runTests.passed, 1);
  assert.equal(so.killProcess.stderr, 'err\n');
  assert.match(so.killProcess.stdout, /^out\n/);
}

let daemon, fixture, orchestrator;

before(async () => {
  daemon = await Daemon.start();
  fixture = new Forwarder(FIXTURE);
  orchestrator = await SdkOrchestrator.connect(daemon, { fixture: fixture.handler });
});

after(async () => {
  await orchestrator?.close();
  await endInOrder(daemon);
  await fixture?.close();
});

for (const [name, { connect, revision }] of Object.entries(CLIENTS)) {
  describe(name, () => {
    test('every built-in tool over /mcp', { timeout: 600_000 * SLOW }, async (t) => {
      const cwd = repository(t);
      const { sessionId } = await orchestrator.newSession({ cwd, mcpServers: [], meta: { mcp: { builtin: true } } });
      const client = await connect({ url: `http://127.0.0.1:${daemon.port}/mcp?session=${sessionId}`, token: daemon.token });
      t.after(() => client.close());
      check(await callAll(client));
      assert.equal(client.revision, revision);
    });

    test('every built-in tool of acpd mcp --builtin', { timeout: 600_000 * SLOW }, async (t) => {
      const cwd = repository(t);
      const client = await connect({ command: ACPD, args: ['mcp', '--builtin', '--root', cwd], cwd });
      t.after(() => client.close());
      check(await callAll(client));
    });

    test('a failure is one for the client, too', async (t) => {
      const client = await connect({ command: ACPD, args: ['mcp', '--builtin', '--root', repository(t)] });
      t.after(() => client.close());
      const answer = await client.call('readFile', { path: 'none' });

      assert.equal(answer.failed, true);
      assert.match(JSON.stringify(answer.content), /ENOENT|none/);
    });

    test('a relayed server', async (t) => {
      const { sessionId } = await orchestrator.newSession();
      const [{ command, args, env }] = await givenServers(orchestrator.sdk, sessionId);
      const client = await connect({ command, args, env: { PATH: process.env.PATH, ...Object.fromEntries(env.map((e) => [e.name, e.value])) } });
      t.after(() => client.close());

      assert.ok((await client.tools()).includes('test_simple_text'));
      assert.deepEqual((await client.call('raw_echo', { a: 1, b: ['ü'] })).structured, { a: 1, b: ['ü'] });
      assert.equal((await client.call('test_error_handling', {})).failed, true);
    });
  });
}
