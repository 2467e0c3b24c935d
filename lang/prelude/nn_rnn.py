# lang/prelude/nn_rnn.py - torch.nn: cells of recurrent networks, for one time step.
#
# For:       net files.
# Invariant: as nn_layers.py. Whole layers (LSTM, GRU, RNN) are refused: only cuDNN knows the size of its reserve
#            buffer.
import math

import torch
import torch.nn.init as init


class RNNCellBase(Module):
    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(torch.empty((num_chunks * hidden_size, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((num_chunks * hidden_size, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(torch.empty(num_chunks * hidden_size, device=device, dtype=dtype))
            self.bias_hh = Parameter(torch.empty(num_chunks * hidden_size, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _check(self, name, t):
        if t.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {t.dim()}D instead")

    def _zeros(self, input):
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)


class _OneState(RNNCellBase):
    def forward(self, input, hx=None):
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        else:
            hx = hx.unsqueeze(0) if not is_batched else hx
        ret = self._cell()(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not is_batched:
            ret = ret.squeeze(0)
        return ret


class RNNCell(_OneState):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity

    def _cell(self):
        return torch._op._rnn_tanh_cell if self.nonlinearity == "tanh" else torch._op._rnn_relu_cell


class GRUCell(_OneState):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _cell(self):
        return torch._op._gru_cell


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        self._check("input", input)
        if hx is not None:
            self._check("hx[0]", hx[0])
            self._check("hx[1]", hx[1])
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        else:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0)) if not is_batched else hx
        ret = torch._op._lstm_cell(input, hx[1], hx[0], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not is_batched:
            ret = (ret[0].squeeze(0), ret[1].squeeze(0))
        return ret


def _refused(name):
    raise NotImplementedError(f"nn.{name} runs in cuDNN, which alone knows the size of what it keeps for backward, so "
                              f"its memory cannot be reproduced exactly: write the layer with nn.{name}Cell and a loop "
                              f"over time")


class LSTM(Module):
    def __init__(self, *args, **kwargs):
        _refused("LSTM")


class GRU(Module):
    def __init__(self, *args, **kwargs):
        _refused("GRU")


class RNN(Module):
    def __init__(self, *args, **kwargs):
        _refused("RNN")
