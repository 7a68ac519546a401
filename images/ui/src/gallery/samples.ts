// SPDX-License-Identifier: Apache-2.0
// What the gallery shows: plausible data of a run, with the awkward cases among it.

import type { BudgetUse, CheckResult, Plan } from '../model/items.ts';
import type { FileTouch, McpServer, ModelCall, ModelUse, Span, Turn } from '../model/run.ts';

const E = '\u001b[';

export const MARKDOWN = `# The plan

I looked at **\`parse_header()\`** in \`src/http/head.c\`. It takes the *first* colon, so \`Host: [::1]:80\` is cut in two.

1. Find the colon that ends the name
2. Keep the rest, without blanks around it
   - also for continued lines
   - and for \`obs-fold\`

- [x] Write the failing test
- [ ] Mend the parser
- [ ] Run \`make check\`

> RFC 9112 says: no whitespace is allowed between the field name and the colon.

\`\`\`c
static int head_name(const char *line, size_t *len)
{
	const char *colon = strchr(line, ':');

	if (colon == NULL || colon == line)
		return -EBADMSG;	/* a name is needed */
	*len = (size_t)(colon - line);
	return 0;
}
\`\`\`

| Case | Before | After |
|:-----|:------:|------:|
| \`Host: a\` | ok | ok |
| \`Host : a\` | ok | **400** |
| \`[::1]:80\` | wrong | ok |

See [the specification](https://www.rfc-editor.org/rfc/rfc9112#section-5.1), <https://example.org/a>, and
[this one](javascript:alert(1)), which is no link. <b>Raw HTML</b> stays as it is. ~~Done.~~

---

Next: the tests.`;

export const TERMINAL = [
	`${E}1m$ npm test${E}0m`, '',
	`${E}32m✓${E}0m parses a plain header ${E}2m(3 ms)${E}0m`,
	`${E}32m✓${E}0m folds continued lines ${E}2m(1 ms)${E}0m`,
	`${E}31m✗${E}0m ${E}1mrefuses a blank before the colon${E}0m`,
	`  ${E}7m AssertionError ${E}27m expected ${E}32m400${E}39m, got ${E}31m200${E}39m`,
	`    at ${E}36msrc/http/head.test.ts${E}0m:${E}33m42${E}0m:${E}33m7${E}0m`, '',
	`${E}33mwarning${E}0m: ${E}4mold API${E}24m in ${E}38;5;208mlib/compat.ts${E}0m, ${E}38;2;120;80;200mtrue colour${E}0m, ${E}48;5;24m on blue ${E}0m, ${E}8mhidden${E}0m, ${E}30mblack${E}0m`,
	'downloading  10 %\rdownloading  55 %\rdownloading 100 %',
	`${E}41;97m FAIL ${E}0m 1 of 3`,
	`name\tsize`, `a.c\t120`,
].join('\r\n');

export const PATCH = `diff --git a/src/http/head.c b/src/http/head.c
index 3a1f0c2..9be7710 100644
--- a/src/http/head.c
+++ b/src/http/head.c
@@ -12,15 +12,20 @@ struct head {
 	size_t len;
 };
\x20
-static int head_name(const char *line, size_t *len)
+static int head_name(const char *line, size_t line_len, size_t *len)
 {
-	const char *colon = strchr(line, ':');
+	const char *colon = memchr(line, ':', line_len);
\x20
-	if (colon == NULL)
+	if (colon == NULL || colon == line)
 		return -EBADMSG;
+	if (isblank((unsigned char)colon[-1]))
+		return -EBADMSG; /* RFC 9112, 5.1 */
 	*len = (size_t)(colon - line);
 	return 0;
 }
\x20
 int head_parse(struct head *h, const char *text)
 {
@@ -80,6 +85,5 @@ int head_parse(struct head *h, const char *text)
 	}
-	free(h->names);
-	h->names = NULL;
+	head_clear(h);
 	return 0;
 }
\\ No newline at end of file
diff --git a/README.md b/docs/README.md
similarity index 93%
rename from README.md
rename to docs/README.md
index 11..22 100644
--- a/README.md
+++ b/docs/README.md
@@ -1,3 +1,3 @@
 # head
-A parser of heads.
+A strict parser of HTTP heads.
\x20
diff --git a/tools/run.sh b/tools/run.sh
old mode 100644
new mode 100755
diff --git "a/logo \\303\\244.png" "b/logo \\303\\244.png"
new file mode 100644
index 0000000..8f3e2b1
Binary files /dev/null and "b/logo \\303\\244.png" differ
diff --git "a/src/evil\\342\\200\\256c.exe" "b/src/evil\\342\\200\\256c.exe"
deleted file mode 100644
--- "a/src/evil\\342\\200\\256c.exe"
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-if (access_level != "user\u202e \u2066// Check if admin\u2069 \u2066") {
`;

export const OLD_TEXT = 'export function add(a: number, b: number) {\n\treturn a + b;\n}\n\nexport const version = "1.0.0";\n';
export const NEW_TEXT = 'export function add(a: number, b: number): number {\n\treturn a + b;\n}\n\nexport function sub(a: number, b: number): number {\n\treturn a - b;\n}\n\nexport const version = "1.1.0";\n';

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const LONG_PATCH = (lines: number): string => `diff --git a/big.txt b/big.txt\n--- a/big.txt\n+++ b/big.txt\n@@ -1,${lines} +1,${lines} @@\n${Array.from({ length: lines }, (_, i) => (i % 5 ? ` line ${i}\n` : `-old ${i}\n+new ${i}\n`)).join('')}`;

export const PLAN: Plan = { entries: [
	{ content: 'Read the parser and its tests', status: 'completed', priority: 'high' }, { content: 'Refuse a blank before the colon', status: 'in_progress', priority: 'high' },
	{ content: 'Run the whole suite', status: 'pending', priority: 'high' }, { content: 'Write the changelog', status: 'pending', priority: 'low' }] };

export const SCHEMA = { type: 'object', required: ['region', 'replicas'], properties: {
	region: { type: 'string', title: 'Region', enum: ['eu-1', 'us-1'], enumNames: ['Europe', 'America'], description: 'Where its data is kept' },
	replicas: { type: 'integer', title: 'Replicas', minimum: 1, maximum: 9, default: 2 },
	mail: { type: 'string', format: 'email', title: 'Tell whom' }, dry: { type: 'boolean', title: 'Only try it', default: true },
	parts: { type: 'array', title: 'Parts', items: { enum: ['web', 'worker', 'cron'] } } } };

export const BUDGETS: BudgetUse[] = [
	{ budget: 'tokens', scope: 'session', limit: 200_000, used: 84_213 }, { budget: 'cost', scope: 'session', limit: 2, used: 1.71 }, { budget: 'toolCalls', scope: 'turn', limit: 40, used: 40 },
	{ budget: 'seconds', scope: 'turn', limit: 600, used: 75 }];

export const CHECKS: CheckResult[] = [
	{ id: 'lint', kind: 'command', ok: true, exitCode: 0, durationMs: 812 },
	{ id: 'tests', kind: 'tests', ok: false, durationMs: 5230, tests: { passed: 41, failed: 1, skipped: 2, failures: [{ suite: 'head', name: 'refuses a blank before the colon', message: `expected ${E}32m400${E}0m, got ${E}31m200${E}0m` }] } },
	{ id: 'only-src', kind: 'paths', ok: false, durationMs: 4, offending: ['package.json', 'src/\u202etxt.exe'] },
	{ id: 'slow', kind: 'command', ok: false, error: { reason: 'CHECK_TIMED_OUT', message: 'it did not end within 120 s' } }];

export const SERVERS: McpServer[] = [{ name: 'acpd', via: 'builtin', tools: ['read_file', 'grep'] }, { name: 'shop', via: 'acp', tools: ['order'] }, { name: 'later', via: 'http' }, { name: 'search', via: 'hosted', error: 'the process exited with code 1: no module named search' }];

export const FILES: FileTouch[] = [{ path: 'src/http/head.c', how: 'changed', times: 3, row: 1 }, { path: 'src/http/head.test.ts', how: 'changed', times: 1, row: 2 }, { path: 'docs/\u202egpj.exe', how: 'changed', times: 1, row: 2 }, { path: 'Makefile', how: 'read', times: 1, row: 3 }];

export const SPANS_NOW = 1_790_000_400_000;

// Some turns with model calls and tool calls in turn, one question, and two checks.
export const SPANS: Span[] = (() => {
	const out: Span[] = [];
	let at = SPANS_NOW - 400_000;
	for (let turn = 1; turn <= 5; turn++) {
		const start = at;
		for (let i = 0; i < 3 + turn * 2; i++) {
			out.push({ kind: 'model', turn, start: at, end: (at += 3000 + ((i * 1733) % 6000)), label: i % 3 ? 'gpt-5.2' : 'claude-opus-4-6', failed: turn === 4 && i === 2 });
			for (let k = 0; k < 1 + (i % 3); k++) out.push({ kind: 'tool', turn, start: at + k * 200, end: at + 900 + k * 1300, label: ['npm test', 'src/http/head.c', 'grep colon'][k]!, failed: i === 4 });
			at += 1500;
		}
		if (turn === 3) out.push({ kind: 'wait', turn, start: at, end: (at += 45_000), label: 'npm publish' });
		if (turn % 2) out.push({ kind: 'check', turn, start: at, end: (at += 5200), label: 'tests' });
		out.push({ kind: 'turn', turn, start, end: turn === 5 ? 0 : at, label: `Turn ${turn}` });
		at += 9000;
	}
	return out.sort((a, b) => a.start - b.start);
})();

const usage = (i: number) => ({ inputTokens: 9000 + i * 2500, cacheReadTokens: 5000 + i * 1900, cacheWriteTokens: 800, outputTokens: 900 + ((i * 377) % 900), reasoningTokens: 200 + ((i * 91) % 300) });
const costs = (i: number) => ({ amount: 0.04 + ((i * 37) % 11) / 100, currency: 'USD' });

export const TURNS: Turn[] = Array.from({ length: 12 }, (_, i) => ({
	n: i + 1, row: i, start: 0, end: 1, prompt: 'p', usage: usage(i), cost: costs(i), toolCalls: 3, failedCalls: 0, modelCalls: 2, waitedMs: 0 }));
export const CALLS: ModelCall[] = TURNS.flatMap((t, i) => [
	{ turn: t.n, at: 0, model: 'gpt-5.2', usage: {}, cost: { amount: costs(i).amount * 0.7, currency: 'USD' } }, { turn: t.n, at: 0, model: 'claude-opus-4-6', usage: {}, cost: { amount: costs(i).amount * 0.25, currency: 'USD' } }]);
export const USES: ModelUse[] = [{ model: 'gpt-5.2', calls: 40, usage: usage(9), cost: costs(7) }, { model: 'claude-opus-4-6', calls: 12, usage: usage(3), cost: costs(3) }, { model: 'small/local-model-with-a-long-name', calls: 3, usage: usage(0), cost: null }];
