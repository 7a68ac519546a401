// SPDX-License-Identifier: Apache-2.0
// Turns that prove themselves: the model breaks what is checked, is told, mends it, and the prompt ends verified. In a draft nothing that
// it does reaches the real tree before what was shown is applied.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

import { CHANGES, digestOf, draftOf, plant, tree } from '../../lib/drafts.mjs';
import { isRoot } from '../../lib/workspace.mjs';
import { usageRecords } from '../play.mjs';
import { until } from '../until.mjs';

// The scripted model does what it is told: the check says what is wrong, and how it is mended in the model's words.
const CHECK = `got=$(sh sum.sh 2 3)
[ "$got" = 5 ] && exit 0
echo "2 and 3 make $got" >&2
cat mend.txt >&2
exit 1
`;

function workspace(s) {
	s.file('check.sh', CHECK);
	s.file('right.sh', 'echo $(($1 + $2))\n');
	s.file('wrong.sh', 'echo $(($1 - $2))\n');
	s.file('sum.sh', s.read('right.sh'));
	s.file('mend.txt', 'RUN:cp right.sh sum.sh\nTEXT:mended\n');
}

async function verified(x, t) {
	const s = await x.session(t, { acpd: { policy: { approval: 'never' }, retry: { max: 2 },
		checks: [{ id: 'sum', kind: 'command', argv: ['sh', 'check.sh'] }] } });

	workspace(s);
	const turn = await s.turn({ key: 'job' }, 'RUN:cp wrong.sh sum.sh', 'TEXT:broken');
	const said = (at) => ({ n: at, of: 3, first: turn.ends[0].turn });

	assert.deepEqual([turn.stop, s.read('sum.sh')], ['end_turn', s.read('right.sh')]);
	assert.deepEqual(turn.ends.map((e) => [e._meta.acpd.checks.verdict, e._meta.acpd.attempt]),
		[['failed', { ...said(1), retried: true }], ['verified', said(2)]]);
	const { checks, attempt, turn: no } = turn.answer._meta.acpd;
	assert.deepEqual([checks.verdict, attempt, no], ['verified', said(2), turn.ends[1].turn]);
	assert.match(turn.updates.find((u) => u.sessionUpdate === 'user_message_chunk').content.text, /2 and 3 make -1/);
	assert.ok(turn.text.endsWith('mended'), turn.text);
	const records = (await usageRecords(s, 'turn')).slice(-2);
	assert.deepEqual(records.map((r) => [r.key, r.checks.verdict, r.attempt]), turn.ends.map((e) => ['job', e._meta.acpd.checks.verdict, e._meta.acpd.attempt]));
	assert.ok(records.every((r) => r.modelCalls >= 2 && r.usage.outputTokens > 0), 'each attempt has its own usage');

	// The budget of a prompt covers all its attempts: with two calls the second attempt can make one.
	s.file('mend.txt', 'RUN:echo once >> calls\nRUN:cp right.sh sum.sh\nTEXT:never said\n');
	const spent = await s.turn({ budgets: { toolCalls: 2 } }, 'RUN:cp wrong.sh sum.sh', 'TEXT:broken');
	const detail = spent.answer._meta.acpd.stopDetail;

	assert.deepEqual([spent.stop, detail.scope, detail.limit, spent.answer._meta.acpd.checks.verdict], ['max_turn_requests', 'prompt', 2, 'unchecked']);
	assert.deepEqual([s.read('calls'), s.read('sum.sh')], ['once\n', s.read('wrong.sh')]);
}

// It goes on after the turn. The command waits until it has left the command's process group, which some harnesses kill.
const BEHIND = `setsid sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $i >> behind.txt; sleep 0.2; done' < /dev/null > /dev/null 2>&1 & until [ -s behind.txt ]; do sleep 0.05; done`;
const WRITTEN = '1\n2\n3\n4\n5\n6\n7\n8\n9\n';

async function drafted(x, t) {
	let before;
	const s = await x.session(t, { prepare: (dir) => { before = plant(dir); }, acpd: { draft: true, policy: { approval: 'never' } } });
	const { how, path } = draftOf(s.opened);
	const wanted = `${s.cwd}-wanted`; // what comes of the same changes without a harness

	assert.equal(how, isRoot ? 'overlay' : 'copy');
	fs.cpSync(s.cwd, wanted, { recursive: true, verbatimSymlinks: true });
	execFileSync('sh', ['-c', CHANGES], { cwd: wanted });
	for (const [name, text] of Object.entries({ 'sub/b.txt': 'TWO\n', 'made.txt': 'made\n', 'behind.txt': WRITTEN }))
		fs.writeFileSync(`${wanted}/${name}`, text);

	const turn = await s.turn(`RUN:${BEHIND}`, `RUN:${CHANGES}`, `EDIT:${JSON.stringify({ file: `${path}/sub/b.txt`, from: 'two', to: 'TWO' })}`,
		`WRITE:${JSON.stringify({ file: `${path}/made.txt`, text: 'made\n' })}`, 'TEXT:done');
	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.deepEqual(tree(s.cwd), before);
	let shown;
	await until(async () => {
		shown = await s.request('_acpd/workspace/diff', {});
		return shown.changes.find((c) => c.path === 'behind.txt')?.to.size === WRITTEN.length;
	}, 'what runs behind has ended');
	assert.deepEqual(tree(s.cwd), before);
	assert.equal(shown.patchDigest, digestOf(shown.changes));
	assert.deepEqual([shown.omitted, shown.conflicts], [[], []]);

	const after = tree(wanted);
	const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]);
	assert.deepEqual(shown.changes.map((c) => c.path).sort(), changed.sort());
	const done = await s.request('_acpd/workspace/apply', { patchDigest: shown.patchDigest });
	assert.equal(done.applied, changed.length);
	assert.deepEqual(tree(s.cwd), after);
}

export default [
	['checks: what the model breaks it is told, and mends; the prompt is verified', verified],
	['draft: the real tree stays as it is, whatever the model does, and apply gives exactly what was shown', drafted],
];
