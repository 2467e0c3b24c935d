/*
 * tracer/cupti/cupti_translate.c - see cupti_translate.h. Layouts are those of CUPTI 13.0; within a major version
 * fields are only appended.
 *
 * Must not know:  how records are used.
 * Invariant:      a record is read only after its length was checked.
 */
#include "tracer/cupti/cupti_translate.h"

#ifdef VS_CUPTI

#include <cupti.h>

_Static_assert((int)CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 == CUPTI_OUR_IDS, "our ids");

static const char *copy_name(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return "to the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return "to the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
        return "on the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return "between devices";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return "on the host";
    }
    return "of an unknown kind";
}

static enum cupti_read of_kernel(const CUpti_ActivityKernel10 *k, struct cupti_record *out)
{
    *out = (struct cupti_record){.what = CUPTI_KERNEL,
                                 .correlation = k->correlationId,
                                 .start_ns = k->start,
                                 .end_ns = k->end,
                                 .name = k->name};
    return CUPTI_READ_OK;
}

static enum cupti_read of_copy(const CUpti_ActivityMemcpy6 *m, struct cupti_record *out)
{
    *out = (struct cupti_record){.what = CUPTI_COPY,
                                 .correlation = m->correlationId,
                                 .start_ns = m->start,
                                 .end_ns = m->end,
                                 .bytes = m->bytes,
                                 .name = copy_name(m->copyKind)};
    return CUPTI_READ_OK;
}

static enum cupti_read of_fill(const CUpti_ActivityMemset4 *m, struct cupti_record *out)
{
    *out = (struct cupti_record){.what = CUPTI_FILL,
                                 .correlation = m->correlationId,
                                 .start_ns = m->start,
                                 .end_ns = m->end,
                                 .bytes = m->bytes,
                                 .name = "fill"};
    return CUPTI_READ_OK;
}

/*
 * Managed memory may be on the device. Pinned memory belongs to the host, and memory of modules was not requested by
 * anyone.
 */
static enum cupti_read of_memory(const CUpti_ActivityMemory4 *m, struct cupti_record *out)
{
    if (m->memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
        m->memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_MANAGED &&
        m->memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_ARRAY)
        return CUPTI_READ_OTHER;
    if (m->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
        m->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
        return CUPTI_READ_OTHER;
    *out = (struct cupti_record){.what = m->memoryOperationType ==
                                                 CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                             ? CUPTI_TAKEN
                                             : CUPTI_GIVEN,
                                 .correlation = m->correlationId,
                                 .start_ns = m->timestamp,
                                 .address = m->address,
                                 .bytes = m->bytes,
                                 .name = m->source};
    return CUPTI_READ_OK;
}

static enum cupti_read of_pool(const CUpti_ActivityMemoryPool3 *p, struct cupti_record *out)
{
    if (p->memoryPoolOperationType != CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED)
        return CUPTI_READ_OTHER;
    *out = (struct cupti_record){.what = CUPTI_POOL,
                                 .correlation = p->correlationId,
                                 .start_ns = p->timestamp,
                                 .address = p->address,
                                 .bytes = p->size};
    return CUPTI_READ_OK;
}

static enum cupti_read of_call(const CUpti_ActivityAPI *a, struct cupti_record *out)
{
    *out = (struct cupti_record){.what = CUPTI_CALL,
                                 .correlation = a->correlationId,
                                 .call = a->cbid,
                                 .is_driver = a->kind == CUPTI_ACTIVITY_KIND_DRIVER,
                                 .start_ns = a->start,
                                 .end_ns = a->end};
    return CUPTI_READ_OK;
}

static enum cupti_read of_tie(const CUpti_ActivityExternalCorrelation *e, struct cupti_record *out)
{
    if (e->externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        return CUPTI_READ_OTHER;
    *out = (struct cupti_record){
        .what = CUPTI_TIE, .correlation = e->correlationId, .op_seq = e->externalId};
    return CUPTI_READ_OK;
}

#define IF_WHOLE(type, function)                                                                   \
    (bytes < sizeof(type) ? CUPTI_READ_CUT : function((const type *)record, out))

enum cupti_read cupti_translate(const void *record, size_t bytes, struct cupti_record *out)
{
    if (bytes < sizeof(CUpti_ActivityKind))
        return CUPTI_READ_CUT;
    switch ((int)((const CUpti_Activity *)record)->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return IF_WHOLE(CUpti_ActivityKernel10, of_kernel);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return IF_WHOLE(CUpti_ActivityMemcpy6, of_copy);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return IF_WHOLE(CUpti_ActivityMemset4, of_fill);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return IF_WHOLE(CUpti_ActivityMemory4, of_memory);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return IF_WHOLE(CUpti_ActivityMemoryPool3, of_pool);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return IF_WHOLE(CUpti_ActivityAPI, of_call);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return IF_WHOLE(CUpti_ActivityExternalCorrelation, of_tie);
    }
    return CUPTI_READ_UNKNOWN;
}

size_t cupti_name_offset(const void *record, size_t bytes)
{
    if (bytes < sizeof(CUpti_ActivityKind))
        return 0;
    switch ((int)((const CUpti_Activity *)record)->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return bytes < sizeof(CUpti_ActivityKernel10) ? 0 : offsetof(CUpti_ActivityKernel10, name);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return bytes < sizeof(CUpti_ActivityMemory4) ? 0 : offsetof(CUpti_ActivityMemory4, source);
    }
    return 0;
}

#endif
