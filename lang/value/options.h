/*
 * lang/value/options.h - what whoever makes a machine may set.
 *
 * For:            lang_vm_new (lang/run/lang.h); the machine keeps a copy.
 * Must not know:  the machine.
 * Invariant:      zero means the default, or nothing, for every member.
 */
#ifndef LANG_OPTIONS_H
#define LANG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lang_library;

/*
 * print     what print() writes, one call a print(), with its end; NULL: stdout
 * warn      a warning PyTorch would give, once per text; NULL: warnings are dropped
 * probes    the built-in `_probe(name)` exists: an object whose death prints "name" (tests of lifetimes)
 * observed  the engine has an observer: emit who holds what
 * budget    statements and turns of loops that one lang_load or lang_call may run before it fails with VS_E_STOPPED; 0:
 *           no end
 * stop      asked every few thousand statements and turns of loops, but not inside a backward (struct eng_options asks
 *           there); true: what runs fails with VS_E_STOPPED. NULL: nobody stops it
 * library   the standard library, parsed before (lang/run/library.h), must outlive the machine; NULL: it is parsed for
 *           this machine
 */
struct lang_options {
    void *user;
    void (*print)(void *user, const char *text, size_t len);
    void (*warn)(void *user, const char *text);
    bool probes;
    bool observed;
    uint64_t budget;
    bool (*stop)(void *user);
    const struct lang_library *library;
};

#endif
