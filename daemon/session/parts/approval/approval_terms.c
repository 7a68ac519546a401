/*
 * approval_terms.c - decodes _meta.acpd.approvals, and stores it in the journal's "session" record.
 *
 * Two readers with different strictness: parse_terms refuses a client's invalid member,
 * load_terms accepts any record of an earlier daemon. An unknown default in a record
 * becomes a rejection, never a permission. All zeros are the default terms, and are not written.
 */
#include "session/parts/approval/approval_terms.h"

#include "base/limits.h"
#include "json/json.h"
#include "session/core/harness/setup.h"

#define AT "_meta.acpd.approvals."
#define WORD_MAX 16

static const char *const words[] = {
	[ANSWER_REJECT] = "reject", [ANSWER_ALLOW] = "allow", [ANSWER_CANCEL] = "cancel"
};

const char *answer_kind_word(enum answer_kind kind)
{
	return words[kind];
}

struct terms_args {
	int64_t timeout_ms;
	char *fallback;
};

static const struct jfield terms_fields[] = {
	JF_INT(struct terms_args, timeout_ms, "timeoutMs", 0, 1, APPROVAL_TIMEOUT_MAX_MS),
	JF_STR(struct terms_args, fallback, "default", 0, WORD_MAX),
	JF_END,
};

/* False, and *ret stays: no such word. NULL is none. */
static bool find_answer_kind(const char *word, enum answer_kind *ret)
{
	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], word) == 0) {
			*ret = (enum answer_kind)i;
			return true;
		}
	return false;
}

static int parse_terms(struct jval v, const char *field _unused_, void *ret, struct err *e)
{
	struct terms_args a = { 0 };
	struct approval_terms *t = ret;
	int r = jdec_strict(v.raw, terms_fields, AT, "approvals have no such member", &a, e);

	if (r < 0)
		return r;
	t->timeout_ms = (uint64_t)a.timeout_ms;
	if (a.fallback && !find_answer_kind(a.fallback, &t->fallback))
		r = err_field(e, AT "default", "FIELD_INVALID",
			      AT "default must be reject, allow or cancel");
	jdec_free(terms_fields, &a);
	return r;
}

static void put_terms(const void *value, struct jw *w, const char *key)
{
	const struct approval_terms *t = value;

	if (!t->timeout_ms && t->fallback == ANSWER_REJECT)
		return;
	jw_obj(w, key);
	if (t->timeout_ms)
		jw_uint(w, "timeoutMs", t->timeout_ms);
	jw_str(w, "default", words[t->fallback]);
	jw_end_obj(w);
}

static void load_terms(struct jval v, void *ret)
{
	_cleanup_(freep) char *word = NULL;
	struct approval_terms *t = ret;

	t->timeout_ms = MIN(jobj_uint(v.raw, "timeoutMs"), (uint64_t)APPROVAL_TIMEOUT_MAX_MS);
	if (jstr_decode(jobj_get(v.raw, "default"), WORD_MAX, &word) == 0)
		(void)find_answer_kind(word, &t->fallback);
}

const struct session_parameter approvals_parameter = {
	PARAMETER("approvals", OBJ, "how long a question waits, and its default"),
	.order = { .checked = 170, .stored = 260 },
	.size = sizeof(struct approval_terms),
	.parse = parse_terms,
	.put = put_terms,
	.load = load_terms,
};

const struct approval_terms *approval_terms_of(const struct setup *s)
{
	return setup_value(s, &approvals_parameter);
}
