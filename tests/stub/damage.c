/* SPDX-License-Identifier: Apache-2.0 */
/* Directives of an agent that misbehaves on the wire or dies. */
#include "stub.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DIGITS 10

static void text_line(struct buf *b, const struct session *s, const char *text)
{
	buf_printf(
		b,
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\","
		"\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":"
		"{\"type\":\"text\",\"text\":\"%s\"}}}}\n",
		s->id, text);
}

/* Builds as many equal lines as fill one write; a pass only patches the numbers in them. */
void flood_start(struct session *s, struct prompt *p, char *arg, bool single)
{
	int64_t count = atoll(next_word(&arg));
	size_t size = (size_t)atoll(next_word(&arg));
	struct flood *f = &p->flood;
	struct buf b = { 0 }, pad = { 0 };

	text_line(&b, s, "0000000000 ");
	buf_str(&pad, "0000000000 ");
	while (size > b.len && pad.len - DIGITS - 1 < size - b.len)
		buf_add(&pad, "x", 1);
	buf_add(&pad, "", 1);
	b.len = 0;
	text_line(&b, s, pad.p);
	f->line = b.len;
	f->lines = single || b.len >= FLUSH_SIZE ? 1 : FLUSH_SIZE / b.len;
	buf_add(&b, "", 1);
	f->digits = (size_t)(strstr(b.p, "\"text\":\"") - b.p) + 8;
	free(f->block);
	f->block = xcalloc(f->lines, f->line);
	for (size_t i = 0; i < f->lines; i++)
		memcpy(f->block + i * f->line, b.p, f->line);
	f->single = single;
	f->next = 1;
	f->last = count;
	p->wait = WAIT_FLOOD;
	buf_free(&b);
	buf_free(&pad);
}

static void put_number(char *at, int64_t n)
{
	for (int i = DIGITS - 1; i >= 0; i--, n /= 10)
		at[i] = (char)('0' + n % 10);
}

void flood_run(struct prompt *p)
{
	struct flood *f = &p->flood;

	for (int rounds = f->single ? 256 : 16; rounds > 0 && f->next <= f->last; rounds--) {
		size_t n = f->lines;

		if (out.len)
			out_flush();
		if (out.len || out_held_until() != 0)
			return;
		if ((int64_t)n > f->last - f->next + 1)
			n = (size_t)(f->last - f->next + 1);
		for (size_t i = 0; i < n; i++)
			put_number(f->block + i * f->line + f->digits, f->next + (int64_t)i);
		if (out_direct(f->block, n * f->line) < 0)
			break;
		f->next += (int64_t)n;
	}
	if (f->next > f->last)
		p->wait = WAIT_NONE;
}

static void do_flood(struct session *s, struct prompt *p, char *arg)
{
	flood_start(s, p, arg, false);
}

static void do_lineflood(struct session *s, struct prompt *p, char *arg)
{
	flood_start(s, p, arg, true);
}

static void do_notice(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, false,
	     "{\"sessionUpdate\":\"notice\",\"severity\":\"warning\",\"title\":\"A stub notice\"}");
}

static void do_compaction(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, false,
	     "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"c1\","
	     "\"status\":\"in_progress\"}");
	emit(s, false,
	     "{\"sessionUpdate\":\"compaction_summary_chunk\",\"compactionId\":\"c1\","
	     "\"content\":{\"type\":\"text\",\"text\":\"a summary\"}}");
	emit(s, false,
	     "{\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"c1\","
	     "\"status\":\"completed\"}");
}

static void do_planupdate(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, false,
	     "{\"sessionUpdate\":\"plan_update\",\"plan\":{\"type\":\"markdown\",\"planId\":\"p1\","
	     "\"content\":\"- one\"}}");
	emit(s, false, "{\"sessionUpdate\":\"plan_removed\",\"planId\":\"p1\"}");
}

/* Announces a child session and lets it speak on its own id, as the draft has it. */
static void do_subagent(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	buf_printf(
		&out,
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\","
		"\"update\":{\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"%s-child\","
		"\"title\":\"A stub subagent\"}}}\n",
		s->id, s->id);
	buf_printf(&out,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":"
		   "\"%s-child\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":"
		   "{\"type\":\"text\",\"text\":\"the child speaks\"}}}}\n",
		   s->id);
}

static void do_unknownupdate(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	emit(s, false, "{\"sessionUpdate\":\"stub_future_update\",\"data\":{\"x\":[1,2,3]}}");
}

static void do_unknownupdates(struct session *s, struct prompt *p, char *arg)
{
	int n = atoi(next_word(&arg)), size = atoi(next_word(&arg));

	(void)p;
	for (int i = 1; i <= n; i++) {
		struct buf b = { 0 };

		buf_printf(&b,
			   "{\"sessionUpdate\":\"stub_future_update\",\"n\":%d,\"data\":\"%0*d\"}",
			   i, size, 0);
		buf_add(&b, "", 1);
		emit(s, false, b.p);
		buf_free(&b);
	}
}

static void do_update(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	emit(s, false, arg);
}

static void do_raw(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)p;
	buf_str(&out, arg);
	out_line();
}

static void do_dup(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)arg;
	p->dup = true;
}

static void do_late(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)arg;
	p->late = true;
}

static void do_wrongid(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)p;
	(void)arg;
	reply_result("987654", "{}");
	reply_result("\"never-asked\"", "{\"stopReason\":\"end_turn\"}");
	reply_error("987655", -32603, "An answer to nothing", NULL);
}

static void do_badutf8(struct session *s, struct prompt *p, char *arg)
{
	(void)p;
	(void)arg;
	text_line(&out, s, "bad \xff\xfe\xc3( utf8");
}

static void do_badjson(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)p;
	(void)arg;
	buf_str(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",oops");
	out_line();
}

static void do_deep(struct session *s, struct prompt *p, char *arg)
{
	long n = atol(next_word(&arg));
	struct buf b = { 0 };

	(void)p;
	buf_str(&b, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"deep\",\"title\":\"deep\","
		    "\"rawInput\":");
	for (long i = 0; i < n; i++)
		buf_add(&b, "[", 1);
	for (long i = 0; i < n; i++)
		buf_add(&b, "]", 1);
	buf_add(&b, "}", 2);
	emit(s, false, b.p);
	buf_free(&b);
}

static void do_hugeline(struct session *s, struct prompt *p, char *arg)
{
	size_t size = (size_t)atoll(next_word(&arg));
	struct buf line = { 0 };
	char *tail;

	(void)p;
	if (size > (size_t)1 << 30)
		size = (size_t)1 << 30;
	text_line(&line, s, "");
	buf_add(&line, "", 1);
	tail = strstr(line.p, "\"}}}}\n");
	buf_add(&out, line.p, (size_t)(tail - line.p));
	for (size_t i = line.len; i < size; i += 64)
		buf_str(&out, "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh");
	buf_str(&out, tail);
	buf_free(&line);
}

struct long_kind {
	const char *name, *head, *part, *tail;
};

#define LONG_CALL "\"toolCallId\":\"long\",\"title\":\"long\","
#define LONG_TEXT "{\"type\":\"text\",\"text\":\""

static const struct long_kind long_kinds[] = {
	{ "message", "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":" LONG_TEXT, "\\n\\t",
	  "\"}}" },
	{ "half", "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":" LONG_TEXT "\\ud83d",
	  "\\n\\t", "\"}}" },
	{ "tool",
	  "{\"sessionUpdate\":\"tool_call\"," LONG_CALL
	  "\"content\":[{\"type\":\"content\",\"content\":" LONG_TEXT,
	  "\\n\\t", "\"}}]}" },
	{ "output", "{\"sessionUpdate\":\"tool_call_update\"," LONG_CALL "\"rawOutput\":\"",
	  "\\n\\t", "\"}" },
	{ "items", "{\"sessionUpdate\":\"tool_call_update\"," LONG_CALL "\"rawOutput\":[0",
	  ",{\"line\":1,\"text\":\"a\"}", "]}" },
	{ "commands", "{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":[",
	  "{\"name\":\"c\",\"description\":\"d\"},", "{\"name\":\"c\",\"description\":\"d\"}]}" },
	{ "plan", "{\"sessionUpdate\":\"plan\",\"entries\":[",
	  "{\"content\":\"e\",\"priority\":\"low\",\"status\":\"pending\"},",
	  "{\"content\":\"e\",\"priority\":\"low\",\"status\":\"pending\"}]}" },
};

/* longline KIND SIZE: an update of that kind which is about that long, of many small parts. */
static void do_longline(struct session *s, struct prompt *p, char *arg)
{
	const char *name = next_word(&arg);
	size_t size = (size_t)atoll(next_word(&arg));
	const struct long_kind *k = long_kinds;
	struct buf b = { 0 };

	(void)p;
	while (k + 1 < long_kinds + sizeof(long_kinds) / sizeof(*long_kinds) &&
	       strcmp(k->name, name) != 0)
		k++;
	buf_str(&b, k->head);
	while (b.len + strlen(k->part) + strlen(k->tail) <= size)
		buf_str(&b, k->part);
	buf_str(&b, k->tail);
	buf_add(&b, "", 1);
	emit(s, false, b.p);
	buf_free(&b);
}

/* halfline MS: the rest follows later; halfline exit N: it never does; halfline hang: silence. */
static void do_halfline(struct session *s, struct prompt *p, char *arg)
{
	const char *how = next_word(&arg);
	struct buf b = { 0 };

	text_line(&b, s, "the whole of a halfline");
	buf_add(&out, b.p, b.len / 2);
	out_drain();
	if (strcmp(how, "exit") == 0)
		_exit(atoi(next_word(&arg)));
	if (strcmp(how, "hang") == 0) {
		out_hold(-1);
		p->wait = WAIT_FOREVER;
	} else {
		buf_add(&out, b.p + b.len / 2, b.len - b.len / 2);
		p->deadline = now_ms() + atoll(how) + 1;
		p->fixed_cancel = true;
		p->wait = WAIT_TIME;
		out_hold(p->deadline);
	}
	buf_free(&b);
}

static void do_silence(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)arg;
	p->wait = WAIT_FOREVER;
}

static void do_closeout(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)arg;
	out_drain();
	out_close();
	p->wait = WAIT_FOREVER;
}

static void do_ignoreterm(struct session *s, struct prompt *p, char *arg)
{
	(void)s;
	(void)p;
	(void)arg;
	ignore_term = true;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

struct together together;

static void on_term(int signo)
{
	(void)signo;
	together.term = 1;
}

static void do_together(struct session *s, struct prompt *p, char *arg)
{
	const char *how = next_word(&arg);

	do_ignoreterm(s, p, arg);
	together.stays = strcmp(how, "kill") == 0;
	together.term = strcmp(how, "eof") == 0;
	together.n = atoi(next_word(&arg));
	together.dir = strdup(next_word(&arg));
	if (!together.term)
		signal(SIGTERM, on_term);
}

static void together_mark(const char *what)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s-%d", together.dir, what, (int)getpid());
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

static int together_count(void)
{
	DIR *d = opendir(together.dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += strncmp(e->d_name, "told-", 5) == 0;
	if (d)
		closedir(d);
	return n;
}

bool together_over(void)
{
	if (!together.dir || !together.term || together.all)
		return false;
	if (!together.told)
		together_mark("told");
	together.told = true;
	if (together_count() < together.n)
		return false;
	together_mark("all");
	together.all = true;
	return !together.stays;
}

static void do_crash(struct session *s, struct prompt *p, char *arg)
{
	const char *how = next_word(&arg);
	const struct rlimit no_core = { 0, 0 };

	(void)s;
	(void)p;
	out_drain();
	setrlimit(RLIMIT_CORE, &no_core);
	if (strcmp(how, "segv") == 0)
		kill(getpid(), SIGSEGV);
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	_exit(atoi(next_word(&arg)));
}

/* Memory that is really used. */
static void do_hog(struct session *s, struct prompt *p, char *arg)
{
	size_t n = (size_t)atoll(next_word(&arg));

	(void)p;
	out_drain();
	memset(xcalloc(n, 1), 1, n);
	say(s, "hogged:%zu", n);
}

const struct directive damage_directives[] = {
	{ "flood", true, do_flood },
	{ "lineflood", true, do_lineflood },
	{ "notice", false, do_notice },
	{ "compaction", false, do_compaction },
	{ "planupdate", false, do_planupdate },
	{ "subagent", false, do_subagent },
	{ "unknownupdate", false, do_unknownupdate },
	{ "unknownupdates", true, do_unknownupdates },
	{ "update", true, do_update },
	{ "raw", true, do_raw },
	{ "dup", false, do_dup },
	{ "late", false, do_late },
	{ "wrongid", false, do_wrongid },
	{ "badutf8", false, do_badutf8 },
	{ "badjson", false, do_badjson },
	{ "deep", true, do_deep },
	{ "hugeline", true, do_hugeline },
	{ "longline", true, do_longline },
	{ "halfline", true, do_halfline },
	{ "silence", false, do_silence },
	{ "closeout", false, do_closeout },
	{ "ignoreterm", false, do_ignoreterm },
	{ "together", true, do_together },
	{ "crash", true, do_crash },
	{ "hog", true, do_hog },
	{ NULL, false, NULL },
};
