// SPDX-License-Identifier: Apache-2.0
// More sessions than uids: closed sessions give theirs to others, nobody comes to their files meanwhile, and they have them again once
// they are loaded, whatever kills the daemon. Root only.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../../lib/agent-shell.mjs';
import { endInOrder } from '../../../lib/daemon.mjs';
import { freeUids, refused, startWithUids, tell, uidOf, userOf } from '../../../lib/users.mjs';
import { until } from '../../../lib/wait.mjs';
import { isRoot } from '../../../lib/workspace.mjs';
import { homely, homeOf } from '../../ledger.mjs';

const skip = !isRoot && 'needs root';
const MANY = process.env.ACPD_TEST_LONG ? 10000 : 64, AT_ONCE = 8;
let d, c, n = 0;

async function start(count) {
  d = await startWithUids({ harnesses: [{ ...homely(), capabilities: { loadSession: true } }] }, count);
  c = await d.client();
}

const open = (meta, cwd) => c.newSession({ cwd, meta: { harness: 'homely', ...meta } });
const ephemeral = () => open({ workspace: { ephemeral: true } }, d.dir);
const handedOver = (dir = path.join(d.wsDir, `handed-${++n}`)) => open({ workspace: { chown: true } }, dir);
const close = (s) => c.call('session/close', { sessionId: s.sessionId });
const remove = (s) => c.call('session/delete', { sessionId: s.sessionId });
const cwdOf = (s) => s._meta.acpd.cwd;
const load = (s) => c.load(s.sessionId, { cwd: cwdOf(s) });
const parked = () => { const dir = path.join(d.stateDir, 'parked'); return fs.existsSync(dir) ? fs.readdirSync(dir) : []; };
const ownerOf = (file) => { const { uid, gid, mode } = fs.lstatSync(file); return [uid, gid, mode & 0o7777]; };
const SHUT = [0, 0, 0o700];

// One that has written into its home and its workspace, with a link, a hard link and a setuid program, and is closed.
async function worked(s) {
  await tell(c, s.sessionId, 'mkdir -p deep $HOME/deep && echo secret >deep/file && ln -s /etc/passwd deep/link && ln deep/file deep/hard' +
    ' && echo own >$HOME/deep/own && chmod 755 . && cp /bin/true deep/suid && chmod 4755 deep/suid && chmod 640 deep/file');
  await close(s);
  return { cwd: cwdOf(s), home: homeOf(d, s.sessionId), uid: uidOf(s) };
}

async function assertWhole(s, was, uid) {
  assert.equal(await tell(c, s.sessionId, 'cat deep/file deep/hard $HOME/deep/own; id -u'), `secret\nsecret\nown\n${uid}`);
  assert.deepEqual(ownerOf(was.cwd), [uid, uid, 0o755]);
  assert.deepEqual(ownerOf(was.home), [uid, uid, 0o700]);
  assert.deepEqual(ownerOf(path.join(was.cwd, 'deep/file')), [uid, uid, 0o640]);
  assert.deepEqual(ownerOf(path.join(was.cwd, 'deep/link')).slice(0, 2), [uid, uid]);
  assert.deepEqual(ownerOf(path.join(was.home, 'deep/own')).slice(0, 2), [uid, uid]);
  assert.deepEqual(ownerOf(path.join(was.cwd, 'deep/suid')).slice(0, 2), [uid, uid]);
  assert.deepEqual(ownerOf('/etc/passwd').slice(0, 2), [0, 0], 'links are not followed');
}

async function assertOutOfReach(s, was) {
  for (const command of [`cat ${was.cwd}/deep/file`, `cat ${was.home}/deep/own`, `ls ${was.home}`, `touch ${was.cwd}/x`]) {
    const { code, text } = await runCommand(c, s.sessionId, command);

    assert.notEqual(code, 0, `${command}: ${text}`);
  }
}

describe('a closed session', { skip }, () => {
  before(() => start(2));
  after(() => endInOrder(d, c));

  test('keeps its uid as long as nobody needs it', async () => {
    const a = await handedOver(), was = await worked(a), b = await ephemeral();

    assert.deepEqual([parked(), await freeUids(d)], [[], 0]);
    assert.deepEqual(userOf(await load(a)), { name: `agent-${was.uid}`, uid: 'own' });
    await remove(a);
    await remove(b);
    await until(async () => await freeUids(d) === 2);
  });

  test('gives it to a session that needs one, which cannot come to its files; loaded again, it has them as another uid', async () => {
    const a = await handedOver(), was = await worked(a), b = await ephemeral(), other = await ephemeral();

    assert.equal(uidOf(other), was.uid);
    assert.deepEqual([ownerOf(was.cwd), ownerOf(was.home)], [SHUT, SHUT]);
    await assertOutOfReach(other, was);
    const listed = (await c.call('_acpd/status', {})).sessions.find((s) => s.sessionId === a.sessionId);
    assert.equal(listed.user.uid, 'parked');
    assert.equal((await refused(load(a))).data.reason, 'AGENT_UIDS_EXHAUSTED', 'two are open');
    await close(b);
    const again = await load(a);
    assert.equal(uidOf(again), uidOf(b));
    await assertWhole(a, was, uidOf(b));
    await assertOutOfReach(other, was);
    assert.equal(parked().length, 1, 'now the other one is without');
    for (const s of [a, b, other])
      await remove(s);
    await until(async () => await freeUids(d) === 2 && !parked().length);
    assert.deepEqual([parked(), fs.existsSync(cwdOf(b))], [[], false]);
  });

  test('has its old uid again, and not a file changes, if nobody else has it', async () => {
    const a = await handedOver(), was = await worked(a), b = await ephemeral(), other = await ephemeral();

    await remove(other);
    await until(async () => await freeUids(d) === 1);
    assert.equal(uidOf(await load(a)), was.uid);
    await assertWhole(a, was, was.uid);
    for (const s of [a, b])
      await remove(s);
    await until(async () => await freeUids(d) === 2);
  });

  test('is compared, listed and exported all the same: its files have a uid before that', async () => {
    const a = await open({ workspace: { ephemeral: true, baseline: true } }, d.dir);
    await worked(a);
    const b = await ephemeral(), other = await ephemeral();

    await close(b);
    assert.match((await c.call('_acpd/workspace/diff', { sessionId: a.sessionId, since: 'baseline' }, { timeout: 30000 })).patch, /^\+secret/m);
    await close(other);
    const third = await ephemeral(), fourth = await ephemeral();
    assert.equal(parked().length, 3);
    await close(third);
    const get = () => fetch(`http://127.0.0.1:${d.port}/v1/sessions/${a.sessionId}/workspace`, { headers: { Authorization: `Bearer ${d.token}` } });
    const first = await get();
    assert.deepEqual([first.status, (await first.json()).error.reason], [503, 'SESSION_PARKED']);
    await until(async () => { const r = await get(); await r.arrayBuffer(); return r.status === 200; }, 'it is exported');
    for (const s of [a, b, other, third, fourth])
      await remove(s);
    await until(async () => await freeUids(d) === 2 && !parked().length);
    assert.deepEqual([parked(), fs.readdirSync(d.wsDir).filter((name) => !name.startsWith('handed'))], [[], []]);
  });

  test('that is deleted leaves its directory to the next session on it, with its files', async () => {
    const a = await handedOver(), was = await worked(a), b = await ephemeral(), other = await ephemeral();

    await remove(a);
    await until(() => !fs.existsSync(was.home));
    assert.deepEqual(ownerOf(was.cwd), SHUT);
    await close(b);
    const next = await open({}, was.cwd);
    assert.equal(await tell(c, next.sessionId, 'cat deep/file'), 'secret');
    assert.deepEqual(ownerOf(was.cwd), [uidOf(next), uidOf(next), 0o755]);
    for (const s of [b, other, next])
      await remove(s);
    await until(async () => await freeUids(d) === 2 && !parked().length); // b had no uid: its record goes with its files
  });

  // The workspace of a session that is deleted is removed beside the session's own files, and it is not said which is first.
  test('leaves no record once it is deleted, whatever its workspace takes to be removed', async () => {
    const a = await ephemeral();
    await tell(c, a.sessionId, 'for d in $(seq 100); do mkdir $d; (cd $d; for f in $(seq 100); do : >$f; done); done');
    await close(a);
    const b = await ephemeral(), other = await ephemeral();
    assert.equal(parked().length, 1);
    for (const s of [a, b, other])
      await remove(s);
    await until(async () => await freeUids(d) === 2 && !parked().length);
  });

  test('keeps its uid where it has files in a directory of somebody else\'s', async () => {
    const dir = path.join(d.dir, `open-${++n}`);

    fs.mkdirSync(dir);
    fs.chmodSync(dir, 0o777);
    const a = await open({}, dir);
    await tell(c, a.sessionId, 'echo mine >file && chmod 600 file');
    await close(a);
    const b = await ephemeral();
    assert.equal((await refused(ephemeral())).data.reason, 'AGENT_UIDS_EXHAUSTED');
    assert.deepEqual([parked(), fs.lstatSync(path.join(dir, 'file')).uid], [[], uidOf(a)]);
    for (const s of [a, b])
      await remove(s);
    await until(async () => await freeUids(d) === 2);
  });
});

describe('sessions that share a uid', { skip }, () => {
  before(() => start(2));
  after(() => endInOrder(d, c));

  test('give it and have one again together', async () => {
    const a = await handedOver(), was = await worked(a), twin = await open({}, was.cwd);

    await close(twin);
    const b = await ephemeral(), other = await ephemeral();
    assert.equal(uidOf(other), was.uid);
    assert.equal(parked().length, 1);
    await close(b);
    await load(twin);
    await load(a);
    await assertWhole(a, was, uidOf(b));
    assert.equal(await tell(c, twin.sessionId, 'id -u'), String(uidOf(b)));
    for (const s of [a, b, other, twin])
      await remove(s);
    await until(async () => await freeUids(d) === 2);
  });
});

describe('a daemon that is killed', { skip }, () => {
  before(() => start(2));
  after(() => endInOrder(d, c));

  const again = async () => { await d.restart(); c = await d.client(); };

  test('while it shuts or opens them finds all shut at its next start, and the session has its files', async () => {
    const a = await handedOver(), was = await worked(a), b = await ephemeral(), other = await ephemeral();
    await c.close();
    await d.kill9();
    const [name] = parked(), record = path.join(d.stateDir, 'parked', name);

    // as it is before the doors are shut, and as it is before the record goes
    fs.writeFileSync(record, fs.readFileSync(record, 'utf8').replace('parked', 'moving'));
    fs.chownSync(was.home, was.uid, was.uid);
    fs.chownSync(was.cwd, was.uid, was.uid);
    fs.chmodSync(was.cwd, 0o755);
    await again();
    assert.deepEqual([ownerOf(was.cwd), ownerOf(was.home)], [SHUT, SHUT]);
    await load(other);
    await assertOutOfReach(other, was);
    await load(a);
    await assertWhole(a, was, uidOf(b));
    for (const s of [a, b, other])
      await remove(s);
    await until(async () => await freeUids(d) === 2);
  });

  test('while files change their owner does it again', async () => {
    const a = await handedOver();
    await tell(c, a.sessionId, 'mkdir many && cd many && for i in $(seq 100); do : >f$i; done');
    const was = await worked(a), b = await ephemeral(), other = await ephemeral();
    await close(b);
    await c.close();
    await d.kill9();
    const record = path.join(d.stateDir, 'parked', parked()[0]), third = d.first + 9;

    // half of them had another one already
    fs.writeFileSync(record, fs.readFileSync(record, 'utf8').replace(/^uid .*\n/m, (line) => `${line}uid ${third}\n`));
    for (let i = 1; i <= 50; i++)
      fs.chownSync(path.join(was.cwd, `many/f${i}`), third, third);
    await again();
    assert.deepEqual([ownerOf(was.cwd), ownerOf(was.home)], [SHUT, SHUT]);
    await load(other);
    const loaded = await load(a);
    await assertWhole(a, was, uidOf(loaded));
    assert.notEqual(uidOf(loaded), was.uid, 'the other one has it');
    assert.equal(await tell(c, a.sessionId, 'find . ! -uid $(id -u) | wc -l'), '0');
    for (const s of [a, b, other])
      await remove(s);
    await until(async () => await freeUids(d) === 2);
  });
});

describe('many', { skip }, () => {
  before(() => start(16));
  after(() => endInOrder(d, c));

  test(`${MANY} sessions with 16 uids, and the first has its files`, async () => {
    const first = await handedOver(), was = await worked(first), made = [];

    while (made.length < MANY) {
      const some = await Promise.all(Array.from({ length: AT_ONCE }, ephemeral));

      assert.equal(new Set(some.map(uidOf)).size, AT_ONCE, 'each open one has a uid of its own');
      await Promise.all(some.map(close));
      made.push(...some);
    }
    assert.deepEqual(ownerOf(was.cwd), SHUT);
    await load(first);
    await assertWhole(first, was, uidOf(await load(first)));
    const claims = fs.readdirSync(path.join(d.stateDir, 'uids'));
    assert.equal(claims.length, 16);
    await load(made[3]);
    assert.notEqual(await tell(c, made[3].sessionId, 'id -u'), await tell(c, first.sessionId, 'id -u'));
  });
});
