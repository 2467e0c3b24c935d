/*
 * lang/value/options.h - the options of a vm.
 *
 * For:            lang_vm_new (lang/run/lang.h), which copies them.
 * Must not know:  struct lang_vm.
 * Invariant:      zero is the default of every member.
 */
#ifndef LANG_OPTIONS_H
#define LANG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lang_library;
struct lang_warning;

/*
 * user      first argument of the callbacks
 * print     called once per print() with the text it writes, including its end; NULL: the text goes to stdout
 * warn      called with each warning, once per text; the text is borrowed; NULL: warnings are dropped
 * probes    adds the built-in `_probe(name)`, which returns an object that prints "name" when it is freed (for tests)
 * observed  the engine has an observer: hold and drop events are emitted
 * budget    number of statements and loop iterations after which one lang_load() or lang_call() fails with
 *           VS_E_STOPPED; 0: unlimited
 * stop      polled every few thousand statements and loop iterations, except inside a backward, where the engine polls
 *           the one in struct eng_options; returning true makes the call fail with VS_E_STOPPED. NULL: never
 * library   the parsed standard library (lang/run/library.h), which must outlive the vm; NULL: the vm parses it
 */
struct lang_options {
    void *user;
    void (*print)(void *user, const char *text, size_t len);
    void (*warn)(void *user, const struct lang_warning *warning);
    bool probes;
    bool observed;
    uint64_t budget;
    bool (*stop)(void *user);
    const struct lang_library *library;
};

#endif
