// SPDX-License-Identifier: Apache-2.0
// Skills and instructions in the session's private home: where each harness reads them (harnesses/README.md), when it sees a
// new one, and what of it is asked.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { fresh } from '../play.mjs';

const homeOf = (x, s) => path.join(x.rig.daemon.stateDir, 'homes', s.id);

function putSkill(dir, name) {
	const script = path.join(dir, name, 'scripts/run.sh');

	fs.mkdirSync(path.dirname(script), { recursive: true });
	fs.writeFileSync(path.join(dir, name, 'SKILL.md'), `---\nname: ${name}\ndescription: Tells about-${name}.\n---\nRun scripts/run.sh\n`);
	fs.writeFileSync(script, `#!/bin/sh\necho "ran-$(basename "$(dirname "$(dirname "$0")")")"\n`, { mode: 0o755 });
	return script;
}

// A session whose harness has ended; back(): loaded again, on a new connection.
async function closed(x, t, settings = {}) {
	const s = await x.session(t, settings);

	await s.turn('TEXT:before');
	await s.request('session/close', {});
	return { s, home: homeOf(x, s), back: async () => {
		const again = await x.take(t, s);
		await again.request('session/load', { cwd: s.cwd, mcpServers: [],
			_meta: { acpd: { provider: x.rig.provider(x.harness, { model: s.model }) } } });
		return again;
	} };
}

const shown = (s, name) => s.requests.at(-1).body.includes(`about-${name}`);

async function areRead(x, t) {
	const { s, home, back } = await closed(x, t);
	const [mine, late, project] = [fresh('mine'), fresh('late'), fresh('project')];
	const { instructions, skillCommand, skillsLive, projectSkills } = x.h;

	putSkill(path.join(home, '.agents/skills'), mine);
	putSkill(path.join(s.cwd, '.agents/skills'), project);
	s.file('AGENTS.md', 'The project asks for brevity.\n');
	fs.mkdirSync(path.dirname(path.join(home, instructions)), { recursive: true });
	fs.writeFileSync(path.join(home, instructions), 'The home asks for patience.\n');

	const again = await back();
	await again.turn('TEXT:one');
	assert.ok(shown(s, mine), 'the skill of the home is not in the request');
	assert.equal(shown(s, project), projectSkills, 'the skill of the project');
	assert.match(s.requests.at(-1).body, /asks for brevity/);
	assert.match(s.requests.at(-1).body, /asks for patience/);
	const commands = again.o.updates(s.id).filter((u) => u.sessionUpdate === 'available_commands_update').at(-1);
	assert.equal(commands?.availableCommands.some((c) => c.name === skillCommand?.(mine)) ?? false, Boolean(skillCommand));

	putSkill(path.join(home, '.agents/skills'), late);
	await again.turn('TEXT:two');
	assert.equal(shown(s, late), skillsLive, 'a skill that was added meanwhile');
	await again.request('session/close', {});
	await (await back()).turn('TEXT:three');
	assert.ok(shown(s, late), 'a skill that was added before the last start');
}

async function areUsed(x, t) {
	const settings = { acpd: { policy: { approval: 'accept-edits' } } };
	const { s, home, back } = await closed(x, t, settings);
	const name = fresh('tool');
	const script = putSkill(path.join(home, '.agents/skills'), name);
	const again = await back();

	const read = await again.turn(`READ:${script}`, 'TEXT:done');
	assert.equal(read.asked.length, x.h.asksReads ? 1 : 0, 'reading a file of a skill');
	assert.match(s.results.at(-1), /basename/);
	const ran = await again.turn(`RUN:${script}`, 'TEXT:done');
	assert.equal(ran.asked.length, 1, 'running it');
	assert.match(s.results.at(-1), new RegExp(`ran-${name}`));
	const changed = await again.turn(`WRITE:${JSON.stringify({ file: path.join(path.dirname(script), 'new.sh'), text: 'x\n' })}`, 'TEXT:done');
	assert.equal(changed.asked.length, 1, 'changing it');
}

export default [
	['skills and instructions of the home are read, new ones when the table says', areRead],
	['files of a skill are read without a question; running and changing them is asked', areUsed],
];
