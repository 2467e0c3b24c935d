"""Parts of torch2net.py: a PyTorch model, recorded into torch.fx graphs, becomes a net file."""
