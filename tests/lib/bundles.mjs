// SPDX-License-Identifier: Apache-2.0
// Bundles of sessions, read and made by other programs than acpd: tar and zstd.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { entriesOf, PACK } from './workspace.mjs';

export const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

export async function fetchBundle(d, id) {
  const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${id}/bundle`, { headers: { Authorization: `Bearer ${d.token}` } });

  return { status: res.status, type: res.headers.get('content-type'), bytes: Buffer.from(await res.arrayBuffer()) };
}

// The members in their order: {name: Buffer}; the manifest is the first.
export function unpack(bytes, dir) {
  const to = fs.mkdtempSync(path.join(dir, 'bundle-'));
  const archive = path.join(to, 'b.tar.zst');

  fs.writeFileSync(archive, bytes);
  const names = execFileSync('tar', ['--zstd', '-tf', archive], { encoding: 'utf8' }).trim().split('\n');
  fs.mkdirSync(`${to}/out`);
  execFileSync('tar', ['--zstd', '-xf', archive, '-C', `${to}/out`]);
  const members = Object.fromEntries(names.map((n) => [n, fs.readFileSync(`${to}/out/${n}`)]));

  fs.rmSync(to, { recursive: true });
  return members;
}

// Every member is in the manifest and every file of the manifest is a member, with its size and hash.
export function assertManifest(members) {
  const names = Object.keys(members);
  const manifest = JSON.parse(members['manifest.json']);

  assert.equal(names[0], 'manifest.json');
  assert.equal(manifest.format, 'acpd-bundle');
  assert.equal(manifest.version, 1);
  assert.deepEqual(manifest.files.map((f) => f.path), names.slice(1));
  for (const f of manifest.files)
    assert.deepEqual({ bytes: members[f.path].length, sha256: sha256(members[f.path]) }, { bytes: f.bytes, sha256: f.sha256 }, f.path);
  return manifest;
}

export const linesOf = (data) => data.toString().split('\n').filter(Boolean).map((l) => JSON.parse(l));

// A bundle of these members, whose manifest says so; change: what the manifest says instead.
export function pack(members, { change = (m) => m, format = 'tar.zst', extra = {}, again = {} } = {}) {
  const files = Object.entries(members).filter(([n]) => n !== 'manifest.json').map(([n, data]) => ({ path: n, bytes: Buffer.from(data).length, sha256: sha256(data) }));
  const head = members['manifest.json'] ? JSON.parse(members['manifest.json']) : { format: 'acpd-bundle', version: 1, sessionId: 'sess_0' };
  const manifest = change({ ...head, files });
  const { 'manifest.json': _, ...rest } = members;

  return PACK[format]([...entriesOf({ 'manifest.json': typeof manifest === 'string' ? manifest : JSON.stringify(manifest), ...rest, ...extra }), ...entriesOf(again)]);
}
