// SPDX-License-Identifier: Apache-2.0
// A small MCP server for the scenarios: over stdio when run as a program, over streamable HTTP from a test.
//
//   node mcp-server.mjs                 stdio
//   startMcpServer()                    {url, requests, close()}; requests: headers of each POST, and the method called
//
// Tools: add {a, b} -> the sum; fail {} -> an error result; whoami {} -> the value of MCP_WHO (stdio) or of the header
// x-who (HTTP); die {} -> ends the program; wait {ms} -> a text, after so long without a word.

import http from 'node:http';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const object = (properties = {}) => ({ type: 'object', properties });

const TOOLS = [
	{ name: 'add', description: 'Adds two numbers.', inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }) },
	{ name: 'fail', description: 'Always fails.', inputSchema: object() },
	{ name: 'whoami', description: 'Says as whom it was called.', inputSchema: object() },
	{ name: 'die', description: 'Ends its server.', inputSchema: object() },
	{ name: 'wait', description: 'Takes its time.', inputSchema: object({ ms: { type: 'number' } }) },
];

const text = (value, isError = false) => ({ content: [{ type: 'text', text: String(value) }], isError });

function callTool({ name, arguments: args = {} }, who) {
	switch (name) {
	case 'add': return text(args.a + args.b);
	case 'fail': return text('it failed as it was told to', true);
	case 'whoami': return text(`called as ${who}`);
	case 'die': return process.exit(3);
	case 'wait': return sleep(args.ms, text('waited for'));
	default: return text(`no tool ${name}`, true);
	}
}

// The answer to a message; undefined for notifications.
async function answer({ id, method, params }, who) {
	const reply = (result) => ({ jsonrpc: '2.0', id, result });

	if (id === undefined)
		return undefined;
	switch (method) {
	case 'initialize': return reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} },
		serverInfo: { name: 'scenario-tools', version: '1.0.0' } });
	case 'ping': return reply({});
	case 'tools/list': return reply({ tools: TOOLS });
	case 'tools/call': return reply(await callTool(params, who));
	default: return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
	}
}

async function serve(req, res, requests) {
	const chunks = [];

	for await (const chunk of req)
		chunks.push(chunk);
	if (req.method !== 'POST')
		return res.writeHead(405, { allow: 'POST' }).end();
	const message = JSON.parse(Buffer.concat(chunks).toString('utf8'));
	requests.push({ method: message.method, name: message.params?.name, headers: req.headers });
	const reply = await answer(message, req.headers['x-who']);
	return reply ? res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
		: res.writeHead(202).end();
}

export async function startMcpServer() {
	const requests = [];
	const server = http.createServer((req, res) => serve(req, res, requests).catch(() => res.destroy()));

	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return { requests, url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => new Promise((done) => {
		server.closeAllConnections();
		server.close(done);
	}) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	readline.createInterface({ input: process.stdin }).on('line', async (line) => {
		const reply = await answer(JSON.parse(line), process.env.MCP_WHO);
		if (reply)
			process.stdout.write(JSON.stringify(reply) + '\n');
	});
}
