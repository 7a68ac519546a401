// SPDX-License-Identifier: Apache-2.0
// Every object of ours that a client may send, each of its fields with everything that may be wrong with it, beside a good request that then
// works: refused with a typed error that names the field, nothing made, the connection as before. The rows are held against the daemon's own
// tables of fields, so that a new field or a new object without a row fails here. Manifest and --mcp-config: fields-files.test.mjs; arguments
// of the built-in tools: ../mcp/builtin-arguments.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { HUGE, NUL, OK, many, wrongObjects } from '../../lib/fields.mjs';
import { constant, fieldTables, methodTable, queryTables, routeTable, wordsOf } from '../../lib/tables.mjs';
import { until } from '../../lib/wait.mjs';

const tables = fieldTables();
const DIGEST = `sha256:${'0'.repeat(64)}`;
const VARIABLES = constant('EXTRA_ENV_MAX');

let d, c, sessionId;
before(async () => {
  d = await Daemon.start({ flags: { claimE2b: true }, stub: { quirks: 'copilot', args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
  c = await d.client();
  ({ sessionId } = await c.newSession());
});
after(() => endInOrder(d));

// --- how an object is sent -----------------------------------------------------------------------------------------------------

const opening = (method, own) => (acpd) => [method, { cwd: d?.workDir, mcpServers: [], ...own?.(), _meta: { acpd } }];
const here = () => ({ sessionId });
const NEW = opening('session/new');
const LOAD = opening('session/load', here);
const own = (method) => (params) => [method, params];
const SET = (params) => ['_acpd/provider/set', { ...here(), ...params }];
const TUNNELLED = { via: 'tunnel', key: undefined };
// o stands at a place below
const below = (send, put) => (o) => send(put(o));

const prompting = (acpd) => ['session/prompt', { sessionId, prompt: [{ type: 'text', text: 'echo here' }], _meta: { acpd } }];
const variables = (name) => [
  [{ A: 7 }, 'FIELD_INVALID', '.A'], [{ A: null }, 'FIELD_INVALID', '.A'], [{ A: NUL }, 'FIELD_INVALID', '.A'],
  [{ 'A-B': '1' }, 'ENV_NAME_INVALID', '.A-B'], [{ '': '1' }, 'ENV_NAME_INVALID', '.'], [{ ACPD_OWNER: '1' }, 'ENV_NAME_INVALID', '.ACPD_OWNER'],
  [Object.fromEntries(many(VARIABLES + 1, (i) => [`V${i}`, '1'])), 'TOO_MANY', `.V${VARIABLES}`],
  [{ A: 'x'.repeat(128 * 1024 - 2) }, 'FIELD_TOO_LONG', '.A'],
  ...(name === 'secrets' ? [[{ A: '12345678' }, 'FIELD_INVALID', '.A', { env: { A: '1' } }]] : []),
];
const keeping = [[[7], 'FIELD_INVALID', '[0]'], [['A-B'], 'ENV_NAME_INVALID', '[0]'], [[''], 'ENV_NAME_INVALID', '[0]'],
  [['S'], 'FIELD_INVALID', '', { secrets: { S: '12345678' } }],
  [['NONE'], 'FIELD_INVALID', '', { env: { SOME: '1' } }], [many(VARIABLES + 1, (i) => `V${i}`), 'TOO_MANY', `[${VARIABLES}]`, { env: Object.fromEntries(many(VARIABLES, (i) => [`V${i}`, '1'])) }]];
const amounts = wordsOf('daemon/usage/budget.c', /\[BUDGET_\w+\] = \{ "(\w+)"/g).flatMap((name) => ['x', true, [], {}, null, -1, 0, HUGE, ...(name === 'cost' ? [] : [0.5])]
  .map((v) => [name, v]));
const budget = [...amounts.map(([name, v]) => [{ [name]: v }, 'FIELD_INVALID', `.${name}`]), [{ zz: 1 }, 'PARAM_UNSUPPORTED', '.zz']];
const budgets = [...['turn', 'session'].flatMap((scope) => [
  ...[7, 'x', true, [], null].map((v) => [{ [scope]: v }, 'FIELD_INVALID', `.${scope}`]),
  ...budget.map(([v, reason, at]) => [{ [scope]: v }, reason, `.${scope}${at}`]),
]), [{ zz: {} }, 'PARAM_UNSUPPORTED', '.zz']];
const list = (max, of, ...beyond) => [[many(max + 1, of), 'TOO_MANY', ...beyond]];
const skills = [...list(128, () => ({ path: '/x' })), [[7], 'FIELD_INVALID', '[0]']];
const files = [...list(1024, (i) => ({ path: `f${i}`, text: '' })), [['x'], 'FIELD_INVALID', '[0]']];
const opened = {
  env: { bad: variables('env') }, secrets: { bad: variables('secrets') }, envKeep: { bad: keeping },
  policy: { bad: ['no-such-word', 7, true, [], {}].map((v) => [{ approval: v }, 'FIELD_INVALID', '.approval']) },
  systemPrompt: { takes: ['string', 'object'], bad: [{}, { mode: 'replace', content: [] }, { mode: 'append', content: 'x' }, { mode: 'append', content: [7] },
    { mode: 'append', content: [{ type: 'image' }] }].map((v) => [v, 'FIELD_INVALID']) },
  level: { takes: ['string', 'object'], word: 'FIELD_INVALID', bad: [['', 'FIELD_INVALID'], ['paranoid', 'FIELD_INVALID']] },
  innerSandbox: { takes: ['bool'] }, draft: { takes: ['bool'] },
  budgets: { bad: budgets }, billingRef: { empty: OK }, configVersion: { empty: OK },
};
const furnished = { skills: { bad: skills }, instructions: { takes: ['string', 'object'] }, harnessFiles: { bad: files } };
const rule = (more = {}) => ({ policy: { takes: ['string'], word: 'FIELD_INVALID', bad: [['', 'FIELD_INVALID']] }, dryRun: { takes: ['bool'] }, tools: { takes: [] }, ...more });
const globs = (name) => ({ bad: [[[7], 'FIELD_INVALID', '[0]'], [[NUL], 'FIELD_INVALID', '[0]'], [[''], 'FIELD_INVALID', '[0]'],
  [many(constant('POLICY_RULES_MAX') + 1, () => name), 'FIELD_INVALID']] });
const words = { bad: [[[7], 'FIELD_INVALID', '[0]']] };
const categories = wordsOf('daemon/policy/policy.c', /\[CATEGORY_\w+\] = "(\w+)"/g).flatMap((name) =>
  [7, 'no-such-word', '', null, {}].map((v) => [{ [name]: v }, 'FIELD_INVALID', `.${name}`]));
const TOOLS = [[{ readFile: 7 }, 'FIELD_INVALID', '.readFile'], [{ raedFile: {} }, 'TOOL_UNKNOWN', '.raedFile']];
const row = (command) => ({ command });

const PROGRAM = { id: 'it', kind: 'command', argv: ['true'] };
const checked = [below(NEW, (o) => ({ checks: [o] })), below(LOAD, (o) => ({ checks: [o] })), below(prompting, (o) => ({ checks: [o] })),
  (o) => ['_acpd/check', { sessionId, checks: [o] }]];
const checking = (base, more) => checked.map((send, i) => ({ send, at: i === 3 ? 'checks[0]' : '_meta.acpd.checks[0]', base, more: {
  id: {}, kind: { word: 'FIELD_INVALID', skip: ['too long'] }, ...more } }));
const patterns = [[[7], 'FIELD_INVALID'], [[''], 'FIELD_INVALID'], [['/x'], 'FIELD_INVALID'], [[NUL], 'FIELD_INVALID'], [many(constant('CHECK_PATTERNS_MAX') + 1, () => 'x'), 'TOO_MANY']];
const inProcess = { env: { bad: variables('env').filter(([, reason]) => reason !== 'TOO_MANY').map(([v, reason]) => [v, reason]) } };

// TABLE: [{send, at?, base?, more?, good?}]: the places where an object of that table may stand.
const ROWS = {
  'daemon/acp/meta.c:new_fields': [{ send: NEW, at: '_meta.acpd', more: { ...opened, ...furnished, model: {}, mode: {},
    harness: { empty: 'HARNESS_UNKNOWN', word: 'HARNESS_UNKNOWN' }, whenDetached: { word: 'FIELD_INVALID' } } }],
  'daemon/acp/meta.c:load_fields': ['session/load', 'session/resume'].map((method) => ({ send: opening(method, here), at: '_meta.acpd',
    more: { ...opened, ...furnished, observe: { takes: ['bool'] }, incarnation: { empty: OK } } })),
  'daemon/acp/meta.c:fork_fields': [{ send: opening('session/fork', here), at: '_meta.acpd', more: { ...opened, whenDetached: { word: 'FIELD_INVALID' } } }],
  'daemon/acp/prompt.c:acpd_fields': [{ send: prompting, at: '_meta.acpd', more: { whenBusy: { word: 'FIELD_INVALID' }, budgets: { bad: budget } } }],
  'daemon/session/parts/confinement/session_level.c:level_fields': [NEW, LOAD].map((send) => ({ send: below(send, (level) => ({ level })), at: '_meta.acpd.level', base: { name: 'open' },
    more: { name: { word: 'FIELD_INVALID', empty: 'FIELD_INVALID' } } })),
  'daemon/egress/wire/egress_rules.c:rules_fields': [NEW, LOAD].map((send) => ({ send: below(send, (network) => ({ network })), at: '_meta.acpd.network', base: { mode: 'on' },
    more: { mode: { word: 'FIELD_INVALID', bad: ['open', 'ask'].map((v) => [v, 'FIELD_INVALID']) } } })),
  'daemon/egress/wire/egress_rules.c:entry_fields': [NEW, LOAD].map((send) => ({ send: below(send, (o) => ({ network: { mode: 'allowlist', allow: [o] } })),
    at: '_meta.acpd.network.allow[0]', base: { host: 'a.example' }, } )),
  'daemon/session/parts/confinement/session_limits.c:limit_fields': [NEW, LOAD].map((send) => ({ send: below(send, (limits) => ({ limits })), at: '_meta.acpd.limits' })),
  'daemon/acp/prompt.c:check_fields': [{ send: own('_acpd/check'), base: () => ({ ...here(), checks: [PROGRAM] }), more: { checks: { bad: [
    [[7], 'FIELD_INVALID', '[0]'], [[], 'FIELD_MISSING'], [[PROGRAM, PROGRAM], 'CHECK_ID_TAKEN', '[1].id'],
    [many(constant('CHECKS_MAX') + 1, (i) => ({ ...PROGRAM, id: `${i}` })), 'TOO_MANY'],
    [many(3, (i) => ({ ...PROGRAM, id: `${i}`, argv: ['true', 'x'.repeat(100000)] })), 'FIELD_OUT_OF_RANGE']] } } }],
  'daemon/session/parts/check/turn_proof.c:retry_fields': [NEW, LOAD, prompting].map((send) => ({ send: below(send, (retry) => ({ retry })), at: '_meta.acpd.retry', base: { max: 1 } })),
  'daemon/session/parts/check/check_list.c:command_fields': checking(PROGRAM, { ...inProcess,
    argv: { bad: [[[], 'FIELD_INVALID'], [[''], 'FIELD_INVALID'], [['a', 7], 'FIELD_INVALID'], [[NUL], 'FIELD_INVALID'], [undefined, 'FIELD_MISSING'],
      [['a'], 'FIELD_INVALID', '', { command: 'b' }]] } }),
  'daemon/session/parts/check/check_list.c:tests_fields': checking({ id: 'it', kind: 'tests' }, { ...inProcess,
    only: { bad: [[[7], 'FIELD_INVALID']] }, target: { bad: [['npm', 'FIELD_INVALID', '', { command: 'make' }]] },
    command: { takes: ['string', 'array'], bad: ['', [], [''], [7]].map((v) => [v, 'FIELD_INVALID']) },
    format: { bad: [['tap', 'FIELD_INVALID'], ['none', 'FIELD_INVALID', '', { command: 'make' }]] }, report: { bad: [['x.xml', 'FIELD_INVALID']] } }),
  'daemon/session/parts/check/check_list.c:paths_fields': checking({ id: 'it', kind: 'paths', allow: ['**'] }, { since: { word: 'FIELD_INVALID', empty: 'FIELD_INVALID' },
    allow: { bad: [...patterns, [undefined, 'FIELD_MISSING']] }, deny: { bad: patterns } }),
  'daemon/session/parts/check/check_list.c:size_fields': checking({ id: 'it', kind: 'diffSize', maxFiles: 1 }, { since: { word: 'FIELD_INVALID', empty: 'FIELD_INVALID' },
    maxFiles: { bad: [[undefined, 'FIELD_MISSING']] } }),
  'daemon/acp/workspace.c:put_fields': [{ send: own('_acpd/artifact/put'), base: () => ({ ...here(), name: 'a', text: 'b' }), more: {
    text: { bad: [['x', 'FIELD_INVALID', '', { base64: '' }]] },
    base64: { bad: [['!', 'FIELD_INVALID', '', { text: undefined }]], skip: ['NUL'] } } }],
  'daemon/acp/methods.c:session_fields': ['_acpd/artifact/list', '_acpd/approvals/rules', '_acpd/skills/list'].map((method) => ({ send: own(method), base: here })),
  'daemon/acp/workspace.c:get_fields': [{ send: own('_acpd/artifact/get'), base: () => ({ ...here(), id: 'none' }), good: 'ARTIFACT_NOT_FOUND',
    more: { id: { empty: 'ARTIFACT_NOT_FOUND' } } }],
  'daemon/acp/methods.c:any_session_fields': ['_acpd/harness/list', '_acpd/status'].map((method) => ({ send: own(method) })),
  'daemon/access/token_order.c:order_fields': [{ send: own('_acpd/tokens/mint'), base: () => ({ scope: 'observe', expiresAt: new Date(Date.now() + 60000).toISOString(), label: 'x' }), more: {
    scope: { word: 'FIELD_INVALID' }, expiresAt: { word: 'FIELD_INVALID', bad: [['2020-01-01T00:00:00Z', 'FIELD_OUT_OF_RANGE'],
      ['2026-02-31T00:00:00Z', 'FIELD_INVALID'], ['9999-01-01T00:00:00Z', 'FIELD_OUT_OF_RANGE'], ['2030-01-01', 'FIELD_INVALID']] }, label: { bad: [['a\nb', 'FIELD_INVALID']] },
    sessions: { bad: [[[], 'FIELD_INVALID'], [[7], 'FIELD_INVALID', '[0]'], [['none'], 'SESSION_UNKNOWN', '[0]'],
      [['x'], 'FIELD_INVALID', '', { scope: 'admin' }]] }, level: { takes: ['string', 'object'], bad: [['open', 'FIELD_INVALID']] }, network: { bad: [[{}, 'FIELD_INVALID']] }, limits: { bad: [[{}, 'FIELD_INVALID']] } } }],
  'daemon/acp/acp_daemon.c:token_list_fields': [{ send: own('_acpd/tokens/list') }],
  'daemon/acp/acp_daemon.c:revoke_fields': [{ send: own('_acpd/tokens/revoke'), base: { id: 'none' }, good: 'TOKEN_UNKNOWN', more: { id: { empty: 'TOKEN_UNKNOWN' } } }],
  'daemon/acp/sessions.c:ack_fields': [{ send: own('_acpd/ack'), base: () => ({ ...here(), seq: 0 }), more: { incarnation: { empty: 'FIELD_OUT_OF_RANGE' } } }],
  'daemon/acp/client_calls.c:attach_fields': [{ send: own('_acpd/model/attach'), base: () => ({ sessionIds: [sessionId] }), good: 'MODEL_NOT_ANNOUNCED',
    more: { sessionIds: { bad: [[[7], 'FIELD_INVALID'], [[null], 'FIELD_INVALID']] } } }],
  'daemon/acp/acp_settings.c:network_fields': [{ send: own('_acpd/network/set'), base: () => ({ ...here(), network: { mode: 'on' } }) }],
  'daemon/session/parts/draft/draft_terms.c:after_fields': [NEW, LOAD].map((send) => ({ send: below(send, (draftAfter) => ({ draftAfter })), at: '_meta.acpd.draftAfter' })),
  'daemon/acp/workspace.c:draft_fields': [{ send: own('_acpd/session/draft'), base: () => ({ ...here(), on: false }) }],
  'daemon/acp/workspace.c:apply_fields': [{ send: own('_acpd/workspace/apply'), base: () => ({ ...here(), patchDigest: DIGEST }), good: 'NO_DRAFT', more: { patchDigest: { word: 'DIGEST_INVALID', empty: 'DIGEST_INVALID' } } }],
  'daemon/acp/acp_settings.c:provider_fields': [{ send: own('_acpd/provider/set'), base: () => ({ ...here(), provider: { api: 'openai-chat', via: 'tunnel' } }),
    good: 'PROVIDER_FIXED' }],
  'daemon/acp/acp_approvals.c:approvals_fields': [{ send: own('_acpd/approvals/list'), more: { cursor: { empty: 'CURSOR_INVALID', word: 'CURSOR_INVALID' } } }],
  'daemon/acp/acp_approvals.c:answer_fields': [{ send: own('_acpd/approvals/answer'), base: () => ({ id: `${sessionId}:1` }), good: 'APPROVAL_UNKNOWN', more: {
    id: { empty: 'APPROVAL_UNKNOWN' }, optionId: { skip: ['empty'] }, action: { skip: ['empty'] } } }],
  'daemon/acp/acp_approvals.c:forget_fields': [{ send: own('_acpd/approvals/forget'), base: () => ({ sessionId, id: 'session.rules[1]' }), good: 'RULE_UNKNOWN', more: {
    id: { empty: 'RULE_UNKNOWN', word: 'RULE_UNKNOWN' } } }],
  'daemon/session/parts/approval/approval_terms.c:terms_fields': [NEW, LOAD].map((send) => ({ send: below(send, (approvals) => ({ approvals })), at: '_meta.acpd.approvals',
    more: { default: { word: 'FIELD_INVALID', empty: 'FIELD_INVALID' } } })),
  'daemon/acp/acp_daemon.c:usage_fields': [{ send: own('_acpd/usage'), more: { sessionId: { empty: OK } } }],
  'daemon/acp/workspace.c:materialize_fields': [{ send: own('_acpd/workspace/materialize'), base: () => ({ ...here(), harnessFiles: [{ path: 'good', text: '' }] }), more: {
    instructions: furnished.instructions, harnessFiles: { bad: files } } }],
  'daemon/acp/workspace.c:install_fields': [{ send: own('_acpd/skills/install'), base: () => ({ ...here(), skills: [{ archive: DIGEST }] }), good: 'ARCHIVE_NOT_FOUND',
    more: { skills: furnished.skills } }],
  'daemon/acp/workspace.c:remove_fields': [{ send: own('_acpd/skills/remove'), base: () => ({ ...here(), names: ['none'] }), more: {
    names: { bad: [[[7], 'FIELD_INVALID'], [['../x'], 'FIELD_INVALID'], [[''], 'FIELD_INVALID'], ...list(128, () => 'x')] } } }],
  'daemon/acp/workspace.c:diff_fields': [{ send: own('_acpd/workspace/diff'), base: here, good: 'NO_BASELINE', more: {
    since: { takes: ['string', 'number'], word: 'FIELD_INVALID', bad: ['', 0, -1, 1.5, HUGE].map((v) => [v, 'FIELD_INVALID']) } } }],
  'daemon/workspace/request.c:workspace_fields': [below(NEW, (workspace) => ({ workspace })), below(LOAD, (workspace) => ({ workspace })),
    (workspace) => ['_acpd/workspace/materialize', { sessionId, workspace }]].map((send, i) => ({ send, at: i < 2 ? '_meta.acpd.workspace' : 'workspace',
    base: { archive: DIGEST }, good: 'ARCHIVE_NOT_FOUND', more: {
      archive: { empty: 'DIGEST_INVALID', word: 'DIGEST_INVALID' }, mode: { word: 'FIELD_INVALID' }, links: { word: 'FIELD_INVALID' }, removeOnClose: { bad: [[true, 'FIELD_INVALID']] },
      baseline: { takes: ['bool'] },
      strip: { takes: ['string', 'number'], word: 'FIELD_INVALID', bad: ['', -1, 0.5, HUGE, 129].map((v) => [v, 'FIELD_INVALID']) } } })),
  'daemon/workspace/request.c:skill_fields': [below(NEW, (o) => ({ skills: [o] })), (o) => ['_acpd/skills/install', { sessionId, skills: [o] }],
    (o) => ['_acpd/skills/validate', { sessionId, skills: [o] }]].map((send, i) => ({ send, at: i ? 'skills[0]' : '_meta.acpd.skills[0]',
    base: {}, good: [{ archive: DIGEST }, 'ARCHIVE_NOT_FOUND'], more: { archive: { empty: 'DIGEST_INVALID', word: 'DIGEST_INVALID' },
      path: { word: 'FIELD_INVALID' }, builtin: { bad: [['../x', 'FIELD_INVALID']] } } })),
  'daemon/workspace/request.c:text_fields': [below(NEW, (instructions) => ({ instructions })), (instructions) => ['_acpd/workspace/materialize', { sessionId, instructions }]]
    .map((send, i) => ({ send, at: i ? 'instructions' : '_meta.acpd.instructions', base: { text: 'here' }, more: { text: { empty: OK } } })),
  'daemon/workspace/request.c:file_fields': [below(NEW, (o) => ({ harnessFiles: [o] })), (o) => ['_acpd/workspace/materialize', { sessionId, harnessFiles: [o] }]]
    .map((send, i) => ({ send, at: i ? 'harnessFiles[0]' : '_meta.acpd.harnessFiles[0]', base: { path: 'f', text: 'x' }, more: {
      text: { bad: [['x', 'FIELD_INVALID', '', { base64: '' }]] }, base64: { bad: [['!', 'FIELD_INVALID', '', { text: undefined }]], skip: ['NUL'] } } })),
  'harnesses/provider.c:fields': [NEW, LOAD, SET].map((send) => ({ send: below(send, (provider) => ({ provider })), at: send === SET ? 'provider' : '_meta.acpd.provider',
    base: { api: 'openai-chat', via: 'environment', key: 'k' }, ...(send === SET && { good: 'PROVIDER_FIXED' }), more: {
    api: { empty: 'PROVIDER_API_UNSUPPORTED', word: 'PROVIDER_API_UNSUPPORTED' }, key: { empty: OK },
    via: { empty: 'PROVIDER_VIA_UNSUPPORTED', word: 'PROVIDER_VIA_UNSUPPORTED' },
    models: { bad: [[[7], 'FIELD_INVALID', '[0]'], [[''], 'FIELD_INVALID', '[0]'], ...list(256, () => 'm', '[256]')] },
    headers: { bad: [[{ a: 7 }, 'FIELD_INVALID', '.a'], [{ 'a b': 'x' }, 'FIELD_INVALID', '.a b'], [{ a: 'x\r\nb: c' }, 'FIELD_INVALID', '.a'], [{ a: NUL }, 'FIELD_INVALID', '.a'],
      [Object.fromEntries(many(65, (i) => [`h${i}`, 'x'])), 'TOO_MANY', '.h64']] },
    paths: { bad: [[[], 'FIELD_INVALID', '', { via: 'environment' }], ...[7, 'GET /v1', 'GET /v1/..', 'PUT /v1/x'].map((v) => [[v], 'FIELD_INVALID', '[0]', TUNNELLED]),
      [many(constant('MODEL_PATHS_MAX') + 1, () => 'GET /v1/x'), 'TOO_MANY', `[${constant('MODEL_PATHS_MAX')}]`, TUNNELLED]] },
    auth: { bad: [[{}, 'FIELD_INVALID']] }, fallbacks: { bad: [[[], 'FIELD_INVALID']] }, prices: { bad: [[{}, 'FIELD_INVALID']] }, limits: { bad: [[{}, 'FIELD_INVALID']] } } })),
  'harnesses/provider_upstream.c:auth_fields': [{ send: below(NEW, (auth) => ({ provider: { api: 'openai-chat', via: 'direct', key: 'k', auth } })), at: '_meta.acpd.provider.auth',
    base: {}, more: { header: { bad: [['a b', 'FIELD_INVALID']] }, prefix: { empty: OK, bad: [['a\nb', 'FIELD_INVALID']] } } }],
  'harnesses/provider_upstream.c:fallback_fields': [{ send: below(NEW, (one) => ({ provider: { api: 'openai-chat', via: 'direct', key: 'k', fallbacks: [one] } })),
    at: '_meta.acpd.provider.fallbacks[0]', base: { baseUrl: 'http://127.0.0.1:9' }, more: { baseUrl: { word: 'URL_INVALID' }, key: { empty: OK, bad: [['a\nb', 'FIELD_INVALID']] },
    auth: { bad: [[{ type: 'sigv4' }, 'PARAM_UNSUPPORTED', '.type']] }, headers: { bad: [[{ a: 7 }, 'FIELD_INVALID', '.a']] } } }],
  'harnesses/provider.c:limit_fields': [NEW, LOAD].map((send) => ({ send: below(send, (limits) => ({ provider: { api: 'openai-chat', limits } })),
    at: '_meta.acpd.provider.limits', good: 'FIELD_MISSING' })),
  'tools/relay/server_request.c:request_fields': [NEW, LOAD].map((send) => ({ send: below(send, (mcp) => ({ mcp })), at: '_meta.acpd.mcp', more: {
    builtin: { takes: ['bool', 'object'] }, stdio: { takes: ['string'], word: 'FIELD_INVALID', bad: [['', 'FIELD_INVALID'], ['daemon', 'FIELD_INVALID']] }, hosted: { bad: [[[7], 'FIELD_INVALID', '[0]'], [[NUL], 'FIELD_INVALID', '[0]'],
      ...(send === NEW ? [[['none'], 'MCP_SERVER_UNKNOWN', '[0]']] : [])] },
    policy: { bad: [[{ s: 7 }, 'FIELD_INVALID', '.s'], [{ s: { tools: { t: 7 } } }, 'FIELD_INVALID', '.s.tools.t']] } } })),
  'tools/relay/server_request.c:builtin_fields': [{ send: below(NEW, (builtin) => ({ mcp: { builtin } })), at: '_meta.acpd.mcp.builtin', more: {
    tools: { bad: [[[7], 'FIELD_INVALID', '[0]'], [['raedFile'], 'TOOL_UNKNOWN', '[0]']] }, tests: { bad: [[{ t: 'x' }, 'FIELD_INVALID', '.t']] },
    interpreters: { bad: [[{ python: 'x' }, 'FIELD_INVALID', '.python'], [{ python: [] }, 'FIELD_INVALID', '.python'], [{ python: [''] }, 'FIELD_INVALID', '.python[0]'],
      [{ ts: ['x', 7] }, 'FIELD_INVALID', '.ts[1]'], [{ cobol: ['x'] }, 'PARAM_UNSUPPORTED', '.cobol']] } } }],
  'tools/builtin/testrun/testrun_target.c:fields': [{ send: below(NEW, (t) => ({ mcp: { builtin: { tests: { t } } } })), at: '_meta.acpd.mcp.builtin.tests.t', base: row('true'), more: {
    command: { takes: ['string', 'array'], bad: ['', [], [''], [7]].map((v) => [v, 'FIELD_INVALID']) }, format: { word: 'FIELD_INVALID' }, report: {}, cwd: {} } }],
  'daemon/policy/policy.c:fields': [NEW, LOAD].map((send) => ({ send: below(send, (policy) => ({ policy })), at: '_meta.acpd.policy', more: {
    read: globs('*'), write: globs('*'), deny: globs('none'), commands: { bad: [[[7], 'FIELD_INVALID', '[0]'], [[{ policy: 'ask' }], 'FIELD_INVALID', '[0]']] },
    categories: { bad: [...categories, [{ zz: 'ask' }, 'PARAM_UNSUPPORTED', '.zz']] }, tools: { bad: TOOLS }, dryRun: { takes: ['bool'] } } })),
  'daemon/policy/policy.c:command_fields': [{ send: below(NEW, (o) => ({ policy: { commands: [o] } })), at: '_meta.acpd.policy.commands[0]', base: { argv: ['x'], policy: 'ask' }, more: {
    argv: { bad: [...words.bad, [[], 'FIELD_INVALID']] }, prefix: { bad: words.bad.map((b) => [...b, { argv: undefined }]), skip: [] },
    policy: { takes: ['string'], word: 'FIELD_INVALID' } } }],
  'daemon/policy/policy_rule.c:fields': [
    { send: below(NEW, (readFile) => ({ policy: { tools: { readFile } } })), at: '_meta.acpd.policy.tools.readFile', more: rule() },
    { send: below(NEW, (s) => ({ mcp: { policy: { s } } })), at: '_meta.acpd.mcp.policy.s', more: rule({ tools: { takes: ['object'] } }) },
    { send: below(LOAD, (t) => ({ mcp: { policy: { s: { tools: { t } } } } })), at: '_meta.acpd.mcp.policy.s.tools.t', more: rule() }],
};

// Tables that decode no object of ours that a client sends.
const OTHERS = {
  'of ACP; conformance/ has them': ['acp/init.c:init_fields', 'acp/params.c:new_fields', 'acp/params.c:load_fields', 'acp/params.c:resume_fields', 'acp/params.c:mcp_fields',
    'acp/client_calls.c:message_fields', 'acp/prompt.c:prompt_fields', 'acp/sessions.c:list_fields', 'acp/acp_settings.c:mode_fields', 'acp/acp_settings.c:model_fields',
    'acp/providers.c:set_fields', 'acp/providers.c:id_fields',
    // notifications, which cannot be refused: tests/integration/model
    'acp/client_calls.c:head_fields', 'acp/client_calls.c:chunk_fields', 'acp/client_calls.c:credit_fields'].map((t) => `daemon/${t}`),
  'of MCP': ['tools/mcp/front_legacy.c:initialize_fields'],
  'read again, after those above': ['tools/relay/relay_assemble.c:named_fields'],
  'what the daemon has written': ['daemon/cli/serve/handover.c:left_fields', 'daemon/agui/agui_threads.c:thread_fields', 'daemon/access/token_file.c:token_fields', 'daemon/access/token_file.c:head_fields', 'daemon/session/parts/workspace/artifact_store.c:index_fields'],
  'between the daemon and its own programs': ['daemon/fetcher/wire/fetch_frame.c:settings_fields', 'daemon/fetcher/wire/fetch_frame.c:order_fields',
    ...['notice', 'order', 'settings'].map((t) => `daemon/egress/wire/egress_frame.c:${t}_fields`),
    'daemon/session/parts/workspace/patch_answer.c:patch_fields', ...['begin', 'diff', 'apply', 'measure'].map((t) => `daemon/unpack/draft/draft_job.c:${t}_fields`), 'daemon/unpack/small_jobs/tree_jobs.c:tree_fields', 'daemon/unpack/small_jobs/tree_jobs.c:skill_fields',
    'daemon/unpack/small_jobs/discard.c:discard_fields', 'daemon/unpack/small_jobs/leftovers_job.c:leftovers_fields', 'daemon/unpack/small_jobs/reown_job.c:reown_fields', 'daemon/unpack/small_jobs/reown_job.c:reown_tree_fields', 'daemon/unpack/small_jobs/inflate_job.c:inflate_fields', 'daemon/unpack/job/unpack_job.c:job_fields', 'daemon/unpack/job/unpack_job.c:source_fields', 'daemon/unpack/job/unpack_job.c:limit_fields',
    'daemon/unpack/export/export_jobs.c:pack_fields', 'daemon/unpack/export/export_jobs.c:snapshot_fields', 'daemon/unpack/export/export_jobs.c:diff_fields', 'daemon/unpack/export/export_jobs.c:fold_fields', 'daemon/unpack/export/export_jobs.c:limit_fields', 'daemon/unpack/export/export_jobs.c:bundle_fields', 'daemon/unpack/export/export_jobs.c:bundle_check_fields',
    'daemon/unpack/export/bundle.c:fields', 'daemon/unpack/export/bundle.c:head_fields', 'daemon/unpack/export/bundle.c:file_fields',
    'daemon/session/parts/check/check_answer.c:answer_fields', 'daemon/session/parts/check/check_changes.c:report_fields', 'tools/builtin/check/check_job.c:fields', 'tools/relay/served_server.c:artifact_fields', 'tools/builtin/core/toolbox_config.c:fields'],
  'bodies of HTTP: agui/agui.test.mjs': ['daemon/agui/agui_input.c:input_fields', 'daemon/agui/agui_input.c:message_fields'],
  'bodies of HTTP: lifecycle/drain.test.mjs': ['daemon/http/routes/route_life.c:shutdown_fields'],
  'bodies of HTTP: session/approval/out-of-band.test.mjs': ['daemon/http/routes/route_approvals.c:body_fields'],
  'receivers of webhooks: outbox/webhooks.test.mjs': ['daemon/outbox/webhook_list.c:fields'],
  'what E2B says: net/claim-e2b.test.mjs': ['daemon/net/claim/e2b_metadata.c:metadata_fields'],
  'control.sock, access/tokens.test.mjs': ['daemon/net/control.c:revoke_fields'],
  'control.sock, lifecycle/restart-in-place.test.mjs': ['daemon/net/control.c:restart_fields'],
  'control.sock, below': ['daemon/net/claim/claim.c:claim_fields', 'daemon/net/control.c:no_fields'],
  'files: fields-files.test.mjs': ['entry', 'caps', 'prompt_caps', 'mcp_caps', 'session_caps', 'file'].map((t) => `harnesses/harness_config.c:${t}_fields`).concat('tools/hosted/mcpfile_entry.c:fields'),
};

test('every table of fields of the daemon has a row here, and no other', () => {
  assert.deepEqual([...Object.keys(ROWS), ...Object.values(OTHERS).flat()].sort(), [...tables.keys()].sort());
});

// --- that nothing was made -----------------------------------------------------------------------------------------------------

// Two levels, which hold a name for each session, archive and tree; what is deleted goes, and usage.ahead comes, in its own time.
const namesIn = (dir) => (fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() ? fs.readdirSync(dir).sort() : []);
const kept = () => [d.stateDir, d.workDir, d.wsDir].flatMap((dir) => namesIn(dir).filter((name) => !/^(removed$|usage)/.test(name)).flatMap((name) =>
  [name, ...namesIn(path.join(dir, name))]));

// Sessions, harnesses, turns, and the names of all that is kept. A harness of a session that was deleted may be on its way out; one without
// a session would not go.
async function standing() {
  let harnesses, sessions;

  await until(async () => {
    ({ harnesses, sessions } = await c.call('_acpd/status'));
    return harnesses.live <= sessions.filter((s) => s.state === 'open').length;
  }, 'each harness has its session');

  return { sessions: sessions.map(({ sessionId: id, state, turns, queued }) => [id, state, turns, queued]),
    turns: await d.metric('acpd_turns_total'), kept: kept() };
}

async function said([method, params]) {
  const { error } = await c.request(method, params).answer;

  return error ? [error.code, error.data.reason, error.data.field] : [OK];
}

async function refuseAll(fields, { send, ...place }) {
  if (fields.some((f) => f.name === 'sessionId'))
    place.more = { sessionId: { empty: 'SESSION_NOT_FOUND' }, ...place.more };
  const cases = [...wrongObjects(fields, { ...place, base: typeof place.base === 'function' ? place.base() : place.base })];
  const before = await standing();
  const answers = await Promise.all(cases.map(({ object }) => said(send(object))));
  const wrong = cases.flatMap(({ label, reason, field }, i) => {
    const want = /_NOT_FOUND$/.test(reason) ? [-32002, reason, undefined] : [-32602, reason, field];
    return JSON.stringify(answers[i]) === JSON.stringify(want) ? [] : [`${label}: ${JSON.stringify(answers[i])}, not ${JSON.stringify(want)}`];
  });

  assert.deepEqual(wrong, []);
  assert.deepEqual(await standing(), before, 'nothing was made');
}

// The object as it should be: accepted, or refused for what it names.
async function acceptGood({ send, base = {}, good = OK }) {
  const [object, want] = Array.isArray(good) ? good : [typeof base === 'function' ? base() : base, good];
  const [method, params] = send(object);
  const { result, error } = await c.request(method, params).answer;

  assert.equal(error ? error.data.reason : OK, want, JSON.stringify(error));
  if (['session/new', 'session/fork'].includes(method) && result)
    await c.call('session/delete', { sessionId: result.sessionId });
}

for (const [name, places] of Object.entries(ROWS))
  for (const place of places)
    test(`${name}, ${place.at || 'the parameters'} of ${place.send({})[0]}`, async () => {
      await refuseAll(tables.get(name), place);
      await acceptGood(place);
    });

// --- where there is no object of ours ------------------------------------------------------------------------------------------

describe('_meta.acpd of a method that takes none', () => {
  const text = [{ type: 'text', text: 'x' }];
  const SAYS = { authenticate: { methodId: 'x' }, 'session/list': {}, 'session/close': here, 'session/delete': here, '_session/steering': () => ({ ...here(), prompt: text }),
    'session/set_mode': () => ({ ...here(), modeId: 'code' }), 'session/set_model': () => ({ ...here(), modelId: 'stub-large' }),
    'session/set_config_option': () => ({ ...here(), configId: 'model', value: 'stub-large' }) };
  // with places of their own above; or whose access is judged first; a notification cannot be answered
  const without = methodTable().filter((m) => ['NONE', 'BARE'].includes(m.meta) && m.kind === 'REQUEST' && m.name !== 'initialize').map((m) => m.name);

  for (const name of without)
    test(name, async () => {
      const params = SAYS[name] ?? here;
      const before = await standing();

      for (const [acpd, reason, field] of [[{ zz: 1 }, 'PARAM_UNSUPPORTED', '_meta.acpd.zz'], [{ key: 'k' }, 'PARAM_UNSUPPORTED', '_meta.acpd.key'], [7, 'FIELD_INVALID', '_meta.acpd'],
        [[], 'FIELD_INVALID', '_meta.acpd'], ['x', 'FIELD_INVALID', '_meta.acpd']])
        assert.deepEqual(await said([name, { ...(typeof params === 'function' ? params() : params), _meta: { acpd } }]), [-32602, reason, field], JSON.stringify(acpd));
      assert.deepEqual(await standing(), before);
    });

  test('initialize, whose clientCapabilities._meta.acpd announces what it holds and no more', async () => {
    const other = await d.connect();
    const { error } = await other.request('initialize', { protocolVersion: 1, _meta: { acpd: { zz: 1 } } }).answer;

    assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'PARAM_UNSUPPORTED', '_meta.acpd.zz']);
    for (const acpd of [7, 'x', [], true, { zz: 1, deduplicatesToolCalls: 'yes' }]) {
      const one = await d.connect();
      assert.equal((await one.call('initialize', { protocolVersion: 1, clientCapabilities: { _meta: { acpd } } })).protocolVersion, 1);
      await one.close();
    }
    await other.close();
  });
});

test('parameters that are no object', async () => {
  for (const { name, kind } of methodTable().filter((m) => m.kind === 'REQUEST' && m.name !== 'initialize'))
    for (const params of [7, 'x', [], true])
      assert.equal((await said([name, params]))[1], 'PARAMS_INVALID', `${kind} ${name} ${JSON.stringify(params)}`);
});

// --- control.sock --------------------------------------------------------------------------------------------------------------

test('control.sock: claim, sessions and doctor take what they have', async () => {
  const ask = (method, params) => new Promise((resolve, reject) => {
    const socket = net.connect(d.controlSocket, () => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`));
    let text = '';

    socket.on('data', (data) => {
      text += data;
      if (text.endsWith('\n'))
        socket.end();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(JSON.parse(text)));
  });
  const rows = [...wrongObjects(tables.get('daemon/net/claim/claim.c:claim_fields'), { base: { digest: 'x' }, more: { digest: { skip: ['empty'] } } })].map((r) => ['claim', r])
    .concat(['sessions', 'doctor'].flatMap((m) => [...wrongObjects([], {})].map((r) => [m, r])));

  for (const [method, { label, object, reason, field }] of rows) {
    const { error } = await ask(method, object);
    assert.deepEqual([error?.data.reason, error?.data.field], [reason, field], `${method}: ${label}`);
  }
  assert.ok((await ask('doctor', {})).result.version);
});

// --- queries -------------------------------------------------------------------------------------------------------------------

const QUERIES = {
  UINT: ['', 'x', '-1', '1.5', '1e308', '%31', '99999999999999999999'].filter((v) => v !== '%31'), BOOL: ['', '1', 'TRUE', 'no-such-word'], WORD: ['', 'no-such-word', 'TAR'],
  NAME: ['', '%01', '%7f', '%ff', 'x'.repeat(4097)], TEXT: ['', '%20', '%c3%a4', 'x'.repeat(1025)],
};
const PLACES = {
  'daemon/http/routes/route_usage.c:fields': ['GET /v1/usage'], 'daemon/http/routes/route_events.c:fields': ['GET /v1/sessions/{}/events'], 'daemon/http/routes/route_export.c:fields': ['GET /v1/sessions/{}/workspace'],
  'daemon/http/mcp/mcp_http.c:fields': ['GET', 'POST', 'DELETE'].flatMap((m) => [`${m} /mcp`, `${m} /mcp/{}`]),
  'daemon/http/routes/route_bundle.c:fields': ['POST /v1/bundles'], 'daemon/http/endpoints.c:agui_fields': ['POST /v1/agui/{}'], 'daemon/http/routes/route_approvals.c:fields': ['GET /v1/approvals'],
  'daemon/http/endpoints.c:no_query': ['GET /v1/archives', 'GET /v1/archives/{}', 'PUT /v1/archives/{}', 'DELETE /v1/archives/{}', 'GET /v1/sessions/{}/bundle',
    'GET /v1/sessions/{}/artifacts', 'GET /v1/sessions/{}/artifacts/{}', 'GET /v1/mcp', 'GET /v1/info', 'GET /v1/status', 'POST /v1/shutdown', 'POST /v1/restart', 'POST /v1/claim',
    'GET /v1/tokens', 'POST /v1/tokens', 'DELETE /v1/tokens/{}', 'POST /v1/approvals/{}', 'GET /v1/sessions', 'GET /v1/sessions/{}'],
};
const PLAIN = ['GET /health', 'GET /openapi.json', 'GET /ready', 'GET /metrics', 'GET /ui', 'GET /ui/', 'GET /ui/app.js', 'GET /ui/app.css']; // for probes that add what they like

test('every table of a query and every route has a row here, and no other', () => {
  assert.deepEqual(Object.keys(PLACES).sort(), [...queryTables().keys()].sort());
  assert.deepEqual([...Object.values(PLACES).flat(), ...PLAIN].sort(), routeTable().map((r) => `${r.method} ${r.path}`).sort());
});

const MESSAGE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });

for (const [name, places] of Object.entries(PLACES))
  for (const place of places)
    test(`${name}, ${place}`, async () => {
      const [method, pattern] = place.split(' ');
      const where = pattern.startsWith('/v1/archives') ? pattern.replace('{}', DIGEST) : pattern.startsWith('/mcp') ? pattern.replace('{}', 'none') :
        pattern.replace('{}', sessionId).replace('{}', 'none');
      const fields = queryTables().get(name);
      const rows = [['zz=1', 'QUERY_UNKNOWN'], ['zz', 'QUERY_UNKNOWN'],
        ...fields.flatMap((f) => [[f.name, 'QUERY_INVALID'], [`${f.name.toUpperCase()}=1`, 'QUERY_UNKNOWN'], ...QUERIES[f.type].map((v) => [`${f.name}=${v}`, 'QUERY_INVALID'])])];
      const before = await standing();

      for (const [query, reason] of rows) {
        const headers = { Accept: 'application/json, text/event-stream', ...(method === 'POST' && { 'Content-Type': 'application/json' }) };
        const res = await d.http(`${where}?${query}`, { method, token: d.token, headers, body: method === 'POST' ? MESSAGE : undefined });
        assert.deepEqual([res.status, res.json?.error.reason ?? res.json?.error.data?.reason], [400, reason], `${query.slice(0, 60)}: ${res.body}`);
      }
      assert.deepEqual(await standing(), before);
    });

// --- at the end ----------------------------------------------------------------------------------------------------------------

test('the connection and the session that heard all of this go on', async () => {
  assert.equal((await c.call('session/load', { sessionId, cwd: d.workDir, mcpServers: [] }))._meta.acpd.harness, 'stub');
  assert.equal((await c.prompt(sessionId, 'echo still here')).stopReason, 'end_turn');
});
