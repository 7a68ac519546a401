// SPDX-License-Identifier: Apache-2.0
// The daemon itself: readiness, metrics, state, its end, this description.
import { array, boolean, content, fields, foreign, header, integer, json, map, object, ref, string, text, time, word } from '../notation.mjs';

const missing = array(object({ what: string(), why: string() }));
const life = {
  state: word(['provisioning', 'ready', 'paused', 'draining']), 'busy?': boolean('work is under way; not told to a token that is limited to some sessions, as the next three'), 'idleSince?': time(),
  'work?': object({ turns: integer(), queued: integer(), questions: integer(), toolCalls: integer(), modelCalls: integer(), jobs: integer(), waiting: integer(), uploads: integer() }),
  'nextDeadline?': object({ what: string(), at: time(), 'sessionId?': string() }, 'what happens first unless something else does'),
  leaseUntil: time('until when the platform should let the sandbox live'), leaseSeconds: integer('the same from now on'),
  'draining?': object({ why: word(['signal', 'shutdown', 'restart', 'idle', 'maxLife']), until: time() }),
};
const count = integer();

export const STATUS = { incarnation: string('this run of the daemon'), ...life };

export default {
  page: 'operations',
  types: {
    Health: object({ status: word(['ok']) }),
    Isolation: object({
      level: ref('LevelAchieved', 'of a session that names none'), levels: array(object({ name: string(), whole: boolean(), missing })), 'agentUser?': string(),
      noNewPrivileges: boolean(), daemonUser: boolean('agents run as the daemon\'s own user'), sharedUser: boolean('all sessions run as one user'),
      'agentUids?': object({ first: count, last: count, free: count, unnamed: count, 'problem?': string() }), networkNamespaces: boolean(), 'networkMissing?': string(),
      waysToRoot: array(object({ kind: string(), text: string() })), 'unread?': boolean('some file could not be read: there may be more'),
    }, 'what separates agents from root and from each other'),
    Ready: object({
      ready: boolean(), notReady: array(object({ reason: string(), message: string() })), harnesses: ref('Installed'), version: string(), incarnation: string(),
      sessions: count, connections: count, children: count, cgroup: string('what kills by: v2, v1, none'), limits: ref('LimitsAchieved'), isolation: ref('Isolation'),
      problems: array(object({ what: string(), 'name?': string(), text: string() }), 'damage that was found'),
    }),
    Features: map(boolean(), 'what this daemon can do, by name'),
    Limits: object({
      messageBytes: count, idChars: count, backlogBytes: count, queuedPrompts: count, sessions: count, harnesses: count, harnessIdleSeconds: count,
    }, 'bounds of this daemon'),
    Webhook: object({
      'id?': string(), 'host?': string(), state: word(['unknown', 'gone', 'active']), pending: count, bytes: count, 'lastError?': object({ at: time(), message: string() }),
      'gap?': object({ from: count, to: count }), 'damaged?': count, 'diskError?': string(),
    }, 'a receiver of webhooks, and what waits for it'),
    Info: object({
      version: string(), incarnation: string(), 'token?': ref('OwnToken'), 'sandboxId?': string(), 'provider?': word(['e2b', 'kubernetes', 'podman', 'docker']), remote: boolean('other machines reach it'),
      'resumed?': object({ at: time(), gapMs: count }, 'the last time the machine was away'), harnesses: ref('Installed'), features: ref('Features'), limits: ref('Limits'),
      isolation: ref('Isolation'), network: object({ max: string(), modes: array(object({ mode: string(), 'wall?': string(), 'missing?': string() })) }),
      keyMemory: word(['locked', 'unlocked', 'refused']), webhooks: array(ref('Webhook')),
    }),
    DaemonStatus: object(STATUS, 'state, work, deadlines and lease'),
  },
  routes: {
    'GET /health': { id: 'getHealth', says: 'The daemon lives', answers: { 200: json(ref('Health'), 'it does') } },
    'GET /openapi.json': { id: 'getOpenapi', says: 'This description', answers: {
      200: json(foreign('an OpenAPI 3.1 document'), 'the description of this very daemon'),
      429: json(ref('Error'), 'too much was sent to clients without a token', { headers: { 'Retry-After': header('seconds') } }) } },
    'GET /ready': { id: 'getReady', says: 'Whether sessions can be served', answers: {
      200: json(ref('Ready'), 'they can'), 503: json({ anyOf: [ref('Ready'), ref('Error')] }, 'they cannot, or nobody has claimed the daemon',
        { headers: { 'Retry-After': header('while it drains') } }) } },
    'GET /metrics': { id: 'getMetrics', says: 'Metrics for Prometheus', answers: { 200: text('text/plain', 'the text format of Prometheus') } },
    'GET /v1/info': { id: 'getInfo', says: 'What somebody asks before the first session', answers: { 200: json(ref('Info'), 'versions, harnesses, features, isolation') } },
    'GET /v1/status': { id: 'getStatus', says: 'State, work, deadlines and lease', answers: { 200: json(ref('DaemonStatus'), 'as of now') } },
    'POST /v1/shutdown': { id: 'postShutdown', says: 'Ends the daemon, after it has drained',
      body: { required: false, content: content('application/json', fields('daemon/http/routes/route_life.c:shutdown_fields', { drainSeconds: 'so long turns may go on; --drain without it' })) },
      answers: { 202: json(ref('DaemonStatus'), 'it drains') } },
    'POST /v1/restart': { id: 'postRestart', says: 'Restarts the daemon in place, after it has drained',
      body: { required: false, content: content('application/json', fields('daemon/http/routes/route_life.c:shutdown_fields', { drainSeconds: 'so long turns may go on; --drain without it' })) },
      answers: { 202: json(ref('DaemonStatus'), 'it drains') } },
  },
};
