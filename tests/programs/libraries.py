"""tests/programs/libraries.py - libraries beside cuBLAS and cuDNN: solvers, FFT, sparse products, attention, NVML."""
import torch
from figures import figures

a = torch.randn(64, 64, device="cuda")
for function in (torch.linalg.cholesky, torch.linalg.qr, torch.linalg.inv, torch.linalg.eigh, torch.linalg.svd,
                 torch.fft.fft, torch.fft.rfft2):
    function(a)
torch.sparse.mm(a.to_sparse(), a)
q = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
first.record()
second.record()
torch.cuda.synchronize()
assert first.elapsed_time(second) >= 0
assert torch.cuda.device_count() == 1 and torch.cuda.mem_get_info()[0] <= torch.cuda.mem_get_info()[1]
figures()
