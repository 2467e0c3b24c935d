/*
 * standin/runtime/graph.c - graphs: handles with one node that is nothing. A launch does nothing, as the kernels in it
 * would not.
 *
 * Objects of the user that a graph retains live until the last graph or instance that retains them is destroyed, and
 * are then destroyed, as CUDA does.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

/* handle: of the object, or of the graph or instance that holds `count` references to `object` */
struct object {
    const void *handle;
    void *user;
    void (*destroy)(void *);
    uint64_t count;
};

struct hold {
    const void *graph;
    const void *object;
    uint64_t count;
};

static struct {
    pthread_mutex_t lock;
    struct object *objects;
    size_t object_count, object_cap;
    struct hold *holds;
    size_t hold_count, hold_cap;
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int cudaUserObjectCreate(void **out, void *user, void (*destroy)(void *), unsigned count,
                                unsigned flags)
{
    *out = sti_handle();
    pthread_mutex_lock(&graphs.lock);
    graphs.objects =
        vs_grow(graphs.objects, graphs.object_count, &graphs.object_cap, sizeof(*graphs.objects));
    graphs.objects[graphs.object_count++] = (struct object){*out, user, destroy, count};
    pthread_mutex_unlock(&graphs.lock);
    return STI_SUCCESS;
}

/* Changes how often an object is held; destroys it at 0, without the lock, for it may call back. */
static void object_hold(const void *handle, int64_t more)
{
    struct object gone = {NULL, NULL, NULL, 0};

    pthread_mutex_lock(&graphs.lock);
    for (size_t i = 0; i < graphs.object_count; i++) {
        struct object *object = &graphs.objects[i];

        if (object->handle != handle)
            continue;
        object->count += (uint64_t)more;
        if (!object->count) {
            gone = *object;
            *object = graphs.objects[--graphs.object_count];
        }
        break;
    }
    pthread_mutex_unlock(&graphs.lock);
    if (gone.destroy)
        gone.destroy(gone.user);
}

static int cudaUserObjectRetain(const void *object, unsigned count)
{
    object_hold(object, count);
    return STI_SUCCESS;
}

static int cudaUserObjectRelease(const void *object, unsigned count)
{
    object_hold(object, -(int64_t)count);
    return STI_SUCCESS;
}

static void graph_hold(const void *graph, const void *object, uint64_t count)
{
    pthread_mutex_lock(&graphs.lock);
    graphs.holds =
        vs_grow(graphs.holds, graphs.hold_count, &graphs.hold_cap, sizeof(*graphs.holds));
    graphs.holds[graphs.hold_count++] = (struct hold){graph, object, count};
    pthread_mutex_unlock(&graphs.lock);
}

/* flags 1: the caller's references become the graph's */
static int cudaGraphRetainUserObject(const void *graph, const void *object, unsigned count,
                                     unsigned flags)
{
    if (!(flags & 1))
        object_hold(object, count);
    graph_hold(graph, object, count);
    return STI_SUCCESS;
}

/* The first hold of a graph, taken out; false: it has none. */
static bool hold_take(const void *graph, struct hold *out)
{
    bool is_found = false;

    pthread_mutex_lock(&graphs.lock);
    for (size_t i = 0; i < graphs.hold_count && !is_found; i++)
        if (graphs.holds[i].graph == graph) {
            *out = graphs.holds[i];
            graphs.holds[i] = graphs.holds[--graphs.hold_count];
            is_found = true;
        }
    pthread_mutex_unlock(&graphs.lock);
    return is_found;
}

static int cudaGraphDestroy(const void *graph)
{
    struct hold hold;

    while (hold_take(graph, &hold))
        object_hold(hold.object, -(int64_t)hold.count);
    return STI_SUCCESS;
}

/* The instance holds what the graph does. */
static int cudaGraphInstantiate(void **out, const void *graph, unsigned long long flags)
{
    size_t count;

    *out = sti_handle();
    pthread_mutex_lock(&graphs.lock);
    count = graphs.hold_count;
    pthread_mutex_unlock(&graphs.lock);
    for (size_t i = 0; i < count; i++) {
        struct hold hold = {NULL, NULL, 0};

        pthread_mutex_lock(&graphs.lock);
        if (i < graphs.hold_count)
            hold = graphs.holds[i];
        pthread_mutex_unlock(&graphs.lock);
        if (hold.object && hold.graph == graph) {
            object_hold(hold.object, (int64_t)hold.count);
            graph_hold(*out, hold.object, hold.count);
        }
    }
    return STI_SUCCESS;
}

static int cudaGraphCreate(void **out, unsigned flags)
{
    *out = sti_handle();
    return STI_SUCCESS;
}

/* One, for no nodes would mean that nothing was captured. */
static int cudaGraphGetNodes(const void *graph, void **nodes, size_t *count)
{
    if (nodes && *count)
        nodes[0] = sti_handle();
    *count = 1;
    return STI_SUCCESS;
}

static int cudaGraphAddNode(void **node, const void *graph, const void *before, const void *edges,
                            size_t count, void *parameters)
{
    *node = sti_handle();
    return STI_SUCCESS;
}

static int cudaGraphNodeGetDependencies(const void *node, void **nodes, void *edges, size_t *count)
{
    *count = 0;
    return STI_SUCCESS;
}

static int cudaGraphConditionalHandleCreate(unsigned long long *out, const void *graph,
                                            unsigned value, unsigned flags)
{
    *out = (uintptr_t)sti_handle();
    return STI_SUCCESS;
}

const struct sti_call sti_calls_graph[] = {
    STI_CALL(cudaUserObjectCreate),
    STI_CALL(cudaUserObjectRetain),
    STI_CALL(cudaUserObjectRelease),
    STI_CALL(cudaGraphRetainUserObject),
    STI_CALL(cudaGraphCreate),
    STI_CALL(cudaGraphDestroy),
    {"cudaGraphExecDestroy", (sti_function *)cudaGraphDestroy},
    STI_CALL(cudaGraphInstantiate),
    {"cudaGraphInstantiateWithFlags", (sti_function *)cudaGraphInstantiate},
    STI_CALL(cudaGraphGetNodes),
    STI_CALL(cudaGraphAddNode),
    STI_CALL(cudaGraphNodeGetDependencies),
    STI_CALL(cudaGraphConditionalHandleCreate),
    STI_CALLS_END,
};
