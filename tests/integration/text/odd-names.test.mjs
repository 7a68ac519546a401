// SPDX-License-Identifier: Apache-2.0
// Odd text in names of files, in what links lead to, and in the environment of a session: what an archive says is what lies in the workspace, and
// what lies there is what tools list, what a diff and a draft show, and what an export packs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { put } from '../../lib/archives.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { diff, apply, run } from '../../lib/drafts.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { ODD_TEXTS, arrives } from '../../lib/odd-text.mjs';
import * as procs from '../../lib/procs.mjs';
import { archiveOf, isRoot, newCwd, scan, treeOf } from '../../lib/workspace.mjs';

let d, c;
before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d));

// Names that a file system of Linux takes, and an archive may have.
const NAMES = ODD_TEXTS.filter(([what, json]) => json.length < 255 && arrives(json).isWellFormed() && !/[\u0000-\u001f\u007f-\u009f\\]/.test(arrives(json)) && Buffer.byteLength(arrives(json)) < 250)
  .map(([what, json]) => [what, arrives(json)]).filter(([, name], i, all) => all.findIndex((o) => o[1] === name) === i);
const REFUSED = [['NUL', 'a\0b', /NAME_|ARCHIVE_DAMAGED/], ['an escape', 'a\x1bb', /NAME_CONTROL/], ['a newline', 'a\nb', /NAME_CONTROL/]];
const FORMATS = ['tar', 'tar.gz', 'tar.zst', 'zip'];
// Of all formats, in each: a file, a directory, and a link to it.
const odd = (names) => Object.fromEntries(names.flatMap(([, name]) => [[`dir ${name}/${name}`, name], [`link ${name}`, { link: `dir ${name}/${name}` }]]));
const treeNow = (dir) => Object.fromEntries([...scan(dir)].map(([name, n]) => [name, `${n.type} ${n.type === 'f' ? n.data : n.target ?? ''}`]));
const wanted = (names) => Object.fromEntries(names.flatMap(([, name]) => [[`dir ${name}`, 'd '], [`dir ${name}/${name}`, `f ${name}`], [`link ${name}`, `l dir ${name}/${name}`]]));
const sorted = (o) => Object.fromEntries(Object.entries(o).sort(([a], [b]) => a < b ? -1 : 1));

async function unpacked(format, meta = {}) {
  const cwd = newCwd(d);
  const { status, json } = await put(d, archiveOf(odd(NAMES), format));

  assert.ok([200, 201].includes(status), JSON.stringify(json));
  const { sessionId } = await c.newSession({ cwd, meta: { workspace: { archive: json.digest, baseline: true }, ...meta } });

  return { cwd, sessionId };
}

describe('names and links of an archive', () => {
  for (const format of FORMATS)
    test(`${format}: unpacked, listed, changed, shown and packed again`, async () => {
      const { cwd, sessionId } = await unpacked(format);

      assert.deepEqual(sorted(treeNow(cwd)), sorted(wanted(NAMES)));
      const { answer } = await (await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name: 'listFiles', arguments: { path: cwd, recursive: true } })).over();
      const listed = JSON.stringify(answer.result.structuredContent);

      for (const [what, name] of NAMES)
        assert.ok(listed.includes(JSON.stringify(`dir ${name}/${name}`).slice(1, -1)), `${what}: ${listed.slice(0, 300)}`);
      for (const [, name] of NAMES)
        fs.appendFileSync(path.join(cwd, `dir ${name}`, name), 'more\n');
      const { patch, files } = await diff(c, sessionId);

      assert.equal(files, NAMES.length);
      assert.ok(patch.isWellFormed());
      // git, to which a patch is bytes, makes the same of it
      const again = newCwd(d);

      fs.cpSync(cwd, again, { recursive: true, verbatimSymlinks: true });
      execFileSync('git', ['apply', '--reverse', '-'], { cwd: again, input: patch });
      assert.deepEqual(sorted(treeNow(again)), sorted(wanted(NAMES)));
      const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/workspace?format=${format}`, { headers: { Authorization: `Bearer ${d.token}` } });
      const packed = await put(d, Buffer.from(await res.arrayBuffer()));
      const there = newCwd(d);

      await c.newSession({ cwd: there, meta: { workspace: { archive: packed.json.digest } } });
      assert.deepEqual(sorted(treeNow(there)), sorted(treeNow(cwd)));
    });

  for (const format of ['tar', 'zip'])
    for (const [what, name, reason] of REFUSED)
      test(`${format}: ${what} is refused, by name`, async (t) => {
        if (format === 'tar' && what === 'NUL')
          return t.skip('a name of tar ends there');
        const { status, json } = await put(d, archiveOf({ [name]: 'x' }, format));
        const digest = json.digest;

        assert.ok([200, 201].includes(status));
        const error = await c.fails('session/new', { cwd: newCwd(d), mcpServers: [], _meta: { acpd: { workspace: { archive: digest } } } });

        assert.match(JSON.stringify(error.data), reason);
        assert.ok(JSON.stringify(error).isWellFormed());
      });

  test('in a draft', { skip: !isRoot && 'needs an overlay' }, async () => {
    const { cwd, sessionId } = await unpacked('tar', { draft: true });

    await run(c, sessionId, 'for f in dir*/*; do printf draft >> "$f"; done; rm link*');
    const shown = await diff(c, sessionId);

    assert.equal(shown.changesTotal, 2 * NAMES.length);
    assert.deepEqual(sorted(treeNow(cwd)), sorted(wanted(NAMES)));
    await apply(c, sessionId, shown.patchDigest);
    for (const [what, name] of NAMES)
      assert.equal(fs.readFileSync(path.join(cwd, `dir ${name}`, name), 'utf8'), `${name}draft`, what);
    assert.ok(!Object.keys(treeOf(cwd)).some((name) => name.startsWith('link')));
  });
});

// A name that is not UTF-8, as any program may make it.
test('a file whose name is bytes', async () => {
  const { cwd, sessionId } = await unpacked('tar');
  const name = Buffer.concat([Buffer.from(`${cwd}/caf`), Buffer.from([0xe9, 0x0a])]);

  fs.writeFileSync(name, 'x');
  const shown = await diff(c, sessionId);
  assert.ok(JSON.stringify(shown).isWellFormed());
  assert.ok(shown.files === 1 || shown.omitted.length === 1, JSON.stringify(shown));
  const { answer } = await (await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name: 'listFiles', arguments: { path: cwd } })).over();
  assert.match(JSON.stringify(answer.result.structuredContent), /caf\ufffd/);
  const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/workspace?format=tar`, { headers: { Authorization: `Bearer ${d.token}` } });
  assert.ok(Buffer.from(await res.arrayBuffer()).includes(Buffer.from([0xe9])));
});

describe('the environment', () => {
  test('values', async () => {
    const texts = ODD_TEXTS.filter(([what, json]) => what !== 'NUL' && json.length < 1e5);
    const { sessionId } = await c.newSession({ meta: { env: Object.fromEntries(texts.map(([, json], i) => [`ODD_${i}`, JSON.parse(`"${json}"`)])) } });
    const [env] = procs.withEnv((e) => e.ACPD_SESSION === sessionId).filter(procs.alive).map(({ pid }) => procs.environ(pid));

    texts.forEach(([what, json], i) => assert.equal(Buffer.from(env[`ODD_${i}`], 'latin1').toString(), arrives(json), what));
  });

  for (const [what, env, field] of [['NUL in a value', { A: 'x\0y' }, 'A'], ['1 MB', { A: 'x'.repeat(2 ** 20) }, 'A'], ['NUL in a name', { 'A\0B': 'x' }, 'env'], ['= in a name', { 'A=B': 'x' }, 'env'],
    ['half of a pair in a name', { 'A\ud83d': 'x' }, 'env'], ['no name', { '': 'x' }, 'env']])
    test(`${what} is refused, with the field`, async () => {
      const error = await c.fails('session/new', { cwd: newCwd(d), mcpServers: [], _meta: { acpd: { env } } });

      assert.ok(error.data.field.startsWith('_meta.acpd.env'), JSON.stringify(error.data));
      assert.ok(error.data.field.includes(field));
      assert.ok(error.rpcMessage.isWellFormed());
    });
});
