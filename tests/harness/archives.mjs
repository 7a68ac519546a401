// SPDX-License-Identifier: Apache-2.0
// Archives for sessions of real harnesses: a tree of files packed and uploaded, a skill, and what came back unpacked.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

import { END, entry } from '../archives/tar.mjs';
import { digestOf, put } from '../lib/archives.mjs';

// {name: text | Buffer | {data, mode}} as a tar.gz.
export function archiveOf(files) {
	const entries = Object.entries(files).map(([name, file]) =>
		entry({ name, ...typeof file === 'string' || Buffer.isBuffer(file) ? { data: file } : file }));

	return zlib.gzipSync(Buffer.concat([...entries, END]));
}

export async function upload(daemon, files) {
	const archive = archiveOf(files);
	const { status, json } = await put(daemon, archive);

	assert.ok([200, 201].includes(status), JSON.stringify(json));
	return digestOf(archive);
}

// A skill with a script, a reference and an asset that is no text.
export const ASSET = Buffer.from(Array.from({ length: 700 }, (_, i) => (i * 37) % 256));
export const aboutOf = (name) => `Tells about-${name}.`;

export const skillFiles = (name) => ({
	[`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: ${aboutOf(name)}\n---\nRun scripts/run.sh, read references/notes.md\n`,
	[`${name}/scripts/run.sh`]: { data: '#!/bin/sh\necho "ran-$(basename "$(dirname "$(dirname "$0")")")"\n', mode: 0o755 },
	[`${name}/references/notes.md`]: `noted-${name}\n`,
	[`${name}/assets/logo.bin`]: ASSET,
});

export const uploadSkill = (daemon, name) => upload(daemon, skillFiles(name));

// What is below a directory: {path: "mode contents" | "-> target"}; git's view of a mode.
export function treeOf(root, below = '') {
	const tree = {};

	for (const name of fs.readdirSync(path.join(root, below)).sort()) {
		const relative = path.join(below, name);
		const file = path.join(root, relative);
		const stat = fs.lstatSync(file);

		if (stat.isDirectory())
			Object.assign(tree, treeOf(root, relative));
		else if (stat.isSymbolicLink())
			tree[relative] = `-> ${fs.readlinkSync(file)}`;
		else
			tree[relative] = `${stat.mode & 0o100 ? 'x' : '-'} ${fs.readFileSync(file, 'base64')}`;
	}
	return tree;
}

export function unpacked(dir, archive) {
	fs.mkdirSync(dir, { recursive: true });
	execFileSync('tar', ['-xzf', '-', '-C', dir], { input: archive });
	return treeOf(dir);
}

export async function download(daemon, where) {
	const res = await fetch(`http://127.0.0.1:${daemon.port}${where}`, { headers: { Authorization: `Bearer ${daemon.token}` } });
	const body = Buffer.from(await res.arrayBuffer());

	assert.equal(res.status, 200, body.toString('utf8').slice(0, 500));
	return body;
}
