// SPDX-License-Identifier: Apache-2.0
// What several areas share: errors, confinement, artifacts, capabilities.
import { array, boolean, foreign, integer, map, number, object, oneOf, ref, string, time, word } from '../notation.mjs';

const missing = array(object({ what: string('the part'), why: string('why it is not there') }), 'what could not be had');
const bounds = { 'memoryBytes?': integer(), 'pids?': integer(), 'cpuWeight?': integer() };
const text = string();

export default {
  page: 'errors',
  parameters: {
    sessionId: { description: 'the id of a session', schema: { type: 'string' } },
    artifactId: { description: 'the id of an artifact', schema: { type: 'string' } },
    digest: { description: 'sha256: and 64 hex digits', schema: { type: 'string' } },
    approvalId: { description: 'the id of a question: SESSION:ASK', schema: { type: 'string' } },
    server: { description: 'the name of a hosted MCP server', schema: { type: 'string' } },
  },
  types: {
    Error: object({
      error: object({
        reason: string('the reason, stable: daemon/protocol/errors.md', { pattern: '^[A-Z][A-Z0-9_]*$' }), message: string('for people'),
        'field?': string('the member that is wrong'), 'scope?': string('SCOPE_REQUIRED: what a token needs for it'), 'by?': string('APPROVAL_ANSWERED: who answered'), 'via?': string('by which way'),
        'rule?': string('the rule that answered'), 'why?': string('why nobody was asked'),
      }),
    }, 'why a request was refused'),
    TurnError: object({
      class: string('a closed list: daemon/protocol/errors.md'), 'reason?': string(), 'provider?': string(), 'httpStatus?': integer(),
      'peakBytes?': integer(), 'limitBytes?': integer(), message: string(), retryable: boolean('the same prompt may succeed'), 'sameKey?': boolean('it may be sent again with its key'),
    }, 'how a turn or a model call failed'),
    Installed: array(object({ id: string(), installed: boolean() }), 'harnesses of this daemon'),
    LevelAchieved: object({ requested: word(['guarded', 'strict', 'open']), achieved: string('a level, or partial'), missing, 'log?': boolean('refused calls are told') },
      'how far a session is confined'),
    LimitsAchieved: object({ ...bounds, by: map(string(), 'what holds each of them'), 'missing?': missing }, 'limits of a session\'s processes'),
    Draft: object({
      on: boolean(), 'how?': word(['overlay', 'copy', 'reflink']), 'path?': string('where the draft is'), 'missing?': string('why it is no overlay'), 'bytes?': integer('what it takes'),
    }, 'a tree that stands for the workspace'),
    NetworkAchieved: object({
      mode: word(['on', 'off', 'allowlist', 'open']), 'allow?': array(object({ host: text, 'ports?': array(integer()) })), 'ask?': boolean(),
      achieved: string('the wall that holds it'), previews: boolean('servers of the agent can be reached from outside'),
      'leavable?': boolean('a process may leave it'), 'traffic?': array(object({ host: string(), up: integer(), down: integer() }), 'bytes that passed its proxy'),
    }, 'what a session may call'),
    ProviderState: object({
      via: word(['direct', 'tunnel', 'environment']), keyExposed: boolean('commands of the agent can read a key'), 'callerChecked?': boolean(),
    }, 'who makes the model calls'),
    SessionUser: object({ name: string(), uid: word(['own', 'shared', 'parked']), 'sharedWith?': array(text) }, 'as whom the harness runs'),
    McpState: array(object({
      name: string(), via: string('acp, http, sse, builtin, hosted, project …'), 'toolsDelivered?': array(text, 'what the harness has got'),
      'toolsRenamed?': array(object({ tool: string(), as: string() })),
      'toolsOmitted?': array(object({ tool: string(), reason: string(), message: string() }), 'what no model can be given'), 'error?': object({ reason: string(), message: string() }),
    }), 'MCP servers of the session'),
    Damage: object({ missing: integer('events that are lost'), 'unusable?': boolean('its head is lost, too') }, 'what damage has taken of a session'),
    Artifact: object({
      id: string(), name: string(), type: string('a media type'), size: integer(), sha256: string('sha256:…'), 'turn?': integer(), source: string('diff, client, tool …'),
      ts: time(), timeMs: integer(),
    }, 'a file of a session'),
    Usage: object({
      'inputTokens?': integer('with what was read from or written to a cache'), 'outputTokens?': integer('with reasoning'), 'cacheReadTokens?': integer(),
      'cacheWriteTokens?': integer(), 'cacheWrite5mTokens?': integer(), 'cacheWrite1hTokens?': integer(), 'reasoningTokens?': integer(), 'totalTokens?': integer(),
    }, 'tokens, as far as they were told'),
    Cost: object({ amount: number(), currency: string(), source: string('harness, provider, prices or sum') }),
    Unmeasured: array(word(['steps', 'tokens', 'cost']), 'budgets that nothing measured in the turn, which they did not bound'),
    StopDetail: object({ budget: string(), scope: word(['prompt', 'turn', 'session']), limit: number(), used: number() }, 'the budget that ended a turn'),
    Attempt: object({ n: integer(), of: integer(), first: integer('the turn of the first attempt'), 'retried?': boolean('another one follows') }, 'which attempt at its prompt a turn is'),
    HarnessCapabilities: object({
      promptCapabilities: foreign('as ACP has it'), mcpCapabilities: foreign('as ACP has it'), sessionCapabilities: foreign('as ACP has it'),
    }, 'what the harness of the session can do'),
    CheckResult: object({
      id: string(), kind: word(['command', 'tests', 'paths', 'diffSize']), ok: boolean(), durationMs: integer(), 'exitCode?': integer(), 'signal?': string(),
      'stdoutTail?': text, 'stderrTail?': text, 'outputTail?': text, 'stdoutTruncated?': integer(), 'stderrTruncated?': integer(), 'outputTruncated?': integer(),
      'leftBehind?': integer('processes'), 'tests?': object({
        'passed?': integer(), 'failed?': integer(), 'skipped?': integer(), 'failures?': array(object({ 'suite?': text, name: text, 'message?': text })), 'moreFailures?': integer(), 'partial?': boolean(),
      }),
      'offending?': array(text), 'offendingTotal?': integer(), 'counts?': object({ files: integer(), insertions: integer(), deletions: integer(), lines: integer() }),
      'changed?': oneOf([object({ paths: array(text), total: integer() }), { type: 'null' }], 'what it changed; null: not known'),
      'error?': object({ reason: text, message: text }),
    }, 'how a check ended'),
    Checked: object({ verdict: word(['verified', 'failed', 'unchecked']), results: array(ref('CheckResult')) }, 'what checks say'),
  },
};
