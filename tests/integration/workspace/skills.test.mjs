// SPDX-License-Identifier: Apache-2.0
// Skills of a session: installed with it or while it lives, listed, removed, validated, replaced; where they lie, byte for byte.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { acpd } from '../run.mjs';
import { until } from '../../lib/wait.mjs';
import { PACK, assertNothingLeft, below, kept, look, newCwd, skill, stagesBelow, treeOf, upload } from '../../lib/workspace.mjs';

let d, c, baked, dir;

function write(root, tree) {
  for (const [name, v] of Object.entries(tree)) {
    const at = path.join(root, name);

    fs.mkdirSync(path.dirname(at), { recursive: true });
    fs.writeFileSync(at, v.data ?? v, { mode: v.mode ?? 0o644 });
  }
}

before(async () => {
  dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-skills-'));
  fs.chmodSync(dir, 0o755);
  baked = path.join(dir, 'baked');
  write(baked, below('baked-one', skill('baked-one', { 'scripts/run.sh': { data: '#!/bin/sh\n', mode: 0o755 } })));
  write(path.join(dir, 'own'), skill('own', { 'data.bin': Buffer.from([0, 1, 2, 255]) }));
  d = await Daemon.start({ flags: { skills: baked }, harnesses: [{ id: 'claude-like', quirks: 'claude' }] });
  c = await d.client();
});
after(async () => {
  await endInOrder(d, c);
  fs.rmSync(dir, { recursive: true, force: true });
});

const homeOf = (id) => path.join(d.stateDir, 'homes', id);
const placed = (id, where = '.agents/skills') => path.join(homeOf(id), where);
const installed = (id, where) => (fs.existsSync(placed(id, where)) ? treeOf(placed(id, where)) : {});
const call = (verb, sessionId, params) => c.call(`_acpd/skills/${verb}`, { sessionId, ...params });
const fails = (verb, sessionId, params) => c.fails(`_acpd/skills/${verb}`, { sessionId, ...params });
const open = async (skills, more) => c.newSession({ cwd: newCwd(d), meta: { ...(skills && { skills }), ...more } });
const remove = (sessionId) => c.call('session/delete', { sessionId });
const names = async (id) => (await call('list', id)).skills.map((s) => s.directory);
// As treeOf() tells a tree that was told for an archive.
const told = (tree) => Object.fromEntries(Object.entries(tree).map(([k, v]) => [k, `${v.mode & 0o100 ? '*' : ''}${Buffer.from(v.data ?? v).toString('latin1')}`]));

const TOOLS = skill('tools', { 'scripts/go.sh': { data: '#!/bin/sh\nexit 0\n', mode: 0o755 }, 'refs/ä.md': 'ä\r\n', 'data.bin': Buffer.from([0, 255, 13, 10]) });

describe('with session/new', () => {
  for (const format of Object.keys(PACK)) {
    test(`one skill in a ${format}: bytes and executable bits`, async () => {
      const s = await open([{ archive: await upload(d, TOOLS, format) }]);

      assert.deepEqual(installed(s.sessionId), told(below('tools', TOOLS)));
      assert.deepEqual(s._meta.acpd.skills.skills.map((one) => [one.installedAs, one.valid, one.usable]), [['tools', true, true]]);
      assert.equal(s._meta.acpd.workspace, undefined);
      assert.deepEqual(await names(s.sessionId), ['tools']);
      await remove(s.sessionId);
    });
  }

  test('refused: a path that the name of the skill makes too long', async () => {
    const name = 'n'.repeat(64), long = `${`${'x'.repeat(249)}/`.repeat(16)}${'y'.repeat(60)}`; // 4060 bytes: with the name more than 4096
    const archive = await upload(d, skill(name, { [long]: 'x' }), 'zip');
    const e = await c.fails('session/new', { cwd: newCwd(d), mcpServers: [], _meta: { acpd: { skills: [{ archive }] } } });

    assert.equal(e.data.reason, 'PATH_TOO_LONG', JSON.stringify(e));
    assert.match(e.message, /a path in the skill exceeds 4096 bytes/);
  });

  test('below one directory, several in an archive, builtin, by path: all in one request', async () => {
    const s = await open([
      { archive: await upload(d, below('tools', TOOLS)) },
      { archive: await upload(d, { ...below('first', skill('first')), ...below('second', skill('second')) }) },
      { builtin: 'baked-one' }, { path: path.join(dir, 'own') },
    ]);

    assert.deepEqual(installed(s.sessionId), told({
      ...below('tools', TOOLS), ...below('first', skill('first')), ...below('second', skill('second')),
      ...below('baked-one', skill('baked-one', { 'scripts/run.sh': { data: '#!/bin/sh\n', mode: 0o755 } })),
      ...below('own', skill('own', { 'data.bin': Buffer.from([0, 1, 2, 255]) })),
    }));
    assert.deepEqual(await names(s.sessionId), ['baked-one', 'first', 'own', 'second', 'tools']);
    await c.prompt(s.sessionId, 'env HOME');
    assert.deepEqual(c.chunks(s.sessionId), [`env:HOME=${homeOf(s.sessionId)}`]);
    await remove(s.sessionId);
    assert.equal(fs.existsSync(homeOf(s.sessionId)), false);
    assert.deepEqual(kept(d).filter((n) => n.startsWith('state/trees/')), [], 'no record of a home that is gone');
  });

  test('a harness with another place has them there', async () => {
    const s = await open([{ archive: await upload(d, TOOLS) }], { harness: 'claude-like' });

    assert.deepEqual(installed(s.sessionId, '.claude/skills'), told(below('tools', TOOLS)));
    await remove(s.sessionId);
  });

  const BAD = [
    ['no SKILL.md', { 'README.md': 'x' }, 'SKILL_INVALID'],
    ['nothing at all', { d: { dir: 0o755 } }, 'SKILL_INVALID'],
    ['no frontmatter', { 'SKILL.md': 'just text' }, 'SKILL_INVALID'],
    ['YAML that is none', { 'SKILL.md': '---\nname: [\n---\n' }, 'SKILL_INVALID'],
    ['a skill and something else', { ...below('one', skill('one')), 'README.md': 'x' }, 'SKILL_INVALID'],
    ['more files than a skill has', skill('many', Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`f/${i}`, '']))), 'SKILL_INVALID'],
    ['more bytes than a skill has', skill('large', { 'big.bin': Buffer.alloc(17 * 1048576, 'x') }), /SKILL_INVALID|RATIO_TOO_HIGH/],
    ['a link outside', skill('link', { l: { link: '../../x' } }), 'SYMLINK_OUTWARD'],
  ];

  for (const [name, tree, reason] of BAD) {
    test(`refused: ${name}`, async () => {
      const archive = await upload(d, tree, 'tar.zst');
      const was = await look(d, c);
      const e = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { skills: [{ archive }] } } });

      assert.match(e.data.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`));
      assert.equal(e.data.field, '_meta.acpd.skills');
      assert.equal(e.data.refused.reason, e.data.reason);
      assert.ok(e.data.refused.message);
      await assertNothingLeft(d, c, was);
    });
  }

  test('two of one name', async () => {
    const archive = await upload(d, TOOLS);
    const was = await look(d, c);
    const e = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { skills: [{ archive }, { archive }] } } });

    assert.deepEqual([e.data.reason, e.data.field], ['NAME_COLLISION', '_meta.acpd.skills']);
    await assertNothingLeft(d, c, was);
  });

  test('what is only wrong is told and installed', async () => {
    const s = await open([{ archive: await upload(d, { 'SKILL.md': '---\nname: Not A Name\ndescription: d\n---\nx\n' }) }].slice(1));
    const r = await call('install', s.sessionId, { skills: [{ archive: await upload(d, below('wrong', { 'SKILL.md': '---\nname: other\ndescription: d\n---\nx\n' })) }] });

    assert.deepEqual(r.skills.skills.map((one) => [one.usable, one.valid]), [[true, false]]);
    assert.ok(r.skills.skills[0].findings.some((f) => f.severity === 'error'), JSON.stringify(r.skills.skills[0]));
    await remove(s.sessionId);
  });
});

describe('on a session that lives', () => {
  test('install, list, replace, remove', async () => {
    const s = await open();
    const id = s.sessionId;

    assert.deepEqual(await call('list', id), { skills: [] });
    const r = await call('install', id, { skills: [{ archive: await upload(d, TOOLS) }, { builtin: 'baked-one' }] });
    assert.deepEqual(r.skills.skills.map((one) => one.installedAs).sort(), ['baked-one', 'tools']);
    assert.deepEqual(await names(id), ['baked-one', 'tools']);
    // by hand, as an agent could
    write(placed(id), below('agents-own', skill('agents-own')));
    const NEWER = skill('tools', { 'new.md': 'n' }, 'Version two.\n');
    await call('install', id, { skills: [{ archive: await upload(d, NEWER) }] });
    assert.deepEqual(installed(id), {
      ...told(below('tools', NEWER)), ...told(below('agents-own', skill('agents-own'))),
      ...told(below('baked-one', skill('baked-one', { 'scripts/run.sh': { data: '#!/bin/sh\n', mode: 0o755 } }))),
    });
    const listed = await call('list', id);
    assert.deepEqual(listed.skills.map((one) => [one.directory, one.name, one.valid]),
      [['agents-own', 'agents-own', true], ['baked-one', 'baked-one', true], ['tools', 'tools', true]]);
    const removed = await call('remove', id, { names: ['tools', 'not-there'] });
    assert.ok(removed.skills.removed >= 2);
    assert.deepEqual(await names(id), ['agents-own', 'baked-one']);
    assert.deepEqual(stagesBelow(homeOf(id)), []);
    await remove(id);
  });

  test('remove takes nothing that it did not install', async () => {
    const s = await open();

    write(placed(s.sessionId), below('agents-own', skill('agents-own')));
    await call('remove', s.sessionId, { names: ['agents-own'] });
    assert.deepEqual(installed(s.sessionId), told(below('agents-own', skill('agents-own'))));
    await remove(s.sessionId);
  });

  test('validate checks all and does nothing', async () => {
    const s = await open();
    const good = await upload(d, TOOLS);
    const bad = await upload(d, { 'README.md': 'x' });
    const was = await look(d, c);
    const r = await call('validate', s.sessionId, { skills: [{ archive: good }, { builtin: 'baked-one' }] });

    assert.deepEqual(r.skills.skills.map((one) => [one.installedAs, one.valid]), [['tools', true], ['baked-one', true]]);
    const e = await fails('validate', s.sessionId, { skills: [{ archive: good }, { archive: bad }] });
    assert.deepEqual([e.data.reason, e.data.field], ['SKILL_INVALID', 'skills']);
    await assertNothingLeft(d, c, was);
    assert.deepEqual(installed(s.sessionId), {});
    await remove(s.sessionId);
  });

  test('a refused one leaves those that are there', async () => {
    const s = await open([{ archive: await upload(d, TOOLS) }]);
    const e = await fails('install', s.sessionId, { skills: [{ archive: await upload(d, skill('good')) }, { archive: await upload(d, { 'SKILL.md': 'x' }) }] });

    assert.equal(e.data.reason, 'SKILL_INVALID');
    assert.deepEqual(installed(s.sessionId), told(below('tools', TOOLS)));
    await remove(s.sessionId);
  });

  test('a harness that reads skills when it starts is started again, its session kept; not in the middle of a turn', async () => {
    const s = await open();
    const id = s.sessionId;
    const self = async () => {
      const from = c.updates.length;

      await c.prompt(id, 'self');
      return c.chunks(id, from).join();
    };
    const first = await self();

    assert.equal(await self(), first);
    const { step, open: goOn } = gate(d);
    const turn = c.startPrompt(id, `${step}; self`);
    await call('install', id, { skills: [{ archive: await upload(d, TOOLS) }] });
    goOn();
    assert.equal((await turn.answer).result.stopReason, 'end_turn');
    assert.equal(c.chunks(id).at(-1), first);
    const second = await self();
    assert.notEqual(second, first);
    await c.prompt(id, 'RECALL');
    assert.equal(JSON.parse(c.chunks(id).at(-1)).filter((p) => p === 'self').length, 3);
    await call('validate', id, { skills: [{ archive: await upload(d, TOOLS) }] });
    await call('remove', id, { names: ['not-there'] });
    assert.equal(await self(), second, 'neither a validation nor a request that changes nothing restarts it');
    await remove(id);
  });

  test('they are there after a restart of the daemon, and can be removed then', async () => {
    const s = await open([{ archive: await upload(d, TOOLS) }]);

    await c.close();
    await d.restart();
    c = await d.client();
    await c.load(s.sessionId, { cwd: s._meta.acpd.cwd });
    assert.deepEqual(await names(s.sessionId), ['tools']);
    await call('remove', s.sessionId, { names: ['tools'] });
    assert.deepEqual(installed(s.sessionId), {});
    await remove(s.sessionId);
  });

  const WRONG = [
    ['install', {}, 'skills', /^FIELD_/], ['install', { skills: 'x' }, 'skills', 'FIELD_INVALID'],
    ['install', { skills: [] }, /./, 'FIELD_MISSING'],
    ['install', { skills: [{ archive: 'x' }] }, 'skills[0].archive', 'DIGEST_INVALID'],
    ['install', { skills: [{ archive: `sha256:${'1'.repeat(64)}` }] }, 'skills[0].archive', 'ARCHIVE_NOT_FOUND'],
    ['install', { skills: [{ builtin: 'nope' }] }, 'skills[0].builtin', 'SKILL_NOT_FOUND'],
    ['install', { skills: [{ path: '/nonexistent' }] }, 'skills[0].path', 'SKILL_NOT_FOUND'],
    ['install', { skills: [{ path: '/etc/passwd' }] }, 'skills[0].path', 'SKILL_NOT_FOUND'],
    ['install', { skills: [{ builtin: 'baked-one' }], workspace: {} }, 'workspace', 'PARAM_UNSUPPORTED'],
    ['validate', { skills: [{ builtin: 'a/b' }] }, 'skills[0].builtin', 'FIELD_INVALID'],
    ['remove', {}, 'names', /^FIELD_/], ['remove', { names: 'tools' }, 'names', 'FIELD_INVALID'],
    ['remove', { names: ['../x'] }, 'names', 'FIELD_INVALID'], ['remove', { names: [1] }, 'names', 'FIELD_INVALID'],
    ['list', { all: true }, 'all', 'PARAM_UNSUPPORTED'],
  ];

  test('what is wrong is named', async () => {
    const s = await open();

    for (const [verb, params, field, reason] of WRONG) {
      const e = await fails(verb, s.sessionId, params);

      assert.equal(e.code, -32602, e.message);
      assert.match(e.data.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`), e.message);
      if (field instanceof RegExp)
        assert.match(e.data.field, field, e.message);
      else
        assert.equal(e.data.field, field, e.message);
      assert.equal((await fails(verb, 'sess_0', { skills: [{ builtin: 'x' }], names: ['x'] })).data.reason === undefined, false);
    }
    await remove(s.sessionId);
  });
});

describe('acpd skills validate', () => {
  test('exit codes and findings', async () => {
    write(path.join(dir, 'bad'), { 'SKILL.md': 'nothing' });
    write(path.join(dir, 'meh'), { 'SKILL.md': '---\nname: other\ndescription: d\n---\nx\n' });
    const ok = await acpd(['skills', 'validate', path.join(dir, 'own')]);
    const bad = await acpd(['skills', 'validate', path.join(dir, 'bad')]);
    const meh = await acpd(['skills', 'validate', path.join(dir, 'meh')]);
    const none = await acpd(['skills', 'validate', path.join(dir, 'none')]);

    assert.deepEqual([ok.code, ok.stdout, ok.stderr], [0, 'valid\n', '']);
    assert.equal(bad.code, 3);
    assert.match(bad.stdout, /not usable/);
    assert.equal(meh.code, 3);
    assert.match(meh.stdout, /error NAME_[A-Z]+: .*\nusable, but not valid\n$/s);
    assert.deepEqual([none.code, none.stdout], [1, '']);
    assert.match(none.stderr, /No such file/);
    assert.deepEqual(JSON.parse((await acpd(['skills', 'validate', path.join(dir, 'own'), '--json'])).stdout).done.skills[0].name, 'own');
  });
});

test('nothing is left at work', async () => {
  await until(() => d.helpers().length === 0, 'no helper');
});
