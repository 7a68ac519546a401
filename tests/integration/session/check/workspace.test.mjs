// SPDX-License-Identifier: Apache-2.0
// Checks of tests, and of what has changed in the workspace; and what a check itself changes there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { withLimit } from '../../../lib/wait.mjs';
import { newCwd, upload } from '../../../lib/workspace.mjs';

const SECRET = 'sk-check-0123456789abcdef';
const TREE = { 'src/a.txt': 'one\ntwo\nthree\n', 'src/b.txt': 'b\n', 'docs/x.md': 'x\n', '.gitignore': 'build/\n' };
let d, c;

before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true } } });
  c = await d.client();
});
after(() => endInOrder(d, c));

async function start(meta = {}) {
  const cwd = newCwd(d);
  const { sessionId } = await c.newSession({ cwd, meta: { workspace: { archive: await upload(d, TREE) }, secrets: { MY_SECRET: SECRET }, ...meta } });

  return { id: sessionId, cwd, check: (...checks) => c.call('_acpd/check', { sessionId, checks: checks.map((k, i) => ({ id: `c${i}`, ...k })) }),
    one: async (k) => (await c.call('_acpd/check', { sessionId, checks: [{ id: 'it', ...k }] }, { timeout: 120000 })).results[0] };
}
const paths = (more) => ({ kind: 'paths', ...more });
const size = (more) => ({ kind: 'diffSize', ...more });
const said = ({ ok, offending, offendingTotal, counts, error }) => ({ ok, ...(offending && { offending, offendingTotal }), ...(counts && { counts }), ...(error && { reason: error.reason }) });
const counts = (files, insertions, deletions) => ({ files, insertions, deletions, lines: insertions + deletions });

describe('paths', () => {
  test('allow and deny, since the turn began or since the baseline', async () => {
    const { id, cwd, check } = await start();
    const both = (more) => check(paths(more), paths({ ...more, since: 'baseline' }));
    const of = async (more) => (await both(more)).results.map(said);

    assert.deepEqual(await of({ allow: ['src/**'] }), [{ ok: true, offending: [], offendingTotal: 0 }, { ok: true, offending: [], offendingTotal: 0 }]);
    await c.prompt(id, 'write docs/new.md text');
    await c.prompt(id, 'write src/a.txt text');
    fs.rmSync(`${cwd}/src/b.txt`);
    assert.deepEqual(await of({ allow: ['src/**'] }), [{ ok: true, offending: [], offendingTotal: 0 }, { ok: false, offending: ['docs/new.md'], offendingTotal: 1 }]);
    assert.deepEqual((await of({ deny: ['b.txt'] })).map((r) => r.offending), [['src/b.txt'], ['src/b.txt']], 'a name without a slash holds at any depth');
    assert.deepEqual((await of({ allow: ['**'], deny: ['src/a.*'] })).map((r) => r.offending), [['src/a.txt'], ['src/a.txt']], 'deny wins');
    fs.mkdirSync(`${cwd}/build`);
    fs.writeFileSync(`${cwd}/build/out`, 'x');
    assert.equal((await of({ allow: ['src/**'] }))[0].ok, true, 'what is ignored is not seen');
    fs.mkdirSync(`${cwd}/${SECRET}`);
    fs.writeFileSync(`${cwd}/${SECRET}/x "y"\n`, 'x');
    assert.deepEqual((await of({ allow: ['src/**'] }))[0].offending, ['***/x "y"\n']);
  });

  test('after a turn: what changed since it began, with all its attempts', async () => {
    const { id, cwd } = await start();
    const check = { id: 'p', kind: 'paths', allow: ['src/**'] }, whole = { ...check, id: 'b', since: 'baseline' };
    const of = (r) => r._meta.acpd.checks.results.map((k) => [k.id, k.ok, k.offending]);

    await c.prompt(id, 'write docs/one.md text');
    assert.deepEqual(of(await c.prompt(id, 'write src/c.txt text', { meta: { acpd: { checks: [check, whole] } } })), [['p', true, []], ['b', false, ['docs/one.md']]]);
    assert.deepEqual(of(await c.prompt(id, 'write docs/two.md text', { meta: { acpd: { checks: [check] } } })), [['p', false, ['docs/two.md']]]);
    fs.writeFileSync(`${cwd}/src/late`, 'after the turn');
    const tried = await c.prompt(id, 'write docs/three.md text', { meta: { acpd: { checks: [{ id: 'p', kind: 'paths', allow: ['src/**'] }, { id: 'never', kind: 'command', argv: ['false'] }],
      retry: { max: 1 } } } });

    assert.deepEqual(of(tried)[0], ['p', false, ['docs/three.md']], 'the second attempt changed nothing');
  });

  test('many: a bounded list, all counted', async () => {
    const { cwd, one } = await start();

    for (let i = 0; i < 1000; i++)
      fs.writeFileSync(`${cwd}/src/some-longer-name-${i}`, '');
    const r = await one(paths({ allow: ['docs/**'] }));

    assert.equal(r.offendingTotal, 1000);
    assert.ok(r.offending.length > 20 && JSON.stringify(r.offending).length < 4200);
    assert.deepEqual(said(await one(paths({ allow: ['src/**'] }))), { ok: true, offending: [], offendingTotal: 0 });
  });

  test('a path that takes long to match holds up nobody', async () => {
    const { cwd, one } = await start();
    const long = `${'a'.repeat(36)}/`.repeat(100), deep = `${cwd}/${long}`;

    fs.mkdirSync(deep, { recursive: true });
    fs.writeFileSync(`${deep}x`, '');
    const began = one(paths({ allow: Array.from({ length: 200 }, (_, i) => `**/a*a*a*/**/*${i}/**/y`) }));
    let over = false;

    began.finally(() => { over = true; });
    await c.call('_acpd/status');
    assert.equal(over, false, 'others are answered meanwhile');
    const r = await began;

    assert.equal(r.ok, false);
    assert.equal(r.offendingTotal, 1);
    assert.deepEqual(r.offending, [`${long}x`]);
  });

  test('without a baseline it is not known, and so no success', async () => {
    const { sessionId } = await c.newSession({ cwd: newCwd(d) });
    const { verdict, results } = await c.call('_acpd/check', { sessionId, checks: [{ id: 'p', kind: 'paths', allow: ['**'] }, { id: 's', kind: 'diffSize', maxFiles: 3 },
      { id: 'c', kind: 'command', argv: ['true'] }] });

    assert.equal(verdict, 'failed');
    assert.deepEqual(results.slice(0, 2).map(said), [{ ok: false, reason: 'NO_BASELINE' }, { ok: false, reason: 'NO_BASELINE' }]);
    assert.equal(results[2].changed, null, 'nor is what a command changed');
  });
});

describe('diffSize', () => {
  test('files, insertions, deletions, lines', async () => {
    const { cwd, check } = await start();

    fs.writeFileSync(`${cwd}/src/a.txt`, 'one\n2\nthree\nfour\n');
    fs.writeFileSync(`${cwd}/src/new.txt`, 'n\n');
    const { results } = await check(size({ maxFiles: 2 }), size({ maxFiles: 1 }), size({ maxInsertions: 3, maxDeletions: 1, maxLines: 4 }), size({ maxInsertions: 2 }), size({ maxDeletions: 0 }),
      size({ maxLines: 3 }), size({ maxFiles: 2, since: 'baseline' }));

    assert.deepEqual(results.map((r) => r.ok), [true, false, true, false, false, false, true]);
    assert.ok(results.every((r) => JSON.stringify(r.counts) === JSON.stringify(counts(2, 3, 1))), JSON.stringify(results));
  });

  test('what cannot be counted is no success', async () => {
    const { cwd, one } = await start();

    fs.writeFileSync(`${cwd}/src/large`, Buffer.alloc(17 << 20));
    assert.deepEqual(said(await one(size({ maxFiles: 10 }))), { ok: false, counts: counts(1, 0, 0), reason: 'CHECK_INCOMPLETE' });
  });
});

describe('what a check changes in the workspace', () => {
  test('is named; what is as before is not', async () => {
    const { cwd, check } = await start();

    fs.writeFileSync(`${cwd}/src/agent.txt`, 'of the agent');
    const { verdict, results } = await check({ kind: 'command', argv: ['true'] }, { kind: 'command', command: 'echo x >> src/a.txt; rm src/b.txt; mkdir -p build; echo y > build/y; echo z > new' },
      { kind: 'command', command: 'chmod +x src/agent.txt; rm new; git init -q . 2>/dev/null; true' }, paths({ allow: ['src/**'] }), { kind: 'command', command: 'touch src/a.txt' });

    assert.equal(verdict, 'verified');
    assert.deepEqual(results.map((r) => r.changed), [{ paths: [], total: 0 }, { paths: ['new', 'src/a.txt', 'src/b.txt'], total: 3 },
      { paths: ['new', 'src/agent.txt'], total: 2 }, undefined, { paths: [], total: 0 }]);
  });

  test('many: a bounded list', async () => {
    const { one } = await start();
    const r = await one({ kind: 'command', command: 'cd src; for i in $(seq 2000); do : > name-$i; done' });

    assert.equal(r.changed.total, 2000);
    assert.ok(r.changed.paths.length > 20 && JSON.stringify(r.changed.paths).length < 4200);
  });
});

describe('tests', () => {
  const tap = (...lines) => `printf '%s\\n' 'TAP version 13' ${lines.map((l) => `'${l}'`).join(' ')} '1..${lines.length}'`;

  test('counts and failures; all have to end, and one to pass', async () => {
    const { check } = await start();
    const { results } = await check({ kind: 'tests', command: tap('ok 1 - a', 'ok 2 - b # SKIP later'), format: 'tap' },
      { kind: 'tests', command: `${tap('ok 1 - a', `not ok 2 - b ${SECRET}`)}; exit 1`, format: 'tap' },
      { kind: 'tests', command: tap('not ok 1 - a'), format: 'tap' },
      { kind: 'tests', command: tap('ok 1 - a # SKIP'), format: 'tap' },
      { kind: 'tests', command: tap('ok 1 - a'), format: 'tap', minPassed: 2 },
      { kind: 'tests', command: 'printf "1..2\\nok 1 - a\\n"', format: 'tap' },
      { kind: 'tests', command: 'exit 1', format: 'exit' });

    assert.deepEqual(results.map((r) => r.ok), [true, false, false, false, false, false, false]);
    assert.deepEqual(results[0].tests, { passed: 1, failed: 0, skipped: 1, failures: [] });
    assert.deepEqual(results[1].tests, { passed: 1, failed: 1, skipped: 0, failures: [{ name: 'b ***' }] });
    assert.match(results[1].outputTail, /not ok 2 - b \*\*\*/);
    assert.equal(results[5].tests.partial, true);
    assert.equal(results[6].tests.failed, 1);
  });

  test('a framework that is found by its files; a target that is not there', async () => {
    const { cwd, one } = await start();

    assert.equal((await one({ kind: 'tests' })).error.reason, 'CHECK_NOT_STARTED');
    fs.writeFileSync(`${cwd}/Makefile`, 'default:\n\ttrue\ntest:\n\t@echo "$$A"; test -n "$$A"\n');
    const r = await one({ kind: 'tests', env: { A: 'given' } });

    assert.equal(r.ok, true, JSON.stringify(r));
    assert.equal(r.outputTail, 'given\n');
    assert.equal((await one({ kind: 'tests', cwd: 'src', target: 'make' })).ok, false);
  });

  test('that hang: those that ended count, and it has failed', async () => {
    const { one } = await start();
    const r = await withLimit(400, (timeoutMs) => one({ kind: 'tests', command: `${tap('ok 1 - a')}; sleep 1723`, format: 'tap', timeoutMs }),
      (early) => !early.tests?.passed);

    assert.equal(r.ok, false);
    assert.equal(r.error.reason, 'CHECK_TIMED_OUT');
    assert.equal(r.tests.passed, 1);
  });

  test('many that fail: some are named, all counted', async () => {
    const { one } = await start();
    const r = await one({ kind: 'tests', command: 'for i in $(seq 5000); do echo "not ok $i - a test with quite a long name $i"; done; echo 1..5000', format: 'tap' });

    assert.equal(r.tests.failed, 5000);
    assert.equal(r.tests.failures.length + r.tests.moreFailures, 5000);
    assert.ok(r.tests.failures.length >= 10 && JSON.stringify(r).length < 20000);
  });
});
