// SPDX-License-Identifier: Apache-2.0
// What the scripted model answers, apart from any provider's format.
//
// A script is a list of lines. It stands in the last user message itself, or in a scenario that a
// test has given to the server. One model call plays the lines from where the last call of the same
// turn stopped, up to and including the first TOOL line; the tool's result brings the next call.
//
//   THINK:text           reasoning before the answer
//   TEXT:text            answer text; \n in it is a line break
//   TOOL:name {json}     call a tool (a text that is not JSON is passed on as it is)
//   RUN: READ: EDIT: WRITE: MCP:   the same, whatever the asking harness calls its tool: model-tools.mjs
//   +TOOL:name {json}    one more tool in the same call, before the next TOOL; also +RUN and so on
//   RECALL               answer with all user messages that this request carried
//   USAGE:{json}         numbers of this call: {input, cached, written, output, reasoning}; cached, written and
//                        reasoning are parts of input and output
//   STOP:length          end as if the token limit was met; STOP:refusal: as if a filter of the provider ended it
//   REFUSE:text          the model itself refuses, in the API's own form of that
//   PIECES:n             text and arguments that follow come in pieces of n characters
//   SLOW:ms              wait so long before each piece that follows
//   ERR:status           fail instead; ERR:500x2 fails twice, then goes on with the next line;
//                        ERR:429 retry-after=3 sets the header (default 1 for 429, 503 and 529; retry-after=none: no header);
//                        ERR:429 code=insufficient_quota sets the body's code; should-retry=false the header x-should-retry;
//                        ERR:400 message=text, last: what the body says
//   LATE:529             an error inside of the stream, whose head said 200, and the end
//   OVERFLOW             fail as if the context window was too small
//   CUT                  drop the connection here, in the middle of the stream; CUTx1: once, then go on
//   MALFORMED            send a broken event here and end
//   HANG                 send nothing more, keep the connection open
//   EMPTY                end with no content at all
//
// A text without any such line gets a plain text answer.

import { toolFor, WISHES } from './model-tools.mjs';

export const DEFAULT_USAGE = { input: 1200, cached: 200, written: 0, output: 40, reasoning: 8 };

const CALLS = ['TOOL', ...WISHES];
const LINE = new RegExp(`^\\s*(\\+?(?:${CALLS.join('|')})|THINK|TEXT|REFUSE|USAGE|STOP|SLOW|PIECES|ERR|LATE):(.*)$`, 's');
const WORD = /^\s*(RECALL|OVERFLOW|CUT(?:x\d+)?|MALFORMED|HANG|EMPTY)\s*$/;

// Harnesses put notes of their own into user messages; those are not what the user wrote.
const NOTE = /<(system-reminder|environment_context|user_instructions|INSTRUCTIONS|turn_aborted)>[\s\S]*?<\/\1>/g;

// Images that a tool has shown come as a message of the user's where an API takes none from a tool.
const ATTACHED = /^\s*Attached (image\(s\)|media) from tool result:/;

const isUsers = ({ role, text }) => role === 'user' && !ATTACHED.test(text) && text.replace(NOTE, '').trim() !== '';

export function parseScript(text) {
	const lines = [];

	for (const raw of String(text).replace(NOTE, '').split('\n')) {
		const line = LINE.exec(raw);
		if (line) {
			lines.push({ op: line[1], arg: /^(TEXT|THINK|REFUSE)$/.test(line[1]) ? line[2] : line[2].trim() });
			continue;
		}
		const word = WORD.exec(raw);
		if (word)
			lines.push({ op: word[1].replace(/x\d+$/, ''), arg: /\d*$/.exec(word[1])[0] });
	}
	return lines;
}

// The last thing the user said, and how many answers of the model have led to results since. An answer that led to none does
// not count: a harness that tries a broken stream again may show the model what had arrived of it.
export function currentTurn(messages) {
	let at = messages.length - 1;

	while (at >= 0 && !isUsers(messages[at]))
		at--;
	const since = messages.slice(at + 1).filter((m) => m.role === 'assistant' || m.role === 'tool');
	return {
		prompt: at < 0 ? '' : messages[at].text.replace(NOTE, '').trim(),
		calls: since.filter((m, i) => m.role === 'tool' && since[i - 1]?.role !== 'tool').length,
		results: since.filter((m) => m.role === 'tool').map((m) => m.text),
	};
}

// Title and summary requests come without tools and with a system prompt of their own.
export function sideCall(call) {
	const asked = call.system + '\n' + (call.messages[0]?.text ?? '');

	if (call.tools.length === 0 && /title generator|generate a (short |brief )?title|write the title/i.test(asked))
		return 'title';
	if (call.tools.length === 0 && /summar(y|ize|ise)/i.test(call.system))
		return 'summary';
	return null;
}

// A part for a line that calls a tool; null if the harness offers none that would do.
function toolPart(op, arg, { tools = [], id }) {
	const wish = op.replace('+', '');

	if (wish === 'TOOL')
		return namedTool(arg, id());
	const call = toolFor(wish, arg, tools);
	return call && { type: 'tool', id: id(), ...call };
}

function namedTool(arg, id) {
	const [, name, rest] = /^(\S+)\s*([\s\S]*)$/.exec(arg) ?? [null, arg, ''];
	let args = rest;

	try {
		args = JSON.parse(rest || '{}');
	} catch {
		// a free-form tool takes text
	}
	return { type: 'tool', id, name, args };
}

function errorOf(arg) {
	const [, status, times, rest] = /^(\d{3})(?:x(\d+))?(.*)$/s.exec(arg) ?? [null, '500', undefined, ''];
	const option = (name) => new RegExp(`\\b${name}=(\\S+)`).exec(rest)?.[1];
	const after = option('retry-after');

	return { status: Number(status), times: times ? Number(times) : Infinity, code: option('code'), message: /\bmessage=(.*)$/s.exec(rest)?.[1].replaceAll('\\n', '\n'), shouldRetry: option('should-retry'),
		retryAfter: after === undefined || after === 'none' ? after : Number(after) };
}

const endsCall = (line) => CALLS.includes(line.op);

// The lines of call number `n` of a turn.
function linesOfCall(lines, n) {
	let start = 0;

	for (; n > 0; n--) {
		const end = lines.findIndex((line, i) => i >= start && endsCall(line));
		if (end < 0)
			return null;
		start = end + 1;
	}
	const end = lines.findIndex((line, i) => i >= start && endsCall(line));
	return lines.slice(start, end < 0 ? lines.length : end + 1);
}

function plainAnswer(turn) {
	const last = turn.results.at(-1);

	return last === undefined ? 'This is the scripted model. You said: ' + turn.prompt.slice(0, 200)
		: 'The tool answered: ' + last.slice(0, 200);
}

function empty() {
	return { parts: [], stop: 'end', ending: 'normal', usage: { ...DEFAULT_USAGE }, error: null };
}

export function textReply(text) {
	return { ...empty(), parts: [{ type: 'text', text, delay: 0 }] };
}

// A reply {parts, stop, usage, ending, error}. `failed(times)` says whether a limited error is due
// once more; `id()` makes a tool call id; `tools` are those the request offers.
export function planReply(lines, turn, messages, { failed, id, tools }) {
	const mine = linesOfCall(lines, turn.calls);
	const reply = empty();
	let delay = 0, size = 0;
	const add = (part) => reply.parts.push({ ...part, delay, size });

	if (!mine || mine.length === 0)
		return textReply(plainAnswer(turn));
	for (const { op, arg } of mine) {
		if (CALLS.includes(op.replace('+', ''))) {
			add(toolPart(op, arg, { tools, id }) ?? { type: 'text', text: `No tool is offered for ${op}:${arg}` });
			continue;
		}
		const text = arg.replaceAll('\\n', '\n');

		switch (op) {
		case 'THINK': add({ type: 'think', text }); break;
		case 'TEXT': add({ type: 'text', text }); break;
		case 'REFUSE':
			add({ type: 'refusal', text });
			reply.stop = 'refused';
			break;
		case 'PIECES': size = Number(arg) || 0; break;
		case 'SLOW': delay = Number(arg) || 0; break;
		case 'STOP': reply.stop = arg; break;
		case 'USAGE': Object.assign(reply.usage, JSON.parse(arg)); break;
		case 'RECALL':
			add({ type: 'text', text: 'Recalled: ' + JSON.stringify(messages
				.filter((m) => m.role === 'user').map((m) => m.text.replace(NOTE, '').trim()).filter(Boolean)) });
			break;
		case 'ERR': {
			const error = errorOf(arg);
			if (failed(error.times))
				return { ...reply, error };
			break;
		}
		case 'LATE': return { ...reply, ending: 'late', late: errorOf(arg) };
		case 'OVERFLOW': return { ...reply, error: { status: 400, overflow: true } };
		case 'CUT':
			if (failed(arg ? Number(arg) : Infinity, 'cut'))
				return { ...reply, ending: 'cut' };
			break;
		case 'EMPTY': return reply;
		default: return { ...reply, ending: op.toLowerCase() };
		}
	}
	if (reply.parts.length === 0)
		return textReply(plainAnswer(turn));
	if (reply.parts.some((part) => part.type === 'tool'))
		reply.stop = 'tool';
	return reply;
}

// Text as a model streams it: in pieces of about a word, or of so many characters.
export function pieces(text, size = 0) {
	return text.match(size ? new RegExp(`[^]{1,${size}}`, 'g') : /\S*\s+|\S+/g) ?? [text];
}
