/* SPDX-License-Identifier: Apache-2.0 */
/* The script engine: a prompt becomes steps; they run until one must wait; then the turn ends. */
#include "stub.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct directive *const tables[] = { talk_directives, damage_directives,
						  probe_directives, fork_directives,
						  perms_directives };

void say(struct session *s, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	emit_text(s, text);
	free(text);
}

char *next_word(char **arg)
{
	char *word = *arg + strspn(*arg, " ");

	*arg = word + strcspn(word, " ");
	if (**arg)
		*(*arg)++ = '\0';
	return word;
}

char *unescape(char *text)
{
	char *w = text;

	for (char *r = text; *r; r++) {
		if (r[0] == '\\' && (r[1] == 'n' || r[1] == '\\')) {
			*w++ = r[1] == 'n' ? '\n' : '\\';
			r++;
		} else {
			*w++ = *r;
		}
	}
	*w = '\0';
	return text;
}

/* Splits at newlines and at ';' without a backslash; the backslash of "\;" goes away here. */
static void split(struct prompt *p)
{
	const char *from = p->text;

	for (;;) {
		struct buf b = { 0 };
		const char *at = from;

		for (; *at && *at != '\n' && *at != ';'; at++) {
			if (at[0] == '\\' && at[1] == ';')
				at++;
			buf_add(&b, at, 1);
		}
		buf_add(&b, "", 1);
		p->step = realloc(p->step, (p->steps + 1) * sizeof(*p->step));
		if (!p->step)
			abort();
		p->step[p->steps++] = b.p;
		if (!*at)
			return;
		from = at + 1;
	}
}

void script_queue(struct session *s, struct prompt *p)
{
	struct prompt **at = &s->head;

	split(p);
	while (*at)
		at = &(*at)->next;
	*at = p;
}

static void run_step(struct session *s, struct prompt *p, const char *step)
{
	char *text = xstrdup(step + strspn(step, " ")), *arg = text;
	const char *name;

	if (!*text) {
		free(text);
		return;
	}
	name = next_word(&arg);
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct directive *d = tables[t]; d->name; d++) {
			if (strcmp(d->name, name) != 0 || (!d->has_arg && *arg))
				continue;
			d->run(s, p, arg);
			free(text);
			return;
		}
	}
	say(s, "you said: %s", step + strspn(step, " "));
	free(text);
}

static void answer(const struct session *s, const struct prompt *p)
{
	struct buf b = { 0 };

	if (p->error) {
		reply_error(p->id, p->error, p->error_text, NULL);
		return;
	}
	buf_printf(&b, "{\"stopReason\":\"%s\"", p->stop ? p->stop : "end_turn");
	if (p->usage)
		buf_printf(&b, ",\"usage\":%s", p->usage);
	else if (set.usage)
		buf_printf(&b,
			   ",\"usage\":{\"totalTokens\":%lld,\"inputTokens\":%lld,"
			   "\"outputTokens\":%lld}",
			   (long long)s->turns * 120, (long long)s->turns * 100,
			   (long long)s->turns * 20);
	buf_add(&b, "}", 2);
	reply_result(p->id, b.p);
	buf_free(&b);
}

static void finish(struct session *s, struct prompt *p)
{
	noise_at("answer");
	answer(s, p);
	noise_at("after");
	if (set.noise_at && strcmp(set.noise_at, "last") == 0) {
		out.len--; /* without its newline */
		noise_at("last");
		out_drain();
		_exit(0);
	}
	if (p->dup)
		answer(s, p);
	if (p->late)
		emit_text(s, "late");
	s->head = p->next;
	prompt_free(p);
}

/* Ends the turn as cancelled; what it asked the client is taken back first. */
static void finish_cancelled(struct session *s, struct prompt *p)
{
	if (p->wait == WAIT_REPLY && p->ask == ASK_PERMS) {
		perms_withdraw(p);
	} else if (p->wait == WAIT_REPLY) {
		rpc_withdraw(p->ask_id);
		if (p->ask == ASK_PERM)
			tool_status(s, p->ask_tool, "failed");
	}
	p->error = 0;
	free(p->stop);
	p->stop = xstrdup("cancelled");
	finish(s, p);
}

static void start(struct session *s, struct prompt *p)
{
	struct buf b = { 0 };

	p->started = true;
	noise_at("turn");
	s->turns++;
	s->used += 120;
	buf_json(&b, p->text);
	buf_add(&b, "", 1);
	store_add(s, "user", b.p);
	buf_free(&b);
	session_remember(s, p->text);
}

static bool still_waits(struct prompt *p)
{
	switch (p->wait) {
	case WAIT_FOREVER:
	case WAIT_REPLY:
		return true;
	case WAIT_TIME:
		if (now_ms() < p->deadline)
			return true;
		p->wait = WAIT_NONE;
		p->fixed_cancel = false;
		return false;
	case WAIT_FLOOD:
		flood_run(p);
		return p->wait == WAIT_FLOOD;
	case WAIT_NONE:
		break;
	}
	return false;
}

void script_run(struct session *s)
{
	struct prompt *p;

	while ((p = s->head)) {
		bool may_cancel = !p->nocancel && !p->fixed_cancel && p->wait != WAIT_FOREVER;

		if (p->cancelled && may_cancel) {
			finish_cancelled(s, p);
			continue;
		}
		if (!p->started)
			start(s, p);
		if (p->wait != WAIT_NONE) {
			if (still_waits(p))
				return;
			continue; /* a cancel that had to wait comes first */
		}
		if (out_full())
			return;
		if (p->at < p->steps) {
			run_step(s, p, p->step[p->at++]);
			continue;
		}
		finish(s, p);
	}
}

void script_cancel(struct session *s, const char *prompt_id)
{
	for (struct prompt *p = s->head; p; p = p->next) {
		if (!prompt_id || strcmp(p->id, prompt_id) == 0)
			p->cancelled = true;
	}
}

int64_t script_deadline(const struct session *s)
{
	const struct prompt *p = s->head;

	if (!p)
		return -1;
	if (p->wait == WAIT_TIME)
		return p->deadline;
	/* a flood, or a script that paused for a full stdout, goes on at once; while stdout is full its POLLOUT wakes us */
	return (p->wait == WAIT_FLOOD || p->wait == WAIT_NONE) && !out_wants_write() &&
			       out_held_until() == 0 ?
		       0 :
		       -1;
}

void ask(struct prompt *p, enum ask_kind kind, const char *method, const char *params_json)
{
	p->ask_id = rpc_ask(method, params_json);
	p->ask = kind;
	p->wait = WAIT_REPLY;
}

static void permission_answer(struct session *s, struct prompt *p, const cJSON *result, int code)
{
	const cJSON *outcome = cJSON_GetObjectItem(result, "outcome");
	const char *what = cJSON_GetStringValue(cJSON_GetObjectItem(outcome, "outcome"));
	const char *option = cJSON_GetStringValue(cJSON_GetObjectItem(outcome, "optionId"));
	bool allowed = what && option && strcmp(what, "selected") == 0 &&
		       (strcmp(option, "allow") == 0 || strcmp(option, "always") == 0);

	tool_status(s, p->ask_tool, allowed ? "completed" : "failed");
	if (!result)
		say(s, "permission:error %d", code);
	else
		say(s, "permission:%s", option ? option : what ? what : "?");
}

static void plain_answer(struct session *s, enum ask_kind kind, const cJSON *result, int code)
{
	const char *name = kind == ASK_ELICIT ? "elicit" : kind == ASK_FS ? "fs" : "ask";
	char *text;

	if (!result) {
		say(s, "%s:error %d", name, code);
		return;
	}
	text = cJSON_PrintUnformatted(result);
	say(s, "%s:%s", name, text);
	free(text);
}

bool script_reply(int64_t id, const cJSON *msg)
{
	const cJSON *code = cJSON_GetObjectItem(cJSON_GetObjectItem(msg, "error"), "code");
	const cJSON *result = cJSON_GetObjectItem(msg, "result");
	int n = cJSON_IsNumber(code) ? code->valueint : 0;

	perms_note(id);
	for (struct session *s = sessions; s; s = s->next) {
		struct prompt *p = s->head;

		if (!p || p->wait != WAIT_REPLY)
			continue;
		if (p->ask == ASK_PERMS && perms_reply(s, p, id, result))
			return true;
		if (p->ask == ASK_PERMS || p->ask_id != id)
			continue;
		p->wait = WAIT_NONE;
		if (p->ask == ASK_PERM)
			permission_answer(s, p, result, n);
		else
			plain_answer(s, p->ask, result, n);
		return true;
	}
	return false;
}
