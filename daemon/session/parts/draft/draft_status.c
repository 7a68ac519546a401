/*
 * draft_status.c - a draft in answers and in the journal's record, and the row of its hooks.
 *
 * A record of an earlier daemon can name a way that this daemon does not support: then there is no draft.
 */
#include "session/parts/draft/draft_internal.h"

#include "base/os/file.h"
#include "json/json.h"
#include "session/core/session_internal.h"
#include "session/parts/draft/draft_terms.h"

#define WHY_MAX 1024

static const char *const words[] = { [DRAFT_OVERLAY] = "overlay", [DRAFT_COPY] = "copy" };

void session_put_draft(struct jw *w, const struct session *s)
{
	if (!session_has_draft(s))
		return;
	jw_obj(w, "draft");
	jw_bool(w, "on", true);
	jw_str(w, "how", words[draft_of(s)->how]);
	jw_str(w, "path", session_workdir(s));
	jw_str(w, "missing", draft_of(s)->missing);
	if (draft_of(s)->use.bytes)
		jw_uint(w, "bytes", draft_of(s)->use.bytes);
	jw_end_obj(w);
}

static void put_draft_record(struct jw *w, const struct session *s, enum record_place at)
{
	if (at != RECORD_STATE)
		return;
	if (!session_has_draft(s))
		return;
	jw_object(w, "draft", JW_STR("how", words[draft_of(s)->how]),
		  JW_STR("missing", draft_of(s)->missing));
}

static void load_draft_record(struct session *s, struct slice record)
{
	struct jval v = jobj_get(record, "draft");

	_cleanup_(freep) char *missing = NULL;

	/* Later records replace earlier ones whole: one without a draft ends it. */
	draft_set(s, DRAFT_OFF, NULL);
	if (v.type != J_OBJECT)
		return;
	jstr_decode(jobj_get(v.raw, "missing"), WHY_MAX, &missing);
	for (size_t i = DRAFT_OVERLAY; i < ARRAY_SIZE(words); i++)
		if (jstr_is(jobj_get(v.raw, "how"), words[i]))
			draft_set(s, (enum draft_how)i, missing);
}

/* For what would change the real tree beneath the draft. */
static int refuse_draft(const struct session *s, const char *what, struct err *e)
{
	if (!session_has_draft(s))
		return 0;
	return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "DRAFT_ON",
		       "%s while the session has a draft: apply it and turn it off before", what);
}

static int check_draft_value(struct jval v, const struct parameter_check *c, struct err *e)
{
	return MIN(parameter_switch(v, c->field, e), 0);
}

/* Not kept: a session has a draft, or has none. */
static const struct session_parameter draft_parameter = {
	PARAMETER("draft", RAW, "nothing is changed until it is applied"),
	.order = { .checked = 120 },
	.check = check_draft_value,
};

bool draft_is_wanted(const struct session_params *p)
{
	return slice_is(setup_given_text(&p->setup, &draft_parameter), "true");
}

static int check_draft_off(const struct session *s, const struct session_params *p, struct err *e)
{
	if (!slice_is(setup_given_text(&p->setup, &draft_parameter), "false") ||
	    !session_has_draft(s))
		return 0;
	return err_field(e, "_meta.acpd.draft", "DRAFT_ON",
			 "the session has a draft; _acpd/session/draft turns it off");
}

static void create_draft(struct session *s)
{
	list_init(&draft_of(s)->ops);
}

static void free_draft(struct session *s)
{
	loop_timer_cancel(&draft_of(s)->timer);
	free_each(draft_of(s)->missing, draft_of(s)->tree);
}

static void begin_draft(struct session *s, const struct session_params *p)
{
	draft_of(s)->wanted = draft_is_wanted(p);
}

const struct session_part draft_part = {
	.name = "draft",
	.size = sizeof(struct session_draft),
	.parameters = PARAMETERS(&draft_parameter, &draft_after_parameter),
	.create = create_draft,
	.put_status = session_put_draft,
	.open_tree = draft_open_tree,
	.shut = draft_unmount,
	.free = free_draft,
	.store_open = draft_store_open,
	.begin = begin_draft,
	.cancel_work = draft_cancel_work,
	.launch_first = draft_launch_first,
	.check_open = check_draft_off,
	.check_touch = refuse_draft,
	.opened = draft_opened,
	.put_record = put_draft_record,
	.load_record = load_draft_record,
	.holds_harness = session_has_draft_op,
	.tool_call_reported = session_draft_note_tool,
	.turn_closed = session_draft_note_turn,
};
