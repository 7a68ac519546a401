// SPDX-License-Identifier: Apache-2.0
// --agent-uids: which session has which uid, for how long, with whom it shares it, and what is left of it. Root only.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { rootHasNamespaces } from '../../../lib/namespaces.mjs';
import * as procs from '../../../lib/procs.mjs';
import { AGENT, freed, freeUids, ready, refused, startWithUids, tell, uidOf, userOf } from '../../../lib/users.mjs';
import { until } from '../../../lib/wait.mjs';
import { isRoot, upload } from '../../../lib/workspace.mjs';
import { homely, homeOf } from '../../ledger.mjs';

const skip = !isRoot && 'needs root';
const agent = Number(spawnSync('id', ['-u', AGENT]).stdout);
let d, c, n = 0;

// A directory below the daemon's, of that owner.
function newDir(uid = 0, dir = path.join(d.dir, `of-${uid}-${++n}`)) {
  fs.mkdirSync(dir);
  fs.chownSync(dir, uid, uid);
  fs.chmodSync(dir, 0o755);
  return dir;
}

const open = (meta, cwd = newDir()) => c.newSession({ cwd, meta: { harness: 'homely', ...meta } });
const handedOver = (name = `handed-${++n}`) => open({ workspace: { chown: true } }, path.join(d.wsDir, name));
const remove = (s) => c.call('session/delete', { sessionId: s.sessionId });
const statusOf = async (s) => (await c.call('_acpd/status', {})).sessions.find((one) => one.sessionId === s.sessionId);
const claims = () => fs.readdirSync(path.join(d.stateDir, 'uids'));

describe('uids of sessions', { skip }, () => {
  before(async () => {
    d = await startWithUids({ harnesses: [{ ...homely(), capabilities: { loadSession: true } }] });
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  test('each session has one of its own, with the group of the same number and a home of its own', async () => {
    const a = await open(), b = await open();

    for (const s of [a, b]) {
      const uid = uidOf(s), home = homeOf(d, s.sessionId);

      assert.ok(uid >= d.first && uid <= d.last, JSON.stringify(userOf(s)));
      assert.deepEqual(userOf(s), { name: `agent-${uid}`, uid: 'own' });
      assert.deepEqual((await statusOf(s)).user, userOf(s));
      assert.equal(await tell(c, s.sessionId, 'id -u; id -g; id -G; echo $HOME $USER $LOGNAME'),
        `${uid}\n${uid}\n${uid}\n${home} agent-${uid} agent-${uid}`);
      const sb = fs.statSync(home);
      assert.deepEqual([sb.uid, sb.gid, sb.mode & 0o777], [uid, uid, 0o700]);
    }
    assert.notEqual(uidOf(a), uidOf(b));
    assert.equal(await freeUids(d), 14);
    await remove(a);
    await remove(b);
    await freed(d, 16);
    assert.deepEqual(claims(), []);
  });

  test('an ephemeral workspace, one handed over, an archive, a skill: all are that uid\'s', async () => {
    const s = await open({ workspace: { ephemeral: true, archive: await upload(d, { 'a/b': 'text' }), removeOnClose: true } });
    const cwd = s._meta.acpd.cwd, h = await handedOver();

    assert.deepEqual([cwd, path.join(cwd, 'a'), path.join(cwd, 'a/b')].map((f) => fs.statSync(f).uid), [uidOf(s), uidOf(s), uidOf(s)]);
    assert.equal(fs.statSync(d.wsDir).uid, 0, 'the agent user could rename what is in it');
    assert.equal(await tell(c, s.sessionId, 'echo more >>a/b && cat a/b'), 'textmore');
    await tell(c, h.sessionId, 'touch made');
    const { patch } = await c.call('_acpd/workspace/diff', { sessionId: s.sessionId, since: 'baseline' });
    assert.match(patch, /^\+textmore/m);
    assert.equal(fs.statSync(path.join(h._meta.acpd.cwd, 'made')).uid, uidOf(h));
    await remove(s);
    await remove(h);
    await freed(d, 16);
    assert.equal(fs.existsSync(cwd), false);
    assert.ok(fs.existsSync(path.join(h._meta.acpd.cwd, 'made')), 'a workspace of the client\'s stays');
  });

  test('a directory of the agent user is worked on as that user', async () => {
    const s = await open({}, newDir(agent));

    assert.deepEqual(userOf(s), { name: AGENT, uid: 'shared' });
    assert.equal(await tell(c, s.sessionId, 'touch x && id -u'), String(agent));
    assert.equal(await freeUids(d), 16);
    await remove(s);
  });

  test('a directory of another session is worked on as that one; the uid is free when both are gone', async () => {
    const a = await handedOver();
    const b = await open({}, a._meta.acpd.cwd);

    assert.equal(uidOf(b), uidOf(a));
    assert.deepEqual(userOf(b), { name: `agent-${uidOf(a)}`, uid: 'shared', sharedWith: [a.sessionId] });
    assert.deepEqual((await statusOf(a)).user, { name: `agent-${uidOf(a)}`, uid: 'shared', sharedWith: [b.sessionId] });
    assert.equal(await freeUids(d), 15);
    await tell(c, a.sessionId, 'echo kept >/tmp/acpd-shared-$(id -u) && sleep 0.1');
    await remove(a);
    await until(() => claims().length === 1, 'the first is gone');
    assert.deepEqual((await statusOf(b)).user, { name: `agent-${uidOf(b)}`, uid: 'own' });
    assert.equal(await tell(c, b.sessionId, 'cat /tmp/acpd-shared-$(id -u)'), 'kept', 'nothing is removed under the other');
    await remove(b);
    await freed(d, 16);
    assert.equal(fs.existsSync(`/tmp/acpd-shared-${uidOf(a)}`), false);
    const again = await open({}, a._meta.acpd.cwd); // the tree is still that uid's
    assert.deepEqual(userOf(again), { name: `agent-${uidOf(a)}`, uid: 'own' });
    await remove(again);
    await freed(d, 16);
  });

  test('a way that others may change leads to no uid of another session', async () => {
    const a = await handedOver(), b = await handedOver();
    const link = path.join(b._meta.acpd.cwd, 'link'), opened = path.join(d.dir, `open-${++n}`);

    await tell(c, b.sessionId, `ln -s ${a._meta.acpd.cwd} link`);
    newDir(0, opened);
    fs.chmodSync(opened, 0o777);
    newDir(uidOf(a), path.join(opened, 'tree'));
    for (const cwd of [link, path.join(opened, 'tree')]) {
      const e = await refused(open({}, cwd));

      assert.deepEqual([e.code, e.data.reason, e.data.field], [-32602, 'CWD_NOT_ACCESSIBLE', 'cwd']);
    }
    fs.symlinkSync(a._meta.acpd.cwd, path.join(d.dir, `fine-${n}`)); // of root, where only root writes
    const s = await open({}, path.join(d.dir, `fine-${n}`));
    assert.equal(uidOf(s), uidOf(a));
    for (const one of [a, b, s])
      await remove(one);
    await freed(d, 16);
  });

  test('a fork works on the same tree, so it shares the uid; its copied home is that uid\'s', async () => {
    const a = await open();

    await c.prompt(a.sessionId, 'echo remember');
    await tell(c, a.sessionId, 'mkdir -p $HOME/deep && echo x >$HOME/deep/f');
    const f = await c.call('session/fork', { sessionId: a.sessionId, cwd: (await statusOf(a)).cwd, mcpServers: [] }, { timeout: 30000 });
    assert.deepEqual(userOf(f), { name: `agent-${uidOf(a)}`, uid: 'shared', sharedWith: [a.sessionId] });
    for (const name of ['.', 'deep', 'deep/f'])
      assert.equal(fs.statSync(path.join(homeOf(d, f.sessionId), name)).uid, uidOf(a), name);
    await remove(a);
    assert.equal(await tell(c, f.sessionId, 'cat $HOME/deep/f'), 'x');
    await remove(f);
    await freed(d, 16);
  });

  test('a session keeps its uid over restarts, also of a kill, and nobody gets it meanwhile', async () => {
    const a = await open();
    const uid = uidOf(a), cwd = (await statusOf(a)).cwd;

    await tell(c, a.sessionId, 'echo mine >$HOME/own');
    for (const end of ['stop', 'kill9']) {
      await c.close();
      await (end === 'stop' ? d.stop({ keep: true }) : d.kill9());
      await d.restart();
      c = await d.client();
      const others = [await open(), await open()]; // before anybody has asked for the first
      assert.ok(others.every((s) => uidOf(s) !== uid));
      const again = await c.load(a.sessionId, { cwd });
      assert.deepEqual(userOf(again), { name: `agent-${uid}`, uid: 'own' });
      assert.equal(await tell(c, a.sessionId, 'cat $HOME/own && id -u'), `mine\n${uid}`);
      for (const s of others)
        await remove(s);
      await freed(d, 15);
    }
    await remove(a);
    await freed(d, 16);
  });

  test('what it leaves goes with the session: processes, files, shared memory; what is others\' stays', async () => {
    const s = await open(), uid = uidOf(s), theirs = `/tmp/acpd-theirs-${uid}`;

    fs.writeFileSync(theirs, 'root\'s');
    const places = ['/tmp', '/var/tmp', '/dev/shm'].filter((dir) => fs.existsSync(dir)).map((dir) => `${dir}/acpd-left-${uid}`);
    await tell(c, s.sessionId, `for f in ${places.join(' ')}; do mkdir -p $f/deep/er && echo x >$f/deep/er/x && chmod 0 $f/deep/er && ln -s ${theirs} $f.link || exit 1; done`);
    await tell(c, s.sessionId, 'ipcmk -M 4096 -S 1 -Q');
    await c.prompt(s.sessionId, 'fork clearenv');
    const owned = (table) => fs.readFileSync(`/proc/sysvipc/${table}`, 'utf8').split('\n').filter((l) => l.split(/\s+/).includes(String(uid))).length;
    assert.deepEqual(['shm', 'sem', 'msg'].map(owned), [1, 1, 1]);
    await remove(s);
    await freed(d, 16);
    for (const place of places)
      assert.deepEqual([fs.existsSync(place), fs.lstatSync(`${place}.link`, { throwIfNoEntry: false })], [false, undefined], place);
    assert.equal(fs.readFileSync(theirs, 'utf8'), 'root\'s');
    assert.deepEqual(['shm', 'sem', 'msg'].map(owned), [0, 0, 0]);
    assert.equal(spawnSync('pgrep', ['-u', String(uid)], { encoding: 'utf8' }).stdout, '');
    fs.unlinkSync(theirs);
  });

  test('a working directory in /tmp that is the uid\'s stays when all else of it goes', async () => {
    const dir = `/tmp/acpd-cwd-${d.first}`;
    const s = await open({ workspace: { chown: true } }, dir);

    await tell(c, s.sessionId, 'echo work >file; touch /tmp/acpd-else-$(id -u)');
    await remove(s);
    await freed(d, 16);
    assert.equal(fs.readFileSync(`${dir}/file`, 'utf8'), 'work\n');
    assert.equal(fs.existsSync(`/tmp/acpd-else-${uidOf(s)}`), false);
    fs.rmSync(dir, { recursive: true });
  });

  test('a daemon that is killed in the middle of a removal leaves the uid taken, and the next one goes on', async () => {
    const s = await open(), uid = uidOf(s), left = `/tmp/acpd-crash-${uid}`;

    await tell(c, s.sessionId, `touch ${left}`);
    await c.close();
    await d.kill9();
    const entry = path.join(d.stateDir, 'removed', s.sessionId);
    fs.mkdirSync(entry);
    fs.renameSync(path.join(d.stateDir, 'sessions', `${s.sessionId}.jsonl`), path.join(entry, 'journal'));
    assert.deepEqual(claims(), [`${uid}.${s.sessionId}`]);
    await d.restart();
    c = await d.client();
    await freed(d, 16);
    assert.equal(fs.existsSync(left), false);
    assert.deepEqual(claims(), []);
  });

  test('a refused request takes none', async () => {
    const free = await freeUids(d), homes = fs.readdirSync(path.join(d.stateDir, 'homes')).length;

    for (const [reason, cwd, meta] of [['CWD_NOT_FOUND', path.join(d.dir, 'nowhere')], ['CWD_NOT_DIRECTORY', d.harnessFile],
      ['CHOWN_REFUSED', newDir(4711), { workspace: { chown: true } }]])
      assert.equal((await refused(open(meta, cwd))).data.reason, reason);
    assert.equal(await freeUids(d), free);
    assert.deepEqual(claims(), []);
    assert.equal(fs.readdirSync(path.join(d.stateDir, 'homes')).length, homes);
  });
});

describe('the range', { skip }, () => {
  const begin = async (t, opts) => {
    d = await startWithUids({ harnesses: [homely()], ...opts }, 2);
    t.after(() => d.discard());
    c = await d.client();
  };

  test('who comes when none is left is refused, and nothing changes; an earlier one that is deleted makes room', async (t) => {
    await begin(t);
    const a = await open(), b = await open();
    const e = await refused(open());

    assert.deepEqual([e.code, e.data.reason], [-32603, 'AGENT_UIDS_EXHAUSTED']);
    assert.equal(fs.readdirSync(path.join(d.stateDir, 'homes')).length, 2);
    assert.equal((await refused(open({ workspace: { ephemeral: true } }))).data.reason, 'AGENT_UIDS_EXHAUSTED');
    assert.deepEqual(fs.readdirSync(d.wsDir), []);
    assert.equal(userOf(await open({}, newDir(agent))).name, AGENT);
    await remove(a);
    await freed(d, 1);
    assert.equal(uidOf(await open()), uidOf(a));
    assert.notEqual(uidOf(a), uidOf(b));
    const { isolation } = await ready(d);
    assert.equal(isolation.sharedUser, false);
    assert.deepEqual(isolation.agentUids, { first: d.first, last: d.last, free: 0, unnamed: 2 });
    const doctor = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' });
    assert.match(doctor.stdout, /^ok +sessions +have uids of their own, \d+ to \d+: 0 are free$/m);
    assert.match(doctor.stdout, /^FAIL agent uids +2 lack a user or group/m);
    await endInOrder(d, c);
  });

  test('without a cgroup, too, what hides by its environment ends with the session, and nothing of another', { skip: !rootHasNamespaces && 'no namespaces' }, async (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-no-cgroup-')), program = path.join(dir, 'acpd');

    fs.writeFileSync(program, `#!/bin/sh\nexec unshare --mount sh -c 'mount -t tmpfs -o ro none /sys/fs/cgroup && exec ${ACPD} "$@"' sh "$@"\n`, { mode: 0o755 });
    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    await begin(t, { program });
    assert.match(spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' }).stdout, /^-- +cgroup +none/m);
    const family = async (s) => {
      const from = c.updates.length;

      await c.prompt(s.sessionId, 'fork clearenv; fork bogusenv');
      return c.chunks(s.sessionId, from).join(' ').match(/\d+/g).map(Number);
    };
    const a = await open(), b = await open(), ofA = await family(a), ofB = await family(b);
    const alive = (list) => list.filter((pid) => procs.alive(pid));
    assert.deepEqual([alive(ofA), alive(ofB)], [ofA, ofB]);
    await c.call('session/close', { sessionId: a.sessionId });
    await until(() => !alive(ofA).length, 'they have ended');
    assert.deepEqual(alive(ofB), ofB);
    await c.call('session/close', { sessionId: b.sessionId });
    await until(() => !alive(ofB).length, 'they have ended');
    await endInOrder(d, c);
  });

  test('a range that cannot be is refused at the start', async () => {
    const entry = (uid) => ({ agentUser: AGENT, agentUids: uid });
    const cases = [[entry('5-4'), 'OPTION_INVALID'], [entry('0-4'), 'OPTION_INVALID'], [entry('7'), 'OPTION_INVALID'], [entry('7-8x'), 'OPTION_INVALID'],
      [entry('2147483640-2147483648'), 'OPTION_INVALID'], [entry('100000-200000'), 'OPTION_INVALID'], [{ agentUids: '100000-100001' }, 'OPTION_INVALID'],
      [{ agentUser: 'root', agentUids: '100000-100001' }, 'OPTION_INVALID'], [entry('1-10'), 'AGENT_UIDS_TAKEN'], [entry(`${agent}-${agent}`), 'OPTION_INVALID']];

    for (const [flags, reason] of cases) {
      const args = Object.entries(flags).flatMap(([k, v]) => [k === 'agentUser' ? '--agent-user' : '--agent-uids', v]);
      const { status, stderr } = spawnSync(ACPD, ['serve', '--check', '--state', path.join(d.dir, 'no'), '--run-dir', path.join(d.dir, 'nor'), ...args], { encoding: 'utf8' });

      assert.notEqual(status, 0, args.join(' '));
      assert.match(stderr, /--agent-uids/, reason);
    }
  });

  test('is one daemon\'s: another one with some of its uids does not start, and nothing of the first ends', async (t) => {
    await begin(t);
    const s = await open(), flags = (uids) => ({ agentUser: AGENT, agentUids: uids });

    const message = await Daemon.start({ flags: flags(`${d.last}-${d.last + 3}`), harnesses: [homely()] }).then(async (other) => { await other.stop(); return 'it started'; }, String);
    assert.match(message, new RegExp(`--agent-uids ${d.last}-${d.last + 3}: another daemon \\(process ${d.pid}\\)`));
    assert.equal(await tell(c, s.sessionId, 'id -u'), String(uidOf(s)));
    const beside = await Daemon.start({ flags: flags(`${d.last + 1}-${d.last + 2}`), harnesses: [homely()] });
    await beside.stop();
    await c.close();
    await d.kill9();
    await d.restart(); // the lock went with the process
    c = await d.client();
    await remove(s);
    await freed(d, 2);
    await endInOrder(d, c);
  });

  test('a uid of an earlier range stays that of its session', async (t) => {
    await begin(t);
    const s = await open(), cwd = (await statusOf(s)).cwd;

    await c.close();
    await d.stop({ keep: true });
    for (const flags of [{ agentUids: `${d.first + 4}-${d.last + 4}` }, { agentUids: null }]) {
      Object.assign(d.opts.flags, flags);
      await d.restart();
      c = await d.client();
      assert.deepEqual(userOf(await c.load(s.sessionId, { cwd })), userOf(s));
      assert.equal(await tell(c, s.sessionId, 'id -u'), String(uidOf(s)));
      if (flags.agentUids)
        await d.stop({ keep: true });
    }
    await remove(s);
    await until(() => !claims().length, 'it is given back');
    await endInOrder(d, c);
  });
});
