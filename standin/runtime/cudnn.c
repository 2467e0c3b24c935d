/*
 * standin/runtime/cudnn.c - cuDNN: versions, descriptors that are read back, and the weights of recurrent networks.
 *
 * The workspace sizes of cuDNN are not known: every size is 0, and this is reported. Of what recurrent networks keep
 * for backward a lower bound is known.
 */
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"
#include "standin/runtime/unknown.h"

#define DIMS_MAX 8

/* ---- versions and texts ---- */

static size_t cudnnGetVersion(void)
{
    return (size_t)sti_versions()->cudnn;
}

static size_t cudnnGetCudartVersion(void)
{
    return (size_t)sti_versions()->cuda;
}

static int cudnnGetProperty(int type, int *value)
{
    const int version = sti_versions()->cudnn;
    /* from 9 on 5 digits: 92600; before that 4: 8902 */
    const int major = version >= 90000 ? version / 10000 : version / 1000;
    const int rest = version >= 90000 ? version % 10000 : version % 1000;

    *value = type == 0 ? major : type == 1 ? rest / 100 : rest % 100;
    return STI_SUCCESS;
}

static const char *cudnnGetErrorString(int status)
{
    return status ? "refused by vramscope's stand-in for a GPU" : "CUDNN_STATUS_SUCCESS";
}

static void cudnnGetLastErrorString(char *out, size_t size)
{
    if (size > 0)
        *out = '\0';
}

/* ---- descriptors: heap memory, so that they can be read back ---- */

/* Of a tensor or a filter. */
struct shape {
    int type;
    int format;
    int count;
    int dims[DIMS_MAX];
    int strides[DIMS_MAX];
};

struct rnn {
    int mode; /* 0 relu, 1 tanh, 2 lstm, 3 gru */
    int bias; /* 0 none, 1 of the input, 2 of both, 3 of the hidden state */
    int directions;
    int type;
    int input, hidden, projection, layers;
};

/* The data of a recurrent network: steps of all its sequences together. */
struct sequences {
    size_t steps;
};

static int shape_create(void **out)
{
    *out = vs_calloc(1, sizeof(struct shape));
    return STI_SUCCESS;
}

static int rnn_create(void **out)
{
    *out = vs_calloc(1, sizeof(struct rnn));
    return STI_SUCCESS;
}

static int sequences_create(void **out)
{
    *out = vs_calloc(1, sizeof(struct sequences));
    return STI_SUCCESS;
}

static int memory_destroy(void *descriptor)
{
    vs_free(descriptor);
    return STI_SUCCESS;
}

static int cudnnSetTensorNdDescriptor(struct shape *shape, int type, int count, const int *dims,
                                      const int *strides)
{
    shape->type = type;
    shape->count = count < DIMS_MAX ? count : DIMS_MAX;
    memcpy(shape->dims, dims, (size_t)shape->count * sizeof(*dims));
    memcpy(shape->strides, strides, (size_t)shape->count * sizeof(*strides));
    return STI_SUCCESS;
}

static int cudnnGetTensorNdDescriptor(const struct shape *shape, int most, int *type, int *count,
                                      int *dims, int *strides)
{
    const int shown = most < shape->count ? most : shape->count;

    *type = shape->type;
    *count = shape->count;
    for (int i = 0; i < shown; i++) {
        dims[i] = shape->dims[i];
        strides[i] = shape->strides[i];
    }
    return STI_SUCCESS;
}

static int cudnnSetFilterNdDescriptor(struct shape *shape, int type, int format, int count,
                                      const int *dims)
{
    shape->format = format;
    return cudnnSetTensorNdDescriptor(shape, type, count, dims, dims);
}

static int cudnnGetFilterNdDescriptor(const struct shape *shape, int most, int *type, int *format,
                                      int *count, int *dims)
{
    int strides[DIMS_MAX];

    *format = shape->format;
    return cudnnGetTensorNdDescriptor(shape, most < DIMS_MAX ? most : DIMS_MAX, type, count, dims,
                                      strides);
}

/* ---- recurrent networks ---- */

static int cudnnSetRNNDescriptor_v8(struct rnn *rnn, int algorithm, int mode, int bias,
                                    int direction, int input_mode, int type, int precision,
                                    int math, int input, int hidden, int projection, int layers,
                                    void *dropout, unsigned flags)
{
    *rnn = (struct rnn){.mode = mode,
                        .bias = bias,
                        .directions = direction ? 2 : 1,
                        .type = type,
                        .input = input,
                        .hidden = hidden,
                        .projection = projection,
                        .layers = layers};
    return STI_SUCCESS;
}

static int cudnnSetRNNDataDescriptor(struct sequences *x, int type, int layout, int steps,
                                     int batch, int width, const int *lengths, void *fill)
{
    x->steps = 0;
    for (int i = 0; i < batch; i++)
        x->steps += (size_t)lengths[i];
    return STI_SUCCESS;
}

/* Bytes of an element: 0 float, 1 double, 2 half, 9 bfloat16. */
static size_t element_bytes(int type)
{
    return type == 1 ? 8 : type == 0 ? 4 : 2;
}

/* Matrices of one kind, those of the input or those of the hidden state. */
static int gates(const struct rnn *rnn)
{
    return rnn->mode == 2 ? 4 : rnn->mode == 3 ? 3 : 1;
}

static bool is_projected(const struct rnn *rnn)
{
    return rnn->projection > 0 && rnn->projection != rnn->hidden;
}

static int output_of(const struct rnn *rnn)
{
    return is_projected(rnn) ? rnn->projection : rnn->hidden;
}

/*
 * The offset of matrix `id` of a layer and direction, in elements, and its shape. All matrices precede all biases; they
 * are ordered by layer, direction and number, the projection last. id past the last: the end of the layer.
 */
static size_t matrix_at(const struct rnn *rnn, int layer, int id, int *rows, int *columns)
{
    size_t at = 0;

    for (int l = 0; l <= layer; l++)
        for (int k = 0; k <= 2 * gates(rnn); k++) {
            const int below = l / rnn->directions;
            const int input = below == 0 ? rnn->input : output_of(rnn) * rnn->directions;

            *rows = rnn->hidden;
            *columns = k < gates(rnn) ? input : output_of(rnn);
            if (k == 2 * gates(rnn)) {
                *rows = is_projected(rnn) ? rnn->projection : 0;
                *columns = is_projected(rnn) ? rnn->hidden : 0;
            }
            if (l == layer && k == id)
                return at;
            at += (size_t)*rows * (size_t)*columns;
        }
    *rows = *columns = 0;
    return at;
}

static size_t bias_count(const struct rnn *rnn)
{
    return (size_t)(rnn->bias == 0 ? 0 : rnn->bias == 2 ? 2 * gates(rnn) : gates(rnn));
}

static size_t matrices_end(const struct rnn *rnn)
{
    int rows, columns;

    return matrix_at(rnn, rnn->layers * rnn->directions - 1, 2 * gates(rnn) + 1, &rows, &columns);
}

static int cudnnGetRNNWeightSpaceSize(void *handle, const struct rnn *rnn, size_t *size)
{
    const size_t biases =
        bias_count(rnn) * (size_t)rnn->hidden * (size_t)rnn->layers * (size_t)rnn->directions;

    *size = (matrices_end(rnn) + biases) * element_bytes(rnn->type);
    return STI_SUCCESS;
}

/* shape NULL: not needed. */
static void shape_set(struct shape *shape, int type, int rows, int columns)
{
    const int dims[3] = {1, rows, columns};
    const int strides[3] = {rows * columns, columns, 1};

    if (shape)
        (void)cudnnSetTensorNdDescriptor(shape, type, 3, dims, strides);
}

static int cudnnGetRNNWeightParams(void *handle, const struct rnn *rnn, int layer, size_t size,
                                   const char *space, int id, struct shape *matrix,
                                   const char **matrix_address, struct shape *bias,
                                   const char **bias_address)
{
    const size_t bytes = element_bytes(rnn->type);
    int rows, columns;
    const size_t at = matrix_at(rnn, layer, id, &rows, &columns);
    /* with biases of one kind only, matrices of the other have none */
    const int first = rnn->bias == 3 ? gates(rnn) : 0;
    const bool has_bias =
        id >= first && (size_t)(id - first) < bias_count(rnn) && id < 2 * gates(rnn);

    shape_set(matrix, rnn->type, rows, columns);
    shape_set(bias, rnn->type, has_bias ? rnn->hidden : 0, has_bias ? 1 : 0);
    if (matrix_address)
        *matrix_address = rows ? space + at * bytes : NULL;
    if (bias_address)
        *bias_address = NULL;
    if (has_bias && bias_address)
        *bias_address =
            space + (matrices_end(rnn) + ((size_t)layer * bias_count(rnn) + (size_t)(id - first)) *
                                             (size_t)rnn->hidden) *
                        bytes;
    return STI_SUCCESS;
}

/*
 * Only cuDNN knows both sizes. For backward it must keep at least the gates of all steps, layers and directions, which
 * is what the engine counts, too; its workspace is 0 here.
 */
static int cudnnGetRNNTempSpaceSizes(void *handle, const struct rnn *rnn, int mode,
                                     const struct sequences *x, size_t *workspace, size_t *reserve)
{
    enum { MODE_TRAINING = 1 };
    const size_t kept = (size_t)gates(rnn) * (size_t)rnn->hidden * (size_t)rnn->layers *
                        (size_t)rnn->directions * element_bytes(rnn->type);

    sti_unknown_note("cuDNN", "(workspace and reserve of recurrent networks)");
    if (workspace)
        *workspace = 0;
    if (reserve)
        *reserve = mode == MODE_TRAINING ? x->steps * kept : 0;
    return STI_SUCCESS;
}

/* ---- sizes: none is known ---- */

static int cudnnDropoutGetStatesSize(void *handle, size_t *size)
{
    *size = 0;
    return STI_SUCCESS;
}

static int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops,
                                                                    void *x, void *z, void *y,
                                                                    void *bn, void *act,
                                                                    size_t *size)
{
    *size = 0;
    return STI_SUCCESS;
}

static int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops, void *x,
                                                             void *y, void *dy, void *dz, void *dx,
                                                             void *bn, void *act, size_t *size)
{
    *size = 0;
    return STI_SUCCESS;
}

static int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops,
                                                                void *act, void *x, size_t *size)
{
    *size = 0;
    return STI_SUCCESS;
}

/* ---- the graph API: one descriptor where descriptors are asked for, else zeros ---- */

static int cudnnBackendCreateDescriptor(int kind, void **out)
{
    *out = sti_handle();
    return STI_SUCCESS;
}

static int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested,
                                    int64_t *count, void *array)
{
    enum { TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15, TYPE_INT32 = 23, PLAN_WORKSPACE_SIZE = 402 };
    const bool is_one = type == TYPE_DESCRIPTOR || type == TYPE_INT64 || type == TYPE_INT32;

    if (name == PLAN_WORKSPACE_SIZE)
        sti_unknown_note("cuDNN", "(workspaces of convolutions)");
    if (count)
        *count = is_one;
    if (type == TYPE_INT64 && array && requested > 0)
        memset(array, 0, sizeof(int64_t));
    if (type == TYPE_INT32 && array && requested > 0)
        memset(array, 0, sizeof(int32_t));
    return STI_SUCCESS;
}

const struct sti_call sti_calls_cudnn[] = {
    STI_CALL(cudnnGetVersion),
    STI_CALL(cudnnGetCudartVersion),
    STI_CALL(cudnnGetProperty),
    STI_CALL(cudnnGetErrorString),
    STI_CALL(cudnnGetLastErrorString),
    {"cudnnCreateTensorDescriptor", (sti_function *)shape_create},
    {"cudnnCreateFilterDescriptor", (sti_function *)shape_create},
    {"cudnnCreateRNNDescriptor", (sti_function *)rnn_create},
    {"cudnnDestroyTensorDescriptor", (sti_function *)memory_destroy},
    {"cudnnDestroyFilterDescriptor", (sti_function *)memory_destroy},
    {"cudnnDestroyRNNDescriptor", (sti_function *)memory_destroy},
    STI_CALL(cudnnSetTensorNdDescriptor),
    STI_CALL(cudnnGetTensorNdDescriptor),
    STI_CALL(cudnnSetFilterNdDescriptor),
    STI_CALL(cudnnGetFilterNdDescriptor),
    STI_CALL(cudnnSetRNNDescriptor_v8),
    {"cudnnCreateRNNDataDescriptor", (sti_function *)sequences_create},
    {"cudnnDestroyRNNDataDescriptor", (sti_function *)memory_destroy},
    STI_CALL(cudnnSetRNNDataDescriptor),
    STI_CALL(cudnnGetRNNWeightSpaceSize),
    STI_CALL(cudnnGetRNNWeightParams),
    STI_CALL(cudnnGetRNNTempSpaceSizes),
    STI_CALL(cudnnDropoutGetStatesSize),
    STI_CALL(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize),
    STI_CALL(cudnnGetBatchNormalizationBackwardExWorkspaceSize),
    STI_CALL(cudnnGetBatchNormalizationTrainingExReserveSpaceSize),
    STI_CALL(cudnnBackendCreateDescriptor),
    STI_CALL(cudnnBackendGetAttribute),
    STI_CALLS_END,
};
