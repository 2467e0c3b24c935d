/*
 * import/backward.c - see backward.h.
 */
#include "import/backward.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

/* Maximum distance on the tape at which the op of a node is searched. */
#define TAPE_SEARCH_MAX 96
#define NAME_MAX 64
#define FITS_KEPT 4096

/* Nodes that are not named like their op, both in lower case and without underscores. The op's text is a prefix. */
static const struct {
    const char *node;
    const char *op;
} ALIASES[] = {
    {"addmm", "linear"},
    {"mm", "linear"},
    {"mm", "matmul"},
    {"mm", "einsum"},
    {"bmm", "matmul"},
    {"bmm", "einsum"},
    {"convolution", "conv"},
    {"convolutionoverrideable", "conv"},
    {"nllloss", "crossentropy"},
    {"nllloss2d", "crossentropy"},
    {"logsoftmax", "crossentropy"},
    {"mean", "adaptiveavgpool"},
    {"clone", "contiguous"},
    {"clone", "reshape"},
};

/* One allocation of the forward. op: string of the list; path: of the import. */
struct taped {
    uint32_t op;
    uint32_t path;
};

/* Cached result of imp_backward_fits() for a node and an op, both strings of the list. */
struct fit {
    uint32_t node, op;
    bool is_known, fits;
};

/* node: the last node whose op was found. is_done: it has released its saved tensors. */
struct tape {
    struct taped *items;
    size_t count, cap;
    char node[NAME_MAX];
    bool is_done;
    struct fit *fits;
};

/* Copy the letters and digits of a name in lower case, up to its end. */
static void plain(char *out, const char *name, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len && count + 1 < NAME_MAX; i++)
        if (isalnum((unsigned char)name[i]))
            out[count++] = (char)tolower((unsigned char)name[i]);
    out[count] = '\0';
}

bool imp_backward_fits(const char *node, const char *op)
{
    const char *end = strstr(node, "Backward");
    char a[NAME_MAX];
    char b[NAME_MAX];

    plain(a, node, end ? (size_t)(end - node) : strlen(node));
    plain(b, op, strlen(op));
    if (!*a || !*b)
        return false;
    if (strstr(a, b) || strncmp(a, b, strlen(a)) == 0)
        return true;
    for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++)
        if (strcmp(a, ALIASES[i].node) == 0 &&
            strncmp(b, ALIASES[i].op, strlen(ALIASES[i].op)) == 0)
            return true;
    return false;
}

static bool fits(struct tape *tape, const struct vs_memlist *list, const char *node,
                 uint32_t node_op, uint32_t op)
{
    struct fit *fit = &tape->fits[(node_op * 2654435761U ^ op * 40503U) % FITS_KEPT];

    if (!fit->is_known || fit->node != node_op || fit->op != op)
        *fit = (struct fit){.node = node_op,
                            .op = op,
                            .is_known = true,
                            .fits = imp_backward_fits(node, vs_memlist_text(list, op))};
    return fit->fits;
}

static bool op_find(struct tape *tape, const struct vs_memlist *list, const char *node,
                    uint32_t node_op)
{
    const size_t least = tape->count > TAPE_SEARCH_MAX ? tape->count - TAPE_SEARCH_MAX : 0;

    for (size_t i = tape->count; i-- > least;)
        if (fits(tape, list, node, node_op, tape->items[i].op)) {
            tape->count = i + 1;
            return true;
        }
    return false;
}

/*
 * Move the end of the tape back to the op of a node; if no op fits it stays. Another node of the same name belongs to
 * another op, if there is one.
 */
static void rewind_to(struct tape *tape, const struct vs_memlist *list, const char *node,
                      uint32_t node_op)
{
    const size_t count = tape->count;
    const bool is_next = count && tape->is_done && strcmp(tape->node, node) == 0;

    tape->count -= is_next;
    if (op_find(tape, list, node, node_op)) {
        strcpy(tape->node, node);
        tape->is_done = false;
    } else {
        tape->count = count;
    }
}

/* Copy the node of "Node/op" to `out`; "" if the event has none. */
static void node_of(const struct vs_memlist *list, const struct vs_mem_event *event, char *out)
{
    const char *text = vs_memlist_text(list, event->op);
    size_t len = strcspn(text, "/");

    len = len < NAME_MAX ? len : NAME_MAX - 1;
    memcpy(out, text, len);
    out[len] = '\0';
    if (!strstr(out, "Backward"))
        out[0] = '\0';
}

void imp_backward_fill(struct imp_modules *modules, const struct vs_memlist *list,
                       const struct imp_roles *roles, const struct imp_phases *phases)
{
    struct tape tape = {.items = NULL};
    char running[NAME_MAX] = "";
    char node[NAME_MAX];

    tape.fits = vs_calloc(FITS_KEPT, sizeof(*tape.fits));
    for (size_t i = 0; i < list->event_count; i++) {
        const struct vs_mem_event *event = &list->events[i];
        const uint8_t flags =
            event->stack ? vs_callstacks_get(&list->stacks, event->stack)->flags : 0;
        const bool is_forward = phases->phases[i] == VS_PHASE_FORWARD ||
                                phases->phases[i] == VS_PHASE_LOSS ||
                                imp_roles_stack(roles, event->stack)->is_recompute;

        if (is_forward) {
            running[0] = '\0';
            tape.node[0] = '\0';
            if (event->kind != VS_MEM_ALLOC || !event->op || event->cls != VS_MEM_TENSOR)
                continue;
            tape.items = vs_grow(tape.items, tape.count, &tape.cap, sizeof(*tape.items));
            tape.items[tape.count++] = (struct taped){.op = event->op, .path = modules->paths[i]};
            continue;
        }
        if (!(flags & VS_STACK_ENGINE) || modules->paths[i])
            continue;
        node_of(list, event, node);
        /* the events of a node are consecutive; when it releases its saved tensors, it is done */
        if (flags & VS_STACK_RELEASE) {
            running[0] = '\0';
            tape.is_done = true;
        } else if (node[0] && strcmp(node, running) != 0) {
            rewind_to(&tape, list, node, event->op);
            strcpy(running, node);
        }
        modules->paths[i] = tape.count ? tape.items[tape.count - 1].path : 0;
    }
    vs_free(tape.items);
    vs_free(tape.fits);
}
