// SPDX-License-Identifier: Apache-2.0
// A scripted model server on loopback. It stands in for a paid model: it computes nothing, it plays
// a script (see model-script.mjs) in the wire format of OpenAI Chat Completions, OpenAI Responses or
// Anthropic Messages, and fails as those fail. Used by the tests and by `make run` without a key.
//
//   const server = await startModelServer({ key: 'sk-…' });
//   server.url         http://127.0.0.1:PORT  (append /v1 where the client wants it)
//   server.requests    one record per request, oldest first
//   server.scenarios   [{ when: RegExp | string, lines: string[] | (call) => string[] }, …]: the first
//                      whose `when` fits the last user message replaces the script in that message; with `model`,
//                      only in requests for that model
//   await server.close()
//
// By hand: `node model-server.mjs [--port N] [--key K]`; a scenario may then be sent with
// POST /_scenario {"when": "text", "lines": […]}, the records read with GET /_requests.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import * as anthropic from './api-anthropic.mjs';
import * as openaiChat from './api-openai-chat.mjs';
import * as openaiResponses from './api-openai-responses.mjs';
import { currentTurn, parseScript, planReply, sideCall, textReply } from './model-script.mjs';

const APIS = [openaiChat, openaiResponses, anthropic];
const BODY_MAX = 64 << 20;

async function readBody(req) {
	const chunks = [];
	let size = 0;

	for await (const chunk of req) {
		size += chunk.length;
		if (size > BODY_MAX)
			throw new Error('request body too large');
		chunks.push(chunk);
	}
	return JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');
}

function sendJson(res, status, body, headers = {}) {
	const text = JSON.stringify(body);

	res.writeHead(status, { 'content-type': 'application/json',
		'content-length': Buffer.byteLength(text), 'x-request-id': 'req_scripted', ...headers });
	res.end(text);
}

function sendError(res, api, error) {
	const after = error.retryAfter ?? ([429, 503, 529].includes(error.status) ? 1 : 'none');

	sendJson(res, error.status, api.errorBody(error), after === 'none' ? {} : { 'retry-after': String(after) });
}

class ModelServer {
	requests = [];
	scenarios = [];
	#options; #http; #ids = 0; #failures = new Map();

	constructor(options) {
		this.#options = options;
		this.#http = http.createServer((req, res) => {
			this.#serve(req, res).catch((err) => {
				if (!res.headersSent)
					sendJson(res, 400, { error: { message: err.message, type: 'invalid_request_error' } });
				else
					res.destroy();
			});
		});
	}

	async listen(port) {
		await new Promise((done, fail) => {
			this.#http.once('error', fail);
			this.#http.listen(port, '127.0.0.1', done);
		});
		this.url = `http://127.0.0.1:${this.#http.address().port}`;
		return this;
	}

	async close() {
		this.#http.closeAllConnections();
		await new Promise((done) => this.#http.close(done));
	}

	// Requests that asked for an answer to a user, not for a title or a summary.
	get turns() {
		return this.requests.filter((r) => r.api && !r.side);
	}

	async #serve(req, res) {
		const path = new URL(req.url, 'http://loopback').pathname;
		const api = req.method === 'POST' && APIS.find((a) => a.path.test(path));

		if (api)
			return this.#answer(req, res, api);
		if (req.method === 'GET' && path === '/_requests')
			return sendJson(res, 200, this.requests);
		if (req.method === 'POST' && path === '/_scenario') {
			this.scenarios.unshift(await readBody(req));
			return sendJson(res, 200, {});
		}
		if (req.method === 'GET' && path.endsWith('/models'))
			return sendJson(res, 200, { object: 'list', data: (this.#options.models ?? ['scripted-1'])
				.map((id) => ({ id, object: 'model', created: 1700000000, owned_by: 'scripted' })) });
		return sendJson(res, 404, { error: { message: 'no such path: ' + path, type: 'invalid_request_error' } });
	}

	async #answer(req, res, api) {
		const body = await readBody(req);
		const call = api.read(body);
		const key = api.credential(req.headers);
		const turn = currentTurn(call.messages);
		const { key: wanted, models } = this.#options;
		const record = { n: this.requests.length, api: api.name, model: call.model, auth: Boolean(key),
			keyMatches: wanted === undefined ? null : key === wanted, side: sideCall(call),
			messages: call.messages.length, system: call.system, prompt: turn.prompt,
			tools: call.tools.map((t) => t.namespace ? `${t.namespace}.${t.name}` : t.name),
			results: turn.results, effort: call.effort, stream: call.stream, headers: { ...req.headers },
			body: JSON.stringify(body),
			status: 200, aborted: false, at: Date.now() };

		delete record.headers.authorization;
		delete record.headers['x-api-key'];
		this.requests.push(record);
		res.on('close', () => { record.aborted = !res.writableFinished; });
		const refused = wanted !== undefined && key !== wanted ? { status: 401 }
			: models && !models.includes(call.model) ? { status: 404 } : null;
		const reply = refused ? { error: refused } : this.#plan(call, turn, record);
		if (reply.error) {
			record.status = reply.error.status;
			return sendError(res, api, reply.error);
		}
		const encoder = new api.Encoder(call, String(++this.#ids).padStart(6, '0'), reply);
		if (!call.stream && reply.ending === 'normal')
			return sendJson(res, 200, encoder.body(reply));
		return this.#stream(res, api, encoder, reply);
	}

	#plan(call, turn, record) {
		if (record.side === 'title')
			return textReply('A scripted session');
		if (record.side === 'summary')
			return textReply('Summary: ' + turn.prompt.slice(0, 200));
		return planReply(this.#script(call, turn), turn, call.messages, {
			tools: call.tools,
			id: () => `call_${String(++this.#ids).padStart(6, '0')}`,
			// a retry may carry what had come of a stream that was cut
			failed: (times, what = call.messages.length) => this.#failed(`${call.model} ${what} ${turn.prompt}`, times),
		});
	}

	#script(call, turn) {
		const scenario = this.scenarios.find(({ when, model = call.model }) => model === call.model && (when === undefined
			|| (when instanceof RegExp ? when.test(turn.prompt) : turn.prompt.includes(when))));

		if (!scenario)
			return parseScript(turn.prompt);
		return parseScript((typeof scenario.lines === 'function' ? scenario.lines(call)
			: scenario.lines).join('\n'));
	}

	// A client that tries again sends the same request: count by what it asked.
	#failed(question, times) {
		const count = (this.#failures.get(question) ?? 0) + 1;

		if (count <= times)
			this.#failures.set(question, count);
		else
			this.#failures.delete(question);
		return count <= times;
	}

	async #stream(res, api, encoder, reply) {
		const open = () => !res.destroyed && !res.closed;
		const send = async (frames, delay) => {
			for (const frame of frames) {
				if (delay)
					await sleep(delay);
				if (!open())
					return;
				res.write(frame);
			}
		};

		if (reply.ending === 'hang' && reply.parts.length === 0)
			return;
		res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
		await send(encoder.begin(), 0);
		for (const part of reply.parts)
			await send(encoder.part(part), part.delay);
		if (!open() || reply.ending === 'hang')
			return;
		switch (reply.ending) {
		case 'cut':
			// What was written must leave before the reset, else nothing of it arrives.
			await sleep(20);
			res.socket?.resetAndDestroy();
			return;
		case 'malformed':
			res.end(api.broken);
			return;
		default:
			await send(encoder.end(reply), 0);
			res.end();
		}
	}
}

export async function startModelServer({ port = 0, key, models } = {}) {
	return new ModelServer({ key, models }).listen(port);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { values } = parseArgs({ options: { port: { type: 'string', default: '0' }, key: { type: 'string' } } });
	const server = await startModelServer({ port: Number(values.port), key: values.key });

	console.log('scripted model server (stands in for a paid model) on ' + server.url);
	for (const signal of ['SIGINT', 'SIGTERM'])
		process.once(signal, () => server.close());
}
