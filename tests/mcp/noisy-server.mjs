// SPDX-License-Identifier: Apache-2.0
// A stdio MCP server (2026-07-28) that prints to the stream of its messages. NOISE (hex) is written at NOISE_AT: start, or discover, before
// that answer. Its tool `say {noise, at}` writes bytes (hex) before its answer (answer), behind it (after), before the next answer to tools/list
// (list), or behind an answer that has no newline, and then exits (last); its text is what was asked.

import readline from 'node:readline';

const META = 'io.modelcontextprotocol/';
const bytesOf = (hex) => Buffer.from(hex ?? '', 'hex');
let list = Buffer.alloc(0);

const write = (noise, message, end = '\n') => process.stdout.write(Buffer.concat([noise, Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }) + end)]));
const noiseAt = (phase) => bytesOf(process.env.NOISE_AT === phase ? process.env.NOISE : '');
const complete = (id, members) => ({ id, result: { resultType: 'complete', ...members } });

function say(id, { noise, at }) {
  const message = complete(id, { content: [{ type: 'text', text: `${at} ${noise}` }] });

  if (at === 'list')
    list = bytesOf(noise);
  if (at !== 'last')
    write(at === 'answer' ? bytesOf(noise) : Buffer.alloc(0), message);
  if (at === 'after')
    process.stdout.write(bytesOf(noise));
  if (at === 'last') {
    write(Buffer.alloc(0), message, '');
    process.stdout.write(bytesOf(noise), () => process.exit(0));
  }
}

process.stdout.write(noiseAt('start'));
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);

  if (method === 'server/discover')
    write(noiseAt('discover'), complete(id, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private',
      _meta: { [`${META}serverInfo`]: { name: 'noisy', version: '1' } } }));
  else if (method === 'tools/call')
    say(id, params.arguments);
  else if (method === 'tools/list') {
    write(list, complete(id, { tools: [{ name: 'say', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' }));
    list = Buffer.alloc(0);
  } else if (id !== undefined)
    write(Buffer.alloc(0), { id, error: { code: -32601, message: `no method ${method}` } });
}).on('close', () => process.exit(0));
