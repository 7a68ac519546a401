// SPDX-License-Identifier: Apache-2.0
// openPR: a draft leaves everything as it is; a branch is made only once a human has allowed it; nothing goes over the network.

import test from 'node:test';
import { strict as assert } from 'node:assert';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import { promisify } from 'node:util';
import path from 'node:path';
import { patience } from '../lib/rawws.mjs';
import { namesBelow } from '../lib/vanishing.mjs';
import { scratch, tools } from './builtin.mjs';

const ENV = { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
const git = (cwd, ...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd, env: ENV, encoding: 'utf8',
  stdio: ['pipe', 'pipe', 'pipe'] });

// A repository with a commit on main, one more on work, and changes that are not committed.
function repository(box) {
  const { root } = box;

  git(root, 'init', '-q', '-b', 'main', '.');
  fs.writeFileSync(box.file('a.txt'), 'one\ntwo\n');
  fs.writeFileSync(box.file('.gitignore'), 'ignored\n');
  git(root, 'add', '-A');
  git(root, 'commit', '-qm', 'first');
  git(root, 'checkout', '-qb', 'work');
  fs.writeFileSync(box.file('b.txt'), 'b\n');
  git(root, 'add', '-A');
  git(root, 'commit', '-qm', 'second');
  fs.writeFileSync(box.file('a.txt'), 'one\n2\n');
  fs.writeFileSync(box.file('c.bin'), Buffer.from([0, 1, 2, 255]));
  fs.writeFileSync(box.file('ignored'), 'x');
}

const state = (box) => ['status --porcelain', 'for-each-ref', 'rev-parse HEAD', 'symbolic-ref HEAD', 'ls-files -s']
  .map((words) => git(box.root, ...words.split(' '))).join('\n');

test('a draft is a patch, and changes nothing', async (t) => {
  const box = await tools(t);

  let connections = 0;
  const server = net.createServer((socket) => { connections++; socket.destroy(); }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}/never.git`;

  repository(box);
  git(box.root, 'remote', 'add', 'origin', url);
  git(box.root, 'config', 'remote.origin.promisor', 'true');
  git(box.root, 'config', 'push.default', 'current');
  await assert.rejects(promisify(execFile)('git', ['fetch', 'origin'], { cwd: box.root, env: { ...ENV, GIT_TERMINAL_PROMPT: '0' }, timeout: patience(10000) }));
  assert.ok(connections > 0, 'whoever calls is seen');
  connections = 0;
  fs.writeFileSync(box.file('.git/hooks/pre-commit'), '#!/bin/sh\ntouch ../hooked hooked\n', { mode: 0o755 });
  fs.writeFileSync(box.file('.git/hooks/reference-transaction'), '#!/bin/sh\ntouch hooked\n', { mode: 0o755 });
  const before = state(box);
  const names = namesBelow(box.file('.git')).sort();
  const pr = await box.call('openPR', { title: 'A title', body: 'Why', base: 'main' });

  assert.equal(state(box), before);
  assert.equal(connections, 0);
  assert.deepEqual(namesBelow(box.file('.git')).sort(), names, 'not even an object');
  assert.equal(fs.existsSync(box.file('hooked')), false);
  assert.deepEqual([pr.status, pr.pushed, pr.approvalRequired, pr.branch, pr.commit], ['draft', false, true, undefined, undefined]);
  assert.deepEqual(pr.files, ['a.txt', 'b.txt', 'c.bin']);
  assert.equal(pr.base, git(box.root, 'rev-parse', 'main').trim());
  assert.equal(pr.patchEncoding, 'utf-8');

  git(box.root, 'stash', '-qu');
  git(box.root, 'checkout', '-q', 'main');
  fs.writeFileSync(box.file('.git/p'), pr.patch);
  git(box.root, 'apply', '.git/p');
  assert.equal(fs.readFileSync(box.file('a.txt'), 'utf8'), 'one\n2\n');
  assert.deepEqual([...fs.readFileSync(box.file('c.bin'))], [0, 1, 2, 255]);
});

test('a branch and a commit, once a human has allowed it', async (t) => {
  const box = await tools(t, {}, { elicitation: { form: {} } });
  const args = { title: 'Add: "b" & more!', body: 'Why\n\nand how', base: 'main', draft: false };

  repository(box);
  const before = state(box);
  const asked = await box.raw('openPR', args);

  assert.equal(asked.resultType, 'input_required');
  assert.equal(state(box), before);
  const [[key, question]] = Object.entries(asked.inputRequests);

  assert.equal(question.params._meta.acpd.permission.tool, 'openPR');
  const { structuredContent: pr } = await box.raw('openPR', args, { requestState: asked.requestState,
    inputResponses: { [key]: { action: 'accept', content: { approve: true } } } });

  assert.equal(pr.approvalRequired, false);
  assert.match(pr.branch, /^acpd\/add-b-more-[0-9a-f]{8}$/);
  assert.equal(git(box.root, 'rev-parse', pr.branch).trim(), pr.commit);
  assert.equal(git(box.root, 'log', '-1', '--format=%B', pr.branch).trim(), 'Add: "b" & more!\n\nWhy\n\nand how');
  assert.equal(git(box.root, 'diff', '--name-only', 'main', pr.branch), 'a.txt\nb.txt\nc.bin\n');
  assert.equal(git(box.root, 'rev-parse', 'HEAD').trim(), pr.head);
  assert.equal(git(box.root, 'for-each-ref', '--format=%(refname)').split('\n').length, 4);
});

test('refused by name', async (t) => {
  const box = await tools(t);
  const empty = await tools(t);

  assert.equal((await empty.fails('INVALID_ARGUMENT', 'openPR', { title: '' })).field, 'title');
  assert.equal((await empty.fails('INVALID_ARGUMENT', 'openPR', { title: ' \n\t' })).field, 'title');
  await empty.fails('NOT_A_REPOSITORY', 'openPR', { title: 'x' });
  git(empty.root, 'init', '-q', '.');
  await empty.fails('NO_COMMIT', 'openPR', { title: 'x' });
  repository(box);
  await box.fails('BASE_UNKNOWN', 'openPR', { title: 'x', base: 'nowhere' });
  await box.fails('BASE_UNKNOWN', 'openPR', { title: 'x', base: '--output=x' });
  await box.fails('APPROVAL_REQUIRED', 'openPR', { title: 'x', draft: false });
  git(box.root, 'add', '-A');
  git(box.root, 'commit', '-qm', 'all');
  await box.fails('NOTHING_TO_PROPOSE', 'openPR', { title: 'x' });
});

test('what may not be read is in no patch, and a denied git commit denies it', async (t) => {
  const box = await tools(t, { policy: { deny: ['c.bin'] } });
  const none = await tools(t, { policy: { commands: [{ prefix: ['git', 'commit'], policy: 'deny' }] } });

  repository(box);
  await box.fails('PATH_DENIED', 'openPR', { title: 'x' });
  fs.rmSync(box.file('c.bin'));
  await box.call('openPR', { title: 'x' });
  repository(none);
  await none.fails('COMMAND_DENIED', 'openPR', { title: 'x' });
});

// With the answer of a human.
async function allowed(box, args) {
  const { inputRequests, requestState } = await box.raw('openPR', args);
  const [[key]] = Object.entries(inputRequests);

  return (await box.raw('openPR', args, { requestState, inputResponses: { [key]: { action: 'accept', content: { approve: true } } } })).structuredContent;
}

// A repository below the root, which is none.
async function below(t) {
  const box = await tools(t, {}, { elicitation: { form: {} } });
  const root = box.file('deep/repo');
  const there = { root, file: (name) => path.join(root, name) };

  fs.mkdirSync(root, { recursive: true });
  repository(there);
  return { box, there, tree: (cwd, of) => git(cwd, 'ls-tree', '-r', of) };
}

test('path says which repository, and its branch can be cloned or fetched elsewhere from a bundle', async (t) => {
  const { box, there, tree } = await below(t);
  const other = scratch();

  t.after(() => fs.rmSync(other, { recursive: true, force: true }));
  fs.mkdirSync(there.file('sub'));
  await box.fails('NOT_A_REPOSITORY', 'openPR', { title: 'x' });
  await box.fails('ENOTDIR', 'openPR', { title: 'x', path: 'deep/repo/a.txt' });
  await box.fails('ENOENT', 'openPR', { title: 'x', path: 'deep/none' });
  await box.fails('OUTSIDE_ROOTS', 'openPR', { title: 'x', path: other });
  const draft = await box.call('openPR', { title: 'x', path: 'deep/repo/sub' });

  assert.deepEqual([draft.files, draft.bundle], [['a.txt', 'c.bin'], undefined]);
  const whole = await allowed(box, { title: 'All of it', path: 'deep/repo', draft: false });

  assert.match(whole.bundle, /^all-of-it-[0-9a-f]{8}\.bundle$/);
  assert.equal(whole.bundlePath, `deep/repo/.git/acpd-bundles/${whole.bundle}`);
  assert.equal(whole.bundleRequires, undefined);
  git(other, 'clone', '-q', box.file(whole.bundlePath), 'clone');
  assert.equal(git(path.join(other, 'clone'), 'rev-parse', 'HEAD').trim(), whole.commit);
  assert.equal(tree(path.join(other, 'clone'), 'HEAD'), tree(there.root, whole.branch));
  assert.equal(fs.readFileSync(path.join(other, 'clone/a.txt'), 'utf8'), 'one\n2\n');

  // what comes after base is for those who have it
  git(other, 'clone', '-q', '-b', 'main', there.root, 'has');
  git(other, 'init', '-q', 'has-not');
  const rest = await allowed(box, { title: 'The rest', path: 'deep/repo', base: 'main', draft: false });
  const fetch = (cwd) => git(path.join(other, cwd), 'fetch', '-q', box.file(rest.bundlePath), `${rest.branch}:got`);

  assert.equal(rest.bundleRequires, git(there.root, 'rev-parse', 'main').trim());
  fetch('has');
  assert.equal(tree(path.join(other, 'has'), 'got'), tree(there.root, rest.branch));
  assert.throws(() => fetch('has-not'), /prerequisite/);
});

test('a bundle that is too large is refused, and there is no branch', async (t) => {
  const { box, there } = await below(t);

  for (const name of ['one', 'two']) {
    fs.writeFileSync(there.file('noise'), crypto.randomBytes(5 << 20));
    git(there.root, 'add', '-A');
    git(there.root, 'commit', '-qm', name);
  }
  fs.writeFileSync(there.file('a.txt'), 'small\n');
  const before = state(there);
  const { error } = await allowed(box, { title: 'x', path: 'deep/repo', draft: false });

  assert.deepEqual([error.code, error.field], ['BUNDLE_TOO_LARGE', 'base']);
  assert.equal(state(there), before);
  assert.equal(fs.existsSync(there.file('.git/acpd-bundles')), false);
  assert.ok((await allowed(box, { title: 'x', path: 'deep/repo', base: 'HEAD', draft: false })).bundlePath);
});
