// SPDX-License-Identifier: Apache-2.0
// What programs print to the stream that carries their messages: [kind, bytes]. Those that end in a newline are lines of their own, and are
// skipped; the others stand before a message in its line, which is cleaned.

import assert from 'node:assert/strict';

export const FRAME = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"agent_message_chunk"}}}';

export const NOISE = [
  ['a banner', 'Welcome to the agent 1.0\n'],
  ['a notice of npm', 'npm notice New major version of npm available!\n'],
  ['a log line in JSON', '{"level":30,"time":1,"id":7,"msg":"listening"}\n'],
  ['a printed object', '{\n  port: 3000\n}\n'],
  ['a printed array', '[1,{"id":3}]\n'],
  ['a line that ends in CR LF', '[INFO] ready\r\n'],
  ['a copy of a message', `sent: ${FRAME}\n`],
  ['a message inside a log line', `{"level":20,"sent":${FRAME}}\n`],
  ['bytes that are not UTF-8', '\xff\xfe caf\xe9\n'],
  ['NUL bytes', '\0\0\0\n'],
  ['colours', '\x1b[1;32m\x1b[0m'],
  ['a title of the terminal', '\x1b]0;agent\x07'],
  ['a cleared screen', '\x1b[2J\x1b[H\x1b='],
  ['a byte order mark', '\xef\xbb\xbf'],
  ['a progress display', 'Loading 10%\rLoading 100%\r'],
  ['a line that has not ended', 'Checking for updates...'],
  ['a stray byte before a message', '\x9b'],
];

export const hexOf = (bytes) => Buffer.from(bytes, 'latin1').toString('hex');
export const isLine = (bytes) => bytes.endsWith('\n');

// True for the line of the log that shows the first bytes of bytes.
export function showsNoise(entry, bytes) {
  const first = bytes.split('\n')[0].replace(/\r$/, '').replaceAll('\0', ' ').slice(0, 120);

  return entry.msg.endsWith(isLine(bytes) ? 'output skipped' : 'output cleaned') && entry.text.startsWith(first);
}

// The counters of a daemon: lines skipped and cleaned, of harnesses or of MCP servers.
export async function noiseCounts(d, from) {
  return { skipped: await d.metric('acpd_output_skipped_total', `from="${from}"`), cleaned: await d.metric('acpd_output_cleaned_total', `from="${from}"`) };
}

// did leaves more lines than before counted, of the kind that bytes are.
export async function assertCounted(d, from, bytes, did) {
  const before = await noiseCounts(d, from), result = await did(), now = await noiseCounts(d, from);
  const [grown, other] = isLine(bytes) ? ['skipped', 'cleaned'] : ['cleaned', 'skipped'];

  assert.ok(now[grown] > before[grown], `no line was counted as ${grown}`);
  assert.equal(now[other], before[other], `a line was counted as ${other}`);
  return result;
}
