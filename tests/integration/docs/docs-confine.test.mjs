// SPDX-License-Identifier: Apache-2.0
// The how-to of harnesses/README.md with a real harness, where it is installed: the command of the page, and the report that it shows.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { agentEntry, agents } from '../../harness/programs.mjs';
import { ROOT } from '../../lib/daemon.mjs';
import { acpd } from '../run.mjs';

const page = fs.readFileSync(path.join(ROOT, 'harnesses/README.md'), 'utf8');
const [, input, level] = /echo '(.+)' \|\n +acpd confine try --level (\w+) .* -- gemini --acp\n/.exec(page);
const [shown] = /^acpd: level strict: [^`]+/m.exec(page);

// Times and addresses are those of the machine. Entries in no order: threads make the calls.
const entries = (text) => text.trimEnd().replaceAll(/, \d+ times/g, '').replaceAll(/connect \S+:53/g, 'connect ADDRESS:53').split(/\n(?= {2}\S)/).sort();

test('Gemini CLI answers under the level, and is refused what the page says', { skip: !agents().includes('gemini') && 'not installed' }, async (t) => {
  const cwd = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-docs-'));
  const { command, args } = agentEntry('gemini');

  t.after(() => fs.rmSync(cwd, { recursive: true, force: true }));
  fs.chmodSync(cwd, 0o777);
  const { code, stdout, stderr } = await acpd(['confine', 'try', '--level', level, ...(process.getuid() === 0 ? ['--agent-user', 'nobody'] : []), '--cwd', cwd,
    '--', command, ...args], { input: `${input}\n`, timeout: 60_000 });

  assert.equal(JSON.parse(stdout.split('\n').find((l) => l.startsWith('{'))).result.protocolVersion, 1, stderr);
  const told = entries(/^acpd: level [^]+/m.exec(stderr)[0]), named = entries(shown);
  assert.deepEqual(told.filter((e) => !named.includes(e)), [], 'all of it stands on the page');
  // a machine without a name server has nowhere to ask
  assert.deepEqual(named.filter((e) => !told.includes(e) && !e.includes('ADDRESS')), []);
  assert.equal(code, told.some((e) => e.includes('ADDRESS')) ? 3 : 0);
});
