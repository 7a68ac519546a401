// SPDX-License-Identifier: Apache-2.0
// The MCP clients that people really use (lib/mcp-clients.mjs): each lists and calls every built-in tool, over /mcp and over
// `acpd mcp --builtin`, and a relayed server through the shim.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon } from '../lib/daemon.mjs';
import { CLIENTS } from '../lib/mcp-clients.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { Forwarder, SdkOrchestrator, givenServers } from '../lib/mcp-orchestrators.mjs';

const PATCH = '--- a/patched.txt\n+++ b/patched.txt\n@@ -1 +1 @@\n-old\n+new\n';

// A call of every tool, in an order in which each can succeed; `of` gives arguments that an earlier answer decides.
const CALLS = [
  ['createSandbox', {}],
  ['createDirectory', { path: 'dir' }],
  ['writeFile', { path: 'dir/a.txt', content: 'hello\n' }],
  ['writeFiles', { files: [{ path: 'patched.txt', data: 'old\n' }, { path: 'dir/b.txt', content: 'needle\n' }] }],
  ['readFile', { path: 'dir/a.txt' }],
  ['readFiles', { glob: 'dir/*.txt' }],
  ['editFile', { path: 'dir/a.txt', oldString: 'hello', newString: 'goodbye' }],
  ['listFiles', { path: 'dir' }],
  ['grep', { pattern: 'needle' }],
  ['getFileInfo', { path: 'dir/a.txt' }],
  ['checkFileExists', { path: 'dir/none' }],
  ['getFileSize', { path: 'dir/a.txt', humanReadable: true }],
  ['watchDirectory', { path: 'dir', watchDuration: 50 }],
  ['applyDiff', { diff: PATCH }],
  ['runCommand', { command: 'echo out; echo err >&2' }],
  ['runCode', { code: 'print(6 * 7)', runCodeOpts: { language: 'python' } }],
  ['runTests', { command: 'echo "ok 1 - it works"; echo 1..1' }],
  ['openPR', { title: 'A change', branch: 'proposed' }],
  ['deleteFile', { path: 'dir/b.txt' }],
];

// Started first, looked at and ended by the two tools for that.
const BACKGROUND = { command: 'echo ready; sleep 60', background: true };

function repository() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-clients-'));
  const git = (...args) => execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], { stdio: 'pipe' });

  fs.writeFileSync(path.join(dir, 'README'), 'a repository\n');
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'first');
  return dir;
}

async function callAll(client) {
  const names = await client.tools();
  const called = new Set();
  const call = async (name, args) => {
    const answer = await client.call(name, args);

    called.add(name);
    assert.equal(answer.failed, false, `${name}: ${JSON.stringify(answer)}`);
    assert.equal(typeof answer.structured, 'object', name);
    return answer.structured;
  };
  const results = Object.fromEntries(await sequence(CALLS, async ([name, args]) => [name, await call(name, args)]));
  const started = await call('runCommand', BACKGROUND);
  const pid = started.pid ?? started.processId;

  results.getProcessOutput = await call('getProcessOutput', { pid });
  results.killProcess = await call('killProcess', { pid });
  assert.deepEqual([...called].sort(), [...names].sort(), 'every tool that is listed is called');
  return results;
}

async function sequence(list, fn) {
  const results = [];

  for (const item of list)
    results.push(await fn(item));
  return results;
}

function check(results) {
  assert.equal(results.readFile.content, 'hello\n');
  assert.equal(results.checkFileExists.exists, false);
  assert.equal(results.runCommand.stdout, 'out\n');
  assert.equal(results.runCommand.stderr, 'err\n');
  assert.equal(results.runCode.stdout, '42\n');
}

let daemon, fixture, orchestrator;

before(async () => {
  daemon = await Daemon.start();
  fixture = new Forwarder(FIXTURE);
  orchestrator = await SdkOrchestrator.connect(daemon, { fixture: fixture.handler });
});

after(async () => {
  await orchestrator?.close();
  await daemon?.stop();
  await fixture?.close();
});

for (const [name, { connect, revision }] of Object.entries(CLIENTS)) {
  describe(name, () => {
    test('every built-in tool over /mcp', { timeout: 120_000 }, async (t) => {
      const cwd = repository();
      const { sessionId } = await orchestrator.newSession({ cwd, mcpServers: [], meta: { mcp: { builtin: true } } });
      const client = await connect({ url: `http://127.0.0.1:${daemon.port}/mcp?session=${sessionId}`, token: daemon.token });
      t.after(() => client.close());
      check(await callAll(client));
      assert.equal(client.revision, revision);
    });

    test('every built-in tool of acpd mcp --builtin', { timeout: 120_000 }, async (t) => {
      const cwd = repository();
      const client = await connect({ command: ACPD, args: ['mcp', '--builtin', '--root', cwd], cwd });
      t.after(() => client.close());
      check(await callAll(client));
    });

    test('a failure is one for the client, too', async (t) => {
      const client = await connect({ command: ACPD, args: ['mcp', '--builtin', '--root', repository()] });
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
