# lang/prelude/utils_data.py - torch.utils.data: data sets, and a loader that joins samples to batches.
#
# For:       net files.
# Invariant: a batch is made when it is asked for and is held by nobody but who asked for it, as in PyTorch with
#            num_workers=0. Workers and pinned memory are the host's and change nothing here.
import torch


class Dataset:
    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class TensorDataset(Dataset):
    def __init__(self, *tensors):
        assert all(tensors[0].size(0) == tensor.size(0) for tensor in tensors), "Size mismatch between tensors"
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return self.tensors[0].size(0)


class ConcatDataset(Dataset):
    def __init__(self, datasets):
        self.datasets = list(datasets)
        assert len(self.datasets) > 0, "datasets should not be an empty iterable"

    def __len__(self):
        return sum(len(d) for d in self.datasets)

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
        for d in self.datasets:
            if index < len(d):
                return d[index]
            index -= len(d)
        raise IndexError("index out of range")


class Subset(Dataset):
    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def _shuffled(count):
    # without data (meta) no random number has a value, and no order uses other memory than another
    return torch.randperm(count).tolist() if torch._has_data() else list(range(count))


def random_split(dataset, lengths, generator=None):
    lengths = list(lengths)
    if sum(lengths) <= 1:
        shares = lengths
        lengths = [int(len(dataset) * share) for share in shares]
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = _shuffled(sum(lengths))
    parts = []
    begin = 0
    for length in lengths:
        parts.append(Subset(dataset, indices[begin:begin + length]))
        begin += length
    return parts


def default_collate(batch):
    elem = batch[0]
    if isinstance(elem, torch.Tensor):
        return torch.stack(batch, 0)
    if isinstance(elem, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(elem, int):
        return torch.tensor(batch)
    if isinstance(elem, str):
        return batch
    if isinstance(elem, dict):
        return {key: default_collate([d[key] for d in batch]) for key in elem}
    if isinstance(elem, (tuple, list)):
        transposed = list(zip(*batch))
        return [default_collate(samples) for samples in transposed]
    raise TypeError("default_collate: batch must contain tensors, numbers, dicts or lists; found "
                    f"{type(elem).__name__}")


class SequentialSampler:
    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler:
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if replacement:
            raise NotImplementedError("RandomSampler(replacement=True) is not supported here; leave it out: which "
                                      "samples a batch has changes no memory")
        self.count = len(data_source) if num_samples is None else num_samples

    def __iter__(self):
        return iter(_shuffled(self.count))

    def __len__(self):
        return self.count


class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True):
        if batch_sampler is not None or batch_size is None:
            raise NotImplementedError("a DataLoader makes its batches of `batch_size` samples here; leave "
                                      "batch_sampler out")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.collate_fn = default_collate if collate_fn is None else collate_fn
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler

    def _fetch(self, indices):
        data = [self.dataset[index] for index in indices]
        return self.collate_fn(data)

    def __iter__(self):
        order = list(self.sampler)
        size = self.batch_size
        return map(self._fetch, [order[i * size:(i + 1) * size] for i in range(len(self))])

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
