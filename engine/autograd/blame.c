/*
 * engine/autograd/blame.c - finds out which of several modules must not work in place, when a value is needed that one
 * of them has overwritten.
 *
 * For:            the in-place checks of the built-in loop.
 * Must not know:  what a module is.
 * Invariant:      what is recorded of a module would fail, with the same message, in any run in which it works in place
 *                 (together with `with`, if given); if that is not certain, nothing is recorded.
 */
#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"

uint32_t eng_set_writer(struct eng *e, uint32_t writer)
{
    uint32_t old = e->writer;

    e->writer = writer;
    return old;
}

void eng_blame_begin(struct eng *e)
{
    e->is_blaming = true;
}

const struct eng_blame *eng_blame_at(const struct eng *e, size_t i)
{
    return i < e->blame_count ? &e->blames[i] : NULL;
}

static bool note(struct eng *e, uint32_t writer, uint32_t with, const char *why)
{
    /* a checkpoint's recomputation may end within a module, and PyTorch checks no versions there */
    if (!e->is_blaming || !writer || e->live_checkpoints)
        return false;
    e->blames = vs_grow(e->blames, e->blame_count, &e->blame_cap, sizeof(*e->blames));
    e->blames[e->blame_count++] = (struct eng_blame){writer, with, vs_strdup(why)};
    return true;
}

/*
 * The value was written once since it was saved, by one module. What was saved, and as which version, does not depend
 * on the other modules if none of them wrote before and the op is not in their forward, or if the value is the result
 * of the one that wrote before.
 */
bool eng_blame_saved(const struct eng_node *n, const struct eng_saved *s, const char *why)
{
    const struct eng_version *version = s->tensor->version;

    if (n->kind != ENG_NODE_OP || version->value != s->version + 1 || version->writer == n->writer)
        return false;
    if (s->version == 0 && !n->writer)
        return note(n->eng, version->writer, 0, why);
    if (s->version == 1 && n->writer && n->is_inplace)
        return note(n->eng, version->writer, n->writer, why);
    return false;
}

bool eng_blame_read(struct eng *e, const struct eng_storage *storage, const char *why)
{
    return storage->overwrites == 1 && !e->writer && note(e, storage->overwriter, 0, why);
}

void eng_blame_release(struct eng *e)
{
    for (size_t i = 0; i < e->blame_count; i++)
        vs_free(e->blames[i].text);
    vs_free(e->blames);
}
