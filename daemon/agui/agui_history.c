/*
 * agui_history.c - compares the messages of an input with the thread's, in one pass.
 *
 * A thread stores no text: each message has an id, with prefix "u" or "s", and 64 bits of a
 * SHA-256. The digest covers the decoded text, so another JSON spelling of a text is the same text.
 * User messages must match in order; a system message is looked up by id, and is new if its text
 * differs. The check modifies nothing: news is recorded when the prompt is sent, and removed if it
 * is refused.
 */
#include "agui/agui_run.h"

#include "json/jstr.h"

#define OWN_PREFIX "acpd-"

/* "acpd-…": the daemon gave that id. */
static bool agui_is_own_id(const char *id)
{
	return strncmp(id, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

void agui_news_done(struct agui_news *n)
{
	free(n->is_new);
	*n = (struct agui_news){ 0 };
}

/* Of its text and its other parts: two ways to write the same are the same. */
static void add_content(struct sha256_stream *s, struct jval content)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct jiter it;
	struct jval v;

	if (content.type == J_STRING) {
		(void)jstr_decode_bytes(content, &text);
		sha256_add(s, text.data, buf_len(&text));
		return;
	}
	jiter_init(&it, content); /* an object has parts, too */
	while (jiter_next(&it, NULL, &v)) {
		struct jval words = jobj_get(v.raw, "text");
		struct jval data = jobj_get(jobj_get(v.raw, "source").raw, "value");

		if (words.type == J_STRING)
			add_content(s, words);
		else
			sha256_add(s, data.raw.p, data.raw.n);
	}
}

static void message_digest(const struct agui_message *m, char out[AGUI_DIGEST_HEX])
{
	char hex[SHA256_HEX], role = (char)('0' + m->role);
	struct sha256_stream s;
	struct sha256 d;

	sha256_begin(&s);
	/* The role is part of it: the same text of another role is another message. */
	sha256_add(&s, &role, 1);
	add_content(&s, m->content);
	sha256_end(&s, &d);
	sha256_hex(&d, hex);
	snprintf(out, AGUI_DIGEST_HEX, "%.16s", hex);
}

static int changed(struct err *e, size_t at, const char *what)
{
	const char *field = SHORT_TEXT(48, "messages[%zu]", at);

	return err_field(e, field, "HISTORY_CHANGED", "%s %s", field, what);
}

static const struct agui_told *find_told(const struct agui_thread *t, const char *id)
{
	/* The newest first: a system message whose text changed is recorded again with its id. */
	for (size_t i = t->ntold; i--;)
		if (strcmp(t->told[i].id, id) == 0)
			return &t->told[i];
	return NULL;
}

static bool is_told_same(const struct agui_told *told, const struct agui_message *m)
{
	char digest[AGUI_DIGEST_HEX];

	message_digest(m, digest);
	return strcmp(told->digest, digest) == 0;
}

struct walk {
	const struct agui_thread *t;
	struct agui_news *news;
	size_t at;   /* which message */
	size_t next; /* the one of t->told that comes next, of those of a person */
};

/* What a system says is no history: a changed text of the same id is told anew. */
static bool is_of_person(const struct agui_told *told)
{
	return told->id[0] == 'u';
}

static int walk_person(struct walk *w, const struct agui_message *m, struct err *e)
{
	const struct agui_thread *t = w->t;

	while (w->next < t->ntold && !is_of_person(&t->told[w->next]))
		w->next++;
	/* The thread has no further user message, so this one is new. */
	if (w->next == t->ntold) {
		w->news->is_new[w->at] = w->news->has_people = true;
		return 0;
	}
	if (strcmp(t->told[w->next].id + 1, m->id) != 0)
		return changed(e, w->at, "is not what the thread has there");
	if (!is_told_same(&t->told[w->next++], m))
		return changed(e, w->at, "is another text than the thread has of that id");
	return 0;
}

static int walk_system(struct walk *w, const struct agui_message *m)
{
	_cleanup_(freep) char *id = NULL;
	const struct agui_told *told;

	id = xprintf("s%s", m->id);
	told = find_told(w->t, id);
	w->news->is_new[w->at] = !told || !is_told_same(told, m);
	return 0;
}

static int walk_said(const struct walk *w, const struct agui_message *m, struct err *e)
{
	/* The agent cannot have answered a new user message yet. */
	if (w->news->has_people && m->role != ROLE_TOOL)
		return changed(e, w->at, "comes after one that the thread does not have");
	/* next is 0 before the first user message: an application may greet there (agui_history_lead). */
	if (m->role != ROLE_ASSISTANT || agui_is_own_id(m->id) || w->next == 0 ||
	    jobj_get(m->raw, "toolCalls").type == J_ARRAY)
		return 0;
	return changed(e, w->at, "is nothing that the agent has said");
}

static int walk_one(struct walk *w, const struct agui_message *m, struct err *e)
{
	if (m->role == ROLE_USER)
		return walk_person(w, m, e);
	if (m->role == ROLE_SYSTEM || m->role == ROLE_DEVELOPER)
		return walk_system(w, m);
	return walk_said(w, m, e);
}

static bool people_are_left(struct walk *w)
{
	while (w->next < w->t->ntold && !is_of_person(&w->t->told[w->next]))
		w->next++;
	return w->next < w->t->ntold;
}

int agui_history_check(const struct agui_thread *t, const struct agui_input *in,
		       struct agui_news *ret, struct err *e)
{
	struct agui_news news = { .is_new = xalloc(in->nmessages + 1), .n = in->nmessages };
	struct walk w = { t, &news, 0, 0 };
	int r = 0;

	for (; r == 0 && w.at < in->nmessages; w.at++)
		r = walk_one(&w, &in->messages[w.at], e);
	/* An input without any messages is accepted, too (agui_run.h). */
	if (r == 0 && in->nmessages && people_are_left(&w))
		r = err_field(e, "messages", "HISTORY_CHANGED",
			      "messages ends before what the thread has");
	if (r == 0 && t->ntold + in->nmessages > AGUI_MESSAGES_MAX)
		r = err_field(e, "messages", "TOO_MANY",
			      "the thread has no room for more messages");
	if (r < 0)
		agui_news_done(&news);
	else
		*ret = news;
	return r;
}

void agui_history_note(struct agui_thread *t, const struct agui_input *in,
		       const struct agui_news *n)
{
	char digest[AGUI_DIGEST_HEX];

	for (size_t i = 0; i < n->n; i++) {
		_cleanup_(freep) char *id = NULL;

		if (!n->is_new[i])
			continue;
		id = xprintf("%c%s", in->messages[i].role == ROLE_USER ? 'u' : 's',
			     in->messages[i].id);
		message_digest(&in->messages[i], digest);
		agui_thread_tell(t, id, digest);
	}
}

void agui_history_forget(struct agui_thread *t, size_t n)
{
	while (n-- && t->ntold)
		free(t->told[--t->ntold].id);
}

void agui_history_lead(const struct agui_input *in, struct buf *b)
{
	for (size_t i = 0; i < in->nmessages && in->messages[i].role != ROLE_USER; i++) {
		const struct agui_message *m = &in->messages[i];

		if (agui_is_own_id(m->id) || m->role != ROLE_ASSISTANT)
			continue;
		if (buf_len(b))
			buf_putc(b, ',');
		buf_add_slice(b, m->raw);
	}
}
