/*
 * import/import.c - see import.h.
 *
 * Must not know:  how an import is filled and written.
 * Invariant:      equal texts have one id.
 */
#include "import/import.h"

#include <string.h>

#include "base/mem.h"
#include "tracer/intern.h"

static uint32_t text_id(struct imp_import *import, const char *text)
{
    const char *new_text;
    uint32_t id = trc_intern_string(import->intern, text, &new_text);

    if (new_text) {
        import->strings = vs_grow(import->strings, import->string_count, &import->string_cap,
                                  sizeof(*import->strings));
        import->strings[import->string_count++] = new_text;
    }
    return id;
}

uint32_t imp_string(struct imp_import *import, const char *text)
{
    return *text ? text_id(import, text) : 0;
}

uint32_t imp_path_string(struct imp_import *import, const char *path)
{
    return text_id(import, path);
}

uint32_t imp_module_reported(struct imp_import *import, const struct vs_memlist *list,
                             uint32_t stack)
{
    const uint32_t module = stack ? vs_callstacks_get(&list->stacks, stack)->module : 0;
    const char *path = vs_memlist_text(list, module);

    if (!module)
        return 0;
    return text_id(import, strcmp(path, VS_STACK_MODEL) == 0 ? "" : path);
}

void imp_release(struct imp_import *import)
{
    vs_free(import->events);
    vs_free(import->recomputed);
    vs_free(import->from);
    vs_free(import->marks);
    vs_free(import->strings);
    vs_free(import->locations);
    vs_free(import->tensors);
    vs_free(import->start_stacks);
    vs_free(import->stacks);
    vs_free(import->frames);
    trc_intern_free(import->intern);
    vs_free(import->partial);
    memset(import, 0, sizeof(*import));
}
