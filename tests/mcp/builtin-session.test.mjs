// SPDX-License-Identifier: Apache-2.0
// The built-in tools of a session: what they leave as its artifacts, what its policy asks of its client, and its dry run.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { RawOrchestrator, givenServers } from '../lib/mcp-orchestrators.mjs';
import { openClient } from '../lib/mcp-relay.mjs';
import { until } from '../lib/wait.mjs';
import { manifestDigest, newCwd } from '../lib/workspace.mjs';

let d, toolsRoot;

before(async () => {
  toolsRoot = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-tools-root-'));
  fs.chmodSync(toolsRoot, 0o777);
  d = await Daemon.start({ args: ['--tools-root', toolsRoot] });
});
after(async () => {
  await endInOrder(d);
  fs.rmSync(toolsRoot, { recursive: true, force: true });
});

const ENV = { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
const git = (cwd, ...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'safe.directory=*', ...args],
  { cwd, env: ENV, encoding: 'utf8', stdio: 'pipe' });

function repository(cwd) {
  git(cwd, 'init', '-q', '-b', 'main', '.');
  git(cwd, 'config', 'user.name', 'a');
  git(cwd, 'config', 'user.email', 'a@b');
  fs.writeFileSync(path.join(cwd, 'a.txt'), 'one\n');
  git(cwd, 'add', '-A');
  git(cwd, 'commit', '-qm', 'first');
  fs.writeFileSync(path.join(cwd, 'a.txt'), 'two\n');
  execFileSync('chmod', ['-R', 'a+rwX', cwd]);
  if (process.geteuid() === 0)
    execFileSync('chown', ['-R', '--reference', cwd, cwd]);
}

// A session whose harness is given the built-in tools, and an MCP client in the harness's place. tell: how permissions are answered,
// which are asked for in a turn only: one then runs.
async function session(t, { builtin = true, policy, tell, prepare } = {}) {
  const c = await d.client();
  const cwd = newCwd(d);
  const asked = [];

  t.after(() => c.close());
  prepare?.(cwd);
  c.onPermission((params) => {
    asked.push(params);
    return tell?.(params) ?? 'reject';
  });
  const { sessionId } = await c.newSession({ cwd, mcpServers: [], _meta: { acpd: { mcp: { builtin }, ...(policy && { policy }) } } });
  const mcp = await openClient(t, (await givenServers(c, sessionId))[0]);

  if (tell) {
    c.startPrompt(sessionId, 'sleep 60000').answer.catch(() => {});
    await until(async () => (await c.call('_acpd/status', {})).sessions.find((x) => x.sessionId === sessionId).state === 'busy', 'the turn runs');
  }
  return {
    c, cwd, sessionId, asked, mcp,
    call: async (name, args = {}) => (await mcp.request('tools/call', { name, arguments: args })).msg.result,
    artifacts: async () => (await c.call('_acpd/artifact/list', { sessionId })).artifacts,
    text: async (id) => (await c.call('_acpd/artifact/get', { sessionId, id })).text,
  };
}

// A harness is given what its model reads: text, and nothing else.
const good = (result) => {
  assert.ok(!result.isError, JSON.stringify(result));
  assert.equal(result.structuredContent, undefined);
  return result.content[0].text;
};
const codeOf = (result) => result._meta?.acpd?.error?.code ?? (result.isError ? /^(\w+): /.exec(result.content[0].text)[1] : undefined);

test('what createSandbox is given is in later commands, and hidden if its name says that it is a secret', async (t) => {
  const s = await session(t);
  const [secret, plain] = ['hush-4711-sandbox', 'told-4711-sandbox'];
  const from = s.c.updates.length;

  assert.match(good(await s.call('createSandbox', { envs: { SANDBOX_TOKEN: secret, COLOR: plain } })), /^sandboxId: /);
  assert.equal(good(await s.call('runCommand', { command: 'echo $COLOR $SANDBOX_TOKEN' })).split('\n')[0], `${plain} ${secret}`);
  await s.c.prompt(s.sessionId, `echo a ${secret} and ${plain}`);
  assert.deepEqual(s.c.chunks(s.sessionId, from).join('').trim(), `a *** and ${plain}`);
});

describe('artifacts', () => {
  test('the log of runTests', async (t) => {
    const s = await session(t, { builtin: { tests: { t: { command: 'echo 1..1; echo "ok 1 - it works"; printf "\\377\\n"', format: 'tap' } } } });
    const result = await s.call('runTests', { target: 't' });
    const [made, ...more] = await s.artifacts();

    assert.match(good(result), /^1 passed, 0 failed/);
    assert.deepEqual(more, []);
    assert.deepEqual([made.name, made.type, made.source], ['tests.log', 'text/plain; charset=utf-8', 'tool']);
    assert.deepEqual(result._meta.acpd, { artifact: made });
    assert.equal(Buffer.from((await s.c.call('_acpd/artifact/get', { sessionId: s.sessionId, id: made.id })).base64 ?? '', 'base64').toString('latin1'),
      '1..1\nok 1 - it works\n\xff\n');
  });

  test('of a long log the end, and how much is missing', async (t) => {
    const s = await session(t, { builtin: { tests: { t: { command: 'head -c 5000000 /dev/zero | tr "\\0" x; echo; echo end', format: 'exit' } } } });
    const { artifact } = (await s.call('runTests', { target: 't' }))._meta.acpd;
    const text = await s.text(artifact.id);

    assert.match(text.slice(0, 100), /^\[2902853 bytes before this are left out\]\nx+$/);
    assert.ok(text.endsWith('x\nend\n'));
  });

  test('the patch of openPR', async (t) => {
    const s = await session(t, { prepare: repository });
    const result = await s.call('openPR', { title: 'x' });
    const { artifact } = result._meta.acpd;

    assert.deepEqual([artifact.name, artifact.type], ['pull-request.patch', 'text/x-diff']);
    assert.ok(good(result).includes(`\npatch:\n${await s.text(artifact.id)}`), good(result));
    assert.match(good(result), /^approvalRequired: true$/m);
    assert.deepEqual(s.asked, []);
  });

  test('of another server nothing is taken', async (t) => {
    const o = await RawOrchestrator.connect(d, { 'tools/call': (call) => call.result(
      '{"resultType":"complete","content":[],"_meta":{"acpd":{"artifact":{"name":"x","type":"text/plain","text":"y"}}}}') });
    t.after(() => o.close());
    const { sessionId } = await o.newSession();
    const mcp = await openClient(t, (await givenServers(o.client, sessionId))[0]);
    const { msg } = await mcp.request('tools/call', { name: 'raw', arguments: {} });

    assert.deepEqual(msg.result._meta.acpd.artifact, { name: 'x', type: 'text/plain', text: 'y' });
    assert.deepEqual((await o.client.call('_acpd/artifact/list', { sessionId })).artifacts, []);
  });
});

describe('what the policy asks of the client of the session', () => {
  const commands = [{ prefix: ['git', 'status'], policy: 'allow' }, { prefix: ['git', 'push'], policy: 'ask' },
    { prefix: ['rm', '-rf', '/'], policy: 'deny' }, { prefix: ['echo'], policy: 'allow' }];

  test('commands: allowed, asked, denied, and none of it laundered', async (t) => {
    const s = await session(t, { policy: { commands }, prepare: repository, tell: ({ toolCall }) => (/yes/.test(JSON.stringify(toolCall)) ? 'allow' : 'reject') });
    const rows = [ // command, questions, code
      ['git status --short', 0, undefined],
      ['git push no', 1, 'PERMISSION_REJECTED'],
      ['git push yes', 1, undefined],
      ['rm -rf /', 0, 'COMMAND_DENIED'],
      ['sh -c "rm -rf /"', 0, 'COMMAND_DENIED'],
      ['echo x; sh -c \'exec env -i nohup rm -r -f /\'', 0, 'COMMAND_DENIED'],
      ['sh -c "git push no"', 1, 'PERMISSION_REJECTED'],
      ['timeout 5 xargs git push no', 1, 'PERMISSION_REJECTED'],
      ['git status && git push no', 1, 'PERMISSION_REJECTED'],
      ['$(echo git) push no', 1, 'PERMISSION_REJECTED'],
      ['echo Z2l0IHB1c2g= | base64 -d | sh', 1, 'PERMISSION_REJECTED'],
    ];

    for (const [command, questions, code] of rows) {
      s.asked.length = 0;
      const result = await s.call('runCommand', { command });

      assert.deepEqual([s.asked.length, codeOf(result)], [questions, code], `${command}: ${JSON.stringify(result)}`);
    }
    s.asked.length = 0;
    const result = good(await s.call('runCommand', { command: 'git push yes' }));

    assert.match(result, /\[exit code 128\]/, 'it was run: there is no such remote');
    assert.equal(s.asked[0].sessionId, s.sessionId);
    assert.equal(s.asked[0].toolCall.kind, 'execute');
    assert.equal(s.asked[0].toolCall._meta.acpd.permission.command, 'git push yes');
  });

  test('applyDiff outside of the globs: the question names the paths', async (t) => {
    const patch = '--- a/in/a\n+++ b/in/a\n@@ -1 +1 @@\n-old\n+new\n--- a/out/b\n+++ b/out/b\n@@ -1 +1 @@\n-old\n+new\n';
    let answer = 'reject';
    const s = await session(t, { policy: { write: ['in/**'] }, tell: () => answer, prepare: (cwd) => {
      for (const name of ['in/a', 'out/b']) {
        fs.mkdirSync(path.join(cwd, path.dirname(name)), { mode: 0o777 });
        fs.writeFileSync(path.join(cwd, name), 'old\n');
        fs.chmodSync(path.join(cwd, path.dirname(name)), 0o777);
        fs.chmodSync(path.join(cwd, name), 0o666);
      }
    } });
    const texts = () => ['in/a', 'out/b'].map((name) => fs.readFileSync(path.join(s.cwd, name), 'utf8'));

    assert.equal(codeOf(await s.call('applyDiff', { patch })), 'PERMISSION_REJECTED');
    assert.deepEqual(texts(), ['old\n', 'old\n']);
    assert.deepEqual(s.asked[0].toolCall._meta.acpd.permission.paths, ['out/b']);
    answer = 'allow';
    good(await s.call('applyDiff', { patch }));
    assert.deepEqual(texts(), ['new\n', 'new\n']);
    assert.equal(s.asked.length, 2);
  });

  test('openPR that is no draft', async (t) => {
    let answer = 'reject';
    const s = await session(t, { prepare: repository, tell: () => answer });
    const branches = () => git(s.cwd, 'for-each-ref', '--format=%(refname:short)').trim().split('\n');

    assert.equal(codeOf(await s.call('openPR', { title: 'x', draft: false })), 'PERMISSION_REJECTED');
    assert.deepEqual(branches(), ['main']);
    answer = 'allow';
    const pr = good(await s.call('openPR', { title: 'x', draft: false }));

    const branch = /^branch: (.*)$/m.exec(pr)[1];

    assert.ok(branches().includes(branch));
    // the branch is the orchestrator's: a bundle that it can clone
    const [made, ...more] = await s.artifacts();
    const at = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-bundle-'));

    t.after(() => fs.rmSync(at, { recursive: true, force: true }));
    assert.deepEqual([more, made.type, made.name], [[], 'application/x-git-bundle', /^bundle: (.*)$/m.exec(pr)[1]]);
    const url = `http://127.0.0.1:${d.port}/v1/sessions/${s.sessionId}/artifacts/${made.id}`;
    const bytes = await (await fetch(url, { headers: { Authorization: `Bearer ${d.token}` } })).arrayBuffer();

    fs.writeFileSync(path.join(at, 'b'), Buffer.from(bytes));
    git(at, 'clone', '-q', 'b', 'clone');
    assert.equal(git(path.join(at, 'clone'), 'ls-tree', '-r', 'HEAD'), git(s.cwd, 'ls-tree', '-r', branch));
    assert.equal(fs.readFileSync(path.join(at, 'clone/a.txt'), 'utf8'), 'two\n');
    assert.equal(fs.existsSync(path.join(s.cwd, '.git/acpd-bundles')), false);
    assert.equal(s.asked.length, 2);
    assert.equal(s.asked[0].toolCall._meta.acpd.permission.tool, 'openPR');
  });
});

test('openPR that is no draft, asked of a legacy client of /mcp', async (t) => {
  const questions = [];
  let action = 'decline';
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });

  t.after(() => client.close());
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params);
    return action === 'accept' ? { action, content: { approve: true } } : { action };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${d.port}/mcp`),
    { requestInit: { headers: { Authorization: `Bearer ${d.token}` } } }));
  repository(toolsRoot);
  const call = () => client.callTool({ name: 'openPR', arguments: { title: 'x', draft: false } });

  assert.equal((await call()).structuredContent.error.code, 'PERMISSION_REJECTED');
  action = 'accept';
  const pr = (await call()).structuredContent;

  assert.equal(git(toolsRoot, 'rev-parse', pr.branch).trim(), pr.commit);
  assert.equal(questions.length, 2);
  assert.ok(questions[0].requestedSchema.properties.approve);
});

test('a dry run of the session: every tool that changes something is called, and the tree is the same', async (t) => {
  const s = await session(t, { builtin: { tests: { t: { command: 'touch made' } } }, policy: { dryRun: true }, prepare: repository });
  const before = manifestDigest(s.cwd);
  const calls = [
    ['writeFile', { path: 'a.txt', content: 'x' }], ['writeFile', { path: 'n/e/w', content: 'x' }], ['writeFiles', { files: [{ path: 'b', data: 'x' }] }],
    ['editFile', { path: 'a.txt', oldText: 'two', newText: 'x' }], ['deleteFile', { path: 'a.txt' }], ['createDirectory', { path: 'x/y' }],
    ['applyDiff', { patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+x\n' }], ['runCommand', { command: 'touch made' }],
    ['runCommand', { command: 'touch made', background: true }], ['runCode', { code: 'open("made", "w")', language: 'python' }],
    ['runTests', { target: 't' }], ['createSandbox', { envs: { MADE: 'x' } }], ['openPR', { title: 'x', draft: false }],
  ];

  for (const [name, args] of calls)
    good(await s.call(name, args));
  const { msg } = await s.mcp.request('tools/list');
  const mutating = msg.result.tools.filter((tool) => !tool.annotations.readOnlyHint).map((tool) => tool.name);

  assert.deepEqual(mutating.filter((name) => !calls.some(([called]) => called === name)).sort(),
    ['killProcess', 'writeProcessInput'], 'which have nothing to change here');
  assert.equal(manifestDigest(s.cwd), before);
  assert.deepEqual((await s.artifacts()).map((a) => a.name), ['dry-run.patch', 'pull-request.patch']);
  assert.equal(await s.text('art_1'), calls.find(([name]) => name === 'applyDiff')[1].patch);
});
