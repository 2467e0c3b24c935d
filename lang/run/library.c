/*
 * lang/run/library.c - see library.h.
 *
 * Must not know:  lang_vm.
 * Invariant:      there is one tree for each file of lang/prelude/prelude.h.
 */
#include "lang/run/library.h"

#include "base/mem.h"
#include "lang/prelude/prelude.h"
#include "lang/syntax/parser.h"

struct lang_library {
    struct vs_arena *arena; /* all trees */
    struct lang_module **modules;
    size_t count, cap;
};

enum vs_status lang_library_new(struct lang_library **out, struct vs_error *err)
{
    struct lang_library *library = vs_calloc(1, sizeof(*library));
    struct lang_prelude_file file;
    enum vs_status st = VS_OK;

    library->arena = vs_arena_new();
    for (size_t i = 0; !st && lang_prelude_file(i, &file); i++) {
        library->modules =
            vs_grow(library->modules, library->count, &library->cap, sizeof(*library->modules));
        st = lang_parse(file.file, file.text, file.len, library->arena,
                        &library->modules[library->count++], err);
    }
    *out = st ? NULL : library;
    if (st) {
        vs_error_prefix(err, "the library of the net language");
        lang_library_free(library);
    }
    return st;
}

void lang_library_free(struct lang_library *library)
{
    if (library == NULL)
        return;
    vs_arena_free(library->arena);
    vs_free(library->modules);
    vs_free(library);
}

const struct lang_module *lang_library_module(const struct lang_library *library, size_t i)
{
    VS_ASSERT(i < library->count);
    return library->modules[i];
}
