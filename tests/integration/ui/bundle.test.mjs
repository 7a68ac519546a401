// SPDX-License-Identifier: Apache-2.0
// The viewer reads a bundle file only if every byte of it is as the manifest says.

import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import zlib from 'node:zlib';

import { readBundle } from '../../../images/ui/src/bundle/bundle.ts';
import { Sha256 } from '../../../images/ui/src/bundle/sha256.ts';
import { numbered, turn } from './events.mjs';

const sha = (b) => crypto.createHash('sha256').update(b).digest('hex');
const EVENTS = numbered(Array.from({ length: 200 }, (_, i) => turn(i + 1, 'hi')).flat());
const FILES = {
  'session.json': JSON.stringify({ sessionId: 's-1', harness: 'stub', title: 'A bundle' }),
  'events.ndjson': EVENTS.map((e) => `${JSON.stringify(e)}\n`).join(''),
  'usage.ndjson': '{"type":"turn","turn":1}\n',
  'diff.patch': 'diff --git a/x b/x\n',
  'artifacts/art_1': 'artifact',
  'model/calls': 'never shown',
};

const octal = (n, width) => n.toString(8).padStart(width - 1, '0');

function header(path, size, { type = '0', prefix = '' } = {}) {
  const h = Buffer.alloc(512);

  h.write(path, 0);
  h.write('0000644\0', 100);
  h.write(`${octal(size, 12)}\0`, 124);
  h.write('        ', 148);
  h.write(type, 156);
  h.write('ustar\0' + '00', 257);
  h.write(prefix, 345);
  h.write(`${octal(h.reduce((a, b) => a + b, 0), 7)}\0 `, 148);
  return h;
}

const pad = (b) => Buffer.concat([b, Buffer.alloc((512 - (b.length % 512)) % 512)]);
const member = (path, body, more) => Buffer.concat([header(path, Buffer.byteLength(body), more), pad(Buffer.from(body))]);

function manifestOf(files, change = (m) => m) {
  return JSON.stringify(change({
    format: 'acpd-bundle', version: 1, acpd: '0.1.0', sessionId: 's-1',
    files: Object.entries(files).map(([path, body]) => ({ path, bytes: Buffer.byteLength(body), sha256: sha(body) })),
  }));
}

function tarOf(files = FILES, { manifest = manifestOf(files), more = [], end = 1024 } = {}) {
  return Buffer.concat([member('manifest.json', manifest), ...Object.entries(files).map(([path, body]) => member(path, body)), ...more, Buffer.alloc(end)]);
}

// Node's own decompressor in the place of the page's; pieces of odd sizes reach the tar.
const unzstd = (sink) => {
  const all = [];

  return (piece, last) => {
    all.push(piece);
    if (!last)
      return;
    const out = zlib.zstdDecompressSync(Buffer.concat(all));
    for (let at = 0, n = 1; at < out.length; at += n, n = (n * 7) % 5003)
      sink(new Uint8Array(out.subarray(at, at + n)));
  };
};

const read = (tar) => readBundle(new Blob([zlib.zstdCompressSync(tar)]), unzstd);
const refused = (tar, reason, message) => assert.rejects(read(tar), (e) => {
  assert.equal(e.reason, reason, e.message);
  assert.match(e.message, message);
  return true;
});

test('a bundle as it was written', async () => {
  const bundle = await read(tarOf());

  assert.deepEqual([bundle.session.title, bundle.patch, bundle.records.length, bundle.lines, bundle.manifest.acpd],
    ['A bundle', FILES['diff.patch'], 1, 2000, '0.1.0']);
  assert.deepEqual([...bundle.artifacts.keys()], ['artifacts/art_1']);
  assert.equal(await bundle.artifacts.get('artifacts/art_1').text(), 'artifact');
  for (const [since, until] of [[0, 1], [255, 257], [256, 300], [1234, 1240], [1999, 5000]]) {
    const seen = [];
    for await (const batch of bundle.events.read({ since, until, signal: new AbortController().signal }))
      seen.push(...batch.events.map((e) => e.seq));
    assert.deepEqual([seen[0], seen.at(-1)], [since + 1, Math.min(until, 2000)]);
  }
});

test('long names: by a prefix, and as pax has them', async () => {
  const path = `artifacts/${'n'.repeat(120)}`;
  const record = `path=${path}\n`;
  const line = `${record.length + 4} ${record}`;
  const files = { ...FILES, [path]: 'long', 'artifacts/deep/er': 'split' };
  const some = (names) => Object.entries(FILES).filter(([p]) => names(p)).map(([p, b]) => member(p, b));
  const tar = Buffer.concat([member('manifest.json', manifestOf(files)), ...some(() => true), header('dir/', 0, { type: '5' }),
    member('pax', line, { type: 'x' }), member('cut', 'long'), member('er', 'split', { prefix: 'artifacts/deep' }), Buffer.alloc(1024)]);

  assert.deepEqual([...(await read(tar)).artifacts.keys()], ['artifacts/art_1', path, 'artifacts/deep/er']);
});

test('every file, changed, missing, too much, twice or of another length, is named', async () => {
  for (const path of Object.keys(FILES)) {
    const changed = { ...FILES, [path]: FILES[path].replace(/.$/s, '~') };
    const { [path]: _, ...without } = FILES;
    const name = new RegExp(path.replace('.', '\\.'));
    await refused(tarOf(changed, { manifest: manifestOf(FILES) }), 'BUNDLE_TAMPERED', name);
    await refused(tarOf(without, { manifest: manifestOf(FILES) }), 'BUNDLE_TAMPERED', name);
    await refused(tarOf(FILES, { manifest: manifestOf(without) }), 'BUNDLE_TAMPERED', name);
    await refused(tarOf(FILES, { more: [member(path, FILES[path])] }), 'BUNDLE_TAMPERED', name);
    await refused(tarOf({ ...FILES, [path]: `${FILES[path]}+` }, { manifest: manifestOf(FILES) }), 'BUNDLE_TAMPERED', name);
  }
});

test('another version, another format and no manifest are refused by name', async () => {
  await refused(tarOf(FILES, { manifest: manifestOf(FILES, (m) => ({ ...m, version: 2 })) }), 'BUNDLE_VERSION', /version 2/);
  await refused(tarOf(FILES, { manifest: manifestOf(FILES, (m) => ({ ...m, format: 'zip' })) }), 'BUNDLE_INVALID', /no bundle/);
  await refused(tarOf(FILES, { manifest: '[]' }), 'BUNDLE_INVALID', /manifest/);
  await refused(tarOf(FILES, { manifest: manifestOf(FILES, (m) => ({ ...m, files: [...m.files, m.files[0]] })) }), 'BUNDLE_INVALID', /twice/);
  await refused(tarOf(FILES, { manifest: manifestOf(FILES, (m) => ({ ...m, files: [{ path: 1 }] })) }), 'BUNDLE_INVALID', /wrongly/);
  await refused(Buffer.concat([member('x', 'y'), Buffer.alloc(1024)]), 'BUNDLE_INVALID', /manifest\.json/);
});

test('a tar that is cut, damaged, or has links in it', async () => {
  const tar = tarOf();

  for (const end of [0, 100, 512, 1000, 5000, tar.length - 1024, tar.length - 512])
    await refused(tar.subarray(0, end), 'BUNDLE_INVALID', /./);
  for (const at of [0, 100, 130, 150, 257]) {
    const damaged = Buffer.from(tar);
    damaged[at] ^= 0x15;
    await refused(damaged, 'BUNDLE_INVALID', /damaged/);
  }
  await refused(Buffer.concat([member('manifest.json', manifestOf(FILES)), header('session.json', 0, { type: '2' }), Buffer.alloc(1024)]), 'BUNDLE_INVALID', /session\.json/);
  await assert.rejects(readBundle(new Blob(['no zstd']), unzstd), { reason: 'BUNDLE_INVALID' });
  await assert.rejects(readBundle(new Blob([]), unzstd), { reason: 'BUNDLE_INVALID' });
});

test('SHA-256 in pieces is that of OpenSSL', () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_003]) {
    const data = crypto.randomBytes(size);
    const hash = new Sha256();
    for (let at = 0; at < size; at += 37)
      hash.update(data.subarray(at, at + 37));
    assert.equal(hash.hex(), sha(data), `${size} bytes`);
  }
});
