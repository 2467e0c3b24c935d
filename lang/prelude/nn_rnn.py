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


class _DropoutState:
    # PyTorch seeds cuDNN's generator on the device once a process
    is_made = False


class RNNBase(Module):
    # cuDNN wants all weights in one buffer: on the device they are views of it
    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if isinstance(dropout, bool) or dropout < 0 or dropout > 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                             "being zeroed")
        if dropout > 0 and num_layers == 1:
            torch._warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                        f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        rows = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}[mode] * hidden_size
        state = proj_size if proj_size > 0 else hidden_size
        self._flat_weights_names = []
        for layer in range(num_layers):
            for direction in range(directions):
                width = input_size if layer == 0 else state * directions
                suffix = f"l{layer}_reverse" if direction == 1 else f"l{layer}"
                shapes = {"weight_ih_": (rows, width), "weight_hh_": (rows, state)}
                if bias:
                    shapes["bias_ih_"] = (rows,)
                    shapes["bias_hh_"] = (rows,)
                if proj_size > 0:
                    shapes["weight_hr_"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                    self._flat_weights_names.append(name + suffix)
        self.flatten_parameters()
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self):
        weights = self._weights()
        first = weights[0]
        if not first.is_cuda or any([w.dtype != first.dtype or not w.is_cuda for w in weights]):
            return
        starts, total = self._places(weights)
        with torch.no_grad():
            buffer = torch.zeros(total, dtype=first.dtype, device=first.device)
            views = [torch._op._cast_into(weights[i], buffer, starts[i]) for i in range(len(weights))]
            for i in range(len(weights)):
                weights[i].data = views[i]

    def _places(self, weights):
        # the buffer: the matrices of every layer and direction, then their biases, of which there are always two
        passes = self.num_layers * (2 if self.bidirectional else 1)
        matrices = [i for i in range(len(weights)) if weights[i].dim() == 2]
        biases = [i for i in range(len(weights)) if weights[i].dim() == 1]
        starts = [0] * len(weights)
        at = 0
        for i in matrices + biases:
            starts[i] = at
            at += weights[i].numel()
        return starts, sum([weights[i].numel() for i in matrices]) + 2 * weights[0].shape[0] * passes

    def _zeros(self, input, batch, width):
        directions = 2 if self.bidirectional else 1
        return torch.zeros(self.num_layers * directions, batch, width, dtype=input.dtype, device=input.device)

    def _check_input(self, input):
        if isinstance(input, tuple):
            raise NotImplementedError(f"nn.{type(self).__name__}: packed sequences are not supported here; "
                                      "give a padded tensor")
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if self.input_size != input.size(-1):
            raise RuntimeError("input.size(-1) must be equal to input_size. "
                               f"Expected {self.input_size}, got {input.size(-1)}")
        dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != dtype and not torch.is_autocast_enabled():
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                             f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})")

    def _check_state(self, state, batch, width, message):
        expected = (self.num_layers * (2 if self.bidirectional else 1), batch, width)
        if tuple(state.shape) != expected:
            raise RuntimeError(message.format(expected, list(state.shape)))

    def _run(self, input, hx, cx):
        mode = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}[self.mode]
        weights = self._weights()
        if self.training:
            torch._warn_of("rnn_reserve", f"nn.{type(self).__name__}: only cuDNN knows how much it keeps for backward; "
                           "counted are the gates of all steps, so figures that include it are lower bounds")
        if self.training and self.dropout > 0 and not _DropoutState.is_made:
            seed = torch.empty((), dtype=torch.long, device=input.device)
            del seed
            _DropoutState.is_made = True
        if torch.is_autocast_enabled():
            # the weights are cast into a buffer of their own, then the states, then the input: to float16, as PyTorch
            # does under autocast to bfloat16, too
            dtype = torch.float16
            if weights[0].dtype != dtype:
                starts, total = self._places(weights)
                buffer = torch.zeros(total, dtype=dtype, device=weights[0].device)
                weights = [torch._op._cast_into(weights[i], buffer, starts[i]) for i in range(len(weights))]
                del buffer
            cx = cx if cx is None else cx.to(dtype)
            hx = hx.to(dtype)
            input = input.to(dtype)
        return torch._op._cudnn_rnn(input, weights, hx, cx, mode, self.hidden_size, self.proj_size,
                                    self.num_layers, self.batch_first, self.dropout, self.training,
                                    self.bidirectional, self.bias)


class _OneStateLayer(RNNBase):
    def forward(self, input, hx=None):
        self._check_input(input)
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            if hx is not None:
                hx = hx.unsqueeze(1)
        batch = input.size(batch_dim)
        if hx is None:
            hx = self._zeros(input, batch, self.hidden_size)
        self._check_state(hx, batch, self.hidden_size, "Expected hidden size {}, got {}")
        output, hidden, _, _, _, _ = self._run(input, hx, None)
        if not is_batched:
            output = output.squeeze(batch_dim)
            hidden = hidden.squeeze(1)
        return output, hidden


class RNN(_OneStateLayer):
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self_mode = "RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU"
        super().__init__(self_mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0,
                         device, dtype)
        self.nonlinearity = nonlinearity


class GRU(_OneStateLayer):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0,
                         device, dtype)


class LSTM(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         proj_size, device, dtype)

    def forward(self, input, hx=None):
        self._check_input(input)
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        state = self.proj_size if self.proj_size > 0 else self.hidden_size
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        batch = input.size(batch_dim)
        if hx is None:
            h_zeros = self._zeros(input, batch, state)
            c_zeros = self._zeros(input, batch, self.hidden_size)
            hx = (h_zeros, c_zeros)
        elif not is_batched:
            hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self._check_state(hx[0], batch, state, "Expected hidden[0] size {}, got {}")
        self._check_state(hx[1], batch, self.hidden_size, "Expected hidden[1] size {}, got {}")
        output, hy, cy, _, _, _ = self._run(input, hx[0], hx[1])
        if not is_batched:
            return output.squeeze(batch_dim), (hy.squeeze(1), cy.squeeze(1))
        return output, (hy, cy)
