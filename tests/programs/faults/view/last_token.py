"""tests/programs/faults/view/last_token.py - the last token's hidden state of each prompt is kept: a view, so all
tokens' states stay."""
import torch
from torch import nn

encoder = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True).cuda().eval()
embeddings = []
with torch.no_grad():
    for _ in range(8):
        prompt = torch.randn(4, 256, 256, device="cuda")
        hidden = encoder(prompt)
        embeddings.append(hidden[:, -1])  # fault: view
        # repaired: embeddings.append(hidden[:, -1].cpu())
index = torch.cat(embeddings)
