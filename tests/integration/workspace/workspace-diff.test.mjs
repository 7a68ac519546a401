// SPDX-License-Identifier: Apache-2.0
// What changed in a workspace: _acpd/workspace/diff and the diff of each turn, as git applies them.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { Stream } from '../../lib/events.mjs';
import { until } from '../../lib/wait.mjs';
import { applied, copyOf, newCwd, treeOf, upload } from '../../lib/workspace.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const TREE = {
  'src/a.txt': 'one\ntwo\nthree\n', 'run.sh': { data: '#!/bin/sh\n', mode: 0o755 }, link: { link: 'src/a.txt' }, 'latin1.txt': Buffer.from('caf\xe9\n', 'latin1'),
  'bin.dat': Buffer.from([0, 1, 2, 3, 255]), 'old/gone.txt': 'bye\n', '.gitignore': 'ignored/\n*.log\n',
};
const diff = (sessionId, params) => c.call('_acpd/workspace/diff', { sessionId, ...params });
const patchOf = (r) => Buffer.from(r.patch);
const artifacts = async (sessionId) => (await c.call('_acpd/artifact/list', { sessionId })).artifacts;
const deliver = (sessionId, what) => c.call('_acpd/workspace/materialize', { sessionId, ...what });
const filesOf = (r) => [...r.patch.matchAll(/^diff --git a\/(\S+) /gm)].map((m) => m[1]);
const remove = (sessionId) => c.call('session/delete', { sessionId });

// The bytes of an artifact, over HTTP and over ACP, which must be the same.
async function content(sessionId, id) {
  const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/artifacts/${id}`, { headers: { Authorization: `Bearer ${d.token}` } });
  const bytes = Buffer.from(await res.arrayBuffer());
  const got = await c.call('_acpd/artifact/get', { sessionId, id });

  assert.equal(res.status, 200);
  assert.deepEqual(got.text === undefined ? Buffer.from(got.base64, 'base64') : Buffer.from(got.text), bytes);
  assert.equal(got.artifact.sha256, `sha256:${crypto.createHash('sha256').update(bytes).digest('hex')}`);
  assert.equal(got.artifact.size, bytes.length);
  return bytes;
}

async function start(meta = {}, cwd = newCwd(d)) {
  const archive = await upload(d, TREE);
  const s = await c.newSession({ cwd, meta: { workspace: { archive }, ...meta } });

  return { id: s.sessionId, cwd, old: copyOf(cwd) };
}

// Everything that can change at once.
function change(cwd) {
  fs.writeFileSync(`${cwd}/src/a.txt`, 'one\n2\nthree');
  fs.writeFileSync(`${cwd}/bin.dat`, Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7) & 255)));
  fs.writeFileSync(`${cwd}/latin1.txt`, Buffer.from('caf\xe9s\n', 'latin1'));
  fs.rmSync(`${cwd}/old`, { recursive: true });
  fs.chmodSync(`${cwd}/run.sh`, 0o644);
  fs.rmSync(`${cwd}/link`);
  fs.symlinkSync('run.sh', `${cwd}/link`);
  fs.mkdirSync(`${cwd}/new/dir`, { recursive: true });
  fs.writeFileSync(`${cwd}/new/dir/with space \t"quote".txt`, 'n\n');
  fs.writeFileSync(`${cwd}/new/exec`, '', { mode: 0o755 });
  fs.chmodSync(`${cwd}/new/exec`, 0o755);
  fs.writeFileSync(`${cwd}/x.log`, 'ignored');
  fs.mkdirSync(`${cwd}/ignored`);
  fs.writeFileSync(`${cwd}/ignored/f`, 'ignored');
}

const without = (tree, ...names) => Object.fromEntries(Object.entries(tree).filter(([k]) => !names.includes(k)));

describe('_acpd/workspace/diff', () => {
  test('since the baseline: git makes the new tree of the old one', async () => {
    const { id, cwd, old } = await start();

    const { state, ...nothing } = await diff(id);

    assert.deepEqual(nothing, { patch: '', files: 0, insertions: 0, deletions: 0, omitted: [], omittedTotal: 0 });
    assert.equal(state, crypto.createHash('sha256').digest('hex'), 'of no change');
    change(cwd);
    const r = await diff(id, { since: 'baseline' });
    assert.equal(r.files, 8);
    assert.deepEqual(applied(patchOf(r), old), without(treeOf(cwd), 'x.log', 'ignored/f'));
    assert.deepEqual(await diff(id), r, 'looking changes nothing');
    assert.deepEqual(await artifacts(id), []);
    await remove(id);
  });

  test('since a turn', async () => {
    const { id, cwd, old } = await start();

    await c.prompt(id, 'write one.txt 1');
    const one = copyOf(cwd);
    await c.prompt(id, 'write two.txt 2; write one.txt again');
    const two = copyOf(cwd);
    await c.prompt(id, 'write src/a.txt x');
    fs.writeFileSync(`${cwd}/after.txt`, 'after the turns');
    for (const [since, tree] of [['baseline', old], [1, one], [2, two]])
      assert.deepEqual(applied(patchOf(await diff(id, { since })), tree), treeOf(cwd), `since ${since}`);
    assert.deepEqual(Object.keys(applied(patchOf(await diff(id, { since: 3 })), two)).includes('after.txt'), true);
    await remove(id);
  });

  test('what is not there to be compared with', async () => {
    const { id } = await start();
    const plain = await c.newSession({ cwd: newCwd(d) });
    const asked = await c.newSession({ cwd: newCwd(d), meta: { workspace: { baseline: true } } });
    const unwanted = await c.newSession({ cwd: newCwd(d), meta: { workspace: { archive: await upload(d, TREE), baseline: false } } });
    const BAD = [
      [id, { since: 1 }, 'since', 'FIELD_OUT_OF_RANGE'], [id, { since: 0 }, 'since', 'FIELD_INVALID'], [id, { since: -1 }, 'since', 'FIELD_INVALID'],
      [id, { since: 'turn' }, 'since', 'FIELD_INVALID'], [id, { since: 1.5 }, 'since', 'FIELD_INVALID'], [id, { since: {} }, 'since', 'FIELD_INVALID'],
      [id, { until: 1 }, 'until', 'PARAM_UNSUPPORTED'], ['sess_0', {}, undefined, 'SESSION_NOT_FOUND'],
      [plain.sessionId, {}, undefined, 'NO_BASELINE'], [unwanted.sessionId, {}, undefined, 'NO_BASELINE'],
    ];

    for (const [sessionId, params, field, reason] of BAD) {
      const e = await c.fails('_acpd/workspace/diff', { sessionId, ...params });

      assert.deepEqual([e.data.reason, e.data.field], [reason, field]);
    }
    await c.prompt(plain.sessionId, 'write x y');
    assert.deepEqual(await artifacts(plain.sessionId), []);
    await c.prompt(asked.sessionId, 'write x y');
    assert.equal((await diff(asked.sessionId)).files, 1);
    assert.equal((await artifacts(asked.sessionId)).length, 1);
    for (const s of [id, plain.sessionId, asked.sessionId, unwanted.sessionId])
      await remove(s);
    assert.deepEqual(fs.readdirSync(path.join(d.stateDir, 'snapshots')), []);
    assert.deepEqual(fs.readdirSync(path.join(d.stateDir, 'artifacts')), []);
  });

  test('a repository in the workspace is not looked into', async () => {
    const { id, cwd, old } = await start();
    const git = (...args) => execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.org', ...args], { cwd, stdio: 'pipe' });

    git('init', '-q');
    fs.writeFileSync(`${cwd}/.git/config`, `${fs.readFileSync(`${cwd}/.git/config`)}\n[core]\n\tfsmonitor = touch ${cwd}/pwned\n\tworktree = /etc\n`);
    fs.mkdirSync(`${cwd}/sub/.git`, { recursive: true });
    fs.writeFileSync(`${cwd}/sub/.git/x`, 'x');
    fs.writeFileSync(`${cwd}/sub/f`, 'f');
    const r = await diff(id);
    assert.equal(r.files, 1);
    assert.deepEqual(applied(patchOf(r), old)['sub/f'], 'f');
    assert.equal(fs.existsSync(`${cwd}/pwned`), false);
    await remove(id);
  });

  const IGNORING = { '.gitignore': '*.env\nbuilt/\n', 'prod.env': 'A=1\n', 'gone.env': 'x\n', 'built/a.js': 'a\n', 'built/deep/b.js': 'b\n', 'plain.txt': 'p\n' };

  test('what was there at the baseline is tracked, ignored or not; what is ignored since is told', async () => {
    const cwd = newCwd(d);
    const { sessionId: id } = await c.newSession({ cwd, meta: { workspace: { archive: await upload(d, IGNORING) } } });
    const old = copyOf(cwd);
    const left = ['built/new.js', 'local.env', 'more/built'];

    assert.deepEqual((await diff(id)).omitted, []);
    fs.mkdirSync(`${cwd}/more/built`, { recursive: true });
    fs.chmodSync(`${cwd}/more/built`, 0o777);
    await c.prompt(id, 'write prod.env A=2; write built/deep/b.js 2; write local.env x; write built/new.js x; write more/built/x x');
    fs.rmSync(`${cwd}/gone.env`);
    const one = await diff(id);
    assert.deepEqual(filesOf(one), ['built/deep/b.js', 'gone.env', 'prod.env']);
    assert.deepEqual(one.omitted, left.map((name) => ({ path: name, reason: 'IGNORED' })));
    assert.equal(one.omittedTotal, 3);
    assert.deepEqual(applied(patchOf(one), old), without(treeOf(cwd), 'built/new.js', 'local.env', 'more/built/x'));
    await c.prompt(id, 'write plain.txt 2');
    await c.prompt(id, 'write gone.env again');
    const two = await diff(id);
    assert.deepEqual(filesOf(two), ['built/deep/b.js', 'gone.env', 'plain.txt', 'prod.env'], 'of the baseline, although it was gone');
    assert.deepEqual(applied(patchOf(two), old), without(treeOf(cwd), 'built/new.js', 'local.env', 'more/built/x'));
    assert.deepEqual(filesOf(await diff(id, { since: 1 })), ['gone.env', 'plain.txt']);
    await remove(id);
  });

  test('so is what was there in a directory of the client\'s', async () => {
    const cwd = newCwd(d);

    fs.writeFileSync(`${cwd}/.gitignore`, '*.env\n');
    fs.writeFileSync(`${cwd}/prod.env`, 'A=1\n');
    const { sessionId: id } = await c.newSession({ cwd, meta: { workspace: { baseline: true } } });
    await c.prompt(id, 'write prod.env A=2');
    assert.deepEqual(filesOf(await diff(id)), ['prod.env']);
    assert.equal((await artifacts(id)).length, 1);
    await remove(id);
  });

  test('many at once, also while a turn ends', async () => {
    const { id, cwd, old } = await start();
    const turn = c.startPrompt(id, 'write w.txt 1');
    const all = await Promise.all(Array.from({ length: 8 }, () => diff(id)));

    assert.equal((await turn.answer).result.stopReason, 'end_turn');
    for (const r of all)
      assert.ok(r.files <= 1);
    assert.deepEqual(applied(patchOf(await diff(id)), old), treeOf(cwd));
    await remove(id);
  });

  test('what is too large, or no file at all, is left out and told', async () => {
    const { id, cwd } = await start();

    fs.writeFileSync(`${cwd}/huge`, Buffer.alloc(17 * 1048576, 'x'));
    execFileSync('mkfifo', [`${cwd}/pipe`]);
    fs.writeFileSync(`${cwd}/small`, 's');
    const r = await diff(id);
    assert.deepEqual(r.omitted, [{ path: 'huge', reason: 'TOO_LARGE' }, { path: 'pipe', reason: 'FIFO' }]);
    assert.equal(r.omittedTotal, 2);
    assert.equal(r.files, 1);
    await remove(id);
  });

  test('a patch too large for an answer is an artifact', async () => {
    const { id, cwd, old } = await start();
    const lines = (n) => Array.from({ length: 200000 }, (_, i) => `${n} ${i} ${'x'.repeat(40)}\n`).join('');

    for (const n of [1, 2])
      fs.writeFileSync(`${cwd}/large-${n}.txt`, lines(n));
    const r = await diff(id);
    assert.equal(r.patch, undefined);
    assert.ok(r.artifact.size > 8 * 1048576);
    assert.deepEqual([r.artifact.name, r.artifact.source, r.artifact.type, r.files], ['workspace.diff', 'diff', 'text/x-diff; charset=utf-8', 2]);
    const e = await c.fails('_acpd/artifact/get', { sessionId: id, id: r.artifact.id });
    assert.deepEqual([e.data.reason, e.data.field], ['ARTIFACT_TOO_LARGE', 'id']);
    const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${id}/artifacts/${r.artifact.id}`, { headers: { Authorization: `Bearer ${d.token}` } });
    const bytes = Buffer.from(await res.arrayBuffer());
    assert.equal(`sha256:${crypto.createHash('sha256').update(bytes).digest('hex')}`, r.artifact.sha256);
    assert.deepEqual(applied(bytes, old), treeOf(cwd));
    await remove(id);
  });

  test('after a restart it is still right', async () => {
    const { id, cwd, old } = await start();

    await c.prompt(id, 'write one.txt 1');
    const one = copyOf(cwd);
    fs.writeFileSync(`${cwd}/between.txt`, 'x');
    await c.close();
    await d.restart();
    c = await d.client();
    fs.writeFileSync(`${cwd}/later.txt`, 'y');
    const early = await diff(id).catch((e) => e.data.reason);
    await c.load(id, { cwd });
    assert.deepEqual(applied(patchOf(early), old), treeOf(cwd), 'also before it is loaded');
    await c.prompt(id, 'write two.txt 2');
    assert.deepEqual(applied(patchOf(await diff(id)), old), treeOf(cwd));
    assert.deepEqual(applied(patchOf(await diff(id, { since: 1 })), one), treeOf(cwd));
    assert.deepEqual((await artifacts(id)).map((a) => a.name), ['turn-1.diff', 'turn-2.diff']);
    await remove(id);
  });

  test('a new generation is none of the agent\'s changes, and takes none away', async () => {
    const { id, cwd, old } = await start();

    await c.prompt(id, 'write one.txt 1; write src/a.txt x');
    await deliver(id, { workspace: { archive: await upload(d, { ...without(TREE, 'old/gone.txt'), 'bin.dat': 'new', 'src/a.txt': 'theirs', 'more.txt': 'm' }) } });
    fs.rmSync(`${old}/old`, { recursive: true });
    fs.writeFileSync(`${old}/bin.dat`, 'new');
    fs.writeFileSync(`${old}/more.txt`, 'm');
    assert.deepEqual(filesOf(await diff(id)), ['one.txt', 'src/a.txt'], 'what was not delivered for a conflict stays the agent\'s');
    assert.deepEqual(applied(patchOf(await diff(id)), old), treeOf(cwd));
    assert.equal((await diff(id, { since: 1 })).files, 0);
    await c.prompt(id, 'write two.txt 2; write bin.dat agent');
    assert.deepEqual(applied(patchOf(await diff(id)), old), treeOf(cwd));
    assert.deepEqual(filesOf(await diff(id, { since: 1 })), ['bin.dat', 'two.txt']);
    assert.deepEqual((await artifacts(id)).map((a) => a.name), ['turn-1.diff', 'turn-2.diff']);
    for (let i = 0; i < 4; i++)
      await deliver(id, { harnessFiles: [{ path: `f${i}`, text: '' }] });
    await c.prompt(id, 'write three.txt 3');
    const last = await artifacts(id);
    assert.equal(last.at(-1).name, 'turn-3.diff');
    assert.deepEqual((await content(id, last.at(-1).id)).toString().match(/^diff --git.*/gm), ['diff --git a/three.txt b/three.txt']);
    await remove(id);
  });

  test('what is delivered where no snapshot looks is no change at all', async () => {
    const { id, cwd } = await start();

    await deliver(id, { workspace: { archive: await upload(d, { ...TREE, '.git/index': 'i', 'sub/.git/HEAD': 'h', 'more.txt': 'm' }) } });
    assert.equal(fs.readFileSync(`${cwd}/.git/index`, 'utf8'), 'i');
    assert.deepEqual(filesOf(await diff(id)), []);
    await c.prompt(id, 'write one.txt 1');
    assert.deepEqual(filesOf(await diff(id)), ['one.txt']);
    await remove(id);
  });
});

describe('the diff of a turn', () => {
  test('is an artifact that is told of before the turn is over', async () => {
    const { id, cwd, old } = await start();
    const seen = [];
    const note = (m) => seen.push(m.method === '_acpd/event' ? m.params.event.kind : m.method ?? 'answer');

    c.on('any', note);
    const { stopReason } = await c.prompt(id, 'write one.txt 1');
    c.off('any', note);
    assert.equal(stopReason, 'end_turn');
    assert.ok(seen.includes('artifact'), `${seen}`);
    assert.ok(seen.indexOf('artifact') < seen.indexOf('answer'), `${seen}`);
    const [a, ...more] = await artifacts(id);
    assert.deepEqual(more, []);
    assert.deepEqual([a.name, a.type, a.turn, a.source, a.id], ['turn-1.diff', 'text/x-diff; charset=utf-8', 1, 'diff', 'art_1']);
    assert.deepEqual(applied(await content(id, a.id), old), treeOf(cwd));
    const events = (await (await Stream.open(d, `/v1/sessions/${id}/events`)).until((s) => s.ended)).events;
    const at = events.findIndex((e) => e.kind === 'artifact');
    assert.ok(at >= 0 && at < events.findIndex((e) => e.kind === 'complete'), JSON.stringify(events));
    assert.deepEqual(events[at].data?.artifact ?? events[at].artifact, a);
    await remove(id);
  });

  test('each is only its own; none if nothing changed; binary and odd encodings too', async () => {
    const { id, cwd, old } = await start();

    await c.prompt(id, 'echo nothing');
    assert.deepEqual(await artifacts(id), []);
    const { step, open } = gate(d);
    const turn = c.startPrompt(id, `echo working; ${step}`);
    await c.waitUpdate((u) => u.sessionId === id && u.update.content?.text === 'working');
    change(cwd);
    open();
    await turn.answer;
    const two = copyOf(cwd);
    await c.prompt(id, 'write last.txt x');
    const [a, b, ...more] = await artifacts(id);
    assert.deepEqual([a.turn, b.turn, more], [2, 3, []]);
    assert.deepEqual(applied(await content(id, a.id), old), without(treeOf(two), 'x.log', 'ignored/f'));
    assert.deepEqual(applied(await content(id, b.id), two), treeOf(cwd));
    await remove(id);
  });

  for (const [name, prompt, check] of [
    ['cancelled', 'write half.txt x; sleep 20000', async (id, turn) => {
      await until(() => c.updatesOf(id, 'tool_call').length, 'the write');
      c.cancel(id);
      assert.equal((await turn.answer).result.stopReason, 'cancelled');
    }],
    ['failed', 'write half.txt x; error -32603 broken', async (id, turn) => assert.ok((await turn.answer).error)],
    ['of a harness that died', 'write half.txt x; crash exit 3', async (id, turn) => assert.ok((await turn.answer).error)],
  ]) {
    test(`a turn ${name} has one too`, async () => {
      const { id } = await start();

      await check(id, c.startPrompt(id, prompt));
      const [a] = await artifacts(id);
      assert.equal(a?.name, 'turn-1.diff');
      assert.match((await content(id, a.id)).toString(), /^diff --git a\/half\.txt b\/half\.txt\nnew file mode 100644/);
      await c.prompt(id, 'write next.txt x');
      assert.deepEqual((await artifacts(id)).map((one) => one.name), ['turn-1.diff', 'turn-2.diff']);
      await remove(id);
    });
  }

  test('a workspace that is gone fails no turn', async () => {
    const { id, cwd } = await start();
    const { step, open } = gate(d);
    const turn = c.startPrompt(id, `echo x; ${step}`);

    await c.waitUpdate((u) => u.sessionId === id);
    fs.rmSync(cwd, { recursive: true });
    open();
    assert.equal((await turn.answer).result.stopReason, 'end_turn');
    const events = (await (await Stream.open(d, `/v1/sessions/${id}/events`)).until((s) => s.ended)).events;
    assert.ok(events.some((e) => JSON.stringify(e).includes('snapshot_failed')), 'it is told');
    await remove(id);
  });

  test('sessions that are closed in the middle of it', async () => {
    for (const wait of [0, 3, 10, 30]) {
      const { id } = await start();
      const turn = c.startPrompt(id, 'write x.txt x');

      await new Promise((resolve) => setTimeout(resolve, wait));
      await remove(id);
      await turn.answer;
    }
    await until(() => fs.readdirSync(path.join(d.stateDir, 'snapshots')).length === 0, 'no snapshot is left');
  });
});

const helper = (dir, line) => {
  const file = path.join(dir, 'acpd-unpack');

  fs.writeFileSync(file, `#!/bin/sh\n${line}\nexec '${path.join(path.dirname(ACPD), 'acpd-unpack')}' "$@"\n`, { mode: 0o755 });
  return file;
};

test('of more files than a baseline may have, it has those that are not ignored', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-many-'));
  const refused = '{"refused":{"reason":"TOO_MANY_ENTRIES","message":"entries in the tree"}}';
  const own = await Daemon.start({ env: { ACPD_UNPACK: helper(dir, `if [ "$1" = snapshot ]; then read -r job; case $job in *'"ignore":"none"'*) echo '${refused}'; exit 3 ;; esac
    printf '%s\\n' "$job" | '${path.join(path.dirname(ACPD), 'acpd-unpack')}' "$@"; exit; fi`) } });

  try {
    const client = await own.client();
    const cwd = newCwd(own);

    fs.writeFileSync(`${cwd}/.gitignore`, '*.env\n');
    fs.writeFileSync(`${cwd}/prod.env`, 'A=1\n');
    fs.writeFileSync(`${cwd}/plain`, '1\n');
    const { sessionId } = await client.newSession({ cwd, meta: { workspace: { baseline: true } } });
    await client.prompt(sessionId, 'write prod.env A=2; write plain 2');
    const r = await client.call('_acpd/workspace/diff', { sessionId });
    assert.deepEqual(filesOf(r), ['plain']);
    assert.deepEqual(r.omitted, [{ path: 'prod.env', reason: 'IGNORED' }]);
    await client.close();
  } finally {
    await own.stop();
    fs.rmSync(dir, { recursive: true });
  }
});

test('what was delivered before the daemon ended is delivered after it, too', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-fold-'));
  const own = await Daemon.start({ env: { ACPD_UNPACK: helper(dir, `[ "$1" != fold ] || [ -e ${dir}/go ] || kill -9 $$`) } });

  try {
    let client = await own.client();
    const cwd = newCwd(own);
    const { sessionId } = await client.newSession({ cwd, meta: { workspace: { archive: await upload(own, TREE) } } });
    const files = async (since) => filesOf(await client.call('_acpd/workspace/diff', { sessionId, since }));

    await client.prompt(sessionId, 'write one.txt 1; write run.sh 1');
    for (const name of ['a', 'b'])
      await client.call('_acpd/workspace/materialize', { sessionId, workspace: { archive: await upload(own, { ...TREE, [name]: name }), mode: 'merge' } });
    await client.call('_acpd/workspace/materialize', { sessionId, harnessFiles: [{ path: 'run.sh', text: 'theirs', overwrite: true }] });
    assert.deepEqual(await files('baseline'), ['a', 'b', 'one.txt', 'run.sh'], 'it could not be recorded');
    await client.close();
    await own.kill9();
    fs.writeFileSync(`${dir}/go`, '');
    await own.restart();
    client = await own.client();
    assert.deepEqual(await files('baseline'), ['one.txt']);
    assert.deepEqual(await files(1), []);
    await client.load(sessionId, { cwd });
    await client.prompt(sessionId, 'write a agent');
    assert.deepEqual(await files('baseline'), ['a', 'one.txt']);
    assert.deepEqual(await files(1), ['a']);
    await client.close();
  } finally {
    await own.stop();
    fs.rmSync(dir, { recursive: true });
  }
});

// The helper that takes snapshots is late: what is changed as soon as the answer is there must be told as a change all the same.
test('who is told that a workspace is written may change it at once', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-late-'));
  const late = helper(dir, '[ "$1" != snapshot ] && [ "$1" != fold ] || /bin/sleep 0.5');
  const own = await Daemon.start({ env: { ACPD_UNPACK: late } });

  try {
    const client = await own.client();
    const archive = await upload(own, TREE);
    const cwd = newCwd(own);
    const changed = async () => (await client.call('_acpd/workspace/diff', { sessionId })).patch.match(/^diff --git .*$/gm);
    const { sessionId } = await client.newSession({ cwd, meta: { workspace: { archive } } });

    fs.writeFileSync(`${cwd}/first.txt`, 'x');
    assert.deepEqual(await changed(), ['diff --git a/first.txt b/first.txt']);
    await client.call('_acpd/workspace/materialize', { sessionId, workspace: { archive } });
    fs.writeFileSync(`${cwd}/second.txt`, 'x');
    assert.deepEqual(await changed(), ['diff --git a/first.txt b/first.txt', 'diff --git a/second.txt b/second.txt']);
    await client.close();
  } finally {
    await own.stop();
    fs.rmSync(dir, { recursive: true });
  }
});
