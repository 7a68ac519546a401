// SPDX-License-Identifier: Apache-2.0
// Records the exchanges of exchanges.mjs and writes each behind its marker `<!-- recorded: NAME -->` in daemon/protocol/*.md.
//
//   node tests/docs/record.mjs            writes (make docs)
//   node tests/docs/record.mjs --check    names the pages that show something else, and fails then (make docs-check)

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Daemon, ROOT } from '../lib/daemon.mjs';
import { EXCHANGES, WHOLE } from './exchanges.mjs';
import { Tape } from './tape.mjs';

const PAGES = path.join(ROOT, 'daemon/protocol');
const MARKED = /<!-- recorded: ([\w-]+) -->\n(?:\n```text\n[^]*?\n```\n)?/g;

// {name: text}, of one daemon that serves all exchanges, one after the other.
export async function recordAll() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-docs-'));
  // Programs of this machine, harnesses among them, are on no page.
  const d = await Daemon.start({ flags: { toolsRoot: dir, harnessMax: 8 }, env: { PATH: dir } });
  const recorded = {};

  try {
    for (const [name, play] of Object.entries(EXCHANGES)) {
      const tape = new Tape(d, { whole: WHOLE[name] });

      await play(d, tape);
      recorded[name] = tape.lines.join('\n');
    }
  } finally {
    await d.stop();
    fs.rmSync(dir, { recursive: true });
  }
  return recorded;
}

const pages = () => fs.readdirSync(PAGES).filter((f) => f.endsWith('.md')).map((f) => path.join(PAGES, f));

// The names of all markers.
export const markersOf = () => pages().flatMap((page) => [...fs.readFileSync(page, 'utf8').matchAll(MARKED)].map(([, name]) => name));

// The text of all pages as it is and as it has to be: of one exchange, or, without a name, [{page, now, due}] of whole pages.
export function pagesWith(recorded, only) {
  const all = pages().map((page) => {
    const now = fs.readFileSync(page, 'utf8');
    const blocks = { now: '', due: '' };
    const due = now.replace(MARKED, (block, name) => {
      const made = `<!-- recorded: ${name} -->\n\n\`\`\`text\n${recorded[name] ?? `no exchange is called ${name}`}\n\`\`\`\n`;

      if (name === only)
        Object.assign(blocks, { now: block, due: made });
      return made;
    });

    return only ? blocks : { page, now, due };
  });

  return only ? { now: all.map((b) => b.now).join(''), due: all.map((b) => b.due).join('') } : all;
}

async function write() {
  const stale = pagesWith(await recordAll()).filter(({ now, due }) => now !== due);
  const check = process.argv.includes('--check');

  for (const { page, due } of stale) {
    if (!check)
      fs.writeFileSync(page, due);
    console.log(`${path.relative(ROOT, page)}: ${check ? 'is not what the daemon says now; run: make docs' : 'written'}`);
  }
  process.exitCode = check && stale.length ? 1 : 0;
}

if (process.argv[1] === import.meta.filename)
  write(); // no await: require() takes no module that waits
