/*
 * replay/trace/callstack.c - see callstack.h.
 *
 * Must not know:  SQL, drawing.
 */
#include "replay/trace/callstack.h"

#include <string.h>

#include "replay/trace/trace_internal.h"

enum vs_status rpl_trace_stack_each(const struct rpl_trace *trace, uint64_t seq, rpl_frame_fn *each,
                                    void *user, struct vs_error *err)
{
    struct sto_reader *reader = rpl_trace_reader(trace);

    return reader ? sto_reader_stack_each(reader, seq, each, user, err) : VS_OK;
}

enum vs_status rpl_trace_stacks_of(const struct rpl_trace *trace, const uint64_t *seqs,
                                   size_t count, uint32_t *stacks, struct vs_error *err)
{
    struct sto_reader *reader = rpl_trace_reader(trace);

    if (reader)
        return sto_reader_stacks_of(reader, seqs, count, stacks, err);
    memset(stacks, 0, count * sizeof(*stacks));
    return VS_OK;
}
