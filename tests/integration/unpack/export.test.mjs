// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// GET /v1/sessions/{id}/workspace: the workspace as an archive while it is made; readers that are slow or go away.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { execFileSync, spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder, SANITIZED } from '../../lib/daemon.mjs';
import { assertGrown } from '../../lib/memory.mjs';
import { sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd, scan, treeOf, upload } from '../../lib/workspace.mjs';

let d, c, id, cwd;

before(async () => {
  d = await Daemon.start({ stub: { args: ['--additional-dirs'], capabilities: { loadSession: true, sessionCapabilities: { additionalDirectories: {} } } } });
  c = await d.client();
  cwd = newCwd(d);
  id = (await c.newSession({ cwd })).sessionId;
  fill(cwd);
});
after(() => endInOrder(d, c));

function fill(dir) {
  fs.mkdirSync(`${dir}/src/deep`, { recursive: true });
  fs.mkdirSync(`${dir}/empty`);
  fs.mkdirSync(`${dir}/build`);
  fs.writeFileSync(`${dir}/src/a.txt`, 'hello\n');
  fs.writeFileSync(`${dir}/src/deep/ä, ö.txt`, 'umlaut, and a comma\n');
  fs.writeFileSync(`${dir}/run.sh`, '#!/bin/sh\n');
  fs.chmodSync(`${dir}/run.sh`, 0o755);
  fs.writeFileSync(`${dir}/bin.dat`, Buffer.from([0, 255, 10, 13]));
  fs.symlinkSync('src/a.txt', `${dir}/link`);
  fs.symlinkSync('nowhere', `${dir}/dangling`);
  fs.writeFileSync(`${dir}/build/out.o`, 'o');
  fs.writeFileSync(`${dir}/x.log`, 'l');
  fs.writeFileSync(`${dir}/.gitignore`, 'build/\n*.log\n');
  fs.mkdirSync(`${dir}/.git`);
  fs.writeFileSync(`${dir}/.git/HEAD`, 'ref: refs/heads/main\n');
}

const where = (session, query = '') => `/v1/sessions/${session}/workspace${query}`;
const auth = () => ({ Authorization: `Bearer ${d.token}` });

// {status, headers, bytes, json}
async function get(query = '', session = id, headers = auth()) {
  const res = await fetch(`http://127.0.0.1:${d.port}${where(session, query)}`, { headers });
  const bytes = Buffer.from(await res.arrayBuffer());

  return { status: res.status, headers: res.headers, bytes, json: res.status === 200 ? undefined : JSON.parse(bytes) };
}

// What other programs take out of it.
function unpacked(bytes, format) {
  const dir = fs.mkdtempSync(path.join(d.dir, 'out-'));
  const commands = { tar: ['tar', '-xf'], 'tar.gz': ['tar', '-xzf'], 'tar.zst': ['tar', '--zstd', '-xf'], zip: ['unzip', '-q'] };
  const [program, ...args] = commands[format];

  fs.writeFileSync(`${dir}.archive`, bytes);
  execFileSync(program, [...args, `${dir}.archive`, ...(format === 'zip' ? ['-d', dir] : ['-C', dir])], { stdio: 'pipe', env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  return dir;
}

describe('the archive', () => {
  const TYPES = { tar: 'application/x-tar', 'tar.gz': 'application/gzip', 'tar.zst': 'application/zstd', zip: 'application/zip' };

  for (const [format, type] of Object.entries(TYPES)) {
    test(`${format}: other programs read it; uploaded again it is the same tree`, async () => {
      const r = await get(`?format=${format}`);

      assert.equal(r.status, 200);
      assert.equal(r.headers.get('content-type'), type);
      assert.equal(r.headers.get('content-disposition'), `attachment; filename="workspace.${format}"`);
      assert.deepEqual(treeOf(unpacked(r.bytes, format)), treeOf(cwd));
      const again = newCwd(d);
      const s = await c.newSession({ cwd: again, meta: { workspace: { archive: await upload(d, r.bytes) } } });
      const bare = (dir) => [...scan(dir)].map(([name, n]) => [name, n.type, n.type === 'l' ? n.target : n.mode & 0o777, n.data?.toString('latin1')]).sort();
      assert.deepEqual(bare(again), bare(cwd));
      assert.deepEqual((await get(`?format=${format}`, s.sessionId)).bytes.length > 0, true);
      await c.call('session/delete', { sessionId: s.sessionId });
    });
  }

  test('tar.gz unless told otherwise, and the same bytes each time', async () => {
    const [a, b, named] = [await get(), await get(), await get('?format=tar.gz&ignore=none')];

    assert.ok(a.bytes.equals(b.bytes) && a.bytes.equals(named.bytes));
    assert.deepEqual([...a.bytes.subarray(0, 2)], [0x1f, 0x8b]);
  });

  test('ignore=gitignore leaves out what git would, and the repository', async () => {
    const names = Object.keys(treeOf(unpacked((await get('?format=tar&ignore=gitignore')).bytes, 'tar'))).sort();

    assert.deepEqual(names, ['.gitignore', 'bin.dat', 'dangling', 'empty', 'link', 'run.sh', 'src/a.txt', 'src/deep/ä, ö.txt']);
  });

  test('paths choose', async () => {
    const of = async (query) => Object.keys(treeOf(unpacked((await get(`?format=tar&${query}`)).bytes, 'tar'))).sort();

    assert.deepEqual(await of('paths=src/deep,run.sh'), ['run.sh', 'src/deep/ä, ö.txt']);
    assert.deepEqual(await of('paths=src'), ['src/a.txt', 'src/deep/ä, ö.txt']);
    assert.deepEqual(await of('paths=link'), ['link']);
    assert.deepEqual(await of(`paths=${encodeURIComponent('src/deep')}`), ['src/deep/ä, ö.txt']);
  });

  test('a session that is closed, and one after a restart', async () => {
    const was = (await get()).bytes;

    await c.call('session/close', { sessionId: id });
    assert.ok((await get()).bytes.equals(was));
    await c.close();
    await d.restart();
    c = await d.client();
    assert.ok((await get()).bytes.equals(was));
    await c.load(id, { cwd });
  });
});

describe('root: any directory of the session', () => {
  let more, other, cwd2, sid, sid2;
  const of = async (root, query = '', session = sid) => {
    const r = await get(`?format=tar&root=${encodeURIComponent(root)}${query}`, session);

    assert.equal(r.status, 200, JSON.stringify(r.json));
    return treeOf(unpacked(r.bytes, 'tar'));
  };
  const refused = async (root, status, reason, query = '', session = sid) => {
    const r = await get(`?root=${encodeURIComponent(root)}${query}`, session);

    assert.deepEqual([r.status, r.json?.error?.reason], [status, reason], `${root}${query}: ${JSON.stringify(r.json)}`);
    return r.json.error.message;
  };

  before(async () => {
    cwd2 = newCwd(d);
    more = newCwd(d);
    other = newCwd(d);
    fs.mkdirSync(`${more}/in/deep`, { recursive: true });
    fs.writeFileSync(`${more}/in/deep/x`, 'x');
    fs.writeFileSync(`${more}/f`, 'f');
    fs.writeFileSync(`${other}/secret`, 'of another session');
    sid = (await c.newSession({
      cwd: cwd2, additionalDirectories: [`${more}//`, `${cwd2}/made/by`],
      meta: { workspace: { archive: await upload(d, { 'top/a': '1' }), strip: 'auto', into: 'made/by/us' } },
    })).sessionId;
    sid2 = (await c.newSession({ cwd: other, additionalDirectories: [`${d.dir}/gone`] })).sessionId;
  });

  test('cwd, an additional directory, what was put there, and directories below them', async () => {
    assert.deepEqual(await of(cwd2), { 'made/by/us/a': '1' });
    assert.deepEqual(await of(`${cwd2}/`), { 'made/by/us/a': '1' });
    assert.deepEqual(await of(`${cwd2}/made/by`), { 'us/a': '1' });
    assert.deepEqual(await of(`/${cwd2}//made/by/us/`), { a: '1' });
    assert.deepEqual(await of(more), { f: 'f', 'in/deep/x': 'x' });
    assert.deepEqual(await of(`${more}/in`), { 'deep/x': 'x' });
    assert.deepEqual(await of(more, '&paths=in/deep'), { 'in/deep/x': 'x' });
  });

  test('an ephemeral workspace', async () => {
    const s = await c.newSession({ meta: { workspace: { archive: await upload(d, { e: 'phemeral', 'd/x': 'x' }), ephemeral: true } } });

    assert.deepEqual(await of(s._meta.acpd.cwd, '', s.sessionId), { e: 'phemeral', 'd/x': 'x' });
    assert.deepEqual(await of(`${s._meta.acpd.cwd}/d`, '', s.sessionId), { x: 'x' });
    await c.call('session/delete', { sessionId: s.sessionId });
  });

  test('outside of them, another session\'s, and what only begins like one: refused', async () => {
    for (const root of [other, `${other}/secret`, d.dir, path.dirname(cwd2), '/', `${cwd2}x`, `${more}x/in`, d.stateDir, d.tokenFile])
      assert.match(await refused(root, 404, 'ROOT_UNKNOWN'), /'root'/);
    assert.equal(await refused(more, 404, 'ROOT_UNKNOWN', '', sid2), await refused(cwd2, 404, 'ROOT_UNKNOWN', '', sid2));
    for (const root of [`${cwd2}/../${path.basename(other)}`, `${cwd2}/..`, `${more}/in/../f`, `${cwd2}/.`, `${cwd2}/./made`, 'made', './made', path.relative('/', more), '~'])
      assert.match(await refused(root, 400, 'QUERY_INVALID'), /'root'/);
    assert.match(await refused('', 400, 'QUERY_INVALID'), /'root'/);
  });

  test('no link is followed below a root, wherever it leads', async () => {
    fs.symlinkSync(other, `${more}/out`);
    fs.symlinkSync('in', `${more}/inside`);
    fs.symlinkSync('/proc/self/root', `${more}/magic`);
    for (const name of ['out', 'out/', 'inside', 'inside/deep', 'magic', `magic${other}`, 'in/none', 'f', 'f/x'])
      await refused(`${more}/${name}`, 404, 'PATH_NOT_FOUND');
    for (const name of ['out', 'inside', 'magic'])
      fs.unlinkSync(`${more}/${name}`);
  });

  test('a root while somebody puts a link in its place again and again: what comes out is never of elsewhere', async () => {
    fs.mkdirSync(`${more}/flip`);
    fs.writeFileSync(`${more}/flip/mine`, 'm');
    fs.symlinkSync(other, `${more}/link`);
    const swapper = spawn(process.execPath, ['-e', `
      const fs = require('node:fs');
      const [dir, link, spare] = ['flip', 'link', 'spare'].map((n) => process.argv[1] + '/' + n);
      for (;;) {
        fs.renameSync(dir, spare); fs.renameSync(link, dir);
        fs.renameSync(dir, link); fs.renameSync(spare, dir);
      }`, more], { stdio: 'ignore' });

    try {
      for (let i = 0; i < 20; i++) {
        const r = await get(`?format=tar&root=${encodeURIComponent(`${more}/flip`)}`, sid);

        if (r.status !== 200)
          assert.deepEqual([r.status, r.json.error.reason], [404, 'PATH_NOT_FOUND'], JSON.stringify(r.json));
        else
          assert.deepEqual(treeOf(unpacked(r.bytes, 'tar')), { mine: 'm' });
      }
    } finally {
      const ended = new Promise((resolve) => { swapper.on('exit', resolve); });

      swapper.kill('SIGKILL');
      await ended;
      for (const name of ['flip', 'link', 'spare'])
        fs.rmSync(`${more}/${name}`, { recursive: true, force: true });
    }
  });

  test('a root that is gone, or was never there', async () => {
    const gone = newCwd(d);
    const s = await c.newSession({ cwd: gone });

    fs.rmdirSync(gone);
    await refused(gone, 404, 'PATH_NOT_FOUND', '', s.sessionId);
    await refused(`${gone}/x`, 404, 'PATH_NOT_FOUND', '', s.sessionId);
    await refused(`${d.dir}/gone`, 404, 'PATH_NOT_FOUND', '', sid2);
    fs.symlinkSync(other, gone); // the directory itself is what the session was given
    assert.deepEqual(await of(gone, '', s.sessionId), { secret: 'of another session' });
    fs.unlinkSync(gone);
    await c.call('session/delete', { sessionId: s.sessionId });
  });

  test('what only the workspace has is refused by name', async () => {
    for (const name of ['since', 'turn', 'baseline'])
      assert.match(await refused(more, 400, 'QUERY_UNKNOWN', `&${name}=1`), new RegExp(`'${name}'`));
    const e = await c.fails('_acpd/workspace/diff', { sessionId: sid, root: more });

    assert.deepEqual([e.code, e.data.field], [-32602, 'root']);
  });

  test('of a closed session, and after a restart of the daemon', async () => {
    await c.call('session/close', { sessionId: sid });
    assert.deepEqual(await of(`${more}/in`), { 'deep/x': 'x' });
    await c.close();
    await d.restart();
    c = await d.client();
    assert.deepEqual(await of(`${more}/in`), { 'deep/x': 'x' });
    assert.deepEqual(await of(`${cwd2}/made`), { 'by/us/a': '1' });
    await refused(other, 404, 'ROOT_UNKNOWN');
    await c.load(id, { cwd });
  });
});

describe('what is refused', () => {
  const BAD = [
    ['?format=rar', 400, 'QUERY_INVALID'], ['?format=', 400, 'QUERY_INVALID'], ['?format=tar&format=zip', 400, 'QUERY_DUPLICATE'], ['?x=1', 400, 'QUERY_UNKNOWN'],
    ['?ignore=all', 400, 'QUERY_INVALID'], ['?paths=', 400, 'QUERY_INVALID'],
    ['?paths=nope', 404, 'PATH_NOT_FOUND'], ['?paths=src,nope/x', 404, 'PATH_NOT_FOUND'], ['?paths=src/a.txt/x', 404, 'PATH_NOT_FOUND'],
    ['?paths=link/x', 404, 'PATH_NOT_FOUND'], ['?paths=../outside', 400, /^(PATH_INVALID|NAME_DOTDOT)$/], ['?paths=/etc/passwd', 400, /^(PATH_INVALID|NAME_ABSOLUTE)$/],
    ['?paths=,', 400, /./], ['?paths=src,', 400, /./],
  ];

  for (const [query, status, reason] of BAD) {
    test(query, async () => {
      const r = await get(query);

      assert.equal(r.status, status, JSON.stringify(r.json));
      assert.match(r.json.error.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`));
      assert.equal(typeof r.json.error.message, 'string');
    });
  }

  test('nobody, no session, another method', async () => {
    assert.equal((await get('', id, {})).status, 401);
    assert.equal((await get('', 'sess_0')).status, 404);
    assert.equal((await d.http(where(id), { method: 'POST', token: d.token })).status, 405);
  });

  test('a workspace that is gone', async () => {
    const gone = newCwd(d);
    const { sessionId } = await c.newSession({ cwd: gone });

    fs.rmdirSync(gone);
    const r = await get('', sessionId);
    assert.ok([404, 410, 500].includes(r.status), `${r.status}`);
    assert.ok(r.json.error.reason);
    await c.call('session/delete', { sessionId });
  });

  test('nothing stays at work', async () => {
    await until(() => d.helpers().length === 0, 'no helper');
  });
});

describe('readers', () => {
  const MIB = 1048576;
  let big, bigId;

  before(async () => {
    big = newCwd(d);
    const random = crypto.randomBytes(4 * MIB);
    for (let i = 0; i < 50; i++)
      fs.writeFileSync(`${big}/${i}`, random);
    bigId = (await c.newSession({ cwd: big })).sessionId;
  });

  // Answers as soon as the header is there; the body is not read by itself.
  const open = (query) => new Promise((resolve, reject) => {
    const req = http.get({ host: '127.0.0.1', port: d.port, path: where(bigId, query), agent: false, headers: auth() }, (res) => {
      res.pause();
      resolve({ req, res });
    });

    req.on('error', reject);
  });

  test('a slow one: neither the daemon nor the helper holds what it does not take', async () => {
    const from = d.rss();
    const { req, res } = await open('?format=tar');
    const hash = crypto.createHash('sha256');
    let peak = 0, peakHelper = 0, bytes = 0;

    const watch = () => {
      peak = Math.max(peak, d.rss());
      for (const p of d.helpers())
        peakHelper = Math.max(peakHelper, procs.rss(p.pid) ?? 0);
    };
    await until(async () => {
      const now = () => d.helpers().map((p) => `${p.pid} ${procs.cpu(p.pid)}`).join();
      const was = now();

      await sleep(300);
      return was && now() === was;
    }, 'it waits, and costs nothing meanwhile');
    watch();
    await c.prompt(id, 'echo others work');
    for await (const piece of res) {
      hash.update(piece);
      bytes += piece.length;
      if (bytes % (16 * MIB) < piece.length) {
        watch();
        await sleep(5);
      }
    }
    req.destroy();
    assert.ok(bytes > 200 * MIB);
    assertGrown(d, from, peak, 8);
    if (!SANITIZED)
      assert.ok(peakHelper < 32 * MIB, `${peakHelper}`);
    assert.equal(hash.digest('hex'), crypto.createHash('sha256').update((await get('?format=tar', bigId)).bytes).digest('hex'));
  });

  test('one that goes away leaves no process', async () => {
    for (const how of ['destroy', 'half', 'before']) {
      if (how === 'before') {
        const req = http.get({ host: '127.0.0.1', port: d.port, path: where(bigId, '?format=tar.gz'), agent: false, headers: auth() });

        req.on('error', () => {});
        await until(() => d.helpers().length > 0, 'a helper');
        req.destroy();
      } else {
        const { req, res } = await open('?format=tar');

        res.on('error', () => {});
        if (how === 'half')
          await new Promise((resolve) => { res.once('data', resolve); res.resume(); });
        req.destroy();
      }
      await until(() => d.helpers().length === 0, `no helper after ${how}`);
    }
    const fds = d.fdCount();
    const { req } = await open('?format=tar');
    req.destroy();
    await until(() => d.helpers().length === 0 && d.fdCount() <= fds, 'no descriptor');
  });

  test('several at once; a session that is deleted meanwhile', async () => {
    const all = await Promise.all([1, 2, 3].map(() => open('?format=tar')));

    await c.call('session/delete', { sessionId: bigId });
    for (const { req, res } of all) {
      let bytes = 0;

      res.on('error', () => {});
      try {
        for await (const piece of res)
          bytes += piece.length;
      } catch { /* cut is as good */ }
      assert.ok(bytes > 0);
      req.destroy();
    }
    await until(() => d.helpers().length === 0, 'no helper');
  });
});
