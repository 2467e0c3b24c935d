"""sample_nets/tools/netwriter/__init__.py - parts of torch2net.py: a PyTorch model, recorded into torch.fx graphs,
becomes a net file."""
