/*
 * replay/inspect/block_module.c - see block_module.h.
 */
#include "replay/inspect/block_module.h"

#include <string.h>

/*
 * What a parameter is called in a program's trace whose module is not known: its place in the optimizer, after the name
 * of a variable if there is one.
 */
#define PLACE "param_groups["
/* A buffer of several: "4 parameters, layer1.0.weight to layer1.2.bias". */
#define SEVERAL " parameters, "
#define LAST " to "

/* The module that both are in, of the one at `path` and the one at `last`. */
static size_t common_len(const char *path, const char *last)
{
    size_t len = 0;

    for (size_t i = 0; path[i] && path[i] != ' ' && path[i] == last[i]; i++)
        if (path[i] == '.')
            len = i;
    return len;
}

const char *rpl_name_module(const char *name, size_t *len)
{
    const char *of = strstr(name, " of ");
    const char *path = of ? of + strlen(" of ") : name;
    const char *several = strstr(path, SEVERAL);
    const char *last;
    const char *dot;

    path = several ? several + strlen(SEVERAL) : path;
    last = several ? strstr(path, LAST) : NULL;
    dot = strstr(path, PLACE) ? NULL : strrchr(path, '.');
    *len = last ? common_len(path, last + strlen(LAST)) : dot ? (size_t)(dot - path) : 0;
    return path;
}

/* The name that the block's module follows from; NULL: it has none, or a parameter is known by its place alone. */
static const char *parameter_of(const struct rpl_trace *trace, const struct rpl_why *why)
{
    const char *name = rpl_trace_string(trace, why->parameter);

    return why->parameter && !strstr(name, PLACE) ? name : NULL;
}

bool rpl_block_module(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, why->block.alloc_location);
    const char *name = parameter_of(trace, why);

    if (name) {
        size_t len;
        const char *path = rpl_name_module(name, &len);

        vs_text_add_n(out, path, len);
        return true;
    }
    vs_text_add(out, rpl_trace_string(trace, location->module));
    return location->module != 0;
}

/*
 * The library that an op gets memory for, by the words of the op's name (`CudnnRnnBackward0/_cudnn_rnn_backward`): of
 * products cuBLAS, of convolutions and recurrent networks cuDNN. NULL: a kernel of the op's own, or not known.
 */
static const char *library_of(const char *op)
{
    static const struct {
        const char *word, *library;
    } LIBRARIES[] = {
        {"convolution", "cuDNN"},
        {"ConvolutionBackward0", "cuDNN"},
        {"cudnn", "cuDNN"},
        {"conv1d", "cuDNN"},
        {"conv2d", "cuDNN"},
        {"conv3d", "cuDNN"},
        {"lstm", "cuDNN"},
        {"gru", "cuDNN"},
        {"rnn", "cuDNN"},
        {"CudnnRnnBackward0", "cuDNN"},
        {"mm", "cuBLAS"},
        {"addmm", "cuBLAS"},
        {"bmm", "cuBLAS"},
        {"baddbmm", "cuBLAS"},
        {"addbmm", "cuBLAS"},
        {"mv", "cuBLAS"},
        {"addmv", "cuBLAS"},
        {"matmul", "cuBLAS"},
        {"linear", "cuBLAS"},
        {"einsum", "cuBLAS"},
        {"MmBackward0", "cuBLAS"},
        {"AddmmBackward0", "cuBLAS"},
        {"BmmBackward0", "cuBLAS"},
        {"BaddbmmBackward0", "cuBLAS"},
        {"LinearBackward0", "cuBLAS"},
        {"fft", "cuFFT"},
    };
    static const char BETWEEN[] = "_/.: ";

    for (const char *at = op + strspn(op, BETWEEN); *at; at += strspn(at, BETWEEN)) {
        const size_t len = strcspn(at, BETWEEN);

        for (size_t i = 0; i < sizeof(LIBRARIES) / sizeof(LIBRARIES[0]); i++)
            if (strlen(LIBRARIES[i].word) == len && memcmp(at, LIBRARIES[i].word, len) == 0)
                return LIBRARIES[i].library;
        at += len;
    }
    return NULL;
}

bool rpl_block_no_shape(const struct rpl_trace *trace, const struct rpl_why *why,
                        struct vs_text *out)
{
    const struct rpl_block *block = &why->block;
    const char *op = rpl_trace_string(trace, rpl_trace_location(trace, block->alloc_location)->op);
    const char *library = library_of(op);

    if (block->tensor)
        return false;
    if (block->category != VS_CAT_WORKSPACE)
        vs_text_add(out, "no op was seen to read it, so only its bytes are known");
    else if (library)
        vs_text_addf(out, "workspace of %s, bytes only", library);
    else
        vs_text_addf(out, "workspace of %s, bytes only", *op ? op : "a library");
    return true;
}

bool rpl_block_no_module(const struct rpl_trace *trace, const struct rpl_why *why,
                         struct vs_text *out)
{
    const char *reason = NULL;

    if (parameter_of(trace, why) || rpl_trace_location(trace, why->block.alloc_location)->module)
        return false;
    switch ((enum vs_category)why->block.category) {
    case VS_CAT_PARAMETER:
    case VS_CAT_BUFFER:
        reason = "no module that was called has this parameter or buffer";
        break;
    case VS_CAT_GRADIENT:
        reason = "no module that was called has the parameter of this gradient";
        break;
    case VS_CAT_OPTIMIZER:
        reason = "no module that was called has the parameter of this state";
        break;
    case VS_CAT_INPUT:
        reason = "a batch belongs to no module";
        break;
    case VS_CAT_ACTIVATION:
    case VS_CAT_SAVED:
    case VS_CAT_CHECKPOINT:
    case VS_CAT_CAST:
    case VS_CAT_TEMPORARY:
    case VS_CAT_WORKSPACE:
    case VS_CAT_OTHER:
    case VS_CATEGORY_COUNT:
        reason = "allocated by the outermost module itself, or outside of all modules";
        break;
    }
    vs_text_add(out, reason);
    return true;
}
