// SPDX-License-Identifier: Apache-2.0
// Sessions over HTTP: the list, one, its events.
import { anyOf, anything, array, boolean, content, events, fields, foreign, header, integer, json, map, number, object, oneOf, only, query, ref, string, time, word } from '../notation.mjs';
import { STATUS } from './area_daemon.mjs';

const of = (kind, members) => ({ kind: only(kind), ...members });
const happened = (event, members = {}) => of('lifecycle', { event: only(event), ...members });
const BUDGET = { budget: string(), scope: word(['prompt', 'turn', 'session']), limit: number(), used: number() };

const TOOL_CALLED = happened('tool_called', { via: word(['mcp']), server: string(), 'tool?': string(), outcome: word(['completed', 'failed', 'cancelled', 'input_required']), 'reason?': string(), durationMs: integer(), 'more?': integer('calls without an event since the last one') });

// A row for each kind of _acpd/event, and for each name of a lifecycle event.
const OWN = [
  of('ask_approval', {
    ask: integer(), elicitation: boolean(), 'toolCallId?': string(), 'title?': string(), 'options?': array(foreign()), 'message?': string(), 'mode?': string(), 'requestedSchema?': foreign(), 'url?': string(), 'elicitationId?': string(),
    'expiresAt?': time(), 'default?': string(), 'answer?': anything('as ACP has the result'), 'by?': word(['client', 'human', 'rule', 'timeout', 'default', 'cancelled', 'withdrawn']), 'via?': string(), 'rule?': string(),
    'reason?': string(), 'leftOut?': integer(),
  }),
  of('usage', { 'usage?': ref('Usage'), 'cost?': ref('Cost'), 'source?': string() }),
  of('artifact', { artifact: ref('Artifact') }),
  of('check', { check: ref('CheckResult') }),
  happened('harness_exited', { 'exitCode?': integer(), 'signal?': integer() }), happened('closed'), happened('recording_stopped', { reason: word(['RECORD_MAX', 'NO_SPACE', 'STATE_NOT_WRITABLE']) }),
  happened('snapshot_failed', { 'turn?': integer(), reason: string(), message: string() }),
  happened('export_incomplete', { omitted: array(object({ path: string(), reason: string() })), omittedTotal: integer() }),
  happened('rule_added', { rule: string(), policy: string() }), happened('rule_forgotten', { rule: string(), 'policy?': string() }), happened('rule_refused', { 'rule?': string(), 'policy?': string(), reason: string() }),
  happened('draft_on', { draft: ref('Draft'), 'after?': word(['checks', 'tools']) }), happened('draft_off'),
  happened('draft_applied', { draft: ref('Draft'), patchDigest: string(), applied: integer() }), happened('draft_failed', { reason: string(), message: string() }),
  happened('tools_delivered', { server: string(), tools: array(string()), 'renamed?': array(object({ tool: string(), as: string() })),
    'omitted?': array(object({ tool: string(), reason: string(), message: string() })) }),
  happened('tool_dry_run', { server: string(), tool: string(), arguments: anything() }),
  TOOL_CALLED,
  happened('tool_call_lost', { server: string(), method: string(), 'tool?': string(), requestId: string() }),
  happened('text_repaired', { 'client?': integer('places in text of clients'), 'harness?': integer('places in text of the harness') }),
  happened('update_unknown', { 'update?': foreign('the update; absent: it is too large'), 'sessionUpdate?': string('its kind, where update is absent'), 'bytes?': integer('its size, where update is absent'), 'more?': integer('updates of the turn that were left out') }),
  happened('update_refused', { update: string('its kind, a list that is too long'), bytes: integer(), limitBytes: integer() }),
  happened('budget_warning', BUDGET), happened('out_of_memory', { killed: integer(), 'peakBytes?': integer(), limitBytes: integer() }),
  happened('network_blocked', { host: string(), port: integer(), reason: string() }), happened('confinement_refused', { 'call?': string(), 'detail?': string(), 'errno?': string(), 'count?': integer(), 'rule?': string(), 'more?': integer() }),
];

// Beside what every event has, at the end of a turn and in tool_called.
const LABELS = { 'billingRef?': string('of the session'), 'configVersion?': string('of the session'), 'sandboxId?': string('where it was written') };
// What every event has over HTTP.
const EVENT = {
  'seq?': integer('its number, without holes; gap and deleted have none'), ts: time(), sessionId: string(), 'turnId?': integer(), 'traceparent?': string(), 'clientRequestId?': string('requestId in _meta of the prompt'), 'attempt?': ref('Attempt'), 'final?': only(true, 'the end of the turn'),
};
const ENDED = { ...EVENT, final: only(true, 'the end of the turn'), 'key?': string(), 'usage?': foreign('as ACP has it'), 'stopDetail?': ref('StopDetail'), 'unmeasured?': ref('Unmeasured'), 'checks?': ref('Checked'), ...LABELS };
// Updates of ACP that share a kind with events of ours; the others are told by their kind.
const UPDATES = ['usage_update', 'available_commands_update', 'current_mode_update', 'config_option_update', 'session_info_update', 'notice', 'compaction_update', 'compaction_summary_chunk', 'subagent_update'];
const ofUpdate = (kinds, event) => object({ ...EVENT, kind: word(kinds), ...event }, 'an update of ACP: its other members stand beside these', { additionalProperties: true });

export default {
  page: 'delivery',
  types: {
    Status: object({
      ...STATUS, 'harnesses?': object({ live: integer(), max: integer(), waiting: integer(), starting: integer(), 'startingMs?': integer(), idleSeconds: integer(), stoppedIdle: integer(), stoppedForRoom: integer(), refused: integer() }), 'sessionMax?': integer(),
      'retention?': object({ keepSessions: string(), removedAge: integer(), removedSize: integer(), removedRoom: integer(), trimmed: integer() }),
      'usage?': object({ first: integer(), last: integer(), read: integer(), files: integer(), bytes: integer(), removedFiles: integer(), removedRecords: integer() }), sessions: array(ref('Session')),
    }),
    EventMeta: object({ acpd: ref('PromptMeta'), 'traceparent?': string() }, '_meta of an event of ours', { additionalProperties: true }),
    OwnEvent: oneOf(OWN.map((members) => object(members)), 'an event that is not of ACP'),
    Used: object({ turns: integer(), modelCalls: integer(), 'usage?': ref('Usage'), 'cost?': ref('Cost'), 'source?': string() }, 'in all turns that are over'),
    BudgetUse: object(BUDGET, 'a budget that holds now, and how much of it is used'),
    Session: object({
      sessionId: string(), harness: string(), state: word(['opening', 'open', 'busy', 'checking', 'closing', 'closed']), cwd: string(), 'title?': string(),
      seq: integer('the newest event'), 'acked?': integer('acknowledged up to this event'), turn: integer('the running turn; 0: idle'), turns: integer(), queued: integer('prompts that wait'),
      'questions?': integer('open ones'), watchers: integer(), 'pid?': integer('of the harness, while it lives'), 'startingMs?': integer('how long its harness has been starting; absent: it is not'), 'waiting?': only('harness', 'for room among the harnesses that live'),
      'model?': string('in force'), 'used?': ref('Used'), 'budgets?': array(ref('BudgetUse')),
      'imported?': boolean('it was made of a bundle'), 'damaged?': ref('Damage'), 'mcp?': ref('McpState'), 'provider?': ref('ProviderState'), 'user?': ref('SessionUser'), 'level?': ref('LevelAchieved'),
      'network?': ref('NetworkAchieved'), 'limits?': ref('LimitsAchieved'), 'draft?': ref('Draft'), updatedAt: time(),
    }, 'a session, as lists have it'),
    Sessions: object({ incarnation: string(), sessions: array(ref('Session')) }),
    Event: anyOf([
      ofUpdate(['prompt', 'message', 'thought', 'plan', 'tool_call', 'result'], { 'event?': string('the name of the update') }), ofUpdate(['usage', 'lifecycle', 'error'], { event: word(UPDATES) }),
      object({ ...ENDED, kind: only('complete'), 'stopReason?': string() }), object({ ...ENDED, kind: only('error'), error: ref('TurnError') }),
      ...[...OWN, happened('gap', { from: integer(), to: integer(), 'reason?': string() }), happened('deleted'), happened('unreadable')].map((members) => object({ ...EVENT, ...(members === TOOL_CALLED && LABELS), ...members })),
    ], 'One event of a session.'),
  },
  routes: {
    'GET /v1/sessions': { id: 'getSessions', says: 'All sessions', answers: { 200: json(ref('Sessions'), 'as of now') } },
    'GET /v1/sessions/{sessionId}': { id: 'getSession', says: 'One session', answers: { 200: json(ref('Session'), 'as of now') } },
    'GET /v1/sessions/{sessionId}/events': { id: 'getEvents', says: 'The events of a session, once or as they come',
      more: 'Lines of JSON, or server-sent events of `id: SEQ` and one `data:` line.',
      query: query('daemon/http/routes/route_events.c:fields', {
        since: 'events with a greater number', incarnation: 'the run of the daemon of that number', follow: 'whether to wait for what comes', format: 'sse follows by default',
      }),
      headers: [{ name: 'Last-Event-ID', in: 'header', description: 'with sse: goes before since', schema: { type: 'integer', minimum: 0 } }],
      answers: { 200: { description: 'the events', headers: { 'Acpd-Incarnation': header('the run of the daemon to keep with what is read') },
        content: { ...content('application/x-ndjson', ref('Event')), ...events(ref('Event')) } } } },
  },
  methods: {
    '_acpd/ack': { says: 'Events up to seq are stored: the daemon may drop them', params: fields('daemon/acp/sessions.c:ack_fields', {
      sessionId: 'the session', seq: 'the newest event that is stored', incarnation: 'the run of the daemon of that number' }), result: object({}) },
    '_acpd/status': { says: 'The state of the daemon and its sessions', params: fields('daemon/acp/methods.c:any_session_fields', { sessionId: 'only this session' }), result: ref('Status') },
  },
  sent: {
    '_acpd/status': { says: 'The state of the daemon has changed', params: ref('DaemonStatus') },
    '_acpd/gap': { says: 'Events that are not there any more', params: object({ sessionId: string(), from: integer(), to: integer(), 'reason?': word(['incarnation', 'damaged', 'trimmed']) }) },
    '_acpd/detached': { says: 'The connection does not drive the session any more', params: object({ sessionId: string(), reason: word(['taken_over', 'closed', 'deleted']) }) },
    '_acpd/resumed': { says: 'The machine was away and is back', params: object({ at: time(), gapMs: integer(), incarnation: string(), 'sandboxId?': string() }) },
    '_acpd/turn_end': { says: 'How a turn ended', params: object({
      sessionId: string(), seq: integer(), turn: integer(), 'key?': string(), 'stopReason?': string(), 'error?': ref('TurnError'), 'usage?': foreign('as ACP has it'), _meta: ref('EventMeta'),
    }) },
    '_acpd/event': { says: 'What ACP has no update for', params: object({ sessionId: string(), event: ref('OwnEvent'), _meta: ref('EventMeta') }) },
  },
};
