/* strv.h - arrays of strings that end with NULL, as execve takes them. NULL is an empty one. */
#pragma once

#include <stddef.h>

size_t strv_len(char *const *v);
/* Never NULL, even of an empty one. */
char **strv_copy(char *const *v);
/* Adds s, which it owns from now on. */
void strv_add(char ***v, char *s);
/* Frees the strings and the array. Always NULL. */
char **strv_free(char **v);
/* Frees n strings and their array, which need not end with NULL. */
void strv_free_n(char **v, size_t n);
/* The value of a variable in an array of NAME=value; NULL: there is none. */
const char *strv_env(char *const *env, const char *name);
