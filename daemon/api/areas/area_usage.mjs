// SPDX-License-Identifier: Apache-2.0
// The usage ledger.
import { array, boolean, byKind, content, fields, header, integer, map, object, only, orNull, query, ref, string, time, word } from '../notation.mjs';

const who = {
  v: only(1), n: integer('the number of the record'), incarnation: string('the run of the daemon that wrote it'), prevDigest: orNull(string('SHA-256 of the line before')),
};
const session = { sessionId: string(), harness: string(), 'harnessVersion?': string(), 'sandboxId?': string(), 'model?': string(), 'provider?': string() };
const trace = { 'clientRequestId?': string('requestId in _meta of the prompt'), 'traceId?': string(), 'parentSpanId?': string() };
const turnOf = { 'key?': string(), 'turnIncarnation?': string() };
const numbers = { 'usage?': ref('Usage'), 'sources?': map(string(), 'where each number stood'), 'cost?': ref('Cost'), 'modelCalls?': integer() };
const last = { 'Acpd-Last': header('the newest record, whatever the filter', { type: 'integer' }), 'Acpd-First': header('the oldest that is left', { type: 'integer' }) };

export default {
  page: 'usage',
  types: {
    UsagePage: object({ records: array(ref('UsageRecord')), last: integer(), more: boolean('ask again from last'), 'first?': integer('the oldest that is left') }),
    TurnRecord: object({
      ...who, type: only('turn'), ...session, turn: integer(), ...turnOf, tsStart: time(), tsEnd: time(), 'durationMs?': integer(), 'ttftMs?': integer(), 'stopReason?': string(), 'error?': ref('TurnError'),
      'stopDetail?': ref('StopDetail'), 'checks?': ref('Checked'), 'attempt?': ref('Attempt'), ...numbers, 'reported?': object(numbers, 'what the harness says of calls that passed the daemon'),
      toolCalls: map(object({ ok: integer(), err: integer(), ms: integer() })), 'process?': object({ 'cpuMs?': integer(), 'peakRssBytes?': integer(), source: word(['cgroup', 'procfs', 'rusage']) }),
      ...trace, 'billingRef?': string(), 'configVersion?': string(), cumulative: object({ turns: integer(), modelCalls: integer(), 'usage?': ref('Usage'), 'cost?': ref('Cost'), 'source?': string() }),
    }, 'what a turn used'),
    ModelCallRecord: object({
      ...who, type: only('model_call'), ...session, 'turn?': integer(), ...turnOf, 'call?': integer('which record of the turn\'s calls'), ts: time(), 'responseId?': string(), 'finishReason?': string(),
      'usage?': ref('Usage'), 'cost?': ref('Cost'), 'source?': string(), 'callId?': string(), 'attempt?': integer(), 'via?': word(['direct', 'tunnel', 'environment']), 'modelAsked?': string(),
      'serviceTier?': string(), 'requestId?': string(), 'status?': integer(), 'complete?': boolean(), 'cancelled?': only(true), 'error?': ref('TurnError'), 'auxiliary?': only(true),
      'bytes?': object({ sent: integer(), received: integer() }), 'ttfbMs?': integer(), 'durationMs?': integer(), ...trace,
    }, 'what a model call used'),
    UsageRecord: byKind('type', { turn: 'TurnRecord', model_call: 'ModelCallRecord' }, 'a line of the ledger'),
    UsageRecords: object({ records: array(ref('UsageRecord')), last: integer('the newest record') }),
  },
  routes: {
    'GET /v1/usage': { id: 'getUsage', says: 'Records of the usage ledger',
      query: query('daemon/http/routes/route_usage.c:fields', { since: 'records with a greater number; those up to it have arrived', session: 'only of this session', format: 'ndjson is the default' }),
      answers: { 200: { description: 'the records', headers: last, content: { ...content('application/x-ndjson', ref('UsageRecord')), ...content('application/json', ref('UsageRecords')) } } } },
  },
  methods: {
    '_acpd/usage': { says: 'Records of the usage ledger', params: fields('daemon/acp/acp_daemon.c:usage_fields', { sessionId: 'only of this session', since: 'records with a greater number; those up to it have arrived' }), result: ref('UsagePage') },
  },
};
