// SPDX-License-Identifier: Apache-2.0
// Prints a session's updates for a human: plain text, with colour only on a terminal.

export class Screen {
	#out; #colour; #open = null; #tools = new Map();

	constructor(out) {
		this.#out = out;
		this.#colour = Boolean(out.isTTY) && !process.env.NO_COLOR;
	}

	#paint(code, text) {
		return this.#colour ? `\x1b[${code}m${text}\x1b[0m` : text;
	}

	// Text streams in pieces: a new line only when something else begins.
	#stream(kind, text, code) {
		if (this.#open !== kind) {
			this.line();
			this.#out.write(this.#paint('1', `${kind}: `));
			this.#open = kind;
		}
		this.#out.write(this.#paint(code, text));
	}

	line(text) {
		if (this.#open)
			this.#out.write('\n');
		this.#open = null;
		if (text !== undefined)
			this.#out.write(text + '\n');
	}

	block(title, text) {
		this.line(this.#paint('1', `--- ${title}`));
		this.#out.write(text);
	}

	question({ toolCall, options }, chosen) {
		const offered = options.map((o) => o.name).join(' / ');

		this.line(this.#paint('33', `Question: may the agent ${toolCall.kind ?? 'do'} ${toolCall.title}? [${offered}]`));
		this.line(this.#paint('32', `Answer: ${chosen.name}`));
	}

	update(update) {
		switch (update.sessionUpdate) {
		case 'agent_message_chunk': return this.#stream('Agent', update.content.text ?? '', '0');
		case 'agent_thought_chunk': return this.#stream('Thinks', update.content.text ?? '', '2');
		case 'tool_call':
		case 'tool_call_update': return this.#tool(update);
		case 'usage_update': return this.line(`Usage: ${update.used} of ${update.size} tokens of context`);
		default: return undefined;
		}
	}

	// A harness may say what a tool works on only after it has begun: the newest title holds. No line comes twice.
	#tool({ toolCallId, title, status, locations }) {
		const tool = this.#tools.get(toolCallId) ?? {};
		const name = (title || tool.name || toolCallId).trim();
		const ended = status === 'completed' || status === 'failed';
		const text = ended ? `Tool ${name}: ${status}`
			: locations?.length ? `Tool ${name}: ${locations.map((l) => l.path).join(' ')}` : tool.text;

		this.#tools.set(toolCallId, { name, text });
		if (text !== tool.text)
			this.line(this.#paint('36', text));
	}
}
