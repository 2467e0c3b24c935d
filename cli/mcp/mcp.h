/*
 * cli/mcp/mcp.h - a server of the Model Context Protocol: questions about traces, as tools for other programs.
 *
 * For:            `vramscope mcp`.
 * Must not know:  where messages come from; cmd_mcp.c reads and writes them.
 * Invariant:      no program is ever started, and a trace's net runs on `meta` only. Every answer has at most
 *                 MCP_ANSWER_MAX bytes.
 *
 * The protocol is JSON-RPC 2.0, one message a line (https://modelcontextprotocol.io/specification). A tool's answer is
 * a JSON object, given as structuredContent and as text.
 */
#ifndef CLI_MCP_H
#define CLI_MCP_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/inspect/alive.h"
#include "replay/trace/trace.h"
#include "store/json/json_reader.h"

/* The longest message that is read, and the longest answer of a tool; in bytes. */
#define MCP_MESSAGE_MAX (1 << 20)
#define MCP_ANSWER_MAX (1 << 16)
/* How long a tool may work, in seconds. */
#define MCP_SECONDS_MAX 120

/* ---- the server ---- */

/*
 * reader   of the messages
 * trace    what tools read where no trace is named; NULL: each call names one
 * seconds  how long a tool may work
 * Zero-initialise, then mcp_server_open, which sets them.
 */
struct mcp_server {
    struct sto_json_reader *reader;
    const char *trace;
    int seconds;
};

VS_MUST_USE enum vs_status mcp_server_open(struct mcp_server *server, const char *trace,
                                           struct vs_error *err);
void mcp_server_close(struct mcp_server *server);

/*
 * Answer one message, the `len` bytes of `line` without the end of its line: append one line to `out`, or nothing
 * where the message is a notification or a response.
 */
void mcp_server_answer(struct mcp_server *server, const char *line, size_t len,
                       struct vs_text *out);

/* ---- tools ---- */

/* A call: its arguments are below "$.params.arguments" of the message; deadline: CLOCK_MONOTONIC, in seconds. */
struct mcp_call {
    struct sto_json_reader *reader;
    const char *trace;
    int64_t deadline;
};

/*
 * A tool.
 *
 * schema  of its arguments, JSON Schema
 * is_read_only   no file is written; the others store the index of a long trace in its file
 * run     writes the members of the answer into the object that is open. A failure is reported to the client with the
 *         text of *err, and what was written is dropped
 */
struct mcp_tool {
    const char *name;
    const char *title;
    const char *description;
    const char *schema;
    enum vs_status (*run)(const struct mcp_call *call, struct vs_json *json, struct vs_error *err);
    bool is_read_only;
};

extern const struct mcp_tool mcp_tool_peak;
extern const struct mcp_tool mcp_tool_holders;
extern const struct mcp_tool mcp_tool_why_alive;
extern const struct mcp_tool mcp_tool_diff;
extern const struct mcp_tool mcp_tool_whatif;
extern const struct mcp_tool mcp_tool_advise;
extern const struct mcp_tool mcp_tool_query;

/* Tool number `i` (from 0); NULL past the end. */
const struct mcp_tool *mcp_tool_at(size_t i);

/* Write the list of tools as an array, the answer to tools/list. */
void mcp_tools_json(struct vs_text *out);

/* ---- arguments (arguments.c) ---- */

/* VS_E_USAGE: an argument is given that the tool's schema does not have; it is named. */
VS_MUST_USE enum vs_status mcp_args_check(const struct mcp_call *call, const struct mcp_tool *tool,
                                          struct vs_error *err);

/* Append a string. VS_E_USAGE: it is not given, or no string. */
VS_MUST_USE enum vs_status mcp_arg_text(const struct mcp_call *call, const char *name,
                                        struct vs_text *out, struct vs_error *err);
/* A whole number from 0 to `max`; `initial` where it is not given. VS_E_USAGE: it is none. */
VS_MUST_USE enum vs_status mcp_arg_count(const struct mcp_call *call, const char *name,
                                         uint64_t initial, uint64_t max, uint64_t *out,
                                         struct vs_error *err);
/* Whether it is given. */
bool mcp_arg_has(const struct mcp_call *call, const char *name);
/* Append the path that `name` names, or the server's. VS_E_USAGE: neither is given. */
VS_MUST_USE enum vs_status mcp_arg_path(const struct mcp_call *call, const char *name,
                                        struct vs_text *out, struct vs_error *err);
/*
 * Open the trace there; the caller frees it. Reading its events ends with VS_E_STOPPED when the call's time is over.
 * Other errors: those of opening a trace.
 */
VS_MUST_USE enum vs_status mcp_arg_trace(const struct mcp_call *call, const char *name,
                                         struct rpl_trace **out, struct vs_error *err);
/* A size such as "24 GiB" or a number of bytes; 0 where it is not given. */
VS_MUST_USE enum vs_status mcp_arg_size(const struct mcp_call *call, const char *name,
                                        uint64_t *out, struct vs_error *err);

/* The work may go on: the call's time is not over. For callbacks: `user` is the call. */
bool mcp_goes_on(void *user, uint64_t done, uint64_t total);

/* ---- parts of answers (parts.c) ---- */

/* Where an event happened: {"function", "line", "op", "module", "source"}; what is not known is left out. */
void mcp_location_json(const struct rpl_trace *trace, uint32_t location, struct vs_json *json);
/* A live block: its number, bytes, name, shape, the events of its life, and at most 8 holders. */
void mcp_block_json(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_json *json);
/* Append a text as a word of a shell's command, between quotes where it needs them. */
void mcp_add_word(const char *text, struct vs_text *out);
/* The same of the path of the trace that a call is about. */
VS_MUST_USE enum vs_status mcp_add_path(const struct mcp_call *call, struct vs_text *out,
                                        struct vs_error *err);
/* A string of at most `max` bytes, with "…" behind it where it is cut; null where `text` is NULL. */
void mcp_add_clipped(struct vs_json *json, const char *text, size_t max);
/* The same as the member `key`. */
void mcp_put_clipped(struct vs_json *json, const char *key, const char *text, size_t max);

/*
 * A trace with its index, and a cursor at the event that the argument `event` names; without it at out of memory, or
 * else at the peak. path: of the trace, as a word of a shell's command. Zero-initialise; the caller releases it, also
 * after a failure.
 */
struct mcp_at {
    struct vs_text path;
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
    uint64_t event;
};
VS_MUST_USE enum vs_status mcp_at_open(struct mcp_at *at, const struct mcp_call *call,
                                       struct vs_error *err);
void mcp_at_release(struct mcp_at *at);

#endif
