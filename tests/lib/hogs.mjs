// SPDX-License-Identifier: Apache-2.0
// Sessions that take all they can get of one thing: fork bombs, memory, descriptors, inodes, output, CPU. Tests and make bench run them.

import assert from 'node:assert/strict';
import os from 'node:os';
import { runCommand } from './agent-shell.mjs';
import { McpHttp } from './mcp-http.mjs';

const MIB = 1 << 20;
export const FILES = 25_000; // in the home, and as many in the temporary directory
const OUTPUT = { pieces: 20, bytes: 10_000_000, pause: 0.1 }; // 100 MB/s

// By the session's own tool, whose output the daemon's built-in tools read.
async function runTool(d, sessionId, command) {
  const { answer } = await (await new McpHttp(d, `/mcp?session=${sessionId}`)
    .modern('tools/call', { name: 'runCommand', arguments: { command, timeoutMs: 120_000 } })).over();

  return answer.result.structuredContent;
}

const shell = (command, check) => async (d, c, sessionId) => check(await runCommand(c, sessionId, command));

// limits: of its session; run: until the hog is at its end; check says that it took what there was. Fork bomb and CPU: nothing of them
// holds the output of the command, so they may still run after it.
export const HOGS = {
  'fork bomb': {
    limits: { pids: 60 },
    run: shell('(exec >/dev/null 2>&1; b() { b | b & sleep 30; }; b) & sleep 1', ({ code }) => assert.ok([0, 2].includes(code), String(code))),
  },
  memory: {
    limits: { memoryBytes: 192 * MIB },
    run: shell('tail /dev/zero', ({ code }) => assert.equal(code, 137)),
  },
  descriptors: {
    limits: {},
    run: shell(`bash -c 'n=0; while exec {fd}</dev/null; do n=$((n + 1)); done; echo $n $(ulimit -n); sleep 0.5' 2>/dev/null`, ({ text }) => {
      const [open, limit] = text.split(' ').map(Number);
      assert.ok(open > 0 && open >= limit - 20, text);
    }),
  },
  inodes: {
    limits: {},
    run: shell(`for d in "$HOME/hog" "$TMPDIR/hog"; do mkdir "$d" && cd "$d" && seq ${FILES} | xargs touch; ls -U | wc -l; done`,
      ({ text }) => assert.equal(text, `${FILES}\n${FILES}`)),
  },
  output: {
    limits: {},
    async run(d, c, sessionId) {
      const { pieces, bytes, pause } = OUTPUT;
      const { stdout, success } = await runTool(d, sessionId,
        `for i in $(seq ${pieces}); do head -c ${bytes} /dev/zero | tr '\\0' x; sleep ${pause}; done; echo end`);

      assert.ok(success && stdout.endsWith('xend\n'));
    },
  },
  CPU: {
    limits: {},
    run: shell(`for i in $(seq ${2 * os.availableParallelism()}); do timeout 1.5 sh -c 'while :; do :; done' & done; wait`,
      ({ code }) => assert.equal(code, 0)),
  },
};
