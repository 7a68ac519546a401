// SPDX-License-Identifier: Apache-2.0
// Prints a session's updates for a user: a label and a text in each line, with colour only on a terminal.

const WIDTH = 10; // of a label
const COLOURS = { thinks: '2', tool: '36', question: '33', answer: '32' };

export class Screen {
	#out; #colour; #cwd; #open = null; #tools = new Map();

	// cwd: the directory of the session, from which files are named.
	constructor(out, cwd) {
		this.#out = out;
		this.#colour = Boolean(out.isTTY) && !process.env.NO_COLOR;
		this.#cwd = cwd;
	}

	#paint(code, text) {
		return this.#colour && code ? `\x1b[${code}m${text}\x1b[0m` : text;
	}

	#label(name) {
		return this.#paint('1', name.padEnd(WIDTH));
	}

	// Ends a text that was streamed.
	#end() {
		if (this.#open)
			this.#out.write('\n');
		this.#open = null;
	}

	// Text streams in chunks: a new line only when another label begins.
	#stream(name, text) {
		if (this.#open !== name) {
			this.#end();
			this.#out.write(this.#label(name));
			this.#open = name;
			text = text.trimStart();
		}
		this.#out.write(this.#paint(COLOURS[name], text));
	}

	line(name, text) {
		this.#end();
		this.#out.write(this.#label(name) + this.#paint(COLOURS[name], text) + '\n');
	}

	blank() {
		this.#end();
		this.#out.write('\n');
	}

	// The lines of a unified diff that differ.
	diff(text) {
		for (const line of text.split('\n').filter((l) => /^[-+](?![-+])/.test(l)))
			this.#out.write(' '.repeat(WIDTH) + this.#paint(line[0] === '-' ? '31' : '32', line) + '\n');
	}

	#inside(text) {
		return text.replaceAll(`${this.#cwd}/`, '').replaceAll(`${this.#cwd.slice(1)}/`, '');
	}

	question({ toolCall, options }, chosen) {
		const { kind, name } = this.#know(toolCall);

		this.line('question', `May the agent ${kind ?? 'do'} ${name}? ${options.map((o) => o.name).join(' / ')}`);
		this.line('answer', chosen.name);
	}

	update(update) {
		switch (update.sessionUpdate) {
		case 'agent_message_chunk': return this.#stream('agent', update.content.text ?? '');
		case 'agent_thought_chunk': return this.#stream('thinks', update.content.text ?? '');
		case 'tool_call':
		case 'tool_call_update': return this.#tool(update);
		default: return undefined;
		}
	}

	// A harness may say what a tool works on only after it has started: the newest title and place are valid.
	#know({ toolCallId, title, kind, locations }) {
		const old = this.#tools.get(toolCallId) ?? {};
		const name = locations?.length ? locations.map((l) => l.path).join(' ') : (title || old.name || toolCallId).trim();
		const tool = { kind: kind ?? old.kind, name: this.#inside(name) };

		this.#tools.set(toolCallId, tool);
		return tool;
	}

	#tool(update) {
		const { kind, name } = this.#know(update);

		if (update.status === 'completed' || update.status === 'failed')
			this.line('tool', `${kind ?? ''} ${name}: ${update.status}`.trim());
	}
}
