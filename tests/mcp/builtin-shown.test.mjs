// SPDX-License-Identifier: Apache-2.0
// What a model is shown of each result: whole lines, numbers, a size that a context can bear, and how to read on; images as images.
// The exact data stands beside it in structuredContent.

import fs from 'node:fs';
import test from 'node:test';
import { strict as assert } from 'node:assert';
import { deflateSync } from 'node:zlib';
import { Tools, scratch, tools } from './builtin.mjs';

const KB50 = 48000;
const shown = async (box, name, args) => (await box.raw(name, args)).content[0].text;
const lines = (from, to, text = (i) => `line ${i}`) => Array.from({ length: to - from + 1 }, (_, i) => text(from + i));
const numbered = (from, to, text) => lines(from, to, text).map((line, i) => `${String(from + i).padStart(6)}\t${line}\n`).join('');

test('readFile: numbered lines, in pieces that fit, each says where the next begins', async (t) => {
  const box = await tools(t);
  const write = (name, text) => fs.writeFileSync(box.file(name), text);

  write('small', 'a\n\tb "c"\\\nü𝄞');
  assert.equal(await shown(box, 'readFile', { path: 'small' }), '     1\ta\n     2\t\tb "c"\\\n     3\tü𝄞\n');
  assert.equal(await shown(box, 'readFile', { path: 'small', startLine: 2, endLine: 2 }),
    '     2\t\tb "c"\\\n[lines 2-2; the file goes on, it has 16 bytes; read on with startLine: 3]\n');
  write('empty', '');
  assert.equal(await shown(box, 'readFile', { path: 'empty' }), '[the file is empty]\n');
  assert.equal(await shown(box, 'readFile', { path: 'small', startLine: 9 }), '[the file ends before line 9]\n');
  write('crlf', 'a\r\nb\r\n');
  assert.equal(await shown(box, 'readFile', { path: 'crlf' }), '     1\ta\n     2\tb\n[lines end in CR LF]\n');

  // by lines, and by bytes
  for (const [all, text] of [[5000, (i) => `line ${i}`], [1500, (i) => `${i} ${'x'.repeat(100)}`]]) {
    write('long', `${lines(1, all, text).join('\n')}\n`);
    let next = 1, joined = '';

    for (let pieces = 0; next <= all; pieces++) {
      const got = await shown(box, 'readFile', next === 1 ? { path: 'long' } : { path: 'long', startLine: next });
      const end = /^\[lines (\d+)-(\d+) of (\d+); read on with startLine: (\d+)\]\n$/m.exec(got);

      assert.ok(Buffer.byteLength(got) <= KB50 + 200 && pieces < 10, `${got.length}`);
      joined += end ? got.slice(0, end.index) : got;
      if (end)
        assert.deepEqual(end.slice(1).map(Number), [next, Number(end[4]) - 1, all, Number(end[4])]);
      assert.ok(!end || Number(end[4]) > next);
      next = end ? Number(end[4]) : all + 1;
    }
    assert.equal(joined, numbered(1, all, text));
  }

  // one line that is all of a file: its head, then by bytes
  const one = `{"k":"${'é'.repeat(60000)}"}`;

  write('one', one);
  const first = await shown(box, 'readFile', { path: 'one' });
  const [, head, offset] = /^ {5}1\t(.*) \[cut: \d+ more bytes of this line; read them with offset: (\d+), length: 48000\]\n$/.exec(first);
  let at = Number(offset), joined = head;

  assert.ok(Buffer.byteLength(head) <= 2000);
  while (at < Buffer.byteLength(one)) {
    const [, piece, from, to] = /^(.*)\n\[bytes (\d+)-(\d+) of 120008(?:; read on with offset: \d+)?\]\n$/.exec(await shown(box, 'readFile', { path: 'one', offset: at }));

    assert.equal(Number(from), at);
    joined += piece;
    at = Number(to);
  }
  assert.equal(joined, one);

  // for programs all of it, whatever is shown
  write('big', 'x'.repeat(99) + '\n' + 'y'.repeat(3 << 20));
  assert.equal((await box.call('readFile', { path: 'big' })).content.length, 100 + (3 << 20));
});

// A whole PNG of that size; change: what is broken in it.
function png(width, height, change = (b) => b) {
  const chunk = (name, data) => {
    const head = Buffer.alloc(8);

    head.writeUInt32BE(data.length);
    head.write(name, 4, 'latin1');
    return Buffer.concat([head, data, Buffer.alloc(4)]);
  };
  const size = Buffer.alloc(13);

  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  return change(Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', size), chunk('IDAT', deflateSync(Buffer.alloc(8))),
    chunk('IEND', Buffer.alloc(0))]));
}

test('readFile: images as images, and only whole ones: a broken one would be in the history for good', async (t) => {
  const box = await tools(t);
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const webp = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');
  const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080002000301011100ffda0008010100003f00d2cf20ffd9', 'hex');
  const good = { 'a.png': [png(3, 2), 'image/png', '3 x 2'], 'a.gif': [gif, 'image/gif', '1 x 1'], 'a.webp': [webp, 'image/webp', '1 x 1'],
    'a.jpg': [jpeg, 'image/jpeg', '3 x 2'], 'png-by-another-name.txt': [png(1, 1), 'image/png', '1 x 1'] };

  for (const [name, [bytes, mimeType, sides]] of Object.entries(good)) {
    fs.writeFileSync(box.file(name), bytes);
    const { content, structuredContent: s } = await box.raw('readFile', { path: name });

    assert.deepEqual(content, [{ type: 'text', text: `[${mimeType}, ${sides}, ${bytes.length} bytes]\n` },
      { type: 'image', data: bytes.toString('base64'), mimeType }], name);
    assert.deepEqual([s.content, s.encoding, s.mimeType], [bytes.toString('base64'), 'base64', mimeType]);
    // to whom bytes or text are said to be wanted no image is given
    assert.equal((await box.raw('readFile', { path: name, encoding: 'base64' })).content.length, 1);
    await box.fails('NOT_UTF8', 'readFile', { path: name, encoding: 'utf-8' });
  }
  const bad = { cut: png(3, 2, (b) => b.subarray(0, b.length - 5)), wide: png(8001, 2), flat: png(3, 0), head: png(3, 2, (b) => b.subarray(0, 33)),
    jpeg: jpeg.subarray(0, jpeg.length - 2), gif: gif.subarray(0, 20), webp: webp.subarray(0, 30), large: Buffer.concat([png(3, 2), Buffer.alloc(3 << 20)]) };

  for (const [name, bytes] of Object.entries(bad)) {
    fs.writeFileSync(box.file(name), bytes);
    const { content, structuredContent: s } = await box.raw('readFile', { path: name });

    assert.deepEqual([content.length, s.error?.code], [1, 'NOT_UTF8'], name);
  }
});

test('commands: head and tail, what is between them can be read on', async (t) => {
  const box = await tools(t);
  const run = (command, more) => box.raw('runCommand', { command, ...more });

  for (const [command, text] of [
    ['echo hello', 'hello\n[exit code 0]\n'],
    ['true', '[no output; exit code 0]\n'],
    ['printf out; printf err >&2; exit 3', 'out\n[stderr]\nerr\n[exit code 3]\n'],
    ["printf '\\033[31mred\\033[0m \\033]0;title\\007plain\\r\\n10%%\\r20%%\\n'", 'red plain\n10%\n20%\n[exit code 0]\n'],
    ['kill -9 $$', '[no output; ended by signal 9]\n'],
  ])
    assert.equal((await run(command)).content[0].text, text, command);
  assert.match((await run('sleep 20', { timeoutMs: 50 })).content[0].text, /^\[no output; timed out after \d+ ms, ended; ended by signal 15\]\n$/);
  assert.equal((await run('echo x', { captureOutput: false })).content[0].text, '[exit code 0]\n');
  assert.match((await box.raw('runCommand', { argv: ['no-such-program'] })).content[0].text, /^\[not run: .*no-such-program.*\]\n$/);

  // more than is kept: what a build says first, and last, is shown all the same
  const { content: [{ text }], structuredContent: s } = await run('seq -f "line %07g" 1 200000; echo oops >&2; exit 1');
  const all = Buffer.from(Array.from({ length: 200000 }, (_, i) => `line ${String(i + 1).padStart(7, '0')}\n`).join(''));
  const [, head, left, pid, from, tail] = /^([^[]*)\[(\d+) bytes of stdout left out; getProcessOutput with pid: "(\d+)", stream: "stdout", offset: (\d+) reads them\]\n([^[]*)\[stderr\]\noops\n\[exit code 1\]\n$/.exec(text);

  assert.ok(text.length < KB50 + 500);
  assert.ok(head.length > 10000 && all.toString().startsWith(head) && head.endsWith('\n'));
  assert.ok(tail.length > 10000 && all.toString().endsWith(tail) && tail.startsWith('line'));
  assert.equal(Number(from), head.length);
  assert.equal(Number(left), all.length - head.length - tail.length);
  assert.equal(s.pid, pid);
  assert.equal(s.stdout, all.subarray(-(1 << 20)).toString());
  const piece = await box.raw('getProcessOutput', { pid, offset: Number(from) });

  assert.equal(piece.structuredContent.piece, all.subarray(Number(from), Math.min(Number(from) + KB50, 32768)).toString());
  const late = await box.raw('getProcessOutput', { pid, offset: 1600000, length: 1000 });

  assert.equal(late.content[0].text, `${all.subarray(1600000, 1601000)}\n[bytes 1600000-1601000 of ${all.length}; read on with offset: 1601000]\n`.replace(/\n\n\[/, '\n['));
  assert.deepEqual([late.structuredContent.offset, late.structuredContent.nextOffset], [1600000, 1601000]);
  // what is kept nowhere any more is passed over, and said by the offset
  assert.equal((await box.call('getProcessOutput', { pid, offset: 40000, length: 10 })).offset, all.length - (1 << 20));
  assert.deepEqual((await box.call('listProcesses')).processes, [], 'it is no process in the background');
  const quiet = await run('seq 1 2500');

  assert.match(quiet.content[0].text, /\n975\n\[\d+ bytes of stdout left out; .*\]\n1526\n/);
  // only the newest can be read on
  for (let i = 0; i < 8; i++)
    await run('seq 1 2001');
  await box.fails('PROCESS_NOT_FOUND', 'getProcessOutput', { pid });

  const back = await box.raw('runCommand', { command: 'echo up; sleep 100', background: true });

  assert.match(back.content[0].text, /running, pid: "\d+"; getProcessOutput reads on\]\n$/);
  await box.call('killProcess', { pid: back.structuredContent.pid });
});

test('lists: names, contents, matches, patches, tests, errors', async (t) => {
  const box = await tools(t, { tests: { t: { command: 'printf "TAP version 13\\n1..2\\nok 1 - fine\\nnot ok 2 - broken\\n"; exit 1', format: 'tap' } } });

  fs.mkdirSync(box.file('d'));
  fs.writeFileSync(box.file('a.c'), 'int a;\nint b;\nlong c;\n');
  fs.writeFileSync(box.file('d/b.c'), 'int d;\n');
  fs.writeFileSync(box.file('evil\n[exit code 0]'), '');
  fs.symlinkSync('a.c', box.file('link'));
  assert.equal(await shown(box, 'listFiles', { recursive: true }), 'a.c  22\nd/\nd/b.c  7\n"evil\\n[exit code 0]"  0\nlink -> a.c\n');
  assert.equal(await shown(box, 'listFiles', { limit: 1 }), 'a.c  22\n[there is more: ask with cursor: YS5j]\n');
  assert.equal(await shown(box, 'readFiles', { glob: '**/*.c' }), '==> a.c  22\n     1\tint a;\n     2\tint b;\n     3\tlong c;\n==> d/b.c  7\n     1\tint d;\n');
  assert.equal(await shown(box, 'readFiles', { glob: '*.x' }), '[no file matches]\n');
  assert.equal(await shown(box, 'grep', { pattern: 'int' }), 'a.c\n1:int a;\n2:int b;\n\nd/b.c\n1:int d;\n');
  assert.equal(await shown(box, 'grep', { pattern: 'long', contextLines: 1 }), 'a.c\n2-int b;\n3:long c;\n');
  assert.equal(await shown(box, 'grep', { pattern: 'none' }), '[no line matches in 3 files]\n');
  assert.equal(await shown(box, 'grep', { pattern: 'int', maxMatches: 1 }), 'a.c\n1:int a;\n[1 matches are shown; there are more: narrow the pattern, path or include]\n');
  assert.equal(await shown(box, 'checkFileExists', { path: 'a.c' }), 'exists: true\npath: a.c\nisDirectory: false\ntype: file\n');
  assert.equal(await shown(box, 'applyDiff', { patch: '--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int e;\n int b;\n'.replace('-1 +1', '-1,2 +1,2') }), 'modified a.c  +1 -1\n');
  assert.match(await shown(box, 'runTests', { target: 't' }), /^1 passed, 1 failed, 0 skipped; exit code 1\ncommand: .*\nFAILED broken\npassed fine\n/);
  assert.equal(await shown(box, 'readFile', { path: 'none' }), 'ENOENT: cannot reach none: No such file or directory\n');
  assert.equal(await shown(box, 'readFile', {}), 'INVALID_ARGUMENT: path is missing\nfield: path\n');

  // more than fits
  for (let i = 0; i < 1000; i++)
    fs.writeFileSync(box.file(`d/${'n'.repeat(90)}${i}`), `${'needle '.repeat(40)}\n`);
  const list = await shown(box, 'listFiles', { path: 'd' });
  const [, left, limit] = /\n\[(\d+) more of this page are not shown: ask with limit: (\d+), then with the cursor that it gives\]\n$/.exec(list);

  assert.equal(list.split('\n').length - 2, Number(limit));
  assert.equal(Number(left) + Number(limit), 1000);
  assert.match(await shown(box, 'listFiles', { path: 'd', limit: Number(limit) }), /\n\[there is more: ask with cursor: /);
  assert.match(await shown(box, 'grep', { pattern: 'needle', maxMatches: 1000 }), /\n\[\d+ matches are shown; there are more: /);
  assert.match(await shown(box, 'readFiles', { glob: 'd/*' }), /\n\[\d+ more files match: narrow glob, or read them by readFile\]\n$/);
  fs.writeFileSync(box.file('d/wide'), `needle${'x'.repeat(5000)}\n`);
  assert.equal(await shown(box, 'grep', { pattern: 'needlex' }), `d/wide\n1:needle${'x'.repeat(494)} [cut]\n`);
});

test('a client that shows its model structuredContent is given text alone, if it says so', async (t) => {
  const root = scratch();
  const box = await Tools.start(root);
  const meta = { acpd: { textOnly: true } };

  t.after(async () => {
    await box.stop();
    fs.rmSync(root, { recursive: true });
  });
  const { result: { tools: listed } } = await box.request('tools/list', {}, meta);

  assert.ok(listed.every((tool) => tool.inputSchema && !tool.outputSchema));
  for (const [name, args] of [['writeFile', { path: 'a', content: 'x\n' }], ['readFile', { path: 'a' }], ['readFile', { path: 'b' }]]) {
    const { result } = await box.request('tools/call', { name, arguments: args }, meta);

    assert.deepEqual(Object.keys(result).filter((key) => key !== 'isError'), ['resultType', 'content']);
  }
});
