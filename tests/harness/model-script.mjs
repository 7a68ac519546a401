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
//   +TOOL:name {json}    one more tool in the same call, before the next TOOL
//   RECALL               answer with all user messages that this request carried
//   USAGE:{json}         numbers of this call: {input, cached, written, output, reasoning}
//   STOP:length          end as if the token limit was met; also STOP:refusal
//   SLOW:ms              wait so long before each piece that follows
//   ERR:status           fail instead; ERR:500x2 fails twice, then goes on with the next line;
//                        ERR:429 retry-after=3 sets the header (default 1 for 429 and 503)
//   OVERFLOW             fail as if the context window was too small
//   CUT                  drop the connection here, in the middle of the stream
//   MALFORMED            send a broken event here and end
//   HANG                 send nothing more, keep the connection open
//   EMPTY                end with no content at all
//
// A text without any such line gets a plain text answer.

export const DEFAULT_USAGE = { input: 1200, cached: 200, written: 0, output: 40, reasoning: 8 };

const LINE = /^\s*(\+?TOOL|THINK|TEXT|USAGE|STOP|SLOW|ERR):(.*)$/;
const WORD = /^\s*(RECALL|OVERFLOW|CUT|MALFORMED|HANG|EMPTY)\s*$/;

// Harnesses put notes of their own into user messages; those are not what the user wrote.
const NOTE = /<(system-reminder|environment_context|user_instructions|INSTRUCTIONS)>[\s\S]*?<\/\1>/g;

export function parseScript(text) {
	const lines = [];

	for (const raw of String(text).replace(NOTE, '').split('\n')) {
		const line = LINE.exec(raw);
		if (line) {
			lines.push({ op: line[1], arg: /T(EXT|HINK)/.test(line[1]) ? line[2] : line[2].trim() });
			continue;
		}
		const word = WORD.exec(raw);
		if (word)
			lines.push({ op: word[1], arg: '' });
	}
	return lines;
}

// The last thing the user said, and how many answers the model has given to it already.
export function currentTurn(messages) {
	let at = messages.length - 1;

	while (at >= 0 && !(messages[at].role === 'user' && messages[at].text.replace(NOTE, '').trim()))
		at--;
	return {
		prompt: at < 0 ? '' : messages[at].text.replace(NOTE, '').trim(),
		calls: messages.slice(at + 1).filter((m) => m.role === 'assistant').length,
		results: messages.slice(at + 1).filter((m) => m.role === 'tool').map((m) => m.text),
	};
}

// Title and summary requests come without tools and with a system prompt of their own.
export function sideCall(call) {
	const asked = call.system + '\n' + (call.messages[0]?.text ?? '');

	if (call.tools.length === 0 && /title generator|generate a (short |brief )?title/i.test(asked))
		return 'title';
	if (call.tools.length === 0 && /summar(y|ize|ise)/i.test(call.system))
		return 'summary';
	return null;
}

function tool(arg, id) {
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
	const [, status, times, after] =
		/^(\d{3})(?:x(\d+))?(?:\s+retry-after=(\d+))?/.exec(arg) ?? [null, '500'];

	return { status: Number(status), times: times ? Number(times) : Infinity,
		retryAfter: after === undefined ? undefined : Number(after) };
}

// The lines of call number `n` of a turn.
function linesOfCall(lines, n) {
	let start = 0;

	for (; n > 0; n--) {
		const end = lines.findIndex((line, i) => i >= start && line.op === 'TOOL');
		if (end < 0)
			return null;
		start = end + 1;
	}
	const end = lines.findIndex((line, i) => i >= start && line.op === 'TOOL');
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
// once more; `id()` makes a tool call id.
export function planReply(lines, turn, messages, { failed, id }) {
	const mine = linesOfCall(lines, turn.calls);
	const reply = empty();
	let delay = 0;
	const add = (part) => reply.parts.push({ ...part, delay });

	if (!mine || mine.length === 0)
		return textReply(plainAnswer(turn));
	for (const { op, arg } of mine) {
		const text = arg.replaceAll('\\n', '\n');

		switch (op) {
		case 'THINK': add({ type: 'think', text }); break;
		case 'TEXT': add({ type: 'text', text }); break;
		case 'TOOL':
		case '+TOOL': add(tool(arg, id())); break;
		case 'SLOW': delay = Number(arg) || 0; break;
		case 'STOP': reply.stop = arg; break;
		case 'USAGE': Object.assign(reply.usage, JSON.parse(arg)); break;
		case 'RECALL':
			add({ type: 'text', text: 'Recalled: ' + JSON.stringify(messages
				.filter((m) => m.role === 'user').map((m) => m.text.replace(NOTE, '').trim())) });
			break;
		case 'ERR': {
			const error = errorOf(arg);
			if (failed(error.times))
				return { ...reply, error };
			break;
		}
		case 'OVERFLOW': return { ...reply, error: { status: 400, overflow: true } };
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

// Text as a model streams it: in pieces of about a word.
export function pieces(text) {
	return text.match(/\S*\s+|\S+/g) ?? [text];
}
