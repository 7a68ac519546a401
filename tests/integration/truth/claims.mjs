// SPDX-License-Identifier: Apache-2.0
// Who holds each claim of an answer against the fact: [file below tests/, title of its test], one for each state where no test has both.
// OWN: a row of truth.test.mjs, by its title.

export const OWN = 'integration/truth/truth.test.mjs';
const WORK = 'integration/truth/work.test.mjs';

const LEVEL = 'integration/session/level.test.mjs', HOOKS = 'integration/outbox/webhooks.test.mjs', CHECKS = 'integration/session/check/workspace.test.mjs';
const HARNESS = 'integration/harnesses/harness-command.test.mjs', SKILLS = 'integration/workspace/skills.test.mjs';
const METER = 'integration/model/metering.test.mjs', ANSWERED = 'integration/session/approval/who-answered.test.mjs';
const OFF = 'integration/session/network/network-off.test.mjs', ALLOW = 'integration/session/network/network-allowlist.test.mjs';
const LIMITS = 'integration/proc/limits.test.mjs', INFO = 'integration/http/info.test.mjs', DIFF = 'integration/workspace/workspace-diff.test.mjs';
const DRAIN = 'integration/lifecycle/drain.test.mjs', ROOT = 'integration/proc/to-root.test.mjs', OUT = 'integration/session/approval/out-of-band.test.mjs';

const installed = [[OWN, 'installed: the program can be started']];
const pins = [[HARNESS, 'the real programs: path, version as they say it, and the pins are those of the lock and of the image'],
  [HARNESS, 'a program that hangs, floods, fails or lies about its version is said to; another does not wait for it longer than told']];
const install = [[HARNESS, 'install from a package that npm packs: all may read it whatever the umask, and it is the program that is found']];
const busy = [[OWN, 'busy: a turn runs']];
const kinds = [[OUT, 'an elicitation, with its content'], [ANSWERED, 'a question that the next driver cannot be shown']];
const verify = [['integration/usage/usage-files.test.mjs', 'with --keep-usage, oldest first, as far as a client has read: counted, logged, anchored, also after a restart']];
const skills = [[SKILLS, 'what is only wrong is told and installed'], [SKILLS, 'exit codes and findings']];
const log = [['integration/proc/confine-log.test.mjs', 'the built-in tools are watched, too; who did not ask has no events']];
const isolation = [[OWN, 'isolation: as whom agents run, and whether they may become more']];
const hook = [[HOOKS, 'each type of event, with what its page says, and no secret']];
const calls = [[METER, 'side calls are marked; counting tokens and listing models are no calls']];

// Every yes-or-no member of what the daemon says (api-claims.mjs).
export const BOOLEANS = {
  'AcpdHarnessListResult.harnesses.installed': installed,
  'AcpdHarnessListResult.harnesses.versionFits': [[HARNESS, '_acpd/harness/list: a program is run once for all who ask, again only when it has changed, and nobody else waits for it']],
  'Archives.archives.baked': [['integration/archive/archives.test.mjs', 'archives of the image are there, and stay'], ['integration/archive/archives-damaged.test.mjs', 'one that belongs to the image: it is not used, and an upload takes its place']],
  'Archives.archives.pinned': [[OWN, 'pinned: a session needs the archive']],
  'Attempt.retried': [['integration/session/turn/attempts.test.mjs', 'follows what failed: the harness is told, mends it, and the prompt is verified']],
  'CheckResult.ok': [['integration/session/check/commands.test.mjs', 'passes, fails, and what it said is told']],
  'CheckResult.tests.partial': [[CHECKS, 'counts and failures; all have to end, and one to pass']],
  'CommandArchiveRm.removed': [[OWN, 'pinned: a session needs the archive']],
  'CommandConfineTry.refused.harmless': [['integration/cli/confine-try.test.mjs', 'the code of the command is kept where nothing is refused, and where what is needs no rule']],
  'CommandHarnessInstall.already': install,
  'CommandHarnessInstall.installed': install,
  'CommandHarnessList.harnesses.installed': installed,
  'CommandHarnessList.harnesses.versionFits': pins,
  'CommandHarnessVerify.harnesses.verified': [[HARNESS, 'verify: the real programs are those of the pins; another one is exit code 3, and is named']],
  'CommandUsageVerify.anchored': verify,
  'CommandUsageVerify.ok': verify,
  'DaemonReport.claimed': [['integration/cli/cli.test.mjs', 'acpd doctor reports the daemon, the harnesses and what is missing']],
  'DaemonReport.harnesses.installed': installed,
  'DaemonStatus.busy': busy,
  'Damage.unusable': [['integration/robust/damage.test.mjs', 'what it was made with is lost: listed and readable, refused with SESSION_DAMAGED, can be deleted']],
  'Deleted.deleted': [[OWN, 'pinned: a session needs the archive']],
  'Draft.on': [[OWN, 'draft.on: what the agent writes is not in the workspace']],
  'Event.elicitation': kinds,
  'Event.final': [['integration/http/http-events.test.mjs', 'every kind, in order, with seq, ts, sessionId, turnId and traceparent']],
  'Info.remote': [[INFO, 'remote: the daemon listens for other machines'], [INFO, 'kubernetes, by its variable']],
  'Installed.installed': installed,
  'Isolation.daemonUser': isolation,
  'Isolation.levels.whole': [[INFO, 'levels are told as a session then has them, or is refused']],
  'Isolation.networkNamespaces': [[OFF, 'where no namespace can be made it is refused, not announced, and told by doctor'], [ROOT, '/ready and doctor say that they are open']],
  'Isolation.noNewPrivileges': isolation,
  'Isolation.sharedUser': isolation,
  'Isolation.unread': [['unit/proc/test_root_access.c', 'unread']],
  'LevelAchieved.log': log,
  'LevelRequest.atLeast': [[LEVEL, 'who names one gets all of it, or is refused with what is missing'], [LEVEL, 'atLeast: false takes what there is; a session keeps it, a fork of words too; load changes it']],
  'LevelRequest.log': log,
  'ModelCallRecord.auxiliary': calls,
  'ModelCallRecord.cancelled': [[METER, 'a turn that is cancelled has what the call told until then'], [METER, 'the harness goes after the last number: nothing is missing']],
  'ModelCallRecord.complete': [[METER, 'a turn that is cancelled has what the call told until then'], [METER, 'the harness goes after the last number: nothing is missing']],
  'Network.ask': [[ALLOW, 'a yes of the driver opens a host for the session; a no keeps it shut']],
  'NetworkAchieved.ask': [[ALLOW, 'a yes of the driver opens a host for the session; a no keeps it shut']],
  'NetworkAchieved.leavable': [[OFF, 'its processes cannot trace those of another session, as those of an open one can']],
  'NetworkAchieved.previews': [[OFF, 'a command reaches the model, and nothing outside'], [OFF, 'it is the same one as long as the session is open, and gone after']],
  'OwnEvent.elicitation': kinds,
  'ProviderState.callerChecked': [['integration/model/reach.test.mjs', 'another user with the right key is refused and counted; the session\\\'s own is not'],
    ['integration/model/reach.test.mjs', 'where the kernel is not to be asked the key alone decides, and the answer says so']],
  'ProviderState.keyExposed': [[OWN, 'keyExposed: a process of the agent has the key']],
  'Ready.ready': [['integration/draft/draft-crash.test.mjs', '/ready is 503 until what a killed apply left has been recovered'], ['integration/robust/ready.test.mjs', 'NO_SPACE: the disk of the state directory is full'],
    ['integration/robust/ready.test.mjs', 'STATE_NOT_WRITABLE: the state directory has become read-only']],
  'SentAcpdModelBodyParams.last': [['integration/model/model-calls.test.mjs', 'reaches the client whole: headers of the list, the body byte for byte, in pieces within the window']],
  'SentMcpMessageMeta.reissued': [['mcp/relay.test.mjs', 'a call in flight is given once more to the next driver, under the same id: ${JSON.stringify(annotations)}']],
  'Session.imported': [['integration/bundle/import.test.mjs', 'takes no prompt and nothing else that would change it, and is not imported twice']],
  'SessionAnswer.observe': [['integration/access/observe.test.mjs', 'one connection may observe first and drive then, and the other way round']],
  'SkillState.usable': skills,
  'SkillState.valid': skills,
  'Status.busy': busy,
  'TurnError.retryable': [[OWN, 'retryable: the same prompt sent again'], ['unit/session/test_turn_end.c', 'prompt_not_passed']],
  'TurnError.sameKey': [[DRAIN, 'a prompt that was cut off may be sent again with its key, and then has its own result, also for the next daemon']],
  'UsagePage.more': [[OWN, 'more: records follow']],
  'WebhookArtifactCreated.data.truncated': hook,
  'WebhookBudgetWarning.data.truncated': hook,
  'WebhookCheckFailed.data.truncated': hook,
  'WebhookDraftReady.data.truncated': hook,
  'WebhookQuestionOpen.data.elicitation': hook,
  'WebhookQuestionOpen.data.truncated': hook,
  'WebhookSessionBroken.data.truncated': hook,
  'WebhookTurnEnded.data.checks.results.ok': hook,
  'WebhookTurnEnded.data.truncated': hook,
};

// What is claimed by words, lists and times.
export const OTHERS = {
  'Approval.expiresAt': [['integration/session/approval/time-outs.test.mjs', 'the question is rejected in time, withdrawn from the driver, and its answer after that counts for nothing']],
  'Diff.omitted': [[DIFF, 'of more files than a baseline may have, it has those that are not ignored']],
  'Event.by': [[ANSWERED, 'the driver, with what it chose'], [ANSWERED, 'a human, if the client says so; anything else that it says is the client'],
    [ANSWERED, 'nobody in time; the turn that is cancelled; the session that is closed']],
  'Info.keyMemory': [['integration/model/direct.test.mjs', 'with --unlocked-keys calls are made, and it is told'],
    ['integration/model/direct.test.mjs', 'the key is in no environment, argument, file or log, and gone from the memory of both when the session is deleted']],
  'LevelAchieved.achieved': [[LEVEL, 'nobody names one: guarded, as far as can be had, and what is missing is said'], [LEVEL, 'guarded holds for the harness, its commands and the built-in tools; open is without']],
  'LimitsAchieved.by': [[LIMITS, 'what a client asks for is what the kernel has; a load changes it at once, beneath a running turn too'], [LIMITS, 'where no cgroup can be had that is said, of each limit with a reason']],
  'Materialized.skipped': [['integration/workspace/workspace.test.mjs', 'a directory with files of others: they stay, what is there already is told']],
  'McpState.toolsDelivered': [['harness/scenarios/tools.mjs', 'toolsDelivered']],
  'McpState.toolsOmitted': [['harness/scenarios/tools.mjs', 'toolsOmitted']],
  'NetworkAchieved.achieved': [[ALLOW, 'what is listed is reached through the proxy, and nothing beside it'], [OFF, 'a command reaches the model, and nothing outside']],
  'NetworkAchieved.mode': [[OFF, 'a command reaches the model, and nothing outside'], [INFO, 'modes of the network are told with the wall that a session then has']],
  'PromptMeta.configVersion': [[OWN, 'configVersion: as the session was given it, in the webhook of each turn']],
  'PromptMeta.unmeasured': [['integration/usage/budgets.test.mjs', 'what nobody reports bounds nothing, and the end of the turn names it']],
  'SessionAnswer.policy.rules.enforced': [['harness/scenarios/rules.mjs', 'enforced']],
  'SessionUser.uid': isolation,
};

// What happens where nobody looks: work of the daemon that its pages speak of, and no answer tells.
export const WORKED = [[WORK, 'a delivery that is cancelled while it is written changes nothing'], [WORK, 'a recovery is outside of the limits of its session'],
  [WORK, 'a copy of the sandbox has forgotten the receivers of the claim, also after a restart in place'],
  ['integration/lifecycle/restart-in-place.test.mjs', 'an unclaimed daemon stays unclaimed; told to end while it drains, it ends']];
