/*
 * standin/stub.h - writes a shared library of ELF that has given functions and no behaviour of its own.
 *
 * For:            standing in for a library of CUDA: programs are linked to its name, its symbols and their versions.
 * Must not know:  what the functions do, and CUDA.
 * Invariant:      the library needs no other library and no relocation; its text depends on the stub alone.
 *
 * Each function jumps to the address in its entry of a table, with the address of the entry in the register r11, which
 * a called function may overwrite. The program that loads the library finds the table by its symbol STI_TABLE_SYMBOL
 * and must fill in every target before anything calls a function.
 */
#ifndef STANDIN_STUB_H
#define STANDIN_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"

#define STI_TABLE_SYMBOL "vramscope_stub"
#define STI_TABLE_MAGIC UINT64_C(0x3162757473736d76) /* "vmsstub1" */

/* A function. version: NULL: without one. */
struct sti_stub_symbol {
    const char *name;
    const char *version;
};

/* The library. soname: its name; symbols: `count` functions, each pair of name and version once. */
struct sti_stub {
    const char *soname;
    const struct sti_stub_symbol *symbols;
    size_t count;
};

/* In the library. name: bytes from the table's `strings` to the function's name. */
struct sti_entry {
    uint64_t target;
    uint32_t name;
    uint32_t index;
};

/* What STI_TABLE_SYMBOL is. strings: bytes from this struct back to the strings; soname: as the name of an entry. */
struct sti_table {
    uint64_t magic;
    uint64_t strings_before;
    uint32_t count;
    uint32_t soname;
    struct sti_entry entries[];
};

/*
 * The library as the bytes of a file, appended to `out`, which is empty. VS_E_OVERFLOW: more than 65,535 functions, or
 * names of more than 16 MiB.
 */
VS_MUST_USE enum vs_status sti_stub_make(const struct sti_stub *stub, struct vs_text *out,
                                         struct vs_error *err);

/* The name of an entry; the name of its library. */
static inline const char *sti_table_name(const struct sti_table *table, uint32_t name)
{
    return (const char *)table - table->strings_before + name;
}

#endif
