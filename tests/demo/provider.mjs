// SPDX-License-Identifier: Apache-2.0
// Which model provider the demo uses: one from the environment, else the scripted model.

import { startModelServer } from '../harness/model-server.mjs';

export const PROMPT = 'README.md says what total() in cart.mjs returns; node check.mjs shows that it does not. ' +
	'Find the bug, fix it with the smallest possible edit of cart.mjs, and say what was wrong.';

// The line of cart.mjs that is wrong.
const FAULT = '\tfor (let i = 1; i < items.length; i++)';

const SCRIPT = (cwd) => [
	'THINK:The check fails for a cart with one item, so the first item is probably skipped.',
	`READ:${cwd}/cart.mjs`,
	'TEXT:The loop starts at 1, so the first item is never counted. I will start it at 0.',
	`EDIT:${JSON.stringify({ file: `${cwd}/cart.mjs`, from: FAULT, to: FAULT.replace('i = 1', 'i = 0') })}`,
	'TEXT:Fixed: `total()` skipped the first item of the cart because its loop began at index 1.',
];

// api: what the harness speaks best.
function fromEnvironment(env, api) {
	const model = env.ACPD_PROVIDER_MODEL;

	if (env.ACPD_PROVIDER_KEY)
		return { api: env.ACPD_PROVIDER_API ?? api, baseUrl: env.ACPD_PROVIDER_BASE_URL,
			key: env.ACPD_PROVIDER_KEY, model };
	if (env.ANTHROPIC_API_KEY)
		return { api: 'anthropic', baseUrl: env.ACPD_PROVIDER_BASE_URL ?? 'https://api.anthropic.com/v1',
			key: env.ANTHROPIC_API_KEY, model: model ?? 'claude-sonnet-4-5' };
	if (env.OPENAI_API_KEY)
		return { api: 'openai-responses', baseUrl: env.ACPD_PROVIDER_BASE_URL ?? 'https://api.openai.com/v1',
			key: env.OPENAI_API_KEY, model: model ?? 'gpt-5' };
	return null;
}

// {provider, real, about, close()}; `provider` goes to the daemon as _meta.acpd.provider.
export async function chooseProvider(env, api, cwd) {
	const real = fromEnvironment(env, api);

	if (real) {
		if (!real.baseUrl || !real.model)
			throw new Error('ACPD_PROVIDER_KEY needs ACPD_PROVIDER_BASE_URL and ACPD_PROVIDER_MODEL beside it');
		return { provider: real, real: true, about: `${real.model} at ${real.baseUrl} (${real.api})`, close() {} };
	}
	const key = 'sk-scripted-model';
	const server = await startModelServer({ key });
	server.scenarios.push({ when: PROMPT, lines: SCRIPT(cwd) });
	return {
		provider: { api, baseUrl: server.url + '/v1', key, model: 'scripted-1' },
		real: false,
		about: 'a scripted one on loopback, because the environment has no key of a provider',
		close: () => server.close(),
	};
}
