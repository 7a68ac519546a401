// SPDX-License-Identifier: Apache-2.0
// template.ts - the E2B template of ../e2b.Dockerfile, and how sandboxes are made of it; for the official SDK (e2b 2.x). In a checkout:
//
//   E2B_API_KEY=… node images/template.ts my-template
//
// Runs in Node.js 22.18 and later as it stands.
import { Template, waitForURL } from 'e2b';
import type { SandboxOpts } from 'e2b';

export const PORT = 2270;
export const LEASE_MS = 5 * 60_000;

// The rules of a session (_meta.acpd.network), of which E2B knows hosts only: the daemon holds ports, and one session from another.
export interface Network {
	mode: 'off' | 'allowlist' | 'on';
	allow?: { host: string; ports?: number[] }[];
}

// No start command: systemd starts the daemon, also after a cold boot. The snapshot is taken once it answers, and it is in it.
export function agentTemplate(checkout: string) {
	return Template({ fileContextPath: checkout })
		.fromDockerfile(`${checkout}/e2b.Dockerfile`)
		.setReadyCmd(waitForURL(`http://localhost:${PORT}/health`));
}

// What the sandbox as a whole may call. It must hold what its sessions may, and with via "direct" the provider's host too; with
// "tunnel" the orchestrator makes the model calls, and "off" is enough. To allow some E2B has to be told to deny all others.
export function egressOf({ mode, allow = [] }: Network): Pick<SandboxOpts, 'allowInternetAccess' | 'network'> {
	if (mode === 'on')
		return {};
	if (mode === 'off' || !allow.length)
		return { allowInternetAccess: false };
	return { network: { allowOut: allow.map(({ host }) => host), denyOut: ({ allTraffic }) => [allTraffic] } };
}

// For Sandbox.create. Only who has the sandbox's traffic token comes as far as the daemon, and is then asked for its own token. At the
// end of its lease a sandbox is paused, not killed with all that is in it, and the next request wakes it.
export function sandboxOptions(network: Network): SandboxOpts {
	const egress = egressOf(network);

	return {
		...egress,
		network: { ...egress.network, allowPublicTraffic: false },
		lifecycle: { onTimeout: 'pause', autoResume: true },
		timeoutMs: LEASE_MS,
	};
}

if (process.argv[1] === import.meta.filename) {
	const [name = 'acpd'] = process.argv.slice(2);
	const { templateId } = await Template.build(agentTemplate('.'), name, { cpuCount: 2, memoryMB: 2048,
		onBuildLogs: (entry) => console.log(entry.toString()) });

	console.log(templateId);
}
