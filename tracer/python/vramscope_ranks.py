"""tracer/python/vramscope_ranks.py - one rank of many that runs alone over a simulated GPU.

The other ranks are not there. Rendezvous is answered by a store of the library's own (standin/runtime/ranks/store.h),
which PyTorch's TCPStore connects to whatever address the program gives it; NCCL is simulated; Gloo, which connects to
the other ranks itself, is PyTorch's own group for such runs, FakeProcessGroup. Data of the others is this rank's own.
"""
import os


def alone_in(settings):
    """Is this process the rank that `--world` and `--rank` name? A process that it starts with another rank is not."""
    return "world" in settings and os.environ.get("WORLD_SIZE") == settings["world"]


def store_redirect(dist, port):
    """Every TCPStore is a client of the store at `port`."""
    import importlib

    rendezvous = importlib.import_module("torch.distributed.rendezvous")  # dist.rendezvous is a function
    real = dist.TCPStore

    class TCPStore(real):
        def __init__(self, host_name=None, _=None, world_size=None, is_master=False, timeout=None, *args, **kwargs):
            given = {} if timeout is None else {"timeout": timeout}
            real.__init__(self, "127.0.0.1", port, world_size, False, wait_for_workers=False, **given)

    def files(url, **kwargs):
        query = dict(pair.split("=") for pair in url.partition("?")[2].split("&") if pair)
        rank, world = int(query["rank"]), int(query["world_size"])
        yield TCPStore(None, None, world), rank, world

    for module in (dist, rendezvous, dist.distributed_c10d):
        if hasattr(module, "TCPStore"):
            module.TCPStore = TCPStore
    rendezvous._rendezvous_handlers["file"] = files


def gloo_replace(c10d, fake):
    """A group of Gloo is one that speaks to nobody."""
    real = c10d.ProcessGroupGloo

    fake._set_sequence_number_for_group = lambda self: None  # up to 2.14 it refuses where it has a name

    def create(rank, size):
        if hasattr(fake, "_create_internal"):
            return fake._create_internal(rank, size, fake.Options())
        return fake(rank, size)  # up to 2.7

    class Alone(type):
        def __call__(cls, store, rank, size, *args, **kwargs):
            return create(rank, size)

        def __instancecheck__(cls, instance):
            return isinstance(instance, (fake, real))

        def __getattr__(cls, name):
            return getattr(real, name)

    class ProcessGroupGloo(metaclass=Alone):
        pass

    c10d.ProcessGroupGloo = ProcessGroupGloo


def splits_watch(stand_in, c10d):
    """Set the size of the part that a communicator is split into, which NCCL would find out from the others."""
    def wrap(kind, name):
        real = getattr(kind, name, None)
        if real is None:
            return

        def split(self, *args, **kwargs):
            for ranks in list(args) + list(kwargs.values()):
                if isinstance(ranks, list):
                    stand_in.library.sti_next_split(len(ranks))
                    break
            return real(self, *args, **kwargs)

        setattr(kind, name, split)

    for kind in ("ProcessGroupNCCL2", "ProcessGroupNCCLLazy"):
        wrap(getattr(c10d, kind, None), "split")
    wrap(c10d.ProcessGroup, "split_group")


def is_one_machine():
    """Are all ranks on this machine? Where nothing says how many are, they are."""
    world = os.environ.get("WORLD_SIZE", "1")
    return world == os.environ.get("LOCAL_WORLD_SIZE", world)


def attach(stand_in, torch, settings):
    """After `import torch`: what of torch.distributed is not as it would be with other GPUs."""
    if not torch.distributed.is_available():
        return
    is_alone = alone_in(settings)
    if not is_alone and is_one_machine():
        stand_in.library.sti_exchange_open(os.fsencode(stand_in.folder))
    stand_in.module("vramscope_objects").watch(stand_in, torch, is_alone)
    if is_alone:
        others_answer(stand_in, torch)
    else:
        stand_in.module("vramscope_waits").watch(stand_in, torch)


def others_answer(stand_in, torch):
    import torch.distributed as dist

    port = stand_in.library.sti_store_port()
    if not port:
        stand_in.note("refused", "no port of this machine could be opened for the store of --world")
        return
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    store_redirect(dist, port)
    c10d = dist.distributed_c10d
    if dist.is_gloo_available():
        gloo_replace(c10d, torch._C._distributed_c10d.FakeProcessGroup)
    splits_watch(stand_in, c10d)
    dist.monitored_barrier = c10d.monitored_barrier = lambda *args, **kwargs: None
