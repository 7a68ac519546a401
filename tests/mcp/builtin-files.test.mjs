// SPDX-License-Identifier: Apache-2.0
// readFile, writeFile, writeFiles, editFile, getFileInfo, checkFileExists, getFileSize, deleteFile, createDirectory, createSandbox.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { ACPD, Tools, scratch, tools } from './builtin.mjs';

test('what is announced: names, annotations, strict schemas', async (t) => {
  const box = await tools(t, { sandboxId: 'sbx-1' });
  const names = [...box.tools.keys()];

  for (const name of ['createSandbox', 'readFile', 'writeFile', 'writeFiles', 'listFiles', 'deleteFile', 'createDirectory', 'getFileInfo',
    'checkFileExists', 'getFileSize', 'watchDirectory', 'readFiles', 'editFile', 'grep'])
    assert.ok(names.includes(name), name);
  const again = await box.request('tools/list', {});

  assert.deepEqual(again.result.tools.map((tool) => tool.name), names);
  for (const tool of box.tools.values()) {
    assert.equal(tool.inputSchema.additionalProperties, false);
    assert.equal(tool.outputSchema.additionalProperties, false);
    assert.ok(tool.inputSchema.properties.sandboxId, tool.name);
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])
      assert.equal(typeof tool.annotations[hint], 'boolean', `${tool.name} ${hint}`);
  }
  assert.deepEqual(await box.call('createSandbox', { language: 'python', envVars: { A: 'b' }, timeoutMS: 300000 }), { sandboxId: 'sbx-1' });
  assert.equal((await box.call('checkFileExists', { sandboxId: 'sbx-1', path: '.' })).isDirectory, true);
  assert.equal((await box.fails('SANDBOX_MISMATCH', 'checkFileExists', { sandboxId: 'sbx-2', path: '.' })).field, 'sandboxId');
  assert.equal((await box.fails('UNKNOWN_ARGUMENT', 'readFile', { path: 'a', pth: 'b' })).field, 'pth');
  assert.equal((await box.fails('INVALID_ARGUMENT', 'readFile', {})).field, 'path');
  const unknown = await box.request('tools/call', { name: 'rm', arguments: {} });

  assert.equal(unknown.error.code, -32602);
  assert.equal(unknown.error.data.reason, 'UNKNOWN_TOOL');
});

test('readFile: bytes, lines, encodings, versions', async (t) => {
  const box = await tools(t);
  const text = 'eins\nzwei\r\ndrei ü𝄞\nvier';

  fs.writeFileSync(box.file('a.txt'), text);
  const whole = await box.call('readFile', { path: 'a.txt' });
  const st = fs.statSync(box.file('a.txt'));

  assert.equal(whole.content, text);
  assert.equal(whole.path, 'a.txt');
  assert.equal(whole.size, Buffer.byteLength(text));
  assert.equal(whole.mtime, Math.floor(st.mtimeMs));
  assert.equal(whole.truncated, false);
  assert.equal(whole.nextOffset, undefined);
  assert.equal((await box.call('readFile', { path: box.file('a.txt') })).etag, whole.etag);
  const lines = await box.call('readFile', { path: 'a.txt', startLine: 2, endLine: 3 });

  assert.deepEqual([lines.content, lines.startLine, lines.endLine, lines.offset], ['zwei\r\ndrei ü𝄞\n', 2, 3, 5]);
  assert.equal((await box.call('readFile', { path: 'a.txt', startLine: 4 })).content, 'vier');
  assert.equal((await box.call('readFile', { path: 'a.txt', startLine: 9 })).content, '');
  // a range that ends within a character ends before it, and the next one begins there
  let at = 0, joined = '';

  for (let i = 0; at !== undefined && i < 20; i++) {
    const part = await box.call('readFile', { path: 'a.txt', offset: at, length: 5 });

    joined += part.content;
    at = part.nextOffset;
  }
  assert.equal(joined, text);
  await box.fails('INVALID_ARGUMENT', 'readFile', { path: 'a.txt', offset: 1, startLine: 1 });
  await box.fails('INVALID_ARGUMENT', 'readFile', { path: 'a.txt', startLine: 3, endLine: 2 });
  await box.fails('ENOENT', 'readFile', { path: 'none' });
  await box.fails('EISDIR', 'readFile', { path: '.' });
  await box.fails('ENOTDIR', 'readFile', { path: 'a.txt/b' });

  const bytes = Buffer.from([0, 255, 254, 13, 10, 65]);

  fs.writeFileSync(box.file('bin'), bytes);
  await box.fails('NOT_UTF8', 'readFile', { path: 'bin' });
  const binary = await box.call('readFile', { path: 'bin', encoding: 'base64' });

  assert.deepEqual(Buffer.from(binary.content, 'base64'), bytes);
  fs.writeFileSync(box.file('nul'), 'a\0b');
  assert.equal((await box.call('readFile', { path: 'nul' })).content, 'a\0b');
  fs.writeFileSync(box.file('empty'), '');
  assert.equal((await box.call('readFile', { path: 'empty' })).content, '');

  // 1 MiB of 20
  const big = Buffer.alloc(20 << 20, 'abcdefg\n');

  fs.writeFileSync(box.file('big'), big);
  const range = await box.call('readFile', { path: 'big', offset: 7 << 20, length: 1 << 20 });

  assert.equal(range.content, big.subarray(7 << 20, 8 << 20).toString());
  assert.deepEqual([range.truncated, range.nextOffset, range.length], [false, 8 << 20, 1 << 20]);
  const cut = await box.call('readFile', { path: 'big' });

  assert.deepEqual([cut.truncated, cut.content.length, cut.nextOffset], [true, 8 << 20, 8 << 20]);
});

test('neither FIFOs nor devices hold a tool up', async (t) => {
  const box = await tools(t);

  execFileSync('mkfifo', [box.file('pipe')]);
  await box.fails('NOT_A_FILE', 'readFile', { path: 'pipe' });
  await box.fails('NOT_A_FILE', 'writeFile', { path: 'pipe', content: 'x' });
  await box.fails('NOT_A_FILE', 'editFile', { path: 'pipe', oldText: 'a', newText: 'b' });
  assert.equal((await box.call('getFileInfo', { path: 'pipe' })).type, 'fifo');
  assert.deepEqual((await box.call('readFiles', { glob: '**' })).files, []);
  assert.equal((await box.call('grep', { pattern: 'x' })).filesSearched, 0);
  assert.equal((await box.call('deleteFile', { path: 'pipe' })).success, true);
});

test('writeFile: atomic, modes, parents, versions', async (t) => {
  const box = await tools(t);
  const first = await box.call('writeFile', { path: 'd/e/f.txt', content: 'one ü\0' });

  assert.deepEqual([first.success, first.path, first.bytesWritten, first.created], [true, 'd/e/f.txt', 7, true]);
  assert.equal(fs.readFileSync(box.file('d/e/f.txt'), 'utf8'), 'one ü\0');
  assert.equal(fs.statSync(box.file('d/e/f.txt')).mode & 0o777, 0o666 & ~process.umask());
  await box.fails('ENOENT', 'writeFile', { path: 'x/y', content: '', createParents: false });
  await box.fails('EEXIST', 'writeFile', { path: 'd/e/f.txt', content: '', overwrite: false });
  await box.fails('EISDIR', 'writeFile', { path: 'd/e', content: '' });
  await box.fails('EISDIR', 'writeFile', { path: 'd/new/', content: '' });
  await box.fails('ENOTDIR', 'writeFile', { path: 'd/e/f.txt/g', content: '' });
  await box.fails('INVALID_ARGUMENT', 'writeFile', { path: 'm', content: '', mode: 0 });
  await box.fails('INVALID_ARGUMENT', 'writeFile', { path: 'm', content: '', mode: 0o1000 });
  await box.fails('INVALID_ARGUMENT', 'writeFile', { path: 'm', content: '%%', encoding: 'base64' });
  await box.call('writeFile', { path: 'run.sh', content: '#!/bin/sh\n', mode: 0o755, fsync: true });
  assert.equal(fs.statSync(box.file('run.sh')).mode & 0o777, 0o755);
  await box.call('writeFile', { path: 'run.sh', content: '#!/bin/sh\necho\n' });
  assert.equal(fs.statSync(box.file('run.sh')).mode & 0o777, 0o755, 'the mode stays');
  await box.call('writeFile', { path: 'bin', content: Buffer.from([0, 1, 255]).toString('base64'), encoding: 'base64' });
  assert.deepEqual([...fs.readFileSync(box.file('bin'))], [0, 1, 255]);

  const { mtime, etag } = await box.call('readFile', { path: 'run.sh' });

  await box.call('writeFile', { path: 'run.sh', content: 'a', expectedMtime: mtime, expectedEtag: etag });
  await box.fails('ESTALE', 'writeFile', { path: 'run.sh', content: 'b', expectedEtag: etag });
  fs.utimesSync(box.file('run.sh'), 1, 1);
  await box.fails('ESTALE', 'writeFile', { path: 'run.sh', content: 'b', expectedMtime: mtime });
  await box.fails('ESTALE', 'writeFile', { path: 'run.sh', content: 'b', expectedMtime: new Date(mtime).toISOString() });
  await box.call('writeFile', { path: 'run.sh', content: 'a', expectedMtime: fs.statSync(box.file('run.sh')).mtime.toISOString() });
  assert.equal((await box.fails('INVALID_ARGUMENT', 'writeFile', { path: 'run.sh', content: 'b', expectedMtime: 'today' })).field, 'expectedMtime');
  await box.fails('ESTALE', 'writeFile', { path: 'gone', content: 'b', expectedMtime: mtime });
  assert.equal(fs.readFileSync(box.file('run.sh'), 'utf8'), 'a');
  // through a link inside; a hard link keeps the old content
  fs.symlinkSync('run.sh', box.file('link'));
  fs.linkSync(box.file('run.sh'), box.file('hard'));
  await box.call('writeFile', { path: 'link', content: 'through' });
  assert.equal(fs.readFileSync(box.file('run.sh'), 'utf8'), 'through');
  assert.ok(fs.lstatSync(box.file('link')).isSymbolicLink());
  assert.equal(fs.readFileSync(box.file('hard'), 'utf8'), 'a');
  fs.symlinkSync('nowhere', box.file('dangling'));
  await box.fails('ENOENT', 'writeFile', { path: 'dangling', content: 'x' });
  assert.deepEqual(fs.readdirSync(box.root).filter((name) => name.startsWith('.acpd')), []);
});

test('writeFiles: one bad path of ten, and nothing is written', async (t) => {
  const box = await tools(t);
  const files = Array.from({ length: 10 }, (_, i) => ({ path: `n/${i}.txt`, [i % 2 ? 'data' : 'content']: `file ${i}` }));

  for (const [bad, code, field] of [[{ path: '../out', data: 'x' }, 'OUTSIDE_ROOTS', 'files[7].path'], [{ path: 'n/1.txt', data: 'x' }, 'DUPLICATE_PATH', 'files[7].path'],
    [{ path: 'n/z', data: 'x', content: 'y' }, 'INVALID_ARGUMENT', 'files[7].content'], [{ path: 'n/z' }, 'INVALID_ARGUMENT', 'files[7].content'],
    [{ path: '.', data: 'x' }, 'EISDIR', 'files[7].path'], [{ path: 'n/z', data: 'x', mode: 0o7777 }, 'INVALID_ARGUMENT', 'files[7].mode']]) {
    const error = await box.fails(code, 'writeFiles', { files: files.with(7, bad) });

    assert.equal(error.field, field);
    assert.deepEqual(fs.readdirSync(box.root), []);
  }
  const done = await box.call('writeFiles', { files });

  assert.deepEqual([done.success, done.filesWritten], [true, files.map((f) => f.path)]);
  assert.equal(fs.readFileSync(box.file('n/7.txt'), 'utf8'), 'file 7');
  assert.equal(done.results.length, 10);
});

test('editFile: exactly once or everywhere; line ends stay', async (t) => {
  const box = await tools(t);

  fs.writeFileSync(box.file('a'), 'one\ntwo\ntwo\naaa\n');
  await box.fails('NO_MATCH', 'editFile', { path: 'a', oldText: 'three', newText: '3' });
  assert.match((await box.fails('NOT_UNIQUE', 'editFile', { path: 'a', oldText: 'two', newText: '2' })).message, /2 times/);
  await box.fails('NOT_UNIQUE', 'editFile', { path: 'a', oldText: 'aa', newText: 'b' });
  await box.fails('NO_CHANGE', 'editFile', { path: 'a', oldText: 'one', newText: 'one' });
  await box.fails('INVALID_ARGUMENT', 'editFile', { path: 'a', oldText: '', newText: 'one' });
  await box.fails('ENOENT', 'editFile', { path: 'b', oldText: 'a', newText: 'b' });
  const dry = await box.call('editFile', { path: 'a', oldText: 'one\n', newText: '1\n', dryRun: true });

  assert.deepEqual([dry.dryRun, dry.replacements, dry.size], [true, 1, 14]);
  const all = await box.call('editFile', { path: 'a', oldText: 'two', newText: '$&', replaceAll: true });

  assert.deepEqual([all.replacements, all.line], [2, 2]);
  assert.equal(fs.readFileSync(box.file('a'), 'utf8'), 'one\n$&\n$&\naaa\n');
  await box.fails('ESTALE', 'editFile', { path: 'a', oldText: 'one', newText: '1', expectedEtag: 'x' });
  fs.writeFileSync(box.file('crlf'), 'one\r\ntwo\r\nthree\r\n', { mode: 0o640 });
  await box.call('editFile', { path: 'crlf', oldText: 'one\ntwo\n', newText: '1\n2\n2.5\n' });
  assert.equal(fs.readFileSync(box.file('crlf'), 'utf8'), '1\r\n2\r\n2.5\r\nthree\r\n');
  assert.equal(fs.statSync(box.file('crlf')).mode & 0o777, 0o640);
});

test('getFileInfo, checkFileExists, getFileSize are what stat says', async (t) => {
  const box = await tools(t);

  fs.mkdirSync(box.file('dir/sub'), { recursive: true });
  fs.writeFileSync(box.file('dir/f'), 'x'.repeat(1536));
  fs.writeFileSync(box.file('dir/sub/g'), 'y'.repeat(512));
  fs.chmodSync(box.file('dir/f'), 0o4751);
  fs.symlinkSync('../dir/f', box.file('dir/l'));
  fs.symlinkSync('/etc/passwd', box.file('out'));
  execFileSync('mkfifo', [box.file('p')]);
  for (const [name, type] of [['dir', 'dir'], ['dir/f', 'file'], ['dir/l', 'symlink'], ['p', 'fifo'], ['out', 'symlink'], ['.', 'dir']]) {
    const info = await box.call('getFileInfo', { path: name });
    const st = fs.lstatSync(box.file(name));
    const [owner, group, rights] = execFileSync('stat', ['-c', '%U %G %A', box.file(name)], { encoding: 'utf8' }).trim().split(' ');

    assert.deepEqual([info.type, info.size, info.mode, info.uid, info.gid, info.owner, info.group, info.permissions, info.modTime, info.isDir],
      [type, st.size, st.mode & 0o7777, st.uid, st.gid, owner, group, rights.slice(1), new Date(Math.floor(st.mtimeMs)).toISOString(), st.isDirectory()]);
    assert.equal(info.symlinkTarget, st.isSymbolicLink() ? fs.readlinkSync(box.file(name)) : undefined);
    assert.deepEqual(await box.call('checkFileExists', { path: name }), { exists: true, path: name, isDirectory: st.isDirectory(), type });
    assert.equal((await box.call('getFileSize', { path: name })).size, st.size);
  }
  for (const name of ['none', 'none/x', 'dir/f/x'])
    assert.deepEqual(await box.call('checkFileExists', { path: name }), { exists: false, path: name, isDirectory: false });
  const size = await box.call('getFileSize', { path: 'dir', recursive: true, humanReadable: true });

  assert.deepEqual([size.size, size.humanReadableSize, size.files, size.isDirectory], [2048, '2.0 KB', 2, true]);
  assert.equal((await box.call('getFileSize', { path: 'dir/f', humanReadable: true })).humanReadableSize, '1.5 KB');
  await box.fails('ENOENT', 'getFileInfo', { path: 'none' });
});

test('deleteFile and createDirectory', async (t) => {
  const outside = scratch();
  const box = await tools(t);

  t.after(() => fs.rmSync(outside, { recursive: true }));
  fs.writeFileSync(path.join(outside, 'kept'), 'kept');
  assert.equal((await box.call('createDirectory', { path: 'a/b/c', mode: 0o750 })).created, true);
  assert.equal(fs.statSync(box.file('a/b/c')).mode & 0o777, 0o750);
  assert.equal((await box.call('createDirectory', { path: 'a/b/c' })).created, false);
  await box.fails('EEXIST', 'createDirectory', { path: 'a/b', recursive: false });
  await box.fails('ENOENT', 'createDirectory', { path: 'x/y', recursive: false });
  fs.writeFileSync(box.file('a/b/f'), 'x');
  await box.fails('EEXIST', 'createDirectory', { path: 'a/b/f' });
  await box.fails('ENOTDIR', 'createDirectory', { path: 'a/b/f/g' });
  await box.fails('ENOTEMPTY', 'deleteFile', { path: 'a/b', recursive: false });
  assert.equal((await box.call('deleteFile', { path: 'a/b/c' })).success, true, 'an empty one goes');
  fs.symlinkSync(outside, box.file('a/out'));
  fs.symlinkSync(path.join(outside, 'kept'), box.file('direct'));
  fs.symlinkSync('a', box.file('in'));
  for (const name of ['.', './', 'a/..', box.root, `${box.root}/`])
    await box.fails(name === box.root || name === `${box.root}/` ? 'OUTSIDE_ROOTS' : 'IS_ROOT', 'deleteFile', { path: name, recursive: true });
  for (const name of ['/', '..', 'a/../..', 'a/out/kept', 'direct/x'])
    await box.fails('OUTSIDE_ROOTS', 'deleteFile', { path: name, recursive: true });
  assert.equal((await box.call('deleteFile', { path: 'in' })).success, true);
  assert.ok(fs.existsSync(box.file('a/b/f')), 'a link goes, not what it leads to');
  // a link within a directory that goes is only a link
  assert.equal((await box.call('deleteFile', { path: 'a' })).success, true, 'a directory, as the seed calls it');
  assert.equal((await box.call('deleteFile', { path: 'direct' })).success, true, 'of a link that leads out, the link');
  assert.equal(fs.readFileSync(path.join(outside, 'kept'), 'utf8'), 'kept');
  assert.deepEqual(fs.readdirSync(box.root), []);
  await box.fails('ENOENT', 'deleteFile', { path: 'a' });
});

test('a kill -9 while files are written leaves the old or the new, whole', async (t) => {
  const root = scratch();
  const old = 'o'.repeat(3 << 20), fresh = 'n'.repeat(3 << 20);
  const seen = new Set();

  t.after(() => fs.rmSync(root, { recursive: true }));
  for (let round = 0; round < 12; round++) {
    fs.writeFileSync(path.join(root, 'f'), old);
    const box = await Tools.start(root);
    const answer = box.request('tools/call', { name: 'writeFile', arguments: { path: 'f', content: fresh, fsync: round % 2 === 0 } });

    answer.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 4 + 5 * round));
    box.child.kill('SIGKILL');
    await box.exited;
    const now = fs.readFileSync(path.join(root, 'f'), 'utf8');

    assert.ok(now === old || now === fresh, `${now.length} bytes`);
    seen.add(now[0]);
  }
  assert.ok(seen.size >= 1);
  assert.ok(fs.readdirSync(root).length <= 2, fs.readdirSync(root).join());
});

test('a client that is gone ends the server', async () => {
  const root = scratch();
  const child = spawn(ACPD, ['mcp', '--builtin'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  const end = new Promise((resolve) => child.on('close', resolve));

  child.stdin.end();
  assert.equal(await end, 0);
  fs.rmdirSync(root);
});
