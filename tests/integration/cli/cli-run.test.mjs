// SPDX-License-Identifier: Apache-2.0
// build: release
// `acpd run`: one prompt, its text or one JSON object, and an exit code that says how the turn ended.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { status } from '../../lib/procs.mjs';
import { textOf } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { journalOf, turnsOf } from '../ledger.mjs';
import { acpd } from '../run.mjs';

let d;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'caller', quirks: 'claude' }] });
});
after(() => endInOrder(d));

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
  // limits of the agent and its model are no budgets of ours: those name what was reached in stopDetail
  const cases = [['end_turn', 0], ['refusal', 3], ['max_tokens', 1], ['max_turn_requests', 1], ['cancelled', 5]];

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
        // with --json nothing is printed before the end: then it has come when the session's journal has it
        const told = async () => (await sessions()).some((s) => s.state === 'busy' && textOf(journalOf(d, s.sessionId))?.includes('"text":"begun"'));

        await until(() => (args.length ? told() : out.stdout.includes('begun')), 'it has begun');
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

const begun = async (out) => {
  while (!out.stdout.includes('begun'))
    await new Promise((resolve) => { setTimeout(resolve, 20); });
};
// Two of a kind could become one, so the kinds alternate, and the third comes when the first two have been taken.
const taken = async ({ pid }) => {
  await until(() => /^0*$/.test(status(pid)?.ShdPnd ?? ''), 'it has taken the signals');
};
const interrupt = async (child) => {
  for (const signal of ['SIGINT', 'SIGTERM'])
    child.kill(signal);
  await taken(child);
};

test('a second SIGINT deletes the session although its turn goes on', async () => {
  const before = await sessions();
  const { code, signal, stderr } = await run('nocancel\necho begun\nsleep 60000', [], {
    timeout: 60000,
    started: async (child, out) => {
      await begun(out);
      await interrupt(child);
    },
  });

  assert.deepEqual([code, signal, stderr], [5, null, '']);
  assert.deepEqual(await sessions(), before);
});

test('a third SIGINT leaves a daemon that does not answer, and says what stays', async (t) => {
  t.after(() => d.child.kill('SIGCONT'));
  const { code, signal, stderr } = await run('nocancel\necho begun\nsleep 60000', [], {
    timeout: 60000,
    started: async (child, out) => {
      await begun(out);
      d.child.kill('SIGSTOP');
      await interrupt(child);
      child.kill('SIGINT');
    },
  });

  assert.deepEqual([code, signal], [5, null]);
  assert.match(stderr, /^acpd: session sess_\w+ stays: session\/delete puts it away\n$/);
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

test('nothing is left of a run, however it ended; with --keep its session, closed', async () => {
  await run('echo x\ncrash exit 1');
  await run('echo x\nstop refusal');
  await until(async () => (await sessions()).length === 0, 'no session, also of the runs before');
  const { sessionId } = JSON.parse((await run('echo kept', ['--keep', '--json'])).stdout);

  assert.deepEqual((await sessions()).map((s) => [s.sessionId, s.state]), [[sessionId, 'closed']]);
  await until(async () => await d.metric('acpd_harnesses') === 0, 'no harness, also of the runs before');
});

test('--env gives variables: by value, or ours by name; one that is not there is named', async () => {
  const { stdout } = await run('env A\necho  \nenv MINE', ['--env', 'A=1,2 = 3', '--env', 'MINE'], { env: { MINE: 'passed on' } });

  assert.equal(stdout, 'env:A=1,2 = 3 env:MINE=passed on\n');
  const missing = await run('echo x', ['--env', 'NOT_THERE'], { env: { NOT_THERE: null } });
  assert.deepEqual([missing.code, missing.stdout], [2, '']);
  assert.match(missing.stderr, /NOT_THERE/);
  const bad = await run('echo x', ['--env', '1"\\ =x']);
  assert.deepEqual([bad.code, /^acpd: [^\n]+\n$/.test(bad.stderr)], [1, true], bad.stderr);
});

test('--budget limits the turn: exit 4; what is no budget is named', async () => {
  const { code } = await run('tool t1 read A\ntool t2 read B\ntool t3 read C\nsleep 30000', ['--budget', 'toolCalls=1', '--budget', 'seconds=90']);

  assert.equal(code, 4);
  for (const [budget, exit] of [['toolCalls', 2], ['toolCalls=many', 2], ['frobs=1', 1]]) {
    const r = await run('echo x', ['--budget', budget]);
    assert.deepEqual([r.code, r.stderr.includes(budget.split('=')[0])], [exit, true], r.stderr);
  }
});

test('--archive fills the working directory: from a file, and by the digest of what the daemon has', async () => {
  const tree = path.join(d.dir, 'tree'), file = path.join(d.dir, 'tree.tar');

  fs.mkdirSync(tree);
  fs.writeFileSync(path.join(tree, 'inside.txt'), 'from the archive\n');
  spawnSync('tar', ['-C', tree, '-cf', file, '.']);
  const digest = `sha256:${createHash('sha256').update(fs.readFileSync(file)).digest('hex')}`;

  for (const [i, archive] of [file, digest].entries()) {
    const cwd = path.join(d.dir, `filled-${i}`);

    fs.mkdirSync(cwd);
    const { code, stdout, stderr } = await run('echo done', ['--archive', archive, '--cwd', cwd]);
    assert.deepEqual([code, stdout, stderr], [0, 'done\n', '']);
    assert.equal(fs.readFileSync(path.join(cwd, 'inside.txt'), 'utf8'), 'from the archive\n');
  }
  spawnSync('tar', ['-C', d.dir, '-rf', file, 'tree']);
  for (const [i, [strip, names, told]] of [['auto', ['inside.txt', 'tree'], ''], ['1', ['inside.txt'], 'left out 1:\n  STRIPPED: inside.txt\n']].entries()) {
    const cwd = path.join(d.dir, `stripped-${i}`);

    fs.mkdirSync(cwd);
    const { code, stdout, stderr } = await run('echo done', ['--archive', file, '--strip', strip, '--cwd', cwd]);
    assert.deepEqual([code, stdout, stderr], [0, 'done\n', told]);
    assert.deepEqual(fs.readdirSync(cwd).sort(), names);
  }
  const alone = await run('echo x', ['--strip', 'auto']);
  assert.deepEqual([alone.code, alone.stderr], [2, 'acpd: --strip: what of? it goes with --archive\n']);
  const missing = await run('echo x', ['--archive', path.join(d.dir, 'no.tar')]);
  assert.deepEqual([missing.code, /no\.tar/.test(missing.stderr)], [1, true]);
});

test('--provider is a file with an object; its key is in no argument list', async () => {
  const file = path.join(d.dir, 'provider.json');

  fs.writeFileSync(file, '{"api": "anthropic",\n "baseUrl": "http://127.0.0.1:9/v1", "key": "k-0123456789", "model": "stub-large"}\n');
  const given = await run('echo ok', ['--harness', 'caller', '--provider', file]);
  assert.deepEqual([given.code, given.stderr], [0, '']);
  fs.writeFileSync(file, '{"api":\n}');
  const broken = await run('echo x', ['--provider', file]);
  assert.equal(broken.code, 2);
  assert.match(broken.stderr, /provider\.json: not valid JSON, line 2, column 1/);
});

test('--model chooses the model; one that the harness does not have is refused', async () => {
  const { sessionId, exitCode } = JSON.parse((await run('echo ok', ['--model', 'stub-large', '--json'])).stdout);

  assert.equal(exitCode, 0);
  assert.equal(turnsOf(d, sessionId)[0].model, 'stub-large');
  const unknown = await run('echo ok', ['--model', 'stub-huge']);
  assert.deepEqual([unknown.code, /_meta\.acpd\.model/.test(unknown.stderr)], [1, true], unknown.stderr);
});
