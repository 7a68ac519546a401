/* session_parameters.c - collects the rows of the core and of all parts, in the two orders that clients and journals know. */
#include "session/core/session_parameter.h"

#include "session/core/session_part.h"

#include <limits.h>

#define ROWS_MAX 64

static int place_of(const struct session_parameter *row, bool stored)
{
	return stored ? row->order.stored : row->order.checked ? row->order.checked : INT_MAX;
}

/* Rows of one place stay in the order of their parts. */
static void insert_row(const struct session_parameter **list, size_t n,
		       const struct session_parameter *row, bool stored)
{
	if (n + 1 >= ROWS_MAX)
		abort(); /* a bug that every test finds */
	for (; n && place_of(list[n - 1], stored) > place_of(row, stored); n--)
		list[n] = list[n - 1];
	list[n] = row;
}

static const struct session_parameter *const *rows_by_place(bool stored)
{
	static const struct session_parameter *lists[2][ROWS_MAX];
	size_t n = 0;

	if (lists[stored][0])
		return lists[stored];
	for (size_t i = 0; i <= session_parts_count; i++) {
		const struct session_parameter *const *row = i ? session_parts[i - 1]->parameters :
								 core_parameters;

		for (; row && *row; row++)
			if (!stored || (*row)->order.stored)
				insert_row(lists[stored], n++, *row, stored);
	}
	return lists[stored];
}

int parameter_switch(struct jval v, const char *field, struct err *e)
{
	if (v.type == J_TRUE || v.type == J_FALSE)
		return v.type == J_TRUE;
	return err_field(e, field, "FIELD_INVALID", "%s must be true or false", field);
}

const struct session_parameter *const *session_parameters(void)
{
	return rows_by_place(false);
}

const struct session_parameter *const *session_parameters_stored(void)
{
	return rows_by_place(true);
}
