// SPDX-License-Identifier: Apache-2.0
// build: release
// A compressed archive that has been unpacked is kept inflated in the store; the next workspace comes from that, and is the same.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import zlib from 'node:zlib';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { digestOf, head, put, tarOf } from '../../lib/archives.mjs';
import { until } from '../../lib/wait.mjs';

const LARGE = 12 * 2 ** 20;
let d;
let c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d));

const store = (x = d) => path.join(x.stateDir, 'archives');
const hexOf = (data) => digestOf(data).slice(7);
// Its name tells what it was made of, and what is in it.
const derivedOf = (data, x = d) => path.join(store(x), `${hexOf(data)}.${hexOf(raw(data))}.tar`);

async function session(data, name, client = c, x = d) {
  const cwd = path.join(x.workDir, name);

  fs.mkdirSync(cwd);
  await client.newSession({ cwd, meta: { workspace: { archive: digestOf(data), baseline: false } } });
  return fs.readdirSync(cwd).map((file) => [file, fs.readFileSync(path.join(cwd, file)).compare(fileOf(data)) === 0]);
}

const raw = (data) => ({ 0x1f: zlib.gunzipSync, 0x28: zlib.zstdDecompressSync }[data[0]] ?? ((x) => x))(data);
const fileOf = (data) => {
  const tar = raw(data);

  return tar.subarray(512, 512 + parseInt(tar.subarray(124, 135).toString(), 8));
};

for (const [kind, compress, seed] of [['gz', (x) => zlib.gzipSync(x, { level: 1 }), 7], ['zst', zlib.zstdCompressSync, 8]]) {
  test(`the second workspace of a tar.${kind} comes from its stream, and is what the first was`, async () => {
    const tar = tarOf(LARGE, seed);
    const packed = compress(tar);
    const derived = derivedOf(packed);

    assert.equal((await put(d, packed)).status, 201);
    assert.deepEqual(await session(packed, `${kind}-first`), [[`file-${seed}`, true]]);
    await until(() => fs.existsSync(derived), 'a derived file');
    assert.equal(tar.compare(fs.readFileSync(derived)), 0);
    assert.equal(fs.statSync(derived).mode & 0o777, 0o400);
    await until(() => !d.helpers().length, 'the helper ends');
    assert.ok(!fs.existsSync(path.join(store(), 'derived')), 'a temporary file is left');
    const listed = (await d.http('/v1/archives', { token: d.token })).json;
    assert.ok(listed.used >= packed.length + tar.length, 'it is not counted');
    assert.deepEqual(await session(packed, `${kind}-second`), [[`file-${seed}`, true]]);

    // Were the third made from the archive, this would not be seen.
    tar[512 + 1000] ^= 1;
    fs.chmodSync(derived, 0o600);
    fs.writeFileSync(derived, tar);
    const before = await d.metric('acpd_archives_damaged_total');
    const e = await session(packed, `${kind}-third`).catch((error) => error);
    assert.deepEqual([e.data?.reason, e.data?.refused?.digest], ['ARCHIVE_DAMAGED', digestOf(packed)], String(e));
    assert.equal(await d.metric('acpd_archives_damaged_total'), before + 1);
    assert.ok(!fs.existsSync(derived), 'what is damaged stays');
    assert.equal((await put(d, packed)).status, 200, 'the archive itself is there');
    assert.deepEqual(await session(packed, `${kind}-fourth`), [[`file-${seed}`, true]]);
    await until(() => fs.existsSync(derived), 'it is made again');
    await until(() => !d.helpers().length, 'the helper ends');

    assert.equal((await d.http(`/v1/archives/${digestOf(packed)}`, { method: 'DELETE', token: d.token })).status, 200);
    assert.ok(!fs.existsSync(derived), 'it outlives its archive');
    assert.deepEqual(await head(d, packed), { status: 404 });
  });
}

test('none is made of a small archive, of one that is not compressed, or where something else would have to go', async () => {
  const small = zlib.gzipSync(tarOf(20_000, 13));
  const plain = tarOf(LARGE, 9);
  const other = await Daemon.start({ flags: { archiveStoreMax: 2 * LARGE + 2 ** 22 } });
  const gz = zlib.gzipSync(tarOf(LARGE, 10), { level: 1 });
  const fresh = await other.client();

  try {
    for (const [data, name] of [[small, 'small'], [plain, 'plain']]) {
      await put(d, data);
      await session(data, name);
      await until(() => !d.helpers().length, 'the helper ends');
      assert.ok(!fs.existsSync(derivedOf(data)), name);
    }
    const first = zlib.gzipSync(tarOf(LARGE, 11), { level: 1 });
    await put(other, first);
    await put(other, gz);
    await session(gz, 'full', fresh, other);
    await until(() => !other.helpers().length, 'the helper ends');
    assert.ok(!fs.existsSync(derivedOf(gz, other)), 'a full store');
    assert.equal((await head(other, first)).status, 200);
  } finally {
    await other.stop();
  }
});

test('a daemon that ends meanwhile leaves nothing behind, and one that was killed is cleaned up after', async () => {
  const gz = zlib.gzipSync(tarOf(LARGE, 12), { level: 1 });
  const x = await Daemon.start();

  try {
    let client = await x.client();

    await put(x, gz);
    await session(gz, 'one', client, x);
    await x.stop({ keep: true });
    assert.ok(!fs.existsSync(path.join(store(x), 'derived')));
    fs.rmSync(derivedOf(gz, x), { force: true });
    fs.writeFileSync(path.join(store(x), 'derived'), 'of a daemon that was killed');
    await x.restart();
    client = await x.client();
    await session(gz, 'two', client, x);
    await until(() => fs.existsSync(derivedOf(gz, x)), 'a derived file');
    assert.ok(!fs.existsSync(path.join(store(x), 'derived')));
    await x.restart();
    client = await x.client();
    assert.deepEqual(await session(gz, 'three', client, x), [['file-12', true]]);
  } finally {
    await x.stop();
  }
});

test('an archive can be deleted while it is inflated, and then nothing is kept', async () => {
  const gz = zlib.gzipSync(tarOf(4 * LARGE, 15), { level: 1 });

  await put(d, gz);
  await session(gz, 'deleted');
  assert.equal((await d.http(`/v1/archives/${digestOf(gz)}`, { method: 'DELETE', token: d.token })).status, 200);
  await until(() => !d.helpers().length, 'the helper ends');
  await until(() => !fs.existsSync(path.join(store(), 'derived')), 'no temporary file');
  assert.ok(!fs.existsSync(derivedOf(gz)), 'a derived file of nothing');
});

test('the job itself: what it refuses and what it does not touch', () => {
  const dir = fs.mkdtempSync(path.join(d.dir, 'inflate-'));
  const [archive, output] = ['archive', 'output'].map((name) => path.join(dir, name));
  const run = (data, job = {}) => {
    fs.writeFileSync(archive, data);
    const input = `${JSON.stringify({ archive, output, bytes: 1e8, ...job })}\n`;
    const { status, stdout } = spawnSync(path.join(path.dirname(ACPD), 'acpd-unpack'), ['inflate'], { input, encoding: 'utf8' });
    const [[word, answer]] = Object.entries(JSON.parse(stdout));

    return [status, word, answer.reason ?? answer.bytes];
  };
  const tar = tarOf(100_000, 14);
  const gz = zlib.gzipSync(tar);
  const fresh = (...args) => {
    fs.rmSync(output, { force: true });
    return run(...args);
  };

  assert.deepEqual(fresh(gz), [0, 'done', tar.length]);
  assert.equal(tar.compare(fs.readFileSync(output)), 0);
  assert.deepEqual(run(gz), [1, 'failed', 'IO_ERROR'], 'it does not write over a file');
  assert.deepEqual(fresh(gz, { bytes: 50_000 }), [3, 'refused', 'TOO_LARGE']);
  assert.deepEqual(fresh(gz.subarray(0, gz.length - 9)), [3, 'refused', 'ARCHIVE_TRUNCATED']);
  assert.deepEqual(fresh(tar), [3, 'refused', 'FORMAT_NOT_ALLOWED']);
  assert.deepEqual(fresh(gz, { bytes: undefined })[0], 2);
  assert.deepEqual(fresh(gz, { more: 1 })[0], 2);
});
