// SPDX-License-Identifier: Apache-2.0
// build: release
// The pages of the docs lead where they say: every link to a file and to a heading, and the finder of daemon/PROTOCOL.md, which names every
// method and every route of the daemon's own tables.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { ROOT } from '../../lib/daemon.mjs';
import { markdownFiles } from '../../lib/fences.mjs';
import { methodTable } from '../../lib/tables.mjs';

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const prose = (file) => read(file).replace(/^( *)```[^]*?^\1```/gm, '');

// As code hosts make the anchor of a heading.
const anchor = (heading) => heading.toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');
const anchorsOf = (file) => [...prose(file).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading));

test('links lead to files and headings that there are', () => {
  const dead = [];

  for (const file of markdownFiles())
    for (const [, to] of prose(file).replace(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(to))
        continue;
      const [where, heading] = to.split('#');
      const target = where ? path.join(path.dirname(file), where) : file;

      if (!fs.existsSync(path.join(ROOT, target)) || (heading && !anchorsOf(target).includes(heading)))
        dead.push(`${file}: ${to}`);
    }
  assert.deepEqual(dead, []);
});

// `a/b` `c` means a/b and a/c; `…/c` means that the path before it goes on.
function finder(title) {
  const rows = new RegExp(`## Finder: ${title}[^]*?(?=\\n## |$)`).exec(read('daemon/PROTOCOL.md'))[0].split('\n').filter((l) => l.startsWith('| `'));
  const names = new Map();

  for (const row of rows) {
    const [, list, page] = /^\| (.*?) \| \[[^\]]*\]\(([^)]*)\) \|$/.exec(row);
    let first;

    for (const [, word] of list.matchAll(/`([^`]+)`/g)) {
      const name = word.startsWith('…') ? first.replace(/\/[^/]*$/, '') + word.slice(1) : word;

      names.set(name, page);
      if (first?.includes('/') && !word.includes('/') && !word.includes('{'))
        names.set(first.replace(/[^/]*$/, word), page);
      first ??= name;
    }
  }
  return names;
}

test('the finder knows every method, and the page speaks of it', () => {
  const known = finder('methods');

  for (const { name } of methodTable()) {
    assert.ok(known.has(name), `${name} is not in the finder`);
    assert.ok(name === 'authenticate' || read(path.join('daemon', known.get(name))).includes(name.split('/').pop()), `${known.get(name)} has no ${name}`);
  }
});

test('the finder knows every route', () => {
  const known = new Set([...finder('routes').keys()].map((r) => r.replace(/\{\w+\}/g, '{}')));
  const routes = [...read('daemon/http/endpoints.c').matchAll(/\{ "[A-Z]+", +"(\/[^"]*)"/g)].map(([, route]) => route);

  assert.ok(routes.length > 20);
  assert.deepEqual([...new Set(routes)].filter((r) => !known.has(r)), []);
});
