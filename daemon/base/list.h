/*
 * list.h - intrusive circular doubly linked list. A head is a struct list whose next and prev point to itself;
 * an unlinked node likewise, so list_del is legal twice. Owners hold heads, members unlink themselves in
 * their destructor.
 */
#pragma once

#include "base/util.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name) ((struct list){ &(name), &(name) })

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)

/* Safe against removal of the current element. */
#define list_each(pos, head, type, member)                                                         \
	for (type *pos = list_first(head, type, member),                                           \
		  *_next_##pos = list_first(&pos->member, type, member);                           \
	     &pos->member != (head);                                                               \
	     pos = _next_##pos, _next_##pos = list_first(&_next_##pos->member, type, member))

/* The first of them, again and again until none is left: the body takes it out of the list, and may take others, or leaves. */
#define list_drain(pos, head, type, member)                                                        \
	for (type * pos; !list_empty(head) && (pos = list_first(head, type, member));)
