// SPDX-License-Identifier: Apache-2.0
// The daemon's own tables, read from its sources: what exists, so that tests which go through all of it notice what is new.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './daemon.mjs';

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

// [{name, kind: 'REQUEST' | 'NOTIFICATION', access: 'ANY' | 'DRIVER' | 'FREE'}] of daemon/acp/methods.c.
export function methodTable() {
  const body = /struct method methods\[\] = \{(.*?)\n\};/s.exec(read('daemon/acp/methods.c'))[1];
  const rows = [...body.matchAll(/\{\s*"([^"]+)",\s*CONN_\w+,\s*RPC_(\w+),\s*ACCESS_(\w+),\s*\w+\s*\}/g)];

  assert.equal(rows.length, body.match(/\{\s*"/g).length, 'each row of the table is understood');
  return rows.map(([, name, kind, access]) => ({ name, kind, access }));
}
