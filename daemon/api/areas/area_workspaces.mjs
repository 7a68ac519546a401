// SPDX-License-Identifier: Apache-2.0
// Workspaces and artifacts.
import { anyOf, array, boolean, bytes, digest, fields, foreign, header, integer, json, map, object, query, ref, string, time, word } from '../notation.mjs';

const RANGE = { name: 'Range', in: 'header', description: 'one range of bytes', schema: { type: 'string' } };
const FILE = { 'Accept-Ranges': header('bytes'), 'Content-Range': header('of a part') };

const MATERIALIZED = {
  written: integer(), removed: integer(), unchanged: integer(), skipped: array(object({ path: string(), reason: string() })), skippedTotal: integer(), manifestDigest: string(), entries: integer(), bytes: integer(), 'stripped?': integer(),
};

export default {
  page: 'workspaces',
  types: {
    Artifacts: object({ artifacts: array(ref('Artifact')) }),
    Workspace: fields('daemon/workspace/request.c:workspace_fields', {
      archive: 'the digest of an archive', mode: { enum: ['replace', 'merge'], description: 'what becomes of what is there' }, into: 'a directory below the workspace', strip: anyOf([integer(), word(['auto'])], 'leading directories to leave out'), links: { enum: ['refuse', 'skip', 'keep-inside'], description: 'what becomes of symbolic links that lead out' },
      ephemeral: 'a workspace that goes with the session', removeOnClose: 'it is removed when the session is closed', chown: 'it becomes the agent\'s', baseline: boolean('diffs can be made against it'),
    }, { description: 'what the workspace is to hold' }),
    Skill: fields('daemon/workspace/request.c:skill_fields', { archive: 'the digest of an archive', builtin: 'the name of one that the image has', path: 'a directory' }),
    Text: fields('daemon/workspace/request.c:text_fields', { text: 'the text', overwrite: 'a file that is there is replaced' }),
    HarnessFile: fields('daemon/workspace/request.c:file_fields', { path: 'in the home', text: 'its text', base64: 'or its bytes', executable: 'it may be run', overwrite: 'a file that is there is replaced' }),
    Materialized: object(MATERIALIZED, 'what was written'),
    SkillsReport: object({ ...MATERIALIZED, skills: array(ref('SkillState')) }),
    SkillState: object({
      'directory?': string(), 'installedAs?': string(), valid: boolean(), usable: boolean(), 'name?': string(), 'description?': string(), 'files?': integer(), 'bytes?': integer(), 'findings?': array(foreign()), 'moreFindings?': integer(),
    }),
    InstructionsWritten: object({ path: string(), in: word(['workspace', 'home']) }),
    Diff: object({
      'patch?': string('a git patch'), 'artifact?': ref('Artifact', 'where it is, if it is long'), files: integer(), insertions: integer(), deletions: integer(), omitted: array(object({ path: string(), reason: string() })), omittedTotal: integer(),
      'state?': string('a digest of all that differs'), 'patchDigest?': string(), 'changes?': array(object({ path: string(), 'from?': ref('DiffEntry'), 'to?': ref('DiffEntry') })), 'changesTotal?': integer(), 'bytes?': integer(), 'conflicts?': array(string()), 'conflictsTotal?': integer(),
    }, 'what has changed; from changes on: of a draft'),
    DiffEntry: object({ type: word(['file', 'directory', 'link']), 'size?': integer(), 'digest?': string(), mode: string(), 'to?': string() }),
  },
  routes: {
    'GET /v1/sessions/{sessionId}/workspace': { id: 'getWorkspace', says: 'The workspace as an archive',
      query: query('daemon/http/routes/route_export.c:fields', {
        format: 'tar.gz is the default', ignore: 'gitignore leaves out what .gitignore names', paths: 'patterns of what to take', root: 'a directory of the workspace to begin at',
      }),
      answers: { 200: bytes(['application/x-tar', 'application/zip'], 'the archive') } },
    'GET /v1/sessions/{sessionId}/artifacts': { id: 'getArtifacts', says: 'The artifacts of a session', answers: { 200: json(ref('Artifacts'), 'oldest first') } },
    'GET /v1/sessions/{sessionId}/artifacts/{artifactId}': { id: 'getArtifact', says: 'The bytes of an artifact', headers: [RANGE],
      answers: { 200: bytes('*/*', 'all of it', { headers: FILE }), 206: bytes('*/*', 'a part of it', { headers: FILE }) } },
  },
  methods: {
    '_acpd/workspace/materialize': { says: 'Brings the workspace to what is given', params: fields('daemon/acp/workspace.c:materialize_fields', {
      sessionId: 'the session', workspace: ref('Workspace'), instructions: anyOf([string(), ref('Text')], 'instructions for the agent'), harnessFiles: { items: ref('HarnessFile') } }),
    result: object({ 'workspace?': ref('Materialized'), 'instructions?': ref('InstructionsWritten'), 'skills?': ref('SkillsReport') }) },
    '_acpd/workspace/diff': { says: 'What has changed', params: fields('daemon/acp/workspace.c:diff_fields', { sessionId: 'the session', since: anyOf([word(['baseline', 'turn', 'draft']), integer()], 'since when: the baseline, or a turn') }), result: ref('Diff') },
    '_acpd/workspace/apply': { says: 'Applies the draft', params: fields('daemon/acp/workspace.c:apply_fields', { sessionId: 'the session', patchDigest: 'of the diff that was looked at', force: { items: string(), description: 'conflicts that are applied all the same' } }),
      result: object({ draft: ref('Draft'), patchDigest: string(), applied: integer() }) },
    '_acpd/session/draft': { says: 'Begins or ends a draft', params: fields('daemon/acp/workspace.c:draft_fields', { sessionId: 'the session', on: 'whether there is one', discard: 'what it has changed is thrown away' }), result: object({ draft: ref('Draft') }) },
    '_acpd/check': { says: 'Runs checks now', params: fields('daemon/acp/prompt.c:check_fields', { sessionId: 'the session', checks: { items: ref('Check'), description: 'those of the session without it' } }), result: ref('Checked') },
    '_acpd/skills/install': { says: 'Adds skills', params: fields('daemon/acp/workspace.c:install_fields', { sessionId: 'the session', skills: { items: ref('Skill') } }), result: object({ skills: ref('SkillsReport') }) },
    '_acpd/skills/remove': { says: 'Removes skills', params: fields('daemon/acp/workspace.c:remove_fields', { sessionId: 'the session', names: { items: string() } }), result: object({ skills: ref('SkillsReport') }) },
    '_acpd/skills/validate': { says: 'Says what is wrong with skills', params: fields('daemon/acp/workspace.c:install_fields', { sessionId: 'the session', skills: { items: ref('Skill') } }), result: object({ skills: ref('SkillsReport') }) },
    '_acpd/skills/list': { says: 'The skills of a session', params: fields('daemon/acp/methods.c:session_fields', { sessionId: 'the session' }), result: object({ skills: array(ref('SkillState')) }) },
    '_acpd/artifact/put': { says: 'Adds an artifact', params: fields('daemon/acp/workspace.c:put_fields', { sessionId: 'the session', name: 'its name', type: 'its media type', text: 'its text', base64: 'or its bytes' }), result: object({ artifact: ref('Artifact') }) },
    '_acpd/artifact/list': { says: 'The artifacts of a session', params: fields('daemon/acp/methods.c:session_fields', { sessionId: 'the session' }), result: ref('Artifacts') },
    '_acpd/artifact/get': { says: 'The bytes of an artifact', params: fields('daemon/acp/workspace.c:get_fields', { sessionId: 'the session', id: 'the artifact' }), result: object({ artifact: ref('Artifact'), 'text?': string(), 'base64?': string() }) },
    '_acpd/harness/list': { says: 'Which harnesses there are', params: fields('daemon/acp/methods.c:any_session_fields', { sessionId: 'for this session' }), result: object({ harnesses: array(object({
      id: string(), title: string(), 'command?': string(), installed: boolean(), 'path?': string(), 'version?': string('as the program says it'), 'versionFits?': boolean(),
      'pin?': object({ package: string(), release: string(), version: string(), file: string(), sha256: string(), of: word(['package', 'file']) }),
      'problem?': object({ reason: string(), message: string() }) })) }) },
  },
};
