# pytorch-memonger's language model: an LSTM run over parts of the sequence in checkpoints, with a custom module list.
import torch
import torch.nn as nn
import torch.utils.checkpoint as cp


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ['LSTM', 'GRU']:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=0.)
        else:
            nonlinearity = {'RNN_TANH': 'tanh', 'RNN_RELU': 'relu'}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError('When using the tied flag, nhid must be equal to emsize')
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type = rnn_type
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.bias.data.fill_(0)
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def custom(self, module):
        def custom_forward(*inputs):
            output, (h, c) = module(inputs[0], (inputs[1], inputs[2]))
            return output, h, c
        return custom_forward

    def forward(self, input):
        hidden = self.init_hidden(input.size(1))
        emb = self.drop(self.encoder(input))
        outputs = []
        for part in emb.chunk(2, 0):
            output, h, c = cp.checkpoint(self.custom(self.rnn), part, hidden[0], hidden[1], use_reentrant=False)
            hidden = (h, c)
            outputs.append(output)
        output = self.drop(torch.cat(outputs))
        decoded = self.decoder(output.view(output.size(0) * output.size(1), output.size(2)))
        return decoded.view(output.size(0), output.size(1), decoded.size(1))

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        return (weight.new(self.nlayers, bsz, self.nhid).zero_(),
                weight.new(self.nlayers, bsz, self.nhid).zero_())


def model():
    return RNNModel("LSTM", 32, 16, 16, 2, tie_weights=True)


def batch(n):
    return torch.randint(0, 32, (8, n)), torch.randint(0, 32, (8, n))


def loss(output, targets):
    return nn.functional.cross_entropy(output.view(-1, 32), targets.view(-1))
