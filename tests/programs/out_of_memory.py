"""tests/programs/out_of_memory.py - runs out of the memory of the simulated GPU, catches it, and goes on."""
import torch
from figures import figures

blocks = []
try:
    while True:
        blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError as e:
    assert "CUDA out of memory" in str(e)
print("BLOCKS", len(blocks), torch.cuda.get_device_properties(0).total_memory)
del blocks
torch.cuda.empty_cache()
torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
figures()
