/* problems.c - keeps what was found damaged on disk, or was set aside, and does not keep the daemon from going on. Each is an
 * error in the log, and stays in /ready and in the answer to doctor until the daemon ends. At most PROBLEMS_MAX are kept. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "json/jenc.h"

struct problem {
	struct list link;
	const char *what;
	char *name, *text;
};

void problems_done(struct session_store *st)
{
	list_each(x, &st->problems, struct problem, link) {
		list_del(&x->link);
		free_each(x->name, x->text, x);
	}
}

void store_note_problem(struct session_store *st, const char *what, const char *name,
			const char *text)
{
	struct problem *x;

	log_error("state", "something on disk is not as it was written", "what", what, "name",
		  name ? name : "", "text", text);
	/* The log has every problem. The list is limited. */
	if (++st->nproblems > PROBLEMS_MAX)
		return;
	x = new0(struct problem);
	list_init(&x->link);
	x->what = what;
	x->name = xstrdup(name);
	x->text = xstrdup(text);
	list_add_tail(&st->problems, &x->link);
}

void store_put_problems(const struct session_store *st, struct jw *w, const char *key)
{
	jw_arr(w, key);
	list_each(x, (struct list *)&st->problems, struct problem, link) {
		jw_object(w, NULL, JW_STR("what", x->what), JW_STR("name", x->name),
			  JW_STR("text", x->text));
	}
	jw_end_arr(w);
}
