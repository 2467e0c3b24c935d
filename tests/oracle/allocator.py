"""tests/oracle/allocator.py - the rules of PyTorch's CUDA caching allocator, in a few lines of Python.

Fed with one stream's requests and frees in order, it gives the block sizes and segments that
`torch.cuda.memory_allocated` and `memory_reserved` count. Default settings only: no expandable
segments, no limit on splitting, no out-of-memory.
"""
import bisect

ROUND = 512
SMALL_LIMIT = 1 << 20
SMALL_SEGMENT = 2 << 20
MID_LIMIT = 10 << 20
MID_SEGMENT = 20 << 20
LARGE_ROUND = 2 << 20


class Block:
    __slots__ = ("address", "size", "free", "before", "after", "small")

    def __init__(self, address, size, small):
        self.address, self.size, self.small = address, size, small
        self.free = False
        self.before = self.after = None


class Allocator:
    def __init__(self):
        self.allocated = self.reserved = 0
        self.segments = 0
        self.next_address = 0
        self.pools = {True: [], False: []}  # sorted (size, address, block)

    def _take(self, block):
        pool = self.pools[block.small]
        del pool[bisect.bisect_left(pool, (block.size, block.address))]
        block.free = False

    def _give(self, block):
        block.free = True
        bisect.insort(self.pools[block.small], (block.size, block.address, block))

    def malloc(self, request):
        """A block for `request` bytes (> 0)."""
        size = max(ROUND, -(-request // ROUND) * ROUND)
        small = size <= SMALL_LIMIT
        pool = self.pools[small]
        at = bisect.bisect_left(pool, (size,))
        if at < len(pool):
            block = pool[at][2]
            self._take(block)
        else:
            if small:
                segment = SMALL_SEGMENT
            elif size < MID_LIMIT:
                segment = MID_SEGMENT
            else:
                segment = -(-size // LARGE_ROUND) * LARGE_ROUND
            block = Block(self.next_address, segment, small)
            self.next_address += segment + LARGE_ROUND
            self.reserved += segment
            self.segments += 1
        rest = block.size - size
        if rest >= ROUND if small else rest > SMALL_LIMIT:
            tail = Block(block.address + size, rest, small)
            tail.before, tail.after = block, block.after
            if block.after is not None:
                block.after.before = tail
            block.after, block.size = tail, size
            self._give(tail)
        self.allocated += block.size
        return block

    def free(self, block):
        self.allocated -= block.size
        before, after = block.before, block.after
        if after is not None and after.free:
            self._take(after)
            block.size += after.size
            block.after = after.after
            if after.after is not None:
                after.after.before = block
        if before is not None and before.free:
            self._take(before)
            before.size += block.size
            before.after = block.after
            if block.after is not None:
                block.after.before = before
            block = before
        self._give(block)
