// SPDX-License-Identifier: Apache-2.0
// What subcommands of acpd print with --json.
import { array, boolean, digest, foreign, integer, map, number, object, only, ref, string, word } from '../notation.mjs';

const problem = object({ reason: string('daemon/protocol/errors.md'), message: string('for people') }, 'why not');
const counts = object({ turns: integer('that have it'), mean: number(), p50: integer(), p95: integer(), total: integer() });
const money = object({ currency: string(), turns: integer('that have it'), mean: number(), p50: number(), p95: number(), total: number() });
const ofUnpack = (done) => ({ oneOf: [object({ done }), object({ refused: ref('UnpackProblem') }), object({ failed: ref('UnpackProblem') })] });
const archive = (what, says) => object({ digest: digest(), size: integer(), [what]: integer(says) });

export default {
  page: 'operations',
  types: {
    UnpackProblem: object({ reason: string('daemon/protocol/errors.md'), 'path?': string('the entry'), message: string('for people'), 'digest?': string(), 'limit?': integer(), 'used?': integer() }, 'why nothing was written'),
    Finding: object({ id: string(), 'subject?': string('of what'), kind: string(), level: word(['ok', 'warning', 'trouble']), message: string('for people'), 'hint?': string('what to do') }, 'what a look at one thing has found'),
    DaemonReport: object({
      version: string(), incarnation: string(), claimed: boolean(), restarts: integer('how often another program took the place of the first'), sessions: integer(), children: integer(), cgroup: string('what kills by: v2, v1, none'), limits: ref('LimitsAchieved'), 'agentUser?': string(),
      isolation: ref('Isolation'), direct: foreign('acpd-fetch'), problems: array(object({ what: string(), 'name?': string(), text: string() })),
      harnesses: array(object({ id: string(), command: string(), installed: boolean(), 'path?': string() })), mcp: ref('Hosted'),
    }, 'what a daemon says to acpd doctor'),
    RunGroup: object({
      'harness?': string(), 'model?': string(), 'configVersion?': string(), 'billingRef?': string(), 'day?': string(), turns: integer(), failed: integer(), 'tokens?': counts, 'inputTokens?': counts, 'outputTokens?': counts, 'durationMs?': counts, cost: array(money),
      'checks?': object({ turns: integer('that have a verdict'), verified: integer(), passRate: number() }), stops: map(integer(), 'turns by why they ended'), failures: map(integer(), 'turns by how they failed'),
    }, 'turns of one group'),
  },
  commands: {
    run: { says: 'How a prompt went', json: object({
      'sessionId?': string(), 'stopReason?': string(), text: string('what the agent said'), toolCalls: integer(), 'usage?': foreign('as ACP has it'), 'error?': foreign('as JSON-RPC has it'), exitCode: integer() }) },
    claim: { says: 'Nothing' },
    restart: { says: 'Nothing' },
    sessions: { says: 'The sessions of the daemon', json: object({ sessions: array(ref('Session')) }) },
    'tokens mint': { says: 'The new token', json: ref('TokenMinted') },
    'tokens list': { says: 'Tokens that hold', json: ref('Tokens') },
    'tokens revoke': { says: 'Nothing' },
    'usage verify': { says: 'What is wrong with a ledger', json: object({
      ok: boolean(), records: integer(), incarnations: integer(), 'first?': integer('the oldest record'), 'last?': integer('the newest'), 'digest?': string('SHA-256 of its line'),
      'anchored?': only(true, 'it begins after the record of --from, or has it'), 'file?': string('where it is wrong'), 'line?': integer(), 'reason?': string() }) },
    usage: { says: 'The records, one a line', lines: true, json: ref('UsageRecord') },
    stats: { says: 'Means of turns', json: object({ groups: array(ref('RunGroup')), all: ref('RunGroup') }) },
    'archive put': { says: 'The archive', json: archive('sent', 'bytes that the daemon did not have') },
    'archive have': { says: 'The archive, if the daemon has it', json: archive('have', 'bytes that the daemon has') },
    'archive get': { says: 'Nothing: the archive goes to a file or to standard output' },
    'archive list': { says: 'What the archive store holds', json: ref('Archives') },
    'archive rm': { says: 'The archive that is gone', json: object({ digest: digest(), removed: only(true) }) },
    'archive extract': { says: 'What was written', json: ofUnpack(ref('Materialized')) },
    'bundle export': { says: 'The file, if it has a name', json: object({ sessionId: string(), file: string(), bytes: integer() }) },
    'bundle import': { says: 'The session that was made of it', json: object({ sessionId: string() }) },
    'skills validate': { says: 'What is wrong with a skill', json: ofUnpack(object({ skills: array(ref('SkillState')) })) },
    'confine try': { says: 'What a command was refused', json: object({
      level: ref('LevelAchieved'), 'exitCode?': integer(), 'signal?': integer(), refused: array(object({
        call: string(), 'detail?': string(), errno: string(), count: integer(), 'why?': string(), 'rule?': string(), 'harmless?': only(true) })), 'more?': integer('refusals that are not in it') }) },
    'harness list': { says: 'Which harnesses there are', json: object({ prefix: string('where they are installed'), harnesses: array(object({
      id: string(), title: string(), command: string(), installed: boolean(), 'path?': string(), 'version?': string(), 'versionFits?': boolean('it is the pinned one'),
      'pin?': object({ package: string(), release: string(), version: string(), file: string(), sha256: string(), of: word(['file', 'package']) }), 'problem?': problem })) }) },
    'harness install': { says: 'What was installed', json: object({
      harness: string(), package: string(), release: string(), installed: boolean(), 'already?': boolean(), 'sha256?': string(), 'problem?': problem }) },
    'harness verify': { says: 'Whether harnesses are what is pinned', json: object({ harnesses: array(object({ id: string(), path: string(), verified: boolean(), sha256: string(), 'problem?': problem })) }) },
    doctor: { says: 'What of the machine and the settings is wrong', json: object({ findings: array(ref('Finding')), 'more?': integer('findings that are not in it'), 'daemon?': ref('DaemonReport'), exitCode: integer() }) },
  },
};
