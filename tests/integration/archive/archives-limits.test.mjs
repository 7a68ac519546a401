// SPDX-License-Identifier: Apache-2.0
// build: both
// What bounds the archive store: its size, the disk, the daemon's memory, and other sessions' time.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { Raw, chunk, head, pathOf, put, tarOf, untilOffset } from '../../lib/archives.mjs';
import { assertGrown, mib, peakRss } from '../../lib/memory.mjs';
import { filesBelow, sizeOf } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';

const MIB = 2 ** 20;
const reason = (res) => [res.status, res.json.error.reason];
const list = async (d) => (await d.http('/v1/archives', { token: d.token })).json;

test('when the store is full the least recently used go, and it never grows beyond its limit', async (t) => {
  const d = await Daemon.start({ flags: { archiveStoreMax: 2 * MIB } });
  t.after(() => d.stop());
  const tars = Array.from({ length: 8 }, (_, i) => tarOf(400 * 1024, i + 1));
  const there = async () => { // one after the other: asking is a use
    const found = [];

    for (const tar of tars)
      found.push((await head(d, tar)).status === 200);
    return found;
  };

  for (const tar of tars.slice(0, 4))
    assert.equal((await put(d, tar)).status, 201);
  await d.http(pathOf(tars[0]), { token: d.token, headers: { Range: 'bytes=0-9' } });
  for (const tar of tars.slice(4, 7)) {
    assert.equal((await put(d, tar)).status, 201);
    assert.ok((await list(d)).used <= 2 * MIB);
  }
  assert.deepEqual((await there()).slice(0, 7), [true, false, false, true, true, true, true], 'the first was read after the others');
  await d.stop({ keep: true });
  await d.restart();
  await d.http(pathOf(tars[3]), { token: d.token, headers: { Range: 'bytes=0-9' } });
  assert.equal((await put(d, tars[7])).status, 201);
  assert.deepEqual(await there(), [false, false, false, true, true, true, true, true], 'the order survives a restart');
  assert.deepEqual(reason(await put(d, tarOf(3 * MIB, 20))), [413, 'ARCHIVE_TOO_LARGE']);

  const raw = await Raw.open(d);
  await raw.request('PUT', pathOf(tarOf(1500000, 21)), { 'Transfer-Encoding': 'chunked' });
  await raw.send(chunk(tarOf(1500000, 21)));
  await untilOffset(d, tarOf(1500000, 21), tarOf(1500000, 21).length);
  assert.ok((await list(d)).used <= 2 * MIB, 'an upload of unknown size makes room as it grows');
  assert.deepEqual(reason(await put(d, tarOf(MIB, 22))), [507, 'STORE_FULL'], 'what is being uploaded does not go');
  raw.destroy();
  await until(async () => (await put(d, tarOf(MIB, 22))).status === 201, 'what was cut off goes');
});

const isRoot = process.getuid() === 0;

function partSize(state) {
  const part = filesBelow(state).find((name) => name.endsWith('.part'));

  return part && sizeOf(part);
}

test('a full disk is told, what came can be taken up, and others are served', { skip: !isRoot && 'needs root for a small tmpfs' }, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-small-'));

  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'none', dir], { stdio: 'pipe' });
  } catch (e) {
    fs.rmdirSync(dir);
    t.skip(`no tmpfs can be mounted here: ${e.stderr}`);
    return;
  }
  const d = await Daemon.start({ flags: { state: dir } });
  try {
    const tar = tarOf(12 * MIB, 1);
    const filler = path.join(dir, 'filler');

    fs.writeFileSync(filler, Buffer.alloc(8 * MIB));
    const early = await put(d, tar);
    assert.deepEqual(reason(early), [507, 'NO_SPACE'], 'known before a byte is sent');
    assert.deepEqual(await head(d, tar), { status: 404 });
    fs.rmSync(filler);

    const raw = await Raw.open(d);
    await raw.request('PUT', pathOf(tar), { 'Content-Length': tar.length });
    await raw.send(tar.subarray(0, 4 * MIB));
    await until(() => partSize(dir) === 4 * MIB, 'what came is written: only that is kept when the disk is full');
    try {
      fs.writeFileSync(filler, Buffer.alloc(11 * MIB));
      fs.appendFileSync(filler, Buffer.alloc(MIB));
    } catch { /* full */ }
    raw.send(tar.subarray(4 * MIB));
    assert.deepEqual(reason(await raw.answer()), [507, 'NO_SPACE']);
    await raw.end();
    const { offset } = await head(d, tar);
    assert.ok(offset >= 4 * MIB && offset < tar.length, String(offset));
    assert.equal((await d.http('/health')).status, 200);
    fs.rmSync(filler);
    const rest = await put(d, tar.subarray(offset), { where: pathOf(tar), headers: { 'Content-Range': `bytes ${offset}-${tar.length - 1}/${tar.length}` } });
    assert.equal(rest.status, 201, JSON.stringify(rest.json));
  } finally {
    await d.stop({ keep: true });
    execFileSync('umount', [dir]);
    fs.rmdirSync(dir);
  }
});

// The same pseudo-random megabyte again and again behind a tar header that says so; its digest, and a way to send it.
function large(mib) {
  const block = tarOf(MIB, 99).subarray(512, 512 + MIB);
  const first = tarOf(0, 98).subarray(0, 512);
  const hash = crypto.createHash('sha256').update(first);

  for (let i = 0; i < mib; i++)
    hash.update(block);
  const where = `/v1/archives/sha256:${hash.digest('hex')}`;
  // step(i), if any, is waited for before the megabyte i.
  const send = (d, step) => new Promise((resolve, reject) => {
    const req = http.request({ host: '127.0.0.1', port: d.port, path: where, method: 'PUT', agent: false,
      headers: { Authorization: `Bearer ${d.token}`, 'Content-Length': 512 + mib * MIB } }, (res) => {
      res.resume();
      res.on('end', () => resolve(res.statusCode));
    });
    const all = async () => {
      for (let i = -1; i < mib; i++) {
        await step?.(i);
        if (!req.write(i < 0 ? first : block))
          await once(req, 'drain');
      }
      req.end();
    };

    req.on('error', reject);
    all().catch(reject);
  });

  return { where, size: 512 + mib * MIB, send };
}

test('300 MiB pass through without being held in memory, and prompts beside them are answered', async (t) => {
  const d = await Daemon.start();
  t.after(() => d.stop());
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const body = large(300);

  await c.prompt(sessionId, 'echo warm');
  const idle = d.rss();
  const up = await peakRss(d, async () => {
    let busy = true;
    let prompts = 0;
    // However fast the machine is: each 20 MiB wait for a prompt more, and each of these is answered while there is more to come.
    const status = body.send(d, (i) => until(() => prompts >= i / 20, 'a prompt')).finally(() => { busy = false; });

    for (; busy; prompts++)
      await c.prompt(sessionId, 'echo x');
    return { status: await status, prompts };
  });
  assert.equal(up.result.status, 201);
  assert.ok(up.result.prompts >= 14, `${up.result.prompts} prompts`);

  const hash = crypto.createHash('sha256');
  const down = await peakRss(d, () => new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port: d.port, path: body.where, agent: false, headers: { Authorization: `Bearer ${d.token}` } }, (res) => {
      res.on('data', (data) => hash.update(data));
      res.on('end', resolve);
    }).on('error', reject);
  }));
  assert.equal(`/v1/archives/sha256:${hash.digest('hex')}`, body.where);
  t.diagnostic(`RSS ${mib(idle)}, up ${mib(up.peak)}, down ${mib(down.peak)} MiB`);
  assertGrown(d, idle, up.peak, 4, 'while it came');
  assertGrown(d, idle, down.peak, 4, 'while it was read');
  await c.close();
});
