// SPDX-License-Identifier: Apache-2.0
// list.mjs - the faults of run.mjs: as people make them, and such that users or safety pay for them. At most one in a file.
//
// file has the text from exactly once, and to stands in its place. test: a test file, or the name of a unit test. why: the fault.

const integration = (name) => `tests/integration/${name}.test.mjs`;

export const MUTANTS = [
  // --- access and listeners ---
  {
    id: 'access-tokens', file: 'daemon/access/tokens.c', test: 'test_tokens',
    why: 'a revoked token stays in the file and is valid again after a restart',
    from: '\t\tr = update_file(t);\n', to: '\t\tr = 0;\n',
  },
  {
    id: 'access-grant', file: 'daemon/access/grant.c', test: integration('access/scopes'),
    why: 'a token for some sessions may do what concerns all of them',
    from: 'if (s != SESSIONS_ALL || !grant_limited(g))', to: 'if (s != SESSIONS_ALL || g)',
  },
  {
    id: 'net-admission', file: 'daemon/net/claim/admission.c', test: integration('net/claim-life'),
    why: 'a token file that its group can read is accepted',
    from: 'S_ISREG(sb.st_mode) && (sb.st_mode & 077)', to: 'S_ISREG(sb.st_mode) && (sb.st_mode & 07)',
  },
  {
    id: 'net-upgrade', file: 'daemon/net/upgrade.c', test: integration('access/scopes'),
    why: 'the scope is not checked when a WebSocket is opened',
    from: '\t\tr = check_scope(wsi);\n', to: '\t\tr = 0;\n',
  },
  {
    id: 'net-body', file: 'daemon/net/body.c', test: integration('access/rotation'),
    why: 'a request is carried out although its token was revoked before its answer',
    from: '\tif (body_is_over(p))\n\t\treturn -1;\n\thttp_sink_answer(p->sink, &r);', to: '\thttp_sink_answer(p->sink, &r);',
  },
  {
    id: 'http-mcp-sessions', file: 'daemon/http/mcp/mcp_sessions.c', test: integration('tools/mcp-http'),
    why: 'an MCP session can be used with another token than the one that opened it',
    from: 'if (s->backend == b && s->hold.grant == g && slice_is(id, s->id))', to: 'if (s->backend == b && slice_is(id, s->id))',
  },
  // --- ACP, AG-UI, JSON-RPC ---
  {
    id: 'acp-prompt', file: 'daemon/acp/prompt.c', test: integration('acp/prompt-meta'),
    why: 'the harness gets the _meta.acpd that is for the daemon alone',
    from: '\tjw_members(&w, meta, "acpd");', to: '\tjw_members(&w, meta, NULL);',
  },
  {
    id: 'rpc-pending', file: 'daemon/rpc/rpc.c', test: 'test_rpc_calls',
    why: 'one call more than the limit is open',
    from: 'if (t->count >= RPC_PENDING_MAX)', to: 'if (t->count > RPC_PENDING_MAX)',
  },
  {
    id: 'agui-end', file: 'daemon/agui/run_frames.c', test: integration('agui/agui'),
    why: 'the end of a run does not say which budget stopped it',
    from: '\tjw_raw(&w, "stopDetail", jobj_get(own, "stopDetail").raw);\n', to: '',
  },
  // --- sessions ---
  {
    id: 'session-upcall', file: 'daemon/session/parts/mcp/upcall.c', test: 'tests/mcp/relay.test.mjs',
    why: 'a destructive tool is called again after a reconnect',
    from: 'if (!c->sent || (c->sent == 1 && c->repeatable))', to: 'if (!c->sent || c->sent == 1)',
  },
  {
    id: 'session-restored', file: 'daemon/cli/serve/restored.c', test: integration('robust/restore-copy'),
    why: 'a copied sandbox keeps its provider keys',
    from: '\tstore_forget_keys(d->store);\n', to: '',
  },
  {
    id: 'session-turn-end', file: 'daemon/session/core/turn/turn_end.c', test: 'test_turn_end',
    why: 'a turn succeeds although its usage record could not be written',
    from: '\tif (PARTS_FIRST(turn_record, s, t) < 0 && !t->end.failed)', to: '\tif (PARTS_FIRST(turn_record, s, t) < 0 && t->end.failed)',
  },
  {
    id: 'session-turn-budget', file: 'daemon/session/parts/budget/turn_budget.c', test: integration('usage/tool-call-budgets'),
    why: 'a prompt\'s budget begins anew with each attempt',
    from: '\t\tspending_add(&turn_budget_of(t)->of_prompt->before, &used);', to: '\t\t(void)used;',
  },
  {
    id: 'session-keyed-result', file: 'daemon/session/core/turn/keyed_result.c', test: integration('lifecycle/drain'),
    why: 'a prompt that a shutdown cut off is answered by its failure when it is sent again',
    from: 'if (!k || (!k->result && k->error.same_key))', to: 'if (!k)',
  },
  {
    id: 'session-served-calls', file: 'daemon/session/parts/budget/served_calls.c', test: integration('usage/tool-call-budgets'),
    why: 'tool calls from outside go beyond the budget',
    from: 'return left > 0 ? begin_outside(s, t) : NULL;', to: 'return begin_outside(s, t);',
  },
  {
    id: 'session-approvals', file: 'daemon/session/parts/approval/approvals.c', test: integration('access/tokens'),
    why: 'a token that is limited to some sessions lists the questions of all',
    from: '\t\t    grant_sees(q->grant, s->id))', to: '\t\t    s->id)',
  },
  {
    id: 'session-mask-file', file: 'daemon/session/core/redact/session_mask.c', test: integration('session/secrets/secrets'),
    why: 'a secret that two pieces of a patch share is shown, or bytes there are lost',
    from: 'buf_consume(&in, n ? tail : buf_len(&in));', to: 'buf_consume(&in, buf_len(&in));',
  },
  {
    id: 'session-emit', file: 'daemon/session/core/log/emit.c', test: integration('session/secrets/secrets'),
    why: 'events of the daemon\'s own are not redacted',
    from: 'struct slice known = session_mask_json(s, data, true, event_fields_of(kind), &hidden);', to: 'struct slice known = data;',
  },
  {
    id: 'session-evlog-write', file: 'daemon/session/core/log/evlog_write.c', test: 'test_evlog',
    why: 'events that had no space in the journal count as written',
    from: 'l->flushed = l->hole ? l->hole - 1 : l->last;', to: 'l->flushed = l->last;',
  },
  {
    id: 'session-import', file: 'daemon/session/parts/bundle/bundle_import.c', test: integration('bundle/import'),
    why: 'a bundle\'s session id that is no such id becomes the name of files',
    from: 'id[5 + strspn(id + 5, "0123456789abcdef")] == \'\\0\';', to: 'id[5];',
  },
  {
    id: 'session-fork', file: 'daemon/session/core/life/session_fork.c', test: integration('session/secrets/secrets'),
    why: 'a fork shows the secrets that the original has learnt',
    from: '\tPARTS_CALL(inherit, s, from);\n', to: '',
  },
  {
    id: 'session-artifacts', file: 'daemon/session/parts/workspace/artifact_store.c', test: integration('session/workspace/artifacts'),
    why: 'an artifact is lost if a crash tore the line before its own',
    from: 'not to be part of it */\n\tbuf_putc(&b, \'\\n\');', to: 'not to be part of it */',
  },
  {
    id: 'session-call-limits', file: 'daemon/session/parts/model/call_limits.c', test: integration('model/model-limits'),
    why: 'a list of fallback models in a call goes around the models that are allowed',
    from: 'return r->model && may_use(s, r->model) && may_use_list(s, jobj_get(r->body, "models"));', to: 'return r->model && may_use(s, r->model);',
  },
  {
    id: 'session-rules', file: 'daemon/session/parts/rules/rule_judge.c', test: 'test_rules',
    why: 'a wider request is allowed by a rule that was made for the narrow one',
    from: 'if (w->from->wide || !request_is_known(r))', to: 'if (!request_is_known(r))',
  },
  {
    id: 'session-removal', file: 'daemon/session/core/removal.c', test: integration('robust/removal'),
    why: 'a removal that fails half-way leaves half a session',
    from: '\t\ttake_back(r, i, id, entry);\n', to: '',
  },
  {
    id: 'session-check-changes', file: 'daemon/session/parts/check/check_changes.c', test: integration('session/check/workspace'),
    why: 'a check passes although not all changes could be counted',
    from: '\tv->ok &= !*v->error.reason;\n', to: '',
  },
  {
    id: 'session-draft', file: 'daemon/session/parts/draft/draft_ops.c', test: integration('draft/draft'),
    why: 'a draft is discarded without a word if none of its changes can be shown',
    from: 'if (!changes && !more)', to: 'if (!changes)',
  },
  {
    id: 'session-agent-uids', file: 'daemon/session/parts/users/agent_uids.c', test: 'test_agent_uids',
    why: 'the uid that was freed last is given to another session first',
    from: '(best == size || u->freed[i] < u->freed[best])', to: '(best == size || u->freed[i] > u->freed[best])',
  },
  // --- archives, trees, patches ---
  {
    id: 'archive-upload', file: 'daemon/archive/upload.c', test: integration('archive/archives'),
    why: 'an upload is resumed at another byte than the next',
    from: 'if (up->resume && up->offset != have)', to: 'if (up->resume && up->offset > have)',
  },
  {
    id: 'archive-eviction', file: 'daemon/archive/eviction.c', test: 'test_archive_room',
    why: 'an archive that a session uses is evicted',
    from: 'if (!e->whole || e->baked || e->pins)', to: 'if (!e->whole || e->baked)',
  },
  {
    id: 'unpack-links', file: 'daemon/unpack/stage/links.c', test: integration('unpack/links'),
    why: 'a link that climbs out of the tree counts as one inside',
    from: '\telse if (!w->at)\n\t\treturn WALK_OUTWARD;\n', to: '',
  },
  {
    id: 'unpack-plan', file: 'daemon/unpack/stage/stage_plan.c', test: integration('unpack/archives-hostile'),
    why: 'the limit for all bytes of an archive is that of each file',
    from: '\tp->bytes += e->size;\n', to: '',
  },
  {
    id: 'unpack-intent-log', file: 'daemon/unpack/commit/intent_log.c', test: 'test_commit',
    why: 'a log that the agent can write names paths outside the tree',
    from: ' && !slice_is(name, "..");', to: ';',
  },
  {
    id: 'unpack-draft', file: 'daemon/unpack/draft/draft_apply.c', test: 'test_draft_apply',
    why: 'what is applied may differ from what was shown',
    from: '(r == 0 && !sha256_equal(&sent.digest, &d->will.digest)))', to: 'false)',
  },
  {
    id: 'tree-clear', file: 'daemon/tree/clear.c', test: 'test_tree',
    why: 'what is mounted in a tree is emptied with it',
    from: ' || above.st_dev != sb.st_dev) {', to: ') {',
  },
  {
    id: 'diff-place', file: 'daemon/diff/apply/apply_place.c', test: 'test_apply_any',
    why: 'a hunk that fits in several places goes into the last of them',
    from: 'return h->n == 1 ? (ssize_t)h->last : -1;', to: 'return h->n ? (ssize_t)h->last : -1;',
  },
  // --- usage, webhooks, telemetry ---
  {
    id: 'usage-retention', file: 'daemon/usage/ledger/ledger_retention.c', test: 'test_ledger_retention',
    why: 'usage records that nobody has read are removed',
    from: 'if (!l->set.n || oldest_last(l) > k->state.read)', to: 'if (!l->set.n)',
  },
  {
    id: 'usage-sync', file: 'daemon/usage/ledger/sync_job.c', test: 'test_ledger_power',
    why: 'the file before the current one is not made durable',
    from: '\tif (j->old >= 0 && fdatasync(j->old) < 0)', to: '\tif (j->old >= 0 && j->old < 0)',
  },
  {
    id: 'outbox-spool', file: 'daemon/outbox/spool.c', test: 'test_spool',
    why: 'a gap that grew while it was reported is forgotten',
    from: 's->from = to < s->to ? to + 1 : 0;', to: 's->from = 0;',
  },
  {
    id: 'otel-sender', file: 'daemon/outbox/otlp/otlp_sender.c', test: integration('otel/export'),
    why: 'a batch that its receiver will never take is sent for ever',
    from: 'otlp_batch_failed(s, !s->status || is_retryable(s->status), s->status ? text : why);', to: 'otlp_batch_failed(s, true, s->status ? text : why);',
  },
  // --- policies, confinement, processes, networks ---
  {
    id: 'policy-match', file: 'daemon/policy/shell/policy_match.c', test: 'test_policy_command',
    why: 'a denied path is reached by climbing',
    from: 'if (rule[0] == \'/\' && (s[0] == \'~\' || climbs(s)))', to: 'if (rule[0] == \'/\' && s[0] == \'~\' && !climbs(s))',
  },
  {
    id: 'confine-self', file: 'daemon/confine/confinement.c', test: 'test_confinement',
    why: 'a confined process keeps its capabilities',
    from: 'if (drop_capabilities() < 0)', to: 'if (0 && drop_capabilities() < 0)',
  },
  {
    id: 'proc-spawn', file: 'daemon/confine/confine_self.c', test: 'tests/mcp/agent-user.test.mjs',
    why: 'a harness of another user keeps the groups of the daemon',
    from: 'setgroups(0, NULL) < 0 || setresgid', to: 'setresgid',
  },
  {
    id: 'proc-owner', file: 'daemon/proc/owner.c', test: 'test_owner',
    why: 'a process of another pid namespace counts as dead',
    from: 'ns == tree_pid_namespace() && tree_start_time(pid) != start;', to: 'tree_start_time(pid) != start;',
  },
  {
    id: 'egress-rules', file: 'daemon/egress/wire/egress_rules.c', test: 'test_egress_rules',
    why: 'a session may ask for hosts although the operator does not allow that',
    from: '\tif (a->ask && !b->ask)\n\t\treturn false;\n', to: '',
  },
  {
    id: 'proxy-pass', file: 'daemon/proxy/proxy_pass.c', test: integration('egress/rows'),
    why: 'a tunnel to an allowed host speaks TLS with another one',
    from: 'if (egress_host_parse(slice_of(c->hello.name), &named) ||\n\t    strcmp(named.text, host->text) != 0)',
    to: 'if (egress_host_parse(slice_of(c->hello.name), &named))',
  },
  {
    id: 'fetch-transfer', file: 'daemon/fetch/fetch_transfer.c', test: 'test_fetcher',
    why: 'a redirect takes the request, and its key, to another host',
    from: 'CURLOPT_FOLLOWLOCATION, 0L', to: 'CURLOPT_FOLLOWLOCATION, 1L',
  },
  {
    id: 'fetcher-call', file: 'daemon/fetcher/fetch_call.c', test: 'test_fetcher_life',
    why: 'bodies of requests that have ended count towards the limit',
    from: '\tf->body_bytes -= x->body_n;\n', to: '',
  },
  // --- models ---
  {
    id: 'model-meter', file: 'daemon/model/call_meter.c', test: 'test_call_meter',
    why: 'cached tokens are no input',
    from: '\t\tinclude_count(u, COUNT_INPUT, COUNT_CACHE_READ);\n', to: '',
  },
  {
    id: 'model-conn', file: 'daemon/model/model_conn.c', test: integration('model/model-calls'),
    why: 'a model call needs no key',
    from: 'if (c->stranger || !request_has_key(c, r))', to: 'if (c->stranger)',
  },
  // --- foundations ---
  {
    id: 'base-locked', file: 'daemon/base/os/locked.c', test: 'test_locked',
    why: 'a key is not wiped when its memory is given back',
    from: '\texplicit_bzero(p, n);\n', to: '',
  },
  {
    id: 'json-jstr', file: 'daemon/json/jstr.c', test: 'test_jstr',
    why: 'a NUL in a text cuts it short',
    from: 'if ((u == 0 && !nul) || (u >= 0xdc00 && u <= 0xdfff))', to: 'if (u >= 0xdc00 && u <= 0xdfff)',
  },
  {
    id: 'loop-dispatch', file: 'daemon/loop/loop.c', test: 'test_loop',
    why: 'an event is delivered for a descriptor that the same turn has removed',
    from: '\t\tif (io->events)\n', to: '\t\tif (io->fn)\n',
  },
  {
    id: 'lifecycle-drain', file: 'daemon/lifecycle/lifecycle.c', test: integration('lifecycle/drain'),
    why: 'a second drain with more time puts the end off',
    from: '\tl->drain_due = MIN(l->drain_due, due);', to: '\tl->drain_due = due;',
  },
  {
    id: 'cli-claim', file: 'daemon/cli/serve/serve_claim.c', test: integration('net/claim-life'),
    why: 'a claim makes the daemon less strict than it was started',
    from: 'if (option_set(c, r, value, e) == 0 && is_weaker(r, old, value))', to: 'if (option_set(c, r, value, e) == 0 && is_weaker(r, old, old))',
  },
  // --- harnesses ---
  {
    id: 'harness-acp', file: 'harnesses/acp/asks.c', test: 'test_quirks',
    why: 'accept-edits allows an edit that does not say which file',
    from: '\treturn n > 0;', to: '\treturn true;',
  },
  {
    id: 'harness-keys', file: 'harnesses/provider_keys.c', test: 'test_provider',
    why: 'the key of a fallback stays in the text that is written down',
    from: '\t\tjw_members(w, v.raw, "key");', to: '\t\tjw_members(w, v.raw, NULL);',
  },
  {
    id: 'harness-codex', file: 'harnesses/codex/asks.c', test: 'test_codex_modes',
    why: 'in plan mode an edit is allowed by the approval',
    from: 'if (h->now.mode == MODE_PLAN) {', to: 'if (h->now.mode == MODE_PLAN && h->cancelled) {',
  },
  {
    id: 'harness-pi', file: 'harnesses/pi/turn.c', test: 'test_pi_turn',
    why: 'a prompt runs the commands of the adapter\'s bridge',
    from: '\tkeep_from_bridge(&text);\n', to: '',
  },
  {
    id: 'harness-opencode', file: 'harnesses/opencode/normalise.c', test: 'test_opencode',
    why: 'reading .env.local is allowed without a question',
    from: '&& env[4] && env[4] != \'.\')', to: '&& env[4])',
  },
];
