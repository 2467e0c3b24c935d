/*
 * tracer/inject/nvtx.c - see nvtx.h.
 *
 * NVTX consists of headers only: each library of a program has its own function table and attaches this library
 * separately. The handle of a domain or a registered string is its interned text, so no table is needed to resolve
 * handles.
 */
#include "tracer/inject/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"
#include "tracer/inject/frames.h"
#include "tracer/inject/ranges.h"

#define NAME_MAX_BYTES 200
#define UNNAMED "range"

/* ---- names ---- */

static const char *name_of(const char *text)
{
    char cut[NAME_MAX_BYTES + 1];
    size_t len = 0;

    if (!text || !*text)
        return UNNAMED;
    for (size_t n; len < NAME_MAX_BYTES && (n = vs_utf8_len(text + len)) != 0 && text[len] &&
                   len + n <= NAME_MAX_BYTES;
         len += n)
        memcpy(cut + len, text + len, n);
    cut[len] = '\0';
    return len ? inj_text_keep(cut) : UNNAMED;
}

/* wchar_t is UTF-32 on this platform, in every locale. */
static const char *wide_name_of(const wchar_t *text)
{
    struct vs_text out = {NULL, 0, 0};
    const char *kept;

    for (; text && *text && out.len < NAME_MAX_BYTES; text++) {
        const unsigned long c = (unsigned long)*text;

        if (c < 0x80) {
            vs_text_add_char(&out, (char)c);
        } else if (c < 0x800) {
            vs_text_add_char(&out, (char)(0xC0 | c >> 6));
            vs_text_add_char(&out, (char)(0x80 | (c & 0x3F)));
        } else if (c < 0x10000) {
            vs_text_add_char(&out, (char)(0xE0 | c >> 12));
            vs_text_add_char(&out, (char)(0x80 | (c >> 6 & 0x3F)));
            vs_text_add_char(&out, (char)(0x80 | (c & 0x3F)));
        } else {
            vs_text_add_char(&out, '?');
        }
    }
    kept = name_of(vs_text_get(&out));
    vs_text_release(&out);
    return kept;
}

static const char *message_of(const nvtxEventAttributes_t *attributes)
{
    const void *handle;

    if (!attributes)
        return UNNAMED;
    switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return name_of(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return wide_name_of(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        handle = attributes->message.registered;
        return handle ? handle : UNNAMED;
    default:
        return UNNAMED;
    }
}

/* Handles are interned texts cast to NVTX's types. */
static const char *domain_of(nvtxDomainHandle_t domain)
{
    const void *name = domain;

    return name;
}

static void *handle_of(const char *kept)
{
    void *handle;

    memcpy(&handle, &kept, sizeof(handle));
    return handle;
}

/* ---- NVTX's functions ---- */

static int NVTX_API range_push_ex(const nvtxEventAttributes_t *attributes)
{
    inj_range_push(NULL, message_of(attributes));
    return 0;
}

static int NVTX_API range_push(const char *message)
{
    inj_range_push(NULL, name_of(message));
    return 0;
}

static int NVTX_API range_push_wide(const wchar_t *message)
{
    inj_range_push(NULL, wide_name_of(message));
    return 0;
}

static int NVTX_API range_pop(void)
{
    inj_range_pop(NULL);
    return 0;
}

static nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t *attributes)
{
    return inj_range_start(NULL, message_of(attributes));
}

static nvtxRangeId_t NVTX_API range_start(const char *message)
{
    return inj_range_start(NULL, name_of(message));
}

static nvtxRangeId_t NVTX_API range_start_wide(const wchar_t *message)
{
    return inj_range_start(NULL, wide_name_of(message));
}

static void NVTX_API range_end(nvtxRangeId_t id)
{
    inj_range_end(id);
}

static int NVTX_API domain_range_push(nvtxDomainHandle_t domain,
                                      const nvtxEventAttributes_t *attributes)
{
    inj_range_push(domain_of(domain), message_of(attributes));
    return 0;
}

static int NVTX_API domain_range_pop(nvtxDomainHandle_t domain)
{
    inj_range_pop(domain_of(domain));
    return 0;
}

static nvtxRangeId_t NVTX_API domain_range_start(nvtxDomainHandle_t domain,
                                                 const nvtxEventAttributes_t *attributes)
{
    return inj_range_start(domain_of(domain), message_of(attributes));
}

static void NVTX_API domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    (void)domain;
    inj_range_end(id);
}

static nvtxDomainHandle_t NVTX_API domain_create(const char *name)
{
    return handle_of(name_of(name));
}

static nvtxDomainHandle_t NVTX_API domain_create_wide(const wchar_t *name)
{
    return handle_of(wide_name_of(name));
}

static nvtxStringHandle_t NVTX_API string_register(nvtxDomainHandle_t domain, const char *string)
{
    (void)domain;
    return handle_of(name_of(string));
}

static nvtxStringHandle_t NVTX_API string_register_wide(nvtxDomainHandle_t domain,
                                                        const wchar_t *string)
{
    (void)domain;
    return handle_of(wide_name_of(string));
}

/* ---- function tables ---- */

#define ROW(id, function)                                                                          \
    {                                                                                              \
        id, (NvtxFunctionPointer)(function)                                                        \
    }

struct row {
    unsigned id;
    NvtxFunctionPointer function;
};

static const struct row CORE[] = {
    ROW(NVTX_CBID_CORE_RangeStartEx, range_start_ex),  ROW(NVTX_CBID_CORE_RangeStartA, range_start),
    ROW(NVTX_CBID_CORE_RangeStartW, range_start_wide), ROW(NVTX_CBID_CORE_RangeEnd, range_end),
    ROW(NVTX_CBID_CORE_RangePushEx, range_push_ex),    ROW(NVTX_CBID_CORE_RangePushA, range_push),
    ROW(NVTX_CBID_CORE_RangePushW, range_push_wide),   ROW(NVTX_CBID_CORE_RangePop, range_pop),
};

static const struct row CORE2[] = {
    ROW(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start),
    ROW(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end),
    ROW(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push),
    ROW(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop),
    ROW(NVTX_CBID_CORE2_DomainRegisterStringA, string_register),
    ROW(NVTX_CBID_CORE2_DomainRegisterStringW, string_register_wide),
    ROW(NVTX_CBID_CORE2_DomainCreateA, domain_create),
    ROW(NVTX_CBID_CORE2_DomainCreateW, domain_create_wide),
};

/* The table of an older NVTX may be shorter than the one here. */
static void rows_fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
                      const struct row *rows, size_t count)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return;
    for (size_t i = 0; i < count; i++)
        if (rows[i].id < size && table[rows[i].id])
            *table[rows[i].id] = rows[i].function;
}

int inj_nvtx_attach(const void *(*export_table)(uint32_t id))
{
    const NvtxExportTableCallbacks *callbacks =
        export_table ? export_table(NVTX_ETID_CALLBACKS) : NULL;

    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !callbacks->GetModuleFunctionTable)
        return 0;
    rows_fill(callbacks, NVTX_CB_MODULE_CORE, CORE, sizeof(CORE) / sizeof(CORE[0]));
    rows_fill(callbacks, NVTX_CB_MODULE_CORE2, CORE2, sizeof(CORE2) / sizeof(CORE2[0]));
    return 1;
}
