// SPDX-License-Identifier: Apache-2.0
// A scripted model server on loopback. It stands in for a paid model: it computes nothing, it plays
// a script (see model-script.mjs) in the wire format of OpenAI Chat Completions, OpenAI Responses,
// Anthropic Messages or Google Gemini, and fails as those fail (see misbehaviours.mjs). It also lists models and counts
// tokens as they do. Used by the tests and by `make run` without a key.
//
//   const server = await startModelServer({ key: 'sk-…' });
//   server.url         http://127.0.0.1:PORT  (append /v1 or /v1beta where the client wants it; anything may stand before that)
//   server.requests    one record per request, oldest first; each says how it came (method, path, connection, headers, credential)
//                      and what was sent back (status, answer)
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
import * as google from './api-google.mjs';
import * as openaiChat from './api-openai-chat.mjs';
import * as openaiResponses from './api-openai-responses.mjs';
import { currentTurn, parseScript, planReply, sideCall, textReply } from './model-script.mjs';

const APIS = [openaiChat, openaiResponses, anthropic, google];
const LISTED = [google, anthropic, openaiChat]; // the last says it to all who do not say what they are
const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'];
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

	if (res.record)
		Object.assign(res.record, { status, answer: text });

	res.writeHead(status, { 'content-type': 'application/json',
		'content-length': Buffer.byteLength(text), 'x-request-id': 'req_scripted', ...headers });
	res.end(text);
}

function sendError(res, api, error) {
	const after = error.retryAfter ?? ([429, 503, 529].includes(error.status) ? 1 : 'none');

	sendJson(res, error.status, api.errorBody(error), { ...(after === 'none' ? {} : { 'retry-after': String(after) }),
		...(error.shouldRetry && { 'x-should-retry': error.shouldRetry }) });
}

// What of a call is the same for all paths. The credential is named, never kept.
function recordOf(req, api, key) {
	const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !CREDENTIALS.includes(name)));

	return { api: api.name, method: req.method, path: req.url, connection: req.socket.number, auth: Boolean(key),
		credential: CREDENTIALS.filter((name) => name in req.headers), headers,
		body: '', side: null, status: 200, answer: '', aborted: false, at: Date.now() };
}

const unknownPath = (res, path) => sendJson(res, 404, { error: { message: 'no such path: ' + path, type: 'invalid_request_error' } });

class ModelServer {
	requests = [];
	scenarios = [];
	connections = 0;
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
		this.#http.keepAliveTimeout = 60_000; // whether a connection is used again is up to the client
		this.#http.on('connection', (socket) => { socket.number = this.connections++; });
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
		const url = new URL(req.url, 'http://loopback');
		const { pathname: path } = url;
		const api = req.method === 'POST' && APIS.find((a) => a.path.test(path) || a.countPath?.test(path));
		const listing = req.method === 'GET' && !req.headers.upgrade && LISTED.find(({ models: m }) => m.path.test(path) && (m.wants?.(req.headers) ?? true));

		if (api)
			return this.#answer(req, res, api, url);
		if (listing)
			return this.#list(req, res, listing, url);
		if (req.method === 'GET' && path === '/_requests')
			return sendJson(res, 200, this.requests);
		if (req.method === 'POST' && path === '/_scenario') {
			this.scenarios.unshift(await readBody(req));
			return sendJson(res, 200, {});
		}
		if (req.headers.upgrade) {
			this.requests.push({ ...recordOf(req, {}), side: 'upgrade', upgrade: req.headers.upgrade, status: 426 });
			return sendJson(res, 426, { error: { message: 'no upgrade', type: 'invalid_request_error' } });
		}
		return unknownPath(res, path);
	}

	// Notes the request; says how it is refused, if the key is not the one that is wanted, or the model is unknown.
	#admit(req, res, api, url, more) {
		const key = api.credential(req.headers, url);
		const { key: wanted, models } = this.#options;
		const record = { n: this.requests.length, ...recordOf(req, api, key), keyMatches: wanted === undefined ? null : key === wanted, ...more };

		res.record = record;
		this.requests.push(record);
		res.on('close', () => { record.aborted = !res.writableFinished; });
		return { record, refused: record.keyMatches === false ? { status: 401 }
			: models && record.model !== undefined && !models.includes(record.model) ? { status: 404 } : null };
	}

	#list(req, res, api, url) {
		const [, one] = /\/models\/([^/]+)$/.exec(url.pathname) ?? [];
		const { refused } = this.#admit(req, res, api, url, { side: 'models', model: one });

		if (refused)
			return sendError(res, api, refused);
		return sendJson(res, 200, one ? api.models.one(one) : api.models.list(this.#options.models ?? ['scripted-1']));
	}

	async #answer(req, res, api, url) {
		const body = await readBody(req);
		const call = api.read(body, url);
		const turn = currentTurn(call.messages);
		const counts = Boolean(api.countPath?.test(url.pathname));
		const { record, refused } = this.#admit(req, res, api, url, { model: call.model, side: counts ? 'count' : sideCall(call),
			messages: call.messages.length, system: call.system, prompt: turn.prompt,
			tools: call.tools.map((t) => t.namespace ? `${t.namespace}.${t.name}` : t.name),
			results: turn.results, effort: call.effort, stream: call.stream, body: JSON.stringify(body) });

		if (counts && !refused)
			return sendJson(res, 200, api.counted(Math.ceil(record.body.length / 4)));
		const reply = refused ? { error: refused } : this.#plan(call, turn, record);
		if (reply.error)
			return sendError(res, api, reply.error);
		const encoder = new api.Encoder(call, String(++this.#ids).padStart(6, '0'), reply);
		if (!call.stream && reply.ending === 'normal')
			return sendJson(res, 200, encoder.body(reply));
		return this.#stream(res, encoder, reply);
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

	async #stream(res, encoder, reply) {
		const open = () => !res.destroyed && !res.closed;
		const send = async (frames, delay) => {
			for (const frame of frames) {
				if (delay)
					await sleep(delay);
				if (!open())
					return;
				res.record.answer += frame;
				res.write(frame);
			}
		};

		if (reply.ending === 'hang' && reply.parts.length === 0)
			return;
		res.writeHead(200, { 'content-type': encoder.type ?? 'text/event-stream', 'cache-control': 'no-cache' });
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
			await send([encoder.broken()], 0);
			res.end();
			return;
		case 'late':
			await send([encoder.late(reply.late)], 0);
			res.end();
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

	startModelServer({ port: Number(values.port), key: values.key }).then((server) => { // no await: require() takes no module that waits
		console.log('scripted model server (stands in for a paid model) on ' + server.url);
		for (const signal of ['SIGINT', 'SIGTERM'])
			process.once(signal, () => server.close());
	});
}
