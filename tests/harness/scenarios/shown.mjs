// SPDX-License-Identifier: Apache-2.0
// What the model is really shown of the built-in tools, read from the harness's own request to it: a row per tool. Whole lines, no
// escapes, numbers where they help, head and tail with a way to read on, images as images.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { builtinTools } from '../play.mjs';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const text = 'int main(void)\n{\n\tputs("a \\"quoted\\" word");\n}\n';
const long = (n) => Array.from({ length: n }, (_, i) => `row ${i + 1} ${'x'.repeat(40)}`);

function prepare(cwd) {
	fs.chmodSync(cwd, 0o777);
	fs.mkdirSync(path.join(cwd, 'src'), { mode: 0o777, recursive: true });
	fs.writeFileSync(path.join(cwd, 'src/main.c'), text);
	fs.writeFileSync(path.join(cwd, 'long.txt'), `${long(4000).join('\n')}\n`);
	fs.writeFileSync(path.join(cwd, 'pixel.png'), Buffer.from(PIXEL, 'base64'));
}

// [tool, arguments, what the model must be shown: text that is all of it, or a pattern]
const ROWS = [
	['readFile', { path: 'src/main.c' }, '     1\tint main(void)\n     2\t{\n     3\t\tputs("a \\"quoted\\" word");\n     4\t}\n'],
	['readFiles', { glob: 'src/*' }, /^==> src\/main\.c {2}\d+\n {5}1\tint main\(void\)\n/],
	['listFiles', { path: 'src' }, `src/main.c  ${text.length}\n`],
	['grep', { pattern: 'quoted' }, 'src/main.c\n3:\tputs("a \\"quoted\\" word");\n'],
	['editFile', { path: 'src/main.c', oldText: '\tputs("a \\"quoted\\" word");\n', newText: '\treturn 0;\n' }, /^success: true\npath: src\/main\.c\nreplacements: 1\nline: 3\n/],
	['editFile', { path: 'src/main.c', oldText: 'nothing like it', newText: '' }, /^NO_MATCH: /],
	['writeFile', { path: 'new.txt', content: 'x' }, /^success: true\npath: new\.txt\n/],
	['writeFiles', { files: [{ path: 'two.txt', content: 'x' }] }, /^success: true\nfilesWritten: \n- two\.txt\n/],
	['applyDiff', { patch: '--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n' }, 'modified new.txt  +1 -1\n'],
	['createDirectory', { path: 'd' }, 'success: true\npath: d\ncreated: true\n'],
	['getFileInfo', { path: 'src/main.c' }, /^path: src\/main\.c\nname: main\.c\ntype: file\n/],
	['checkFileExists', { path: 'none' }, 'exists: false\npath: none\nisDirectory: false\n'],
	['getFileSize', { path: 'src/main.c' }, /^size: \d+\n/],
	['deleteFile', { path: 'two.txt' }, 'success: true\npath: two.txt\n'],
	['watchDirectory', { path: 'src', watchDuration: 1 }, /^watchStarted: true\npath: src\nevents: none\n/],
	['runCommand', { command: 'echo "a \\"b\\""; echo bad >&2; exit 3' }, 'a "b"\n[stderr]\nbad\n[exit code 3]\n'],
	['runCode', { language: 'python', code: 'echo "$0" | sed s/.*acpd-code.*/code/' }, 'code\n[exit code 0]\n'],
	['runTests', { target: 't' }, /^1 passed, 1 failed, 0 skipped; exit code 1\ncommand: .*\nFAILED broken\npassed fine\n/],
	['listProcesses', {}, 'processes: none\n'],
	['getProcessOutput', { pid: '1' }, /^PROCESS_NOT_FOUND: /],
	['writeProcessInput', { pid: '1', data: 'x' }, /^PROCESS_NOT_FOUND: /],
	['killProcess', { pid: '1' }, /^PROCESS_NOT_FOUND: /],
	['openPR', { title: 'x' }, /^NOT_A_REPOSITORY: /],
	['createSandbox', {}, /^sandboxId: \S+\n$/],
];

async function play(x, t, rows) {
	const s = await builtinTools(x, t);
	prepare(s.cwd);
	const turn = await s.turn(...rows.map(([name, args]) => `MCP:acpd ${name} ${JSON.stringify(args)}`), 'TEXT:done');
	const { results } = s.requests.at(-1);

	assert.equal(turn.text, 'done');
	assert.equal(results.length, rows.length, JSON.stringify(results));
	return { s, results: results.map((result) => x.h.unwrap ? x.h.unwrap(result) : result) };
}

async function each(x, t) {
	const { results } = await play(x, t, ROWS);

	for (const [i, [name, args, wanted]] of ROWS.entries()) {
		const what = `${name} ${JSON.stringify(args)}: ${JSON.stringify(results[i])}`;

		if (wanted instanceof RegExp)
			assert.match(results[i], wanted, what);
		else
			assert.equal(results[i].trimEnd(), wanted.trimEnd(), what);
		assert.doesNotMatch(results[i], /structuredContent|\\n|\\t/, what);
	}
}

// A file and a command that are too long: the model has whole lines, and with what it is told it gets the rest.
async function longOnes(x, t) {
	const rows = [['readFile', { path: 'long.txt' }], ['runCommand', { command: 'cat long.txt' }]];
	const { s, results: [read, run] } = await play(x, t, rows);
	const [, end, next] = /\n\[lines 1-(\d+) of 4000; read on with startLine: (\d+)\]\s*$/.exec(read) ?? assert.fail(`no end: ${read.slice(-300)}`);
	const all = long(4000);

	assert.ok(Number(end) > 250 && Number(next) === Number(end) + 1, end);
	assert.equal(read.slice(0, read.indexOf('\n[lines')), all.slice(0, Number(end)).map((line, i) => `${String(i + 1).padStart(6)}\t${line}`).join('\n'));
	const [, head, pid, offset, tail] = /^([^[]*)\n\[\d+ bytes of stdout left out; getProcessOutput with pid: "(\d+)", stream: "stdout", offset: (\d+) reads them\]\n([^[]*)\n\[exit code 0\]\s*$/
		.exec(run) ?? assert.fail(`no head and tail: ${run.slice(0, 200)} … ${run.slice(-300)}`);

	assert.ok(all.join('\n').startsWith(head) && all.join('\n').endsWith(tail) && tail.startsWith('row '));
	const turn = await s.turn(`MCP:acpd readFile {"path": "long.txt", "startLine": ${next}}`,
		`MCP:acpd getProcessOutput {"pid": "${pid}", "offset": ${offset}, "length": 100}`, 'TEXT:read');
	const [more, piece] = s.requests.at(-1).results.map((result) => x.h.unwrap ? x.h.unwrap(result) : result);

	assert.equal(turn.text, 'read');
	assert.ok(more.startsWith(`${next.padStart(6)}\t${all[next - 1]}\n`), more.slice(0, 200));
	assert.ok(piece.startsWith(`${all.join('\n').slice(Number(offset), Number(offset) + 100)}\n[bytes `), piece);
}

async function images(x, t) {
	const { s, results: [read] } = await play(x, t, [['readFile', { path: 'pixel.png' }]]);

	assert.match(read, /\[image\/png, 1 x 1, 70 bytes\]/);
	assert.ok(!read.includes(PIXEL), 'the image is shown as text');
	const { body } = s.requests.at(-1);

	assert.ok((typeof body === 'string' ? body : JSON.stringify(body)).includes(`data:image/png;base64,${PIXEL}`), 'the image did not reach the model');
}

export default [
	['each built-in tool: what the model is shown', each],
	['built-in tools: a long file and a long output are shown in part, and can be read on', longOnes],
	['built-in tools: an image is shown as one', images],
];
