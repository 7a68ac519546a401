// SPDX-License-Identifier: Apache-2.0
// A stdio MCP server (2026-07-28) for tests of what happens between question and answer. Tools:
//   wait {ms}              answers after so long
//   hang {}                never answers
//   flood {count, bytes}   so many progress notifications with a message of so many bytes, then the answer
//   letter {bytes, ms}     one progress notification of so many bytes, the answer so long after
//   big {bytes}            a text of so many bytes
//   size {text}            its length
//   change {}              tools/list_changed to whoever listens
//   state {}               {open, cancelled, answered}: numbers of calls of the other tools
//   die {}                 exits
// It stops reading nothing and keeps nothing: what it could not write yet is in its pipe.

import readline from 'node:readline';

const META = 'io.modelcontextprotocol/';
const open = new Map(); // id -> name
const listeners = new Map(); // id of the request -> filter
let cancelled = 0;
let answered = 0;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const text = (value) => ({ content: [{ type: 'text', text: value }] });

function result(id, members) {
  send({ id, result: { resultType: 'complete', ...members } });
}

const tools = {
  wait: async ({ ms }) => {
    await sleep(ms);
    return text('waited');
  },
  hang: () => new Promise(() => {}),
  flood: async ({ count, bytes }, { id, token }) => {
    for (let i = 0; i < count && open.has(id); i++) {
      const more = send({ method: 'notifications/progress', params: { progressToken: token, progress: i, message: 'x'.repeat(bytes) } });

      if (!more)
        await new Promise((resolve) => { process.stdout.once('drain', resolve); });
      if (i % 16 === 0)
        await sleep(0);
    }
    return text('flooded');
  },
  letter: async ({ bytes, ms }, { token }) => {
    send({ method: 'notifications/progress', params: { progressToken: token, progress: 1, message: 'x'.repeat(bytes) } });
    await sleep(ms);
    return text('sent');
  },
  big: ({ bytes }) => text('b'.repeat(bytes)),
  size: (args) => text(String(args.text.length)),
  change: () => {
    for (const [id, { toolsListChanged }] of listeners) {
      if (toolsListChanged)
        send({ method: 'notifications/tools/list_changed', params: { _meta: { [`${META}subscriptionId`]: id } } });
    }
    return text('changed');
  },
  state: () => ({ ...text('see structuredContent'), structuredContent: { open: [...open.values()], cancelled, answered } }),
  die: () => process.exit(3),
};

async function call({ id, params }) {
  const quiet = params.name === 'state';

  if (!quiet)
    open.set(id, params.name);
  const members = await tools[params.name](params.arguments ?? {}, { id, token: params._meta.progressToken });

  if (!quiet && !open.delete(id))
    return; // cancelled
  if (!quiet)
    answered++;
  result(id, members);
}

const methods = {
  'server/discover': ({ id }) => result(id, {
    supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, ttlMs: 0, cacheScope: 'private',
    _meta: { [`${META}serverInfo`]: { name: 'slow', version: '1' } },
  }),
  'tools/list': ({ id }) => result(id, {
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })), ttlMs: 0, cacheScope: 'private',
  }),
  'tools/call': call,
  'subscriptions/listen': ({ id, params }) => {
    listeners.set(id, params.notifications);
    send({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications, _meta: { [`${META}subscriptionId`]: id } } });
  },
  'notifications/cancelled': ({ params }) => {
    if (open.delete(params.requestId))
      cancelled++;
    listeners.delete(params.requestId);
  },
};

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const method = methods[message.method];

  if (method)
    method(message);
  else if (message.id !== undefined)
    send({ id: message.id, error: { code: -32601, message: `no method ${message.method}` } });
}).on('close', () => process.exit(0));
