/*
 * replay/trace/callstack.c - see callstack.h.
 *
 * Must not know:  SQL, drawing.
 */
#include "replay/trace/callstack.h"

#include "replay/trace/trace_internal.h"

enum vs_status rpl_trace_stack_each(const struct rpl_trace *trace, uint64_t seq, rpl_frame_fn *each,
                                    void *user, struct vs_error *err)
{
    struct sto_reader *reader = rpl_trace_reader(trace);

    return reader ? sto_reader_stack_each(reader, seq, each, user, err) : VS_OK;
}
