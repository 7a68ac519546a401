/* secret_list.c - the list of values of a session, oldest first, and the mask that is made of it. */
#include "session/core/redact/secret_list.h"

#include "base/util.h"
#include "base/limits.h"
#include "base/os/locked.h"
#include "digest/digest.h"

void secret_list_forget(struct secrets *x, size_t i)
{
	struct secret *gone = &x->list[i];

	x->bytes -= gone->n;
	/* A locked value belongs to its locked_text, which is wiped with its last reference. */
	if (!gone->locked) {
		secret_wipe(gone->value, gone->n);
		free(gone->value);
	}
	locked_text_unref(gone->locked);
	memmove(&x->list[i], &x->list[i + 1], (x->n - i - 1) * sizeof(*x->list));
	x->n--;
}

/* Not again: one that is there moves to the end, as the oldest are first. */
static void forget_same(struct secrets *x, struct slice v)
{
	for (size_t i = 0; i < x->n; i++)
		if (slice_eq((struct slice){ x->list[i].value, x->list[i].n }, v)) {
			secret_list_forget(x, i);
			return;
		}
}

void secret_list_keep(struct secrets *x, struct slice v, bool old)
{
	forget_same(x, v);
	*GROW(x->list, x->n) = (struct secret){ xstrndup(v.p, v.n), v.n, NULL, old };
	x->bytes += v.n;
}

void secret_list_keep_locked(struct secrets *x, struct locked_text *t, bool old)
{
	struct slice v = locked_text_slice(t);

	forget_same(x, v);
	*GROW(x->list, x->n) = (struct secret){ (char *)v.p, v.n, locked_text_ref(t), old };
	x->bytes += v.n;
}

void secret_list_make_room(struct secrets *x, size_t n)
{
	/* Only values of earlier loads are evicted, the oldest first. Current ones are refused instead. */
	while (x->n && x->list[0].old && (x->n >= SECRETS_MAX || x->bytes + n > SECRETS_BYTES_MAX))
		secret_list_forget(x, 0);
}

void secret_list_rebuild(struct secrets *x)
{
	/* A new mask, not a changed one: a thread may search with a reference to the old one. */
	x->mask = mask_free(x->mask);
	if (x->n)
		x->mask = mask_new();
	for (size_t i = 0; i < x->n; i++)
		mask_add(x->mask, (struct slice){ x->list[i].value, x->list[i].n });
}

void secret_list_keep_again(struct secrets *x, const struct secret *of)
{
	if (of->locked)
		secret_list_keep_locked(x, of->locked, true);
	else
		secret_list_keep(x, (struct slice){ of->value, of->n }, true);
}
