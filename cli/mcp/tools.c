/*
 * cli/mcp/tools.c - the table of tools, and how it is listed to a client; see mcp.h.
 *
 * Must not know:  the protocol around it.
 * Invariant:      the list is the same in each session.
 */
#include <string.h>

#include "base/toggle.h"
#include "cli/mcp/mcp.h"

static const struct mcp_tool *const TOOLS[] = {
    &mcp_tool_peak,   &mcp_tool_holders, &mcp_tool_why_alive, &mcp_tool_diff,
    &mcp_tool_whatif, &mcp_tool_advise,  &mcp_tool_query,
};
#define TOOL_COUNT (sizeof(TOOLS) / sizeof(TOOLS[0]))

const struct mcp_tool *mcp_tool_at(size_t i)
{
    return i < TOOL_COUNT ? TOOLS[i] : NULL;
}

static void add_string(const char *text, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_string(&json, text);
}

/* " Toggles: amp (off, fp16 or bf16), …": the table of base/toggle.def. */
static void add_toggles(struct vs_text *out)
{
    char legal[VS_TOGGLE_LEGAL_MAX];

    vs_text_add(out, " Toggles:");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        vs_text_addf(out, "%s %s (%s)", i ? "," : "", vs_toggle_info((enum vs_toggle)i)->name,
                     vs_toggle_legal_text((enum vs_toggle)i, legal));
    vs_text_add(out, ".");
}

void mcp_tools_json(struct vs_text *out)
{
    struct vs_text description = {NULL, 0, 0};

    for (size_t i = 0; i < TOOL_COUNT; i++) {
        vs_text_clear(&description);
        vs_text_add(&description, TOOLS[i]->description);
        if (TOOLS[i] == &mcp_tool_whatif)
            add_toggles(&description);
        vs_text_addf(out,
                     "%s{\"name\": \"%s\", \"title\": \"%s\", \"description\": ", i ? ", " : "[",
                     TOOLS[i]->name, TOOLS[i]->title);
        add_string(vs_text_get(&description), out);
        vs_text_addf(out,
                     ", \"inputSchema\": %s, \"annotations\": {\"readOnlyHint\": %s, "
                     "\"destructiveHint\": false, \"idempotentHint\": true, "
                     "\"openWorldHint\": false}}",
                     TOOLS[i]->schema, TOOLS[i]->is_read_only ? "true" : "false");
    }
    vs_text_add(out, "]");
    vs_text_release(&description);
}
