// SPDX-License-Identifier: Apache-2.0
// `acpd run`: one prompt, its text or one JSON object, and an exit code that says how the turn ended.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { assertNoViolations } from '../lib/acp.mjs';
import { Daemon } from '../lib/daemon.mjs';
import { acpd } from './run.mjs';

let d;

before(async () => {
  d = await Daemon.start();
});
after(async () => {
  await d?.stop();
  assertNoViolations();
});

// Over the socket, in the work directory of the test.
const run = (prompt, args = [], opts = {}) =>
  acpd(['run', '--socket', d.acpSocket, '--harness', 'stub', '-p', prompt, ...args], { cwd: d.workDir, ...opts });
const sessions = async () => JSON.parse((await acpd(['sessions', '--run-dir', d.runDir, '--json'])).stdout).sessions;

test('the text goes to standard output, tools to standard error', async () => {
  const { code, stdout, stderr } = await run('echo hi');

  assert.deepEqual([code, stdout, stderr], [0, 'hi\n', '']);
  const more = await run('think hidden\necho Grüße \necho und 世界\\nzwei\ntool t1 read Read a file\nplan\necho !');
  assert.deepEqual([more.code, more.stdout], [0, 'Grüße und 世界\nzwei!\n']);
  assert.equal(more.stderr, '[Read a file]\n');
});

test('--json writes one object', async () => {
  const { code, stdout, stderr } = await run('echo a "b"\ntool t1 read x\necho c', ['--json']);
  const { sessionId, ...rest } = JSON.parse(stdout);

  assert.deepEqual([code, stderr], [0, '']);
  assert.match(sessionId, /^sess_/);
  assert.deepEqual(rest, { stopReason: 'end_turn', text: 'a "b"c', toolCalls: 1, exitCode: 0 });
});

test('over the WebSocket it is the same', async () => {
  const args = ['run', '--url', d.url, '--token-file', d.tokenFile, '--harness', 'stub', '-p', 'echo over tcp'];
  const { code, stdout } = await acpd(args, { cwd: d.workDir });

  assert.deepEqual([code, stdout], [0, 'over tcp\n']);
});

test('the exit code says how the turn ended', async () => {
  const cases = [['end_turn', 0], ['refusal', 3], ['max_tokens', 4], ['max_turn_requests', 4], ['cancelled', 5]];

  for (const [reason, wanted] of cases) {
    const text = await run(`echo x\nstop ${reason}`);
    assert.deepEqual([text.code, text.stdout], [wanted, 'x\n'], reason);
    const json = await run(`echo x\nstop ${reason}`, ['--json']);
    const object = JSON.parse(json.stdout);
    assert.deepEqual([json.code, object.exitCode, object.stopReason], [wanted, wanted, reason]);
  }
});

test('a failed turn is 1, with the error', async () => {
  for (const prompt of ['echo x\nerror -32603 It broke', 'echo x\ncrash exit 3', 'echo x\nbadjson']) {
    const text = await run(prompt);

    assert.equal(text.code, 1, prompt);
    assert.match(text.stderr, /^acpd: [^\n]+\n$/);
    const json = await run(prompt, ['--json']);
    const object = JSON.parse(json.stdout);
    assert.deepEqual([json.code, object.exitCode, object.error.data.reason], [1, 1, 'TURN_FAILED'], prompt);
    assert.equal(object.text, 'x');
    assert.equal(typeof object.error.data.turn.class, 'string');
  }
});

test('a session that cannot be opened is 1', async () => {
  const other = await acpd(['run', '--socket', d.acpSocket, '--harness', 'no-such', '-p', 'x'], { cwd: d.workDir });
  const cwd = await run('echo x', ['--cwd', path.join(d.dir, 'missing')]);

  for (const { code, stdout, stderr } of [other, cwd]) {
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^acpd: [^\n]+\n$/);
  }
});

test('SIGINT cancels the turn and ends with 5; the session is not left running', async () => {
  const open = async () => (await sessions()).filter((s) => s.state !== 'closed').length;

  for (const args of [[], ['--json']]) {
    const before = await open();
    const { code, signal, stdout } = await run('echo begun\nsleep 60000\necho never', args, {
      timeout: 10000,
      started: async (child, out) => {
        while (args.length ? !(await sessions()).some((s) => s.state === 'busy') : !out.stdout.includes('begun'))
          await new Promise((resolve) => { setTimeout(resolve, 20); });
        child.kill('SIGINT');
      },
    });

    assert.deepEqual([code, signal], [5, null]);
    assert.ok(stdout.includes('begun') && !stdout.includes('never'));
    if (args.length)
      assert.equal(JSON.parse(stdout).stopReason, 'cancelled');
    assert.equal(await open(), before);
  }
});

test('SIGTERM ends it the same way', async () => {
  const { code, signal } = await run('echo begun\nsleep 60000', [], {
    timeout: 10000,
    started: async (child, out) => {
      while (!out.stdout.includes('begun'))
        await new Promise((resolve) => { setTimeout(resolve, 20); });
      child.kill('SIGTERM');
    },
  });

  assert.deepEqual([code, signal], [5, null]);
});

test('permissions are rejected, unless --permissions allow', async () => {
  assert.equal((await run('perm t1')).stdout, 'permission:reject\n');
  assert.equal((await run('perm t1', ['--permissions', 'allow'])).stdout, 'permission:allow\n');
  const { code, stderr } = await run('perm t1', ['--permissions', 'maybe']);
  assert.equal(code, 2);
  assert.match(stderr, /--permissions/);
});

test('what the client cannot do is refused, and the turn goes on', async () => {
  assert.equal((await run('fs\nelicit\nask terminal/create {"command":"x"}\necho !')).stdout,
    'fs:error -32601elicit:unavailableask:error -32601!\n');
});

test('the working directory is where it was started, or --cwd', async () => {
  const dir = path.join(d.workDir, 'sub dir');

  fs.mkdirSync(dir);
  assert.equal((await run('cwd')).stdout, `cwd:${d.workDir}\n`);
  assert.equal((await run('cwd', [], { cwd: dir })).stdout, `cwd:${dir}\n`);
  assert.equal((await run('cwd', ['--cwd', dir])).stdout, `cwd:${dir}\n`);
});

test('the prompt from standard input with -p -, as a pipe and as a file', async () => {
  const file = path.join(d.dir, 'prompt.txt');
  const big = `echo ${'x'.repeat(500000)}\n`;

  assert.equal((await run('-', [], { input: 'echo from a pipe\necho !' })).stdout, 'from a pipe!\n');
  fs.writeFileSync(file, big);
  const stdin = fs.openSync(file);
  const { code, stdout } = await run('-', [], { stdin });
  fs.closeSync(stdin);
  assert.deepEqual([code, stdout.length], [0, 500001]);
});

test('every option has its variable', async () => {
  const env = { ACPD_SOCKET: d.acpSocket, ACPD_HARNESS: 'stub', ACPD_PROMPT: 'cwd\nperm t', ACPD_CWD: d.workDir, ACPD_PERMISSIONS: 'allow' };
  const { code, stdout, stderr } = await acpd(['run'], { clean: true, env });

  assert.deepEqual([code, stdout], [0, `cwd:${d.workDir}permission:allow\n`], stderr);
  const url = { ACPD_URL: d.url, ACPD_TOKEN_FILE: d.tokenFile, ACPD_RUN_DIR: '/nowhere' };
  assert.equal((await acpd(['run', '-p', 'echo by url'], { clean: true, env: url, cwd: d.workDir })).stdout, 'by url\n');
});

test('usage errors are 2', async () => {
  for (const args of [['run'], ['run', '-p'], ['run', '--socket', d.acpSocket], ['run', '-p', 'x', 'y'], ['run', '-p', 'x', '--json=yes'],
    ['run', '-p', 'x', '--url', 'ftp://x/']]) {
    const { code, stdout, stderr } = await acpd(args, { cwd: d.workDir });

    assert.deepEqual([code, stdout], [2, ''], `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, /^acpd: [^\n]+\n$/);
  }
});

test('not reachable or not claimed is 6, with --json too', async () => {
  const own = await Daemon.start({ token: null });
  const targets = [['--socket', path.join(d.dir, 'none.sock')], ['--url', 'ws://127.0.0.1:1/acp'], ['--socket', own.acpSocket],
    ['--url', own.url, '--token-file', d.tokenFile]];

  try {
    for (const target of targets) {
      for (const json of [[], ['--json']]) {
        const { code, stderr } = await acpd(['run', ...target, '-p', 'x', ...json], { cwd: d.workDir });

        assert.equal(code, 6, `${target.join(' ')} ${json}: ${stderr}`);
        assert.match(stderr, /^acpd: [^\n]+\n$/);
      }
    }
    await own.stop();
  } finally {
    await own.discard();
  }
});

test('a daemon that goes away in the middle is 1', async () => {
  const own = await Daemon.start();

  try {
    const { code, stdout } = await acpd(['run', '--socket', own.acpSocket, '-p', 'echo begun\nsleep 60000'], {
      cwd: own.workDir, timeout: 15000,
      started: async (child, out) => {
        while (!out.stdout.includes('begun'))
          await new Promise((resolve) => { setTimeout(resolve, 20); });
        own.child.kill('SIGKILL');
      },
    });

    assert.equal(code, 1);
    assert.ok(stdout.startsWith('begun'));
  } finally {
    await own.discard();
  }
});

test('no session stays open after a run, however it ended', async () => {
  await run('echo x\ncrash exit 1');
  await run('echo x\nstop refusal');
  const left = (await sessions()).filter((s) => s.state !== 'closed');

  assert.deepEqual(left.map((s) => [s.sessionId, s.state]), []);
  const { children } = (await d.http('/ready', { token: d.token })).json;
  assert.equal(children, 0, 'and no harness');
});
