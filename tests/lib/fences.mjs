// SPDX-License-Identifier: Apache-2.0
// The fenced blocks of the project's Markdown files: [{file, line, lang, text}], file relative to the root.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './daemon.mjs';

export function markdownFiles() {
  return execFileSync('find', ['.', '-name', '*.md', '-not', '-path', '*/node_modules/*', '-not', '-path', './build/*', '-not', '-path', './.*/*',
    '-not', '-path', '*/fixtures/*', '-not', '-path', '*/corpus/*', '-not', '-path', './tests/demo/workspace/*'], { cwd: ROOT, encoding: 'utf8' })
    .trim().split('\n').map((f) => f.slice(2)).sort();
}

export function fencesOf(file) {
  const fences = [];
  let open;

  for (const [i, line] of fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n').entries()) {
    const mark = /^( *)```(\w*)/.exec(line);

    if (open && mark) {
      fences.push({ ...open, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    } else if (mark) {
      open = { file, line: i + 1, lang: mark[2], indent: mark[1].length, lines: [] };
    } else if (open) {
      open.lines.push(line.slice(Math.min(open.indent, line.search(/\S|$/))));
    }
  }
  return fences;
}
