/* A list of things that carry the link in themselves: doubly linked, circular, through a head that is a link too.
 *
 * It owns nothing and allocates nothing. A link that is in no list points to itself, and so does an empty head; hence
 * removing what is in no list does nothing, and a struct may leave its list on each of several ways out without knowing
 * which came first. Heads and links stay where they are while linked. Not thread-safe: the list's owner guards it. */
#ifndef LSH_BASE_LIST_H
#define LSH_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct lsh_list {
	struct lsh_list *next, *prev;
};

/* The struct of `type` whose `member` is at `ptr`. */
#define lsh_container(ptr, type, member) \
	((type *)(void *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

/* The same of what may be the head: then NULL. */
#define lsh_list_at(link, list, type, member) ((link) != (list) ? lsh_container((link), type, member) : NULL)

/* Visit the structs whose `member` is in `list`, in order; the body may remove and free the one that it is at. */
#define lsh_list_each(type, member, at, list)                                                             \
	for (type *at = lsh_list_at((list)->next, (list), type, member), *next_;                              \
	     at != NULL && (next_ = lsh_list_at(at->member.next, (list), type, member), true); at = next_)

/* Make an empty head, or a link that is in no list. */
static inline void
lsh_list_init(struct lsh_list *list)
{
	list->next = list->prev = list;
}

/* Of a head: has it no links? Of a link: is it in no list? */
static inline bool
lsh_list_empty(const struct lsh_list *list)
{
	return list->next == list;
}

/* The first link, or NULL. */
static inline struct lsh_list *
lsh_list_first(const struct lsh_list *list)
{
	return list->next == list ? NULL : list->next;
}

/* Make `link`, which is in no list, the last of `list`. */
static inline void
lsh_list_append(struct lsh_list *list, struct lsh_list *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev = list->prev->next = link;
}

/* Take `link` out of its list, if it is in one. */
static inline void
lsh_list_remove(struct lsh_list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	lsh_list_init(link);
}

#endif
