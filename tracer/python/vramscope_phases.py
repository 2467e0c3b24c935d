"""tracer/python/vramscope_phases.py - finds the phases of what a program does by itself, outside of modules and
optimizers: which ops made the graph of a backward, and which ones update parameters.

It reads what vramscope_reading.py read, once parameters have their names. import/phases.c decides what the rest is.
"""
ZEROING = ("zero_", "_foreach_zero_")


def find(reading, module):
    """module: vramscope_reading. Ops between a backward and the last change in place of a parameter that follows it,
    before an op that is in a graph, a module or an optimizer, are the optimizer's."""
    graph = {id(context.forward) for _, kind, context, _ in reading.happened if kind == module.BEGIN}
    since = None  # ops since a backward, None: something else has begun
    count = 0  # of these, up to the last one that changed a parameter
    writing = None
    for _, kind, context, what in reading.happened:
        if kind == module.BEGIN:
            writing = context if context.overwritten else None
            context.makes_graph = id(context) in graph
            if context.node is None and context.phase is None and not context.makes_graph:
                if since is not None:
                    since.append(context)
                continue
            optimizer_say(since, count)
            since, count = [] if context.node is not None else None, 0
        elif kind == module.USE and context is writing:
            writing = None  # the first one is what it writes
            if since and since[-1] is context:
                if what.kind == "parameter":
                    count = len(since)
                elif what.kind == "gradient" and context.op in ZEROING:
                    context.phase = "zero_grad"
    optimizer_say(since, count)


def optimizer_say(ops, count):
    for op in ops[:count] if ops else ():
        op.phase = op.phase or "optimizer"
