// SPDX-License-Identifier: Apache-2.0
// What a session is given: _meta.acpd of session/new, load, resume and fork.
import { ROW, anyOf, array, boolean, byKind, fields, foreign, integer, map, object, ref, string, word } from '../notation.mjs';

const strings = (says) => ({ items: string(), description: says });
const policyWord = word(['allow', 'ask', 'deny']);
const amounts = { 'steps?': integer('model calls', { minimum: 1 }), 'toolCalls?': integer(undefined, { minimum: 1 }), 'seconds?': integer(undefined, { minimum: 1 }), 'tokens?': integer(undefined, { minimum: 1 }),
  'cost?': { type: 'number', exclusiveMinimum: 0 } };
const closed = { additionalProperties: false };
const COMMON = {
  env: { ...map(string(), 'variables that are added to the environment') },
  secrets: { ...map(string(), 'variables that are hidden everywhere and never written down') },
  envKeep: strings('names of env that are kept with the session'),
  provider: ref('Provider'), model: ROW, mode: ROW,
  systemPrompt: anyOf([string(), foreign('as ACP has it: {mode, content}')], 'text to append, or as ACP has it'),
  policy: ref('SessionPolicy'), mcp: ref('McpRequest'), level: anyOf([word(['guarded', 'strict', 'open']), ref('LevelRequest')], 'how far the session is confined'),
  network: ref('Network'), limits: ref('ProcessLimits'), innerSandbox: boolean('use the sandbox of the harness, too'), draftAfter: ref('DraftAfter'),
  draft: boolean('nothing is changed until it is applied'), budgets: ref('Budgets'), checks: { items: ref('Check'), description: 'what has to hold after a turn' }, approvals: ref('ApprovalTerms'),
  retry: ref('Retry'), billingRef: ROW, configVersion: ROW,
};
const FURNISH = {
  workspace: ref('Workspace'), skills: { items: ref('Skill'), description: 'skills that the harness gets' },
  instructions: anyOf([string(), ref('Text')], 'instructions for the agent'), harnessFiles: { items: ref('HarnessFile'), description: 'files of the harness\'s home' },
};
const DETACHED = { description: 'what happens while no client is connected', enum: ['continue', 'hold', 'cancel'] };
const CHECK = {
  id: 'unique in the list', timeoutMs: 'its time', cwd: 'where it runs', env: { ...map(string(), 'further variables') },
};
const kind = (name) => ({ const: name });
const SINCE = { enum: ['turn', 'baseline'] };
const bound = (what) => `the most ${what}`;

export const SETTINGS = ['session/new', 'session/load', 'session/resume', 'session/fork'];

export default {
  page: 'parameters',
  types: {
    NewSession: fields('daemon/acp/meta.c:new_fields', { ...COMMON, ...FURNISH, harness: 'the id of the harness', whenDetached: DETACHED }, { description: 'what a new session is given', inOrder: true }),
    LoadSession: fields('daemon/acp/meta.c:load_fields', { ...COMMON, ...FURNISH, incarnation: 'the run of the daemon of fromSeq', fromSeq: 'only events from this number on', observe: { type: 'boolean', description: 'only to look: beside the driver, and without changing anything' } }, { description: 'what changes of a session that is loaded or resumed', inOrder: true }),
    ForkSession: fields('daemon/acp/meta.c:fork_fields', { ...COMMON, whenDetached: DETACHED }, { description: 'what is another in the fork', inOrder: true }),
    PromptSettings: fields('daemon/acp/prompt.c:acpd_fields', {
      key: 'makes the prompt idempotent', whenBusy: { description: 'while another turn runs', enum: ['queue', 'reject'] }, budgets: ref('Budget'), checks: COMMON.checks, retry: ref('Retry'),
    }, { description: '_meta.acpd of a prompt' }),
    Provider: fields('harnesses/provider.c:fields', {
      api: { enum: ['openai-chat', 'openai-responses', 'anthropic', 'google'], description: 'the API of the provider' }, baseUrl: 'in the place of /v1', key: 'the key', via: { enum: ['direct', 'tunnel', 'environment'], description: 'who makes the calls' },
      model: 'the id of a model', models: strings('ids that may be chosen besides'), smallModel: 'the model of side calls', paths: strings('calls that pass besides those of the API'),
      headers: { ...map(string(), 'headers of each call') }, auth: ref('ProviderAuth'), fallbacks: { items: ref('Fallback'), maxItems: 4, description: 'places that are asked next' },
      prices: { ...map(object({ 'input?': { type: 'number' }, 'output?': { type: 'number' }, 'cacheRead?': { type: 'number' }, 'cacheWrite5m?': { type: 'number' }, 'cacheWrite1h?': { type: 'number' } }, 'of a million tokens', closed), 'by model') },
      limits: ref('ProviderLimits'), idleTimeoutMs: 'so long a call may be silent',
    }, { description: 'the model provider' }),
    ProviderAuth: fields('harnesses/provider_upstream.c:auth_fields', { header: 'the header of the key', prefix: 'what stands before the key' }),
    Fallback: fields('harnesses/provider_upstream.c:fallback_fields', { baseUrl: 'the address', key: 'its key', auth: ref('ProviderAuth'), headers: { ...map(string(), 'its headers') } }),
    ProviderLimits: fields('harnesses/provider.c:limit_fields', { concurrency: 'calls at a time', callsPerMinute: 'calls in any 60 seconds' }),
    LevelRequest: fields('daemon/session/parts/confinement/session_level.c:level_fields', { name: { enum: ['guarded', 'strict', 'open'] }, atLeast: 'refuse the session rather than give less', log: 'tell refused calls' }),
    ProcessLimits: fields('daemon/session/parts/confinement/session_limits.c:limit_fields', { memoryBytes: 'memory of all processes', pids: 'processes and threads', cpuWeight: 'share of the processors' }),
    Network: fields('daemon/egress/wire/egress_rules.c:rules_fields', {
      mode: { enum: ['on', 'off', 'allowlist'], description: 'what may be called' }, allow: { items: ref('NetworkEntry'), description: 'with allowlist: what may be called' }, ask: 'ask the driver for other hosts',
    }, { description: 'what a session may call' }),
    NetworkEntry: fields('daemon/egress/wire/egress_rules.c:entry_fields', { host: 'a name, *.name or an address', ports: { items: integer(), description: 'all without it' } }),
    DraftAfter: fields('daemon/session/parts/draft/draft_terms.c:after_fields', { checks: 'failed verdicts in a row', tools: 'failed tool calls in a row' }, { description: 'when a draft begins by itself' }),
    Budget: object(amounts, 'limits of a turn, a session or a prompt', closed),
    Budgets: object({ 'turn?': ref('Budget'), 'session?': ref('Budget') }, 'limits for each turn, and for the session', closed),
    ApprovalTerms: fields('daemon/session/parts/approval/approval_terms.c:terms_fields', { timeoutMs: 'so long a question waits', default: { enum: ['reject', 'allow', 'cancel'] } }),
    Retry: fields('daemon/session/parts/check/turn_proof.c:retry_fields', { max: 'further attempts after checks that failed' }),
    Check: byKind('kind', { command: 'CommandCheck', tests: 'TestsCheck', paths: 'PathsCheck', diffSize: 'SizeCheck' }, 'what has to hold'),
    CommandCheck: fields('daemon/session/parts/check/check_list.c:command_fields', { ...CHECK, kind: kind('command'), argv: strings('a program and its arguments'), command: 'text for a shell', expectExit: 'the exit code of success' }),
    TestsCheck: fields('daemon/session/parts/check/check_list.c:tests_fields', {
      ...CHECK, kind: kind('tests'), target: 'the runner', only: strings('which tests'), command: anyOf([string(), array(string())], 'a command instead of target'), format: 'what it reports',
      report: 'the file of its report', minPassed: 'so many tests have to pass',
    }),
    PathsCheck: fields('daemon/session/parts/check/check_list.c:paths_fields', { id: CHECK.id, timeoutMs: CHECK.timeoutMs, kind: kind('paths'), since: SINCE, allow: strings('changes match one of these'), deny: strings('and none of these') }),
    SizeCheck: fields('daemon/session/parts/check/check_list.c:size_fields', {
      id: CHECK.id, timeoutMs: CHECK.timeoutMs, kind: kind('diffSize'), since: SINCE, maxFiles: bound('files'), maxInsertions: bound('lines added'), maxDeletions: bound('lines removed'), maxLines: bound('lines together'),
    }),
    SessionPolicy: (() => {
      const rules = fields('daemon/policy/policy.c:fields', {
        read: strings('globs that may be read'), write: strings('globs that may be written'), deny: strings('globs that are denied'), commands: { items: ref('CommandRule') },
        categories: { ...map(policyWord, 'by category') }, tools: { ...map(ref('ToolRule'), 'by built-in tool') }, dryRun: boolean('tools only say what they would do'),
      });

      return { ...rules, description: 'what is asked and what is allowed', properties: { approval: { enum: ['ask', 'accept-edits', 'never'], description: 'for the harness' }, ...rules.properties } };
    })(),
    CommandRule: fields('daemon/policy/policy.c:command_fields', { argv: strings('the very command'), prefix: strings('how it begins'), policy: policyWord }),
    ToolRule: fields('daemon/policy/policy_rule.c:fields', {
      policy: policyWord, timeoutMs: 'time of a call', maxCalls: 'calls in a session', maxResultBytes: 'size of a result', dryRun: boolean('answer without a call'), tools: { ...map(foreign('a rule'), 'of a server: by tool') },
    }),
    McpRequest: fields('tools/relay/server_request.c:request_fields', {
      builtin: anyOf([boolean(), ref('BuiltinRequest')], 'the built-in tools'), project: 'servers of .mcp.json', stdio: word(['acpd', 'harness'], 'who runs the programs of mcpServers'), hosted: strings('names of hosted servers'), policy: { ...map(ref('ToolRule'), 'by server') },
    }),
    BuiltinRequest: fields('tools/relay/server_request.c:builtin_fields', { tools: strings('only these'), tests: { ...map(ref('TestTarget'), 'targets of runTests') }, interpreters: { ...map({}, 'of runCode') } }),
    TestTarget: fields('tools/builtin/testrun/testrun_target.c:fields', { command: anyOf([string(), array(string())], 'the command'), format: 'what it reports', report: 'the file of its report', cwd: 'where it runs', timeoutMs: 'its time' }),
    SessionAnswer: object({
      harness: string(), 'observe?': { const: true, description: 'it is only looked at' }, incarnation: string(), seq: integer('the newest event'), 'turn?': integer('the running one'), context: word(['kept', 'lost']), cwd: string(), 'pending?': array(string(), 'what takes effect at the end of the turn'),
      'unmasked?': array(object({ name: string(), reason: string() }), 'values that cannot be hidden'), 'mcp?': ref('McpState'), 'provider?': ref('ProviderState'), 'user?': ref('SessionUser'), 'level?': ref('LevelAchieved'),
      'network?': ref('NetworkAchieved'), 'limits?': ref('LimitsAchieved'), 'draft?': ref('Draft'), 'damaged?': ref('Damage'),
      'policy?': object({ rules: array(object({ rule: string(), enforced: string(), 'why?': string() })) }, 'who enforces each rule'), 'workspace?': ref('Materialized'), 'skills?': ref('SkillsReport'),
      'instructions?': ref('InstructionsWritten'), 'capabilities?': ref('HarnessCapabilities'),
    }, 'what a session has got'),
  },
};
