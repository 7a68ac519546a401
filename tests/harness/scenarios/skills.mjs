// SPDX-License-Identifier: Apache-2.0
// Skills from uploaded archives: placed where the harness reads them, told to the model, listed by the harness's own program when
// that is asked in the session's environment, gone when they are removed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';

import * as procs from '../../lib/procs.mjs';
import { aboutOf, ASSET, skillFiles, treeOf, upload, uploadSkill } from '../archives.mjs';
import { fresh } from '../play.mjs';

const splitAt = (text, sign) => [text.slice(0, text.indexOf(sign)), text.slice(text.indexOf(sign) + 1)];
const parts = (pid, file) => procs.text(pid, file).split('\0').slice(0, -1);

const skillsDir = (x, s) => path.join(x.rig.daemon.stateDir, 'homes', s.id, '.agents/skills');

// The skills as the harness's own program knows them: started as the session's harness was, but for the marks by which the
// daemon knows its children.
async function askedBack(x, s) {
	const { pid } = x.rig.harnessOf(s.id);
	const { ACPD_OWNER, ACPD_SESSION, ...env } = Object.fromEntries(parts(pid, 'environ').map((entry) => splitAt(entry, '=')));
	const { args, input, list } = x.h.asked;
	const child = spawn(x.h.command, args(parts(pid, 'cmdline')), { cwd: s.cwd, env, timeout: 60_000, killSignal: 'SIGKILL' });

	assert.equal(ACPD_SESSION, s.id);
	assert.ok(ACPD_OWNER);
	child.stdin.end(input);
	const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
	assert.ok(out, errors);
	return list(out);
}

// What the model was told last. Codex adds a new list to the conversation, where the old one stays.
function told(s, name) {
	const { body } = s.requests.at(-1);

	return body.slice(Math.max(body.lastIndexOf('<skills_instructions>'), 0)).includes(aboutOf(name));
}

function assertInstalled(reply, name) {
	const [skill] = reply.skills.skills;

	assert.deepEqual(reply.skills.skipped, []);
	assert.equal(skill.installedAs, name);
	assert.equal(skill.valid, true, JSON.stringify(skill.findings));
	assert.equal(skill.files, Object.keys(skillFiles(name)).length);
	assert.match(reply.skills.manifestDigest, /^sha256:[0-9a-f]{64}$/);
}

// Exact bytes and executable bits.
function assertPlaced(x, s, name) {
	const dir = path.join(skillsDir(x, s), name);

	assert.deepEqual(Object.keys(treeOf(dir)).sort(), ['SKILL.md', 'assets/logo.bin', 'references/notes.md', 'scripts/run.sh']);
	assert.deepEqual(fs.readFileSync(path.join(dir, 'assets/logo.bin')), ASSET);
	assert.equal(fs.statSync(path.join(dir, 'scripts/run.sh')).mode & 0o111, 0o111);
	assert.equal(fs.statSync(path.join(dir, 'references/notes.md')).mode & 0o111, 0);
}

function writeSkill(dir, name) {
	for (const [file, content] of Object.entries(skillFiles(name))) {
		fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
		fs.writeFileSync(path.join(dir, file), content.data ?? content, { mode: content.mode });
	}
}

// A session with a skill from an archive in a project that has one of its own; edits are not asked.
async function skilled(x, t) {
	const s = await x.shared(t, 'skilled', async () => {
		const [mine, project] = [fresh('mine'), fresh('project')];
		const archive = await uploadSkill(x.rig.daemon, mine);

		return { mine, project, prepare: (cwd) => writeSkill(path.join(cwd, '.agents/skills'), project),
			acpd: { policy: { approval: 'accept-edits' }, skills: [{ archive }] } };
	});

	return { s, ...s.settings };
}

async function fromArchive(x, t) {
	const { s, mine, project } = await skilled(x, t);

	assertInstalled(s.opened._meta.acpd, mine);
	assertPlaced(x, s, mine);
	assert.ok(!s.has(`.agents/skills/${mine}`), 'the skill is in the workspace');
	await s.turn('TEXT:one');
	assert.ok(told(s, mine), 'the model was not told of the skill');
	assert.equal(told(s, project), x.h.projectSkills, 'the skill of the project');

	const known = (await askedBack(x, s)).find((skill) => skill.name === mine);
	assert.deepEqual(known, { name: mine, description: aboutOf(mine), file: path.join(skillsDir(x, s), mine, 'SKILL.md') });
	assert.equal(commandOf(x, s, mine), Boolean(x.h.skillCommand));
}

// Is it among the commands that the client was told last?
function commandOf(x, s, name) {
	const commands = s.o.updates(s.id).filter((u) => u.sessionUpdate === 'available_commands_update').at(-1);

	return commands?.availableCommands.some((c) => c.name === x.h.skillCommand?.(name)) ?? false;
}

async function onLiveSession(x, t) {
	const { s, mine: first } = await skilled(x, t);
	s.spent = true;
	const late = fresh('late');
	const names = async () => (await s.request('_acpd/skills/list', {})).skills.map((skill) => skill.directory).sort();

	await s.turn('TEXT:before');
	assertInstalled(await s.request('_acpd/skills/install', { skills: [{ archive: await uploadSkill(x.rig.daemon, late) }] }), late);
	assert.deepEqual(await names(), [first, late].sort());
	await s.turn('TEXT:two');
	assert.ok(told(s, first) && told(s, late), 'a skill that was installed meanwhile');
	assert.match(s.requests.at(-1).body, /TEXT:before/, 'what was said before is not in the context');
	assert.equal(commandOf(x, s, late), Boolean(x.h.skillCommand));

	// at once after the other change: Codex looks at most every ten seconds by itself
	const removed = await s.request('_acpd/skills/remove', { names: [first] });
	assert.ok(removed.skills.removed >= Object.keys(skillFiles(first)).length, JSON.stringify(removed));
	assert.ok(!fs.existsSync(path.join(skillsDir(x, s), first)));
	assert.deepEqual(await names(), [late]);
	await s.turn('TEXT:three');
	assert.ok(!told(s, first), 'a skill that was removed');
	assert.ok(told(s, late));
	assert.deepEqual((await askedBack(x, s)).map((skill) => skill.name).filter((name) => [first, late].includes(name)), [late]);
}

async function inForks(x, t) {
	const [kept, dropped] = [fresh('kept'), fresh('dropped')];
	const skills = [{ archive: await uploadSkill(x.rig.daemon, kept) }, { archive: await uploadSkill(x.rig.daemon, dropped) }];
	const s = await x.session(t, { acpd: { skills } });

	await s.turn('TEXT:one');
	const { sessionId } = await s.request('session/fork', { cwd: s.cwd, mcpServers: [],
		_meta: { acpd: { provider: x.provider({ model: s.model }) } } });
	s.o.sessions.push(sessionId);
	const removed = await s.o.request('_acpd/skills/remove', { sessionId, names: [dropped] });
	assert.ok(removed.skills.removed >= Object.keys(skillFiles(dropped)).length, JSON.stringify(removed));
	await s.o.prompt(sessionId, 'TEXT:two');
	assert.ok(told(s, kept) && !told(s, dropped), 'the skills of the fork');
	assertPlaced(x, s, dropped);
}

async function areRefused(x, t) {
	const s = await x.session(t);
	const files = { 'SKILL.md': '---\nname: Not A Name\n---\n' };
	const before = x.rig.harnessOf(s.id).pid;
	const archive = await upload(x.rig.daemon, files);

	for (const method of ['_acpd/skills/validate', '_acpd/skills/install']) {
		const error = await s.request(method, { skills: [{ archive }] }).then(assert.fail, (e) => e);
		assert.equal(error.code, -32602);
		assert.equal(error.data.reason, 'SKILL_INVALID', JSON.stringify(error.data));
		assert.equal(error.data.field, 'skills');
	}
	assert.deepEqual((await s.request('_acpd/skills/list', {})).skills, []);
	await s.goesOn();
	assert.equal(x.rig.harnessOf(s.id).pid, before, 'started anew for nothing');
}

async function areUsed(x, t) {
	const { s, mine: name } = await skilled(x, t);
	const dir = path.join(skillsDir(x, s), name);
	const script = path.join(dir, 'scripts/run.sh');

	const read = await s.turn(`READ:${path.join(dir, 'references/notes.md')}`, 'TEXT:done');
	assert.equal(read.asked.length, x.h.asksReads ? 1 : 0, 'reading a file of a skill');
	assert.match(s.results.at(-1), new RegExp(`noted-${name}`));
	const ran = await s.turn(`RUN:${script}`, 'TEXT:done');
	assert.equal(ran.asked.length, 1, 'running it');
	assert.match(s.results.at(-1), new RegExp(`ran-${name}`));
	const foreign = path.join(dir, 'scripts/new.sh');
	const changed = await s.turn(`WRITE:${JSON.stringify({ file: foreign, text: 'x\n' })}`, 'TEXT:done');
	assert.equal(changed.asked.length, 1, 'changing it');
	fs.rmSync(foreign); // or the skill's directory would stay when the skill is removed
}

export default [
	['a skill from an archive is what the model is told and the harness lists', fromArchive],
	['files of a skill are read without a question; running and changing them is asked', areUsed],
	['skills are installed and removed while the session lives', onLiveSession],
	['skills of a fork are its own, to be removed', inForks],
	['a skill that breaks the rules is refused, and nothing happens', areRefused],
];
