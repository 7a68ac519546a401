// SPDX-License-Identifier: Apache-2.0
// A stdio MCP server (2025-11-25) for tests of supervision. What it does is in its arguments:
//   --fail-unless FILE   says so on stderr and exits with 3 before anything else, as long as there is no such file
//   --stubborn           stays after the end of its input, and ignores SIGTERM
//   --pages N            lists its tools on so many pages
//   --quiet-list         never answers tools/list
// Tools: hang (never answers; {file} is made when it is called), pid, env {name}, mark {to} (one byte more in that file).

import fs from 'node:fs';
import readline from 'node:readline';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    'fail-unless': { type: 'string' }, stubborn: { type: 'boolean' }, pages: { type: 'string', default: '1' }, 'quiet-list': { type: 'boolean' },
  },
});
const pages = Number(values.pages);
const send = (id, members) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...members })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const tool = (name) => ({ name, inputSchema: { type: 'object' } });

if (values['fail-unless'] && !fs.existsSync(values['fail-unless'])) {
  fs.writeSync(2, `no ${values['fail-unless']}; the token was ${process.env.API_TOKEN}\n`);
  process.exit(3);
}
if (values.stubborn) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}

const tools = { pid: () => text(process.pid), env: ({ name }) => text(process.env[name] ?? '(unset)'),
  mark: ({ to }) => { fs.appendFileSync(to, 'x'); return text('marked'); } };

const methods = {
  initialize: (id, { protocolVersion }) => send(id, {
    result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'hosted-server', version: '1.2.3' } },
  }),
  'tools/list': (id, { cursor }) => {
    const page = Number(cursor ?? 1);

    if (!values['quiet-list'])
      send(id, { result: { tools: [tool(`hang${page}`), tool(`pid${page}`), tool(`env${page}`)], ...(page < pages && { nextCursor: String(page + 1) }) } });
  },
  'tools/call': (id, { name, arguments: args }) => {
    if (args?.file)
      fs.writeFileSync(args.file, '');
    if (tools[name])
      send(id, { result: tools[name](args ?? {}) });
  },
};

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);

  if (methods[method])
    methods[method](id, params);
  else if (id !== undefined)
    send(id, { error: { code: -32601, message: 'no such method' } });
}).on('close', () => {
  if (!values.stubborn)
    process.exit(0);
});
