// SPDX-License-Identifier: Apache-2.0
// build: release
// The parts of the viewer's components that are not pictures: Markdown, terminal text, patches and texts compared. What an agent sends is
// bounded here, in size, depth and time, so each bound is met.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { packages, VIEWS } from './page.mjs';

let md, ansi, patch, texts, visible, format;
before(async () => {
  packages();
  [md, ansi, patch, texts, visible, format] = await Promise.all(['text/markdown', 'text/ansi', 'calls/patch', 'calls/textdiff', 'text/visible', 'text/format']
    .map((name) => import(path.join(VIEWS, `${name}.ts`))));
});

const kinds = (nodes, out = []) => {
  for (const node of nodes ?? []) {
    out.push(node.t);
    kinds(node.c, out);
    for (const item of node.items ?? []) kinds(item.c, out);
    for (const cells of [node.head ?? [], ...(node.rows ?? [])]) for (const cell of cells) kinds(cell, out);
  }
  return out;
};
const shownText = (nodes) => JSON.stringify(nodes);
const depth = (nodes) => 1 + Math.max(0, ...nodes.map((n) => Math.max(n.c ? depth(n.c) : 0, ...(n.items ?? []).map((i) => depth(i.c)))));

describe('Markdown', () => {
  test('becomes a tree of known nodes', () => {
    const { nodes, rest } = md.parseMarkdown('# A\n\n*b* **c** `d` ~~e~~ [f](https://g/)\n\n> h\n\n- [x] i\n- [ ] j\n\n3. k\n\n|l|\n|-|\n|m|\n\n---\n\n```n\no\n```\n');

    assert.equal(rest, '');
    assert.deepEqual([...new Set(kinds(nodes))].sort(), ['code', 'codespan', 'del', 'em', 'h', 'hr', 'link', 'list', 'p', 'quote', 'strong', 'table', 'text']);
    assert.deepEqual(nodes.find((n) => n.items?.length === 2).items.map((i) => i.checked), [true, false]);
    assert.equal(nodes.find((n) => n.start).start, 3);
  });
  test('has links to http, https and mailto alone', () => {
    for (const href of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', '\u0001javascript:alert(1)', 'data:text/html,x', 'vbscript:x',
      'file:///etc/passwd', '//example.org', '/v1/sessions', '#x', 'javascript&#58;alert(1)', 'https://user:secret@example.org/', 'blob:https://a/b', 'https://'])
      assert.equal(md.safeLink(href), undefined, href);
    assert.equal(md.safeLink('https://exampłe.org/a'), 'https://xn--exampe-7db.org/a');
    assert.equal(md.safeLink('mailto:a@example.org'), 'mailto:a@example.org');
    assert.ok(!kinds(md.parseMarkdown('[a](javascript:alert(1)) ![b](https://c/d.png) ![e](data:image/svg+xml;base64,AAAA)').nodes).includes('image'));
    assert.ok(kinds(md.parseMarkdown('![b](data:image/png;base64,AAAA)').nodes).includes('image'));
  });
  test('leaves HTML the text that it is, and knows entities', () => {
    const { nodes } = md.parseMarkdown('a <b onclick="x">c</b> &lt;d&gt; &#x3c;\n\n<script>alert(1)</script>\n');

    assert.deepEqual([...new Set(kinds(nodes))].sort(), ['p', 'text']);
    assert.match(shownText(nodes), /<script>alert\(1\)<\/script>/);
    assert.match(shownText(nodes), /<d> </);
  });
  test('has a bound of each kind, and loses no text by it', () => {
    for (const [what, source] of [['quotes', '>'.repeat(10_000) + ' a'], ['lists', '- '.repeat(10_000) + 'a'], ['a long list of levels', Array.from({ length: 400 }, (_, i) => `${' '.repeat(2 * i)}- a`).join('\n')],
      ['brackets', '['.repeat(60_000)], ['marks', '_a__'.repeat(15_000)], ['a rule', '* '.repeat(30_000) + 'a'], ['5 MB', 'word '.repeat(1_000_000)], ['words', '*a* '.repeat(1_000)],
      ['tables', '|a|b|\n|-|-|\n' + '|c|d|\n'.repeat(10_000)]]) {
      const { nodes, rest } = md.parseMarkdown(source);

      assert.ok(depth(nodes) <= 25, what);
      assert.ok(kinds(nodes).length <= 12_000, what);
      const shown = shownText(nodes).length + rest.length;
      assert.ok(shown >= source.replace(/[*\s|_-]/g, '').length, `${what}: ${shown} of ${source.length}`);
    }
  });
});

const E = '\u001b';
const plainLines = (text) => ansi.parseTerminal(text).lines.map((l) => l.map((s) => s.text).join(''));

describe('terminal text', () => {
  test('has the colours and letters of SGR', () => {
    const [line] = ansi.parseTerminal(`${E}[1;31mred${E}[0m ${E}[38;5;208mo${E}[48;2;0;0;80mb${E}[m x`).lines;

    assert.deepEqual(line.map((s) => s.text), ['red', ' ', 'o', 'b', ' x']);
    assert.equal(line[0].style.bold, true);
    assert.equal(line[1].style, undefined);
    assert.equal(line[3].style.bg, '#000050');
    assert.deepEqual(ansi.parseTerminal(`${E}[32ma\nb${E}[0m`).lines.map((l) => l[0].style?.fg), ['#6fcf7f', '#6fcf7f']);
  });
  test('can be read whatever colour is asked for', () => {
    for (let n = 0; n < 256; n++) {
      for (const codes of [`38;5;${n}`, `48;5;${n}`, `38;5;${n};48;5;${n}`, `7;38;5;${n}`]) {
        const { fg = '#d7dce3', bg = '#14171c' } = ansi.parseTerminal(`${E}[${codes}mx`).lines[0][0].style;

        assert.ok(ansi.contrast(fg, bg) >= 4.5, `${codes}: ${fg} on ${bg}`);
      }
    }
  });
  test('obeys carriage returns, backspaces, tabs and "erase in line"', () => {
    assert.deepEqual(plainLines('10 %\r100 %\rab\n'), ['ab0 %']);
    assert.deepEqual(plainLines(`long text\r${E}[Kab`), ['ab']);
    assert.deepEqual(plainLines('abc\b\bX\tY'), ['aX      Y']);
    assert.deepEqual(plainLines('a\r\nb\r\n'), ['a', 'b']);
  });
  test('has no other sequence left, complete or not', () => {
    for (const [text, want] of [[`a${E}]0;title\u0007b`, 'ab'], [`a${E}]8;;https://x/${E}\\link${E}]8;;${E}\\b`, 'alinkb'], [`a${E}P1$r0m${E}\\b`, 'ab'], [`a${E}[2Jb${E}[10;10Hc`, 'abc'],
      [`a${E}[?25lb`, 'ab'], [`a${E}(Bb`, 'ab'], [`a${E}]0;never ends`, 'a'], [`a${E}[`, 'a'], [`a${E}`, 'a'], [`a\u009b31mb`, 'ab'], [`a${E}[>4;2mb`, 'ab'], [`a${E}_x${E}\\b`, 'ab']])
      assert.deepEqual(plainLines(text), [want], JSON.stringify(text));
  });
  test('is bounded in lines and their length, the newest kept', () => {
    const { lines, dropped } = ansi.parseTerminal(Array.from({ length: 20_000 }, (_, i) => `line ${i}`).join('\n'));

    assert.equal(lines.length, ansi.LINES);
    assert.equal(dropped, 15_000);
    assert.equal(lines.at(-1)[0].text, 'line 19999');
    assert.equal(plainLines('x'.repeat(3_000_000))[0].length, ansi.LINE_CHARS);
    assert.ok(ansi.parseTerminal(`${E}[1m${E}[0mx`.repeat(100_000)).lines[0].length <= 402);
    assert.deepEqual(plainLines(`${E}]`.repeat(50_000)), ['']);
  });
});

// The hunks, applied to the old text.
function applied(old, file) {
  const from = old.split('\n');
  const out = [];
  let at = 0;
  let ends = old.endsWith('\n') || !old;
  for (const hunk of file.hunks) {
    out.push(...from.slice(at, hunk.oldStart - 1));
    at = Math.max(at, hunk.oldStart - 1);
    hunk.lines.forEach((line, i) => {
      if (line[0] === '+') out.push(line.slice(1));
      if (line[0] === ' ') out.push(from[at]);
      if (line[0] === ' ' || line[0] === '-') assert.equal(from[at++], line.slice(1));
      if (line[0] === '\\') ends = hunk.lines[i - 1][0] === '-';
    });
  }
  out.push(...from.slice(at));
  return { text: out.join('\n'), ends };
}

describe('patches', () => {
  test('of git are read: names, kinds, modes, binaries, ends without a line feed', () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-patch-'));
    const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: dir, encoding: 'utf8' });
    const write = (name, text) => fs.writeFileSync(path.join(dir, name), text);

    try {
      git('init', '-q');
      for (const [name, text] of [['plain', 'a\nb\nc\n'], ['two words', 'x\n'], ['ä \u202e"q"', 'x\n'], ['moved', 'one\ntwo\nthree\nfour\n'], ['mode', 'm\n'], ['gone', '--- a/x\n+++ b/x\n'], ['bin', 'a\0b']])
        write(name, text);
      git('add', '.');
      git('commit', '-qm', 'x');
      write('plain', 'a\nB\nc');
      write('two words', 'y\n');
      write('ä \u202e"q"', 'y\n');
      git('mv', 'moved', 'to here b-x.txt');
      write('bin', 'a\0c');
      fs.chmodSync(path.join(dir, 'mode'), 0o755);
      fs.rmSync(path.join(dir, 'gone'));
      write('new', 'n\n');
      git('add', '-A');
      const { files, rest } = patch.parsePatch(git('diff', '--cached', '-M'));
      const of = (name) => files.find((f) => f.newPath === name);

      assert.equal(rest, '');
      assert.equal(files.length, 8);
      assert.deepEqual(of('plain').hunks[0].lines, [' a', '-b', '-c', '+B', '+c', '\\ No newline at end of file']);
      assert.deepEqual(patch.makeRows(of('plain'), true).map((r) => [r.old?.text, r.fresh?.text, r.fresh?.noEol]), [['a', 'a', undefined], ['b', 'B', undefined], ['c', 'c', true]]);
      assert.deepEqual([of('two words').added, of('two words').removed], [1, 1]);
      assert.equal(of('ä \u202e"q"').kind, 'modified');
      assert.deepEqual([of('to here b-x.txt').kind, of('to here b-x.txt').oldPath], ['renamed', 'moved']);
      assert.deepEqual([of('mode').oldMode, of('mode').newMode], ['100644', '100755']);
      assert.deepEqual([of('gone').kind, of('gone').hunks[0].lines], ['deleted', ['---- a/x', '-+++ b/x']]);
      assert.equal(of('bin').binary, true);
      assert.equal(of('new').kind, 'added');
      assert.equal(patch.parsePatch('this is\nno patch').rest, 'this is\nno patch');
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  });
  test('are made of two texts such that they give the second', () => {
    let seed = 7;
    const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    const some = (max) => Array.from({ length: next(max) }, () => `${'abcdef'[next(6)]}\n`).join('');

    for (let i = 0; i < 500; i++) {
      const old = some(30);
      const fresh = next(4) ? old.split('\n').map((l) => (next(8) ? l : `${'xyz'[next(3)]}`)).join('\n') : some(30);
      const { text, ends } = applied(old, texts.diffTexts('p', old, fresh));
      const want = fresh.endsWith('\n') || !fresh;

      assert.equal(text.replace(/\n$/, ''), fresh.replace(/\n$/, ''));
      if (fresh && old.endsWith('\n') !== want) assert.equal(ends, want);
    }
    assert.equal(texts.diffTexts('p', null, 'a\n').kind, 'added');
    assert.equal(texts.diffTexts('p', 'a', 'a').hunks.length, 0);
  });
  test('of 100 000 lines are read and compared', () => {
    const old = Array.from({ length: 100_000 }, (_, i) => `line ${i}`);
    const file = texts.diffTexts('p', old.join('\n'), old.map((l, i) => (i % 5000 ? l : `${l}!`)).join('\n'));

    assert.deepEqual([file.added, file.removed, file.hunks.length], [20, 20, 20]);
    assert.equal(texts.diffTexts('p', old.join('\n'), old.map((l) => `${l}!`).join('\n')).added, 100_000);
    assert.equal(texts.diffTexts('p', old.join('\n'), old.map((l, i) => (i % 50 ? l : `${l}!`)).join('\n')).added, 2000);
    const read = patch.parsePatch(`--- a/p\n+++ b/p\n@@ -1,100000 +0,0 @@\n${old.map((l) => `-${l}\n`).join('')}`).files[0];
    assert.equal(patch.makeRows(read, false).length, 100_000);
  });
  test('have lines side by side that are alike, where one side has more', () => {
    const old = 'const version = "1.0.0";\nlast();\n';
    const fresh = 'function sub(a, b) {\n  return a - b;\n}\nconst version = "1.1.0";\nlast(1);\n';
    const rows = patch.makeRows(texts.diffTexts('p', old, fresh), true).map((r) => [r.old?.text, r.fresh?.text]);

    assert.deepEqual(rows, [[undefined, 'function sub(a, b) {'], [undefined, '  return a - b;'], [undefined, '}'], ['const version = "1.0.0";', 'const version = "1.1.0";'], ['last();', 'last(1);']]);
    const all = patch.makeRows(texts.diffTexts('p', 'a\nb\nc\n', 'x y\nb b\n'), true);
    assert.deepEqual([all.flatMap((r) => r.old?.text ?? []), all.flatMap((r) => r.fresh?.text ?? [])], [['a', 'b', 'c'], ['x y', 'b b']]);
  });
  test('mark the words that differ, but not two lines that have nothing in common', () => {
    assert.deepEqual(patch.markLines('a = f(1);', 'a = g(1);').map((side) => side.filter((p) => p.changed).map((p) => p.text)), [['f'], ['g']]);
    assert.equal(patch.markLines('alpha beta', '12345 67890'), undefined);
  });
});

test('what hides is named', () => {
  assert.deepEqual(visible.pieces('a\u202eb\u200bc').map((p) => p.mark ?? p.text), ['a', 'RLO', 'b', 'ZWSP', 'c']);
  assert.deepEqual(visible.pieces('👩\u200d💻 \u202e', true).map((p) => p.mark ?? p.text), ['👩\u200d💻 ', 'RLO']);
  assert.equal(visible.plain('a\u0000\ud800'), 'a<NUL><U+D800>');
  assert.ok(visible.pieces('\u200b'.repeat(100_000)).length < 600);
});

test('numbers are short and never wrong in kind', () => {
  assert.deepEqual([0, 999, 1000, 59_949, 59_960, 3_600_000, NaN, -1].map(format.duration), ['0 ms', '999 ms', '1.0 s', '60 s', '1 min 00 s', '1 h 00 min', '–', '–']);
  assert.deepEqual([0, 1023, 1024, 1536, 1024 ** 3].map(format.bytes), ['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '1.0 GiB']);
  assert.deepEqual([5, 1234, 999_999, undefined].map(format.count), ['5', '1.2k', '1.0M', '–']);
  assert.equal(format.spoken(3_723_000), '1 hour 2 minutes 3 seconds');
  const loop = {};
  loop.self = loop;
  assert.equal(format.pretty(loop), '[object Object]');
});
