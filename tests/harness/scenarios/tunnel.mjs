// SPDX-License-Identifier: Apache-2.0
// Model calls that the harness does not make itself: the provider's key is where it must be and nowhere else, and no network is needed.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import * as procs from '../../lib/procs.mjs';
import { bytesOf, filesBelow } from '../../lib/vanishing.mjs';
import { startMcpServer } from '../mcp-server.mjs';
import { fresh, Play } from '../play.mjs';
import { KEY, startRig } from '../rig.mjs';
import { until } from '../until.mjs';

// As it may stand somewhere.
const FORMS = (key) => [key, [...key].reverse().join(''), ...[0, 1, 2].map((shift) => Buffer.from(`${'x'.repeat(shift)}${key}`).toString('base64')
	.slice(shift ? 4 : 0, -4)), [...key].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join('')].map((form) => Buffer.from(form));

const holds = (bytes, forms) => forms.some((form) => bytes.includes(form));

// What a process could read or write of its own memory, where it is in use at all.
function* memory(pid) {
	const regions = procs.text(pid, 'smaps').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
	const fd = procs.openMemory(pid);

	try {
		for (const region of regions) {
			const [, from, to, access] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(region);
			const size = parseInt(to, 16) - parseInt(from, 16);

			if (!access.startsWith('rw') || size > 1 << 28 || !Number(/^Rss: +(\d+)/m.exec(region)[1]))
				continue;
			const bytes = Buffer.alloc(size);
			yield bytes.subarray(0, fs.readSync(fd, bytes, 0, size, parseInt(from, 16)));
		}
	} finally {
		fs.closeSync(fd);
	}
}

const nameOf = (pid) => procs.stat(pid)?.comm;

// Where one of these forms is: in the environment or the arguments of a process, in the memory of one of `readable`, in a file below these
// directories.
function placesOf(forms, { pids, readable, dirs }) {
	const inProcess = pids.flatMap((pid) => ['environ', 'cmdline'].filter((file) => holds(procs.bytes(pid, file) ?? '', forms))
		.map((file) => `${file} of ${nameOf(pid)}`));
	const inMemory = readable.filter((pid) => [...memory(pid)].some((bytes) => holds(bytes, forms))).map((pid) => `memory of ${nameOf(pid)}`);

	return [...inProcess, ...inMemory, ...dirs.flatMap(filesBelow).filter((file) => holds(bytesOf(file) ?? '', forms))];
}

// All that was said: to the client, in the log, and as usage.
async function toldBy(s, daemon) {
	const { body } = await daemon.http('/v1/usage?since=0', { token: daemon.token });

	return [JSON.stringify(s.o.messages), daemon.stderr, JSON.stringify(await s.request('_acpd/usage', {})), body].map((text) => Buffer.from(text));
}

// Who may have the key, by the way of the calls: with the tunnel nobody, also not the daemon; with direct the daemon and acpd-fetch, in
// memory; with environment the harness, which shows that it would be found.
const MAY_HAVE_IT = { tunnel: () => false, direct: (p, daemon) => p.pid === daemon.pid || p.comm === 'acpd-fetch', environment: () => false };

// A daemon of its own: others have been given the key.
async function keyIsNowhere(x, t) {
	const rig = await startRig(x.model, { harness: x.harness });
	t.after(() => rig.stop());
	const play = new Play(rig, x.harness, x);
	const s = await play.open({ provider: { model: fresh('secretive') } });
	t.after(() => s.o.close());
	const { via, keyExposed } = s.opened._meta.acpd.provider;
	assert.deepEqual([via, keyExposed], [x.route, x.route === 'environment']);
	assert.equal((await s.turn('RUN:env', 'TEXT:done')).stop, 'end_turn');
	assert.equal((await s.fails('ERR:401')).class, 'auth');
	const processes = [{ pid: rig.daemon.pid }, ...rig.daemon.descendants()];
	const where = { pids: processes.map((p) => p.pid), dirs: [rig.daemon.stateDir, s.cwd],
		readable: processes.filter((p) => !MAY_HAVE_IT[x.route](p, rig.daemon)).map((p) => p.pid) };
	const found = placesOf(FORMS(KEY), where);

	if (x.route === 'environment') {
		assert.ok(found.some((place) => !place.endsWith(' acpd')), `${found}`);
		return;
	}
	assert.deepEqual(found, []);
	assert.ok(!(await toldBy(s, rig.daemon)).some((text) => holds(text, FORMS(KEY))), 'the key was told');
	assert.ok(placesOf([Buffer.from('acpd-')], where).length > 0, 'the search finds what is there');
	if (x.route === 'direct')
		assert.ok(processes.some((p) => p.comm === 'acpd-fetch'), 'the helper runs');
}

// Nothing but the model's address is there, for the harness, its own servers (OpenCode's speaks to itself over loopback) and its commands.
async function withoutNetwork(x, t) {
	const acpd = { network: { mode: 'off' }, policy: { approval: 'never' } };

	if (x.route === 'environment') {
		await x.refuses({ acpd }, 'PROVIDER_NEEDS_NETWORK');
		return;
	}
	const s = await x.session(t, { acpd });
	const { sessions: [{ pid }] } = await s.request('_acpd/status', {});
	const { port } = new URL(x.model.url);
	assert.equal(s.opened._meta.acpd.network.mode, 'off');
	const [its, own] = [pid, x.rig.daemon.pid].map((one) => procs.link(one, 'ns/net'));
	assert.ok(its && own && its !== own, `${its}, ${own}`);
	const turn = await s.turn('TEXT:first', `RUN:bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' || printf '%s-way-out' no`, 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.match(turn.text, /first[^]*done/);
	assert.ok(s.results.some((result) => JSON.stringify(result).includes('no-way-out')), JSON.stringify(s.results));
	await s.goesOn();
}

// The daemon calls it for the session.
async function httpServerWithoutNetwork(x, t) {
	if (x.route === 'environment')
		return;
	const server = await startMcpServer();
	t.after(() => server.close());
	const s = await x.session(t, { acpd: { network: { mode: 'off' }, policy: { approval: 'never' }, mcp: { policy: { web: { tools: { add: { maxCalls: 1 } } } } } },
		params: { mcpServers: [{ type: 'http', name: 'web', url: server.url, headers: [{ name: 'x-who', value: 'walled-user' }] }] } });
	const turn = await s.turn('MCP:web add {"a": 40, "b": 2}', 'MCP:web whoami {}', 'MCP:web add {"a": 1, "b": 2}', 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.deepEqual(server.requests.filter((r) => r.method === 'tools/call').map((r) => r.name), ['add', 'whoami']);
	// a refusal in words, or (Codex) the structured one
	for (const text of [/42/, /called as walled-user/, /maxCalls 1|MAX_CALLS/])
		assert.ok(s.results.some((result) => text.test(result)), `${text} did not reach the model: ${s.results}`);
}

// A turn whose command tries another host: it is refused, the client is told, and the proxy has passed on nothing but for these hosts.
async function reachesOnly(s, hosts) {
	const other = `${fresh('other')}.example`;
	const { network } = s.opened._meta.acpd;
	assert.deepEqual([network.mode, network.achieved], ['allowlist', 'namespace']);
	const turn = await s.turn('TEXT:first', `RUN:curl -sS -m 20 http://${other}/; curl -sS -m 20 --noproxy '*' http://1.1.1.1/ || printf '%s-way-out' no`, 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.match(turn.text, /first[^]*done/);
	const result = JSON.stringify(s.results);
	assert.match(result, /HOST_NOT_ALLOWED/);
	assert.match(result, /no-way-out/);
	const blocked = () => s.o.messages.filter((m) => m.params?.sessionId === s.id && m.params.event?.event === 'network_blocked').map((m) => m.params.event);
	await until(() => blocked().some((e) => e.host === other && e.port === 80 && e.reason === 'HOST_NOT_ALLOWED'), 'the event');
	const passed = async () => {
		const { sessions: [status] } = await s.request('_acpd/status', {});
		return (status.network.traffic ?? []).filter((row) => row.down).map((row) => row.host);
	};
	await until(async () => (await passed()).length === hosts.length, 'what passed is counted');
	assert.deepEqual(await passed(), hosts);
}

const STRICT = { level: { name: 'strict', atLeast: false }, policy: { approval: 'never' } };

// The calls pass the daemon, so the list needs not name the model.
async function walledFromTheModel(x, t) {
	if (x.route === 'environment') // the harness calls the model itself: the next row
		return;
	const s = await x.session(t, { acpd: { ...STRICT, network: { mode: 'allowlist', allow: [{ host: 'listed.example' }] } } });

	await reachesOnly(s, []);
}

// The harness calls the model itself, which it finds through the proxy by the environment: at an address that is nobody's own loopback.
async function callsThroughTheProxy(x, t) {
	const { host: at, hostname: host, port } = new URL(x.rig.farUrl);
	const s = await new Play(x.rig, x.harness, { route: 'environment' }).session(t, { provider: { baseUrl: `${x.rig.farUrl}/v1` },
		acpd: { ...STRICT, network: { mode: 'allowlist', allow: [{ host, ports: [Number(port)] }] } } });

	await reachesOnly(s, [host]);
	assert.ok(s.requests.length > 0);
	for (const { headers } of s.requests)
		assert.equal(headers.host, at);
}

// The question for the command stands between two calls of one turn.
async function anotherProvider(x, t) {
	const model = fresh('rotated');
	const s = await x.session(t, { provider: { model } });
	const provider = x.provider({ model, headers: { 'x-session': `of-${model}`, 'x-tenant': 'blue-0123456789' } });
	const set = () => s.request('_acpd/provider/set', { provider });
	const { pid } = x.rig.harnessOf(s.id);

	if (x.route === 'environment') {
		await assert.rejects(set(), (e) => e.data.reason === 'PROVIDER_FIXED');
		return;
	}
	s.o.answer = () => set().then(() => 'allow_once');
	const turn = await s.turn('RUN:printf rotated', 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.deepEqual(s.requests.map((r) => r.headers['x-tenant']), [undefined, 'blue-0123456789']);
	assert.equal(x.rig.harnessOf(s.id).pid, pid);
}

export default [
	['another provider between two calls of a turn: the harness goes on', anotherProvider],
	['without network, text and a command', withoutNetwork],
	['without network, an MCP server over HTTP, and a policy for it', httpServerWithoutNetwork],
	['a network of hosts, in strict: the model is reached, and nothing else', walledFromTheModel],
	['a network of hosts, in strict: the harness calls the model through the proxy', callsThroughTheProxy],
	['the provider\'s key is in no process and no file of the sandbox', keyIsNowhere],
];
