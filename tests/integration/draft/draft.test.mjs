// SPDX-License-Identifier: Apache-2.0
// Drafts: what a session does changes nothing in the real tree until it is applied, and then exactly that; as an overlay at cwd, and as a copy.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { CHANGES, BEHIND, apply, diff, digestOf, draftOf, plant, refusedWith, run, tree, turn } from '../../lib/drafts.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { until } from '../../lib/wait.mjs';
import { isRoot, newCwd, stagesBelow } from '../../lib/workspace.mjs';

const stub = { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } };

// How a daemon is started, what it can have, and as whom its sessions run.
const KINDS = [
  { name: 'overlay, guarded', how: 'overlay', level: { name: 'guarded', atLeast: false }, start: () => Daemon.start({ stub }), uid: 0 },
  { name: 'overlay, strict', how: 'overlay', level: { name: 'strict', atLeast: false }, start: () => Daemon.start({ stub }), uid: 0 },
  { name: 'overlay, another user', how: 'overlay', level: { name: 'guarded', atLeast: false }, uid: 65534,
    start: () => Daemon.start({ stub, flags: { 'agent-user': 'nobody' } }) },
  { name: 'copy, plain user', how: 'copy', level: { name: 'open' }, start: () => startPlain({ stub }), uid: isRoot ? 65534 : process.getuid() },
];

const whyNot = (how) => how === 'overlay' && !isRoot && 'needs root';

async function begin(t, kind, meta = {}) {
  const d = await kind.start();

  t.after(async () => {
    await endInOrder(d);
    dropPlain(d);
  });
  const c = await d.client(), cwd = newCwd(d), before = plant(cwd, kind.uid);

  fs.chmodSync(cwd, 0o777);
  const answer = await c.newSession({ cwd, meta: { draft: true, level: kind.level, ...meta } });

  return { d, c, cwd, before, answer, id: answer.sessionId };
}

for (const kind of KINDS)
  describe(`draft: ${kind.name}`, { skip: whyNot(kind.how) }, () => {
    test('the real tree stays, diff shows, apply gives exactly that, and the draft goes on', async (t) => {
      const { d, c, cwd, before, answer, id } = await begin(t, kind);
      const draft = draftOf(answer);

      assert.equal(draft.on, true);
      assert.equal(draft.how, kind.how);
      assert.equal(draft.path === cwd, kind.how === 'overlay');
      assert.equal(typeof draft.missing, kind.how === 'overlay' ? 'undefined' : 'string');
      assert.equal((await diff(c, id)).changesTotal, 0);
      assert.equal(await run(c, id, 'pwd'), draft.path);
      await run(c, id, CHANGES);
      await run(c, id, BEHIND);
      await until(async () => await run(c, id, 'cat behind.txt') === '123', 'what runs behind has ended');
      const shown = await diff(c, id);

      assert.deepEqual(await Promise.all([diff(c, id), diff(c, id), diff(c, id)]), [shown, shown, shown], 'one after the other');
      assert.deepEqual(tree(cwd), before);
      assert.deepEqual(shown.omitted, []);
      assert.deepEqual(shown.conflicts, []);
      assert.equal(shown.patchDigest, digestOf(shown.changes));
      assert.match(shown.patch, /\+more\n/);
      const seen = await run(c, id, 'find . -mindepth 1 -printf "%P %y %m\\n" | sort');

      await assert.rejects(apply(c, id, `sha256:${'0'.repeat(64)}`), refusedWith('PATCH_DIGEST_MISMATCH'));
      assert.deepEqual(tree(cwd), before);
      const done = await apply(c, id, shown.patchDigest);

      assert.equal(done.applied, shown.changesTotal);
      assert.deepEqual(stagesBelow(cwd), []);
      const found = execFileSync('sh', ['-c', 'find . -mindepth 1 -printf "%P %y %m\\n" | sort'], { cwd }).toString().trim();

      assert.equal(found, seen);
      assert.equal(fs.readFileSync(`${cwd}/a.txt`, 'utf8'), 'one\nmore\n');
      assert.equal(fs.readFileSync(`${cwd}/sub/moved/c.txt`, 'utf8'), 'three\n');
      assert.equal(fs.readFileSync(`${cwd}/behind.txt`, 'utf8'), '123');
      assert.equal(fs.readlinkSync(`${cwd}/link`), 'sub/b.txt');
      // the draft goes on with the same content, and what is done now is of the next patch
      assert.equal((await diff(c, id)).changesTotal, 0);
      assert.equal(await run(c, id, 'cat sub/moved/c.txt && printf again >> a.txt'), 'three');
      assert.equal(fs.readFileSync(`${cwd}/a.txt`, 'utf8'), 'one\nmore\n');
      assert.deepEqual((await diff(c, id)).changes.map((x) => x.path), ['a.txt']);
      await c.close();
      await d.stop();
    });

    test('a digest is old once the draft has changed; a conflict names its paths; nothing is written', async (t) => {
      const { c, cwd, id } = await begin(t, kind);

      await run(c, id, 'printf mine > a.txt && printf new > made.txt && rm -r sub/deep');
      const old = (await diff(c, id)).patchDigest;

      await run(c, id, 'printf later > b.txt');
      await assert.rejects(apply(c, id, old), refusedWith('PATCH_DIGEST_MISMATCH'));
      fs.writeFileSync(`${cwd}/a.txt`, 'theirs');
      fs.writeFileSync(`${cwd}/made.txt`, 'theirs');
      fs.writeFileSync(`${cwd}/sub/deep/late.txt`, 'theirs');
      fs.writeFileSync(`${cwd}/sub/b.txt`, 'theirs, and the draft has not touched it');
      const before = tree(cwd), shown = await diff(c, id);

      assert.ok(shown.conflicts.includes('a.txt') && shown.conflicts.includes('made.txt'), JSON.stringify(shown.conflicts));
      assert.ok(!shown.changes.some((x) => x.path === 'sub/b.txt'));
      await assert.rejects(apply(c, id, shown.patchDigest), refusedWith('DRAFT_CONFLICT', (data) => assert.deepEqual(data.conflicts, shown.conflicts)));
      assert.deepEqual(tree(cwd), before);
      assert.deepEqual(stagesBelow(cwd), []);
    });

    test('contents decide what is a conflict, and a person may apply one all the same', async (t) => {
      const { c, cwd, id } = await begin(t, kind);
      const apply = (force) => c.call('_acpd/workspace/apply', { sessionId: id, patchDigest: shown.patchDigest, force });
      let shown;

      await run(c, id, 'printf mine > a.txt && printf mine > sub/b.txt && rm gone.txt && printf mine > sub/deep/c.txt');
      fs.utimesSync(`${cwd}/a.txt`, 1, 1);
      fs.writeFileSync(`${cwd}/other`, fs.readFileSync(`${cwd}/sub/b.txt`));
      fs.chownSync(`${cwd}/other`, fs.statSync(`${cwd}/a.txt`).uid, fs.statSync(`${cwd}/a.txt`).gid);
      fs.renameSync(`${cwd}/other`, `${cwd}/sub/b.txt`);
      fs.writeFileSync(`${cwd}/gone.txt`, fs.readFileSync(`${cwd}/gone.txt`));
      assert.deepEqual((await diff(c, id)).conflicts, [], 'a touch, the same bytes in a new file and in the old one');
      fs.writeFileSync(`${cwd}/a.txt`, 'theirs');
      fs.writeFileSync(`${cwd}/sub/deep/c.txt`, 'theirs');
      shown = await diff(c, id);
      assert.deepEqual(shown.conflicts, ['a.txt', 'sub/deep/c.txt']);
      const before = tree(cwd);
      await assert.rejects(apply(['a.txt']), refusedWith('DRAFT_CONFLICT', (data) => assert.deepEqual(data.conflicts, ['sub/deep/c.txt'])));
      await assert.rejects(apply(['a.txt', 'run.sh']), refusedWith('PATH_NOT_CHANGED'));
      await assert.rejects(apply(['a.txt', 1]), refusedWith('FIELD_INVALID', (data) => assert.equal(data.field, 'force[1]')));
      assert.deepEqual(tree(cwd), before);
      fs.writeFileSync(`${cwd}/a.txt`, 'theirs, again');
      await assert.rejects(apply(['a.txt', 'sub/deep/c.txt']), refusedWith('PATCH_DIGEST_MISMATCH'), 'nobody has seen that');
      shown = await diff(c, id);
      assert.equal((await apply(['a.txt', 'sub/deep/c.txt'])).applied, 4);
      assert.deepEqual(['a.txt', 'sub/b.txt', 'sub/deep/c.txt'].map((f) => fs.readFileSync(`${cwd}/${f}`, 'utf8')), ['mine', 'mine', 'mine']);
      assert.equal((await diff(c, id)).changesTotal, 0);
    });

    test('on and off between turns: unsaved changes need a word, and off is the real tree again', async (t) => {
      const { c, cwd, before, id } = await begin(t, kind);
      const running = c.prompt(id, 'sleep 400; echo done');

      await assert.rejects(turn(c, id, false), refusedWith('SESSION_BUSY'));
      await running;
      await run(c, id, 'printf x > x.txt');
      await assert.rejects(turn(c, id, false), refusedWith('DRAFT_NOT_EMPTY', (data) => assert.equal(data.changesTotal, 1)));
      await run(c, id, 'rm x.txt && mkfifo pipe'); // which no patch can have
      await assert.rejects(turn(c, id, false), refusedWith('DRAFT_NOT_EMPTY', (data) => assert.deepEqual([data.changesTotal, data.omittedTotal], [0, 1])));
      await run(c, id, 'rm pipe && printf x > x.txt');
      await assert.rejects(turn(c, id, true, { discard: true }), refusedWith('FIELD_INVALID'));
      assert.equal((await turn(c, id, true)).draft.on, true);
      assert.equal(await run(c, id, 'cat x.txt'), 'x');
      assert.deepEqual(await turn(c, id, false, { discard: true }), { draft: { on: false } });
      assert.deepEqual(tree(cwd), before);
      await run(c, id, 'test ! -e x.txt && printf real > real.txt');
      assert.equal(fs.readFileSync(`${cwd}/real.txt`, 'utf8'), 'real');
      await assert.rejects(apply(c, id, `sha256:${'0'.repeat(64)}`), refusedWith('NO_DRAFT'));
      assert.equal((await turn(c, id, true)).draft.how, kind.how);
      await run(c, id, 'test ! -e x.txt && printf y > real.txt');
      assert.equal(fs.readFileSync(`${cwd}/real.txt`, 'utf8'), 'real');
    });

    test('globs of a policy hold for what is in it, and through links that were made there', async (t) => {
      const { c, cwd, answer, id } = await begin(t, kind, { policy: { deny: ['sub'] } });
      const options = [['yes', 'allow_once'], ['no', 'reject_once']].map(([optionId, k]) => ({ optionId, kind: k, name: optionId }));
      let calls = 0, human;

      c.onRequest('session/request_permission', () => {
        human = true;
        return { outcome: { outcome: 'selected', optionId: 'yes' } };
      });
      const answered = async (name) => {
        const toolCall = { toolCallId: `edit-${++calls}`, title: 'edit', kind: 'edit', locations: [{ path: name }] };

        human = false;
        await c.prompt(id, `ask session/request_permission ${JSON.stringify({ toolCall, options })}`);
        const said = c.updatesOf(id, 'agent_message_chunk').at(-1).update.content.text;
        return [JSON.parse(said.slice(said.indexOf('{'))).outcome.optionId, human];
      };
      const { path: here } = draftOf(answer);

      await run(c, id, `ln -s sub made && ln -s ${here}/sub far`);
      for (const name of ['sub/b.txt', 'made/b.txt', 'far/b.txt', 'sub/deep/new.txt'])
        for (const named of [name, `${here}/${name}`])
          assert.deepEqual(await answered(named), ['no', false], named);
      assert.deepEqual(await answered(`${cwd}/sub/b.txt`), ['no', false], 'the real tree');
      assert.deepEqual(await answered(`${here}/a.txt`), ['yes', true]);
      assert.deepEqual(await answered(`${here}/../${here.split('/').at(-1)}/sub/b.txt`), kind.how === 'overlay' ? ['yes', true] : ['no', false],
        'what cannot be determined is asked');
    });
  });

describe('who else sees a draft', () => {
  test('the built-in tools and an export do', async (t) => {
    const { d, c, cwd, id } = await begin(t, KINDS.find(({ how }) => !whyNot(how)), { mcp: { builtin: true } });
    const tool = async (name, args) => (await (await new McpHttp(d, `/mcp?session=${id}`).modern('tools/call', { name, arguments: args })).over()).answer.result;

    await run(c, id, 'printf drafted > seen.txt');
    assert.match(JSON.stringify(await tool('readFile', { path: 'seen.txt' })), /drafted/);
    assert.match(JSON.stringify(await tool('runCommand', { command: 'cat seen.txt && printf tool > made.txt' })), /drafted/);
    assert.ok(!fs.existsSync(`${cwd}/made.txt`) && !fs.existsSync(`${cwd}/seen.txt`));
    const names = async () => {
      const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${id}/workspace?format=tar`, { headers: { Authorization: `Bearer ${d.token}` } });

      assert.equal(res.status, 200);
      return execFileSync('tar', ['t'], { input: Buffer.from(await res.arrayBuffer()) }).toString();
    };

    assert.match(await names(), /made\.txt\n[^]*seen\.txt/);
    await c.call('session/close', { sessionId: id });
    assert.match(await names(), /seen\.txt/); // of a closed one, too
    assert.deepEqual((await diff(c, id)).changes.map((x) => x.path), ['made.txt', 'seen.txt']);
  });

  test('a tree that is larger than a draft may be is not copied', async (t) => {
    const d = await startPlain({ stub, flags: { 'draft-max': 4096 } });

    t.after(async () => {
      await endInOrder(d);
      dropPlain(d);
    });
    const c = await d.client(), cwd = newCwd(d);

    fs.writeFileSync(`${cwd}/large`, Buffer.alloc(8192));
    await assert.rejects(c.newSession({ cwd, meta: { draft: true } }), refusedWith('DRAFT_TOO_LARGE'));
    const { sessionId } = await c.newSession({ cwd });

    await assert.rejects(turn(c, sessionId, true), refusedWith('DRAFT_TOO_LARGE'));
    await assert.rejects(c.newSession({ cwd: d.dir, meta: { draft: true } }), refusedWith('DRAFT_UNSUPPORTED'));
    assert.equal(await run(c, sessionId, 'pwd'), cwd);
  });
});
