// SPDX-License-Identifier: Apache-2.0
// One wish in the words of whatever harness asks: a script says RUN, READ, EDIT, WRITE or MCP, and the call goes to the tool
// that the request offers for it. So one script serves every harness.
//
//   RUN:command                          a shell command
//   READ:file                            look into a file
//   EDIT:{"file","from","to"}            replace whole lines (an apply_patch tool knows no others)
//   WRITE:{"file","text"}                a new file
//   MCP:server tool {json}               a tool of an MCP server

const patch = (body) => `*** Begin Patch\n${body}\n*** End Patch`;
const signed = (sign, text) => text.replace(/\n$/, '').split('\n').map((line) => sign + line).join('\n');
const updatePatch = ({ file, from, to }) =>
	patch(`*** Update File: ${file}\n@@\n${signed('-', from)}\n${signed('+', to)}`);
const addPatch = ({ file, text }) => patch(`*** Add File: ${file}\n${signed('+', text)}`);
const heredoc = (text) => `apply_patch <<'EOF'\n${text}\nEOF`;
const quoted = (file) => `'${file.replaceAll("'", "'\\''")}'`;

const SHELL = [
	['exec_command', 'cmd', (command) => ({ cmd: command, yield_time_ms: 30_000 })],
	['shell_command', 'command', (command) => ({ command, timeout_ms: 600_000 })],
	['shell', 'command', (command) => ({ command: ['bash', '-lc', command] })],
	['run_shell_command', 'command', (command) => ({ command })],
	['bash', 'description', (command) => ({ command, description: 'a scripted command' })],
	['bash', 'command', (command) => ({ command })],
	['Bash', 'command', (command) => ({ command, description: 'a scripted command' })],
];
// A wish for which a harness has no tool of its own goes through its shell.
const viaShell = (line) => SHELL.map(([name, property, args]) => [name, property, (wish) => args(line(wish))]);

// Per wish: [tool, a property its schema must have, arguments], in order of preference.
const TOOLS = {
	RUN: SHELL,
	READ: [
		['read', 'filePath', (file) => ({ filePath: file })],
		['read', 'path', (file) => ({ path: file })],
		['read_file', 'file_path', (file) => ({ file_path: file })],
		['read_file', 'absolute_path', (file) => ({ absolute_path: file })],
		['Read', 'file_path', (file) => ({ file_path: file })],
		['view', 'path', (file) => ({ path: file })],
		...viaShell((file) => `cat ${quoted(file)}`),
	],
	EDIT: [
		['edit', 'filePath', ({ file, from, to }) => ({ filePath: file, oldString: from, newString: to })],
		['edit', 'edits', ({ file, from, to }) => ({ path: file, edits: [{ oldText: from, newText: to }] })],
		['edit', 'old_str', ({ file, from, to }) => ({ path: file, old_str: from, new_str: to })],
		['replace', 'old_string', ({ file, from, to }) => ({ file_path: file, old_string: from, new_string: to })],
		['Edit', 'old_string', ({ file, from, to }) => ({ file_path: file, old_string: from, new_string: to })],
		['apply_patch', 'patchText', (wish) => ({ patchText: updatePatch(wish) })],
		['apply_patch', null, updatePatch],
		...viaShell((wish) => heredoc(updatePatch(wish))),
	],
	WRITE: [
		['write', 'filePath', ({ file, text }) => ({ filePath: file, content: text })],
		['write', 'path', ({ file, text }) => ({ path: file, content: text })],
		['write_file', 'file_path', ({ file, text }) => ({ file_path: file, content: text })],
		['Write', 'file_path', ({ file, text }) => ({ file_path: file, content: text })],
		['create', 'file_text', ({ file, text }) => ({ path: file, file_text: text })],
		['apply_patch', null, addPatch],
		...viaShell((wish) => heredoc(addPatch(wish))),
	],
};

export const WISHES = [...Object.keys(TOOLS), 'MCP'];

// The name under which a harness offers a tool of an MCP server.
function mcpTool(tools, server, name) {
	const names = [`mcp__${server}__${name}`, `${server}_${name}`, `${server}-${name}`, `mcp_${server}_${name}`];

	return tools.find((t) => t.namespace ? t.namespace === `mcp__${server}` && t.name === name : names.includes(t.name));
}

function mcpCall(tools, arg) {
	const [, server, name, args] = /^(\S+)\s+(\S+)\s*([\s\S]*)$/.exec(arg) ?? [];
	const tool = server && mcpTool(tools, server, name);

	return tool && { name: tool.name, namespace: tool.namespace, args: JSON.parse(args || '{}') };
}

// {name, namespace?, args} for a wish, of the tools that a request offers; null if it offers none that fits.
export function toolFor(wish, arg, tools) {
	if (wish === 'MCP')
		return mcpCall(tools, arg) ?? null;
	const wanted = wish === 'EDIT' || wish === 'WRITE' ? JSON.parse(arg) : arg;
	const fits = ([name, property]) => tools.find((t) => t.name === name && !t.namespace
		&& (property ? t.properties?.includes(property) : t.custom));
	const row = TOOLS[wish].find(fits);

	return row ? { name: row[0], args: row[2](wanted) } : null;
}
