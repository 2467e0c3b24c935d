"""tests/programs/published/scripts.py CHECKOUT SCRIPT [NAME=VALUE…] - runs a benchmark script of Liger-Kernel.

As it was, so everything is there that was measured before the rows: speed, and the compiled implementations.

CHECKOUT is Liger-Kernel at the commit of the rows (README.md). Prints PEAK, the provider, x, the constants and the
bytes, for each measurement of memory; NAME=VALUE changes a constant. collect=N,N… turns Python's garbage collector off
and runs it before these measurements alone, counted from 0, of speed first. Needs Triton of PyTorch's version, and
packaging. Packages that the scripts import for names alone (transformers, tokenizers, pytest) need not be there, and
nothing is written.
"""
import functools
import gc
import importlib.metadata
import os
import runpy
import sys
import types


class Names(types.ModuleType):
    """A module in which every name is a class."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Mark:
    """pytest.mark: every mark leaves its function as it is."""

    def __getattr__(self, name):
        return lambda *a, **k: lambda f: f


def package(name, path):
    """The package without its __init__, which imports all of transformers."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]


def main():
    checkout, script, *changes = sys.argv[1:]
    for name in ("transformers", "transformers.tokenization_utils_base", "tokenizers", "tokenizers.models",
                 "tokenizers.pre_tokenizers", "tokenizers.trainers", "pytest"):
        sys.modules[name] = Names(name)
    sys.modules["pytest"].mark = Mark()
    version = importlib.metadata.version
    importlib.metadata.version = lambda name: "0" if name == "liger-kernel" else version(name)
    sys.path[:0] = [os.path.join(checkout, "benchmark", "scripts"), os.path.join(checkout, "src"), checkout]
    package("liger_kernel.transformers", os.path.join(checkout, "src", "liger_kernel", "transformers"))
    import triton.testing
    import utils
    do_bench = triton.testing.do_bench

    @functools.wraps(do_bench)
    def bench(fn, **more):  # few calls: speed is measured for what it leaves behind
        return do_bench(fn, **more | {"warmup": 0, "rep": 0})

    def say(benchmark_data_list, **_):
        for one in benchmark_data_list:
            for x, mib in zip(one.x_values, one.y_values_50):
                if one.metric_name == "memory":
                    words = one.kernel_provider, x, round(mib * 2**20), one.extra_benchmark_config_str
                    print("PEAK", *words, flush=True)

    changed = dict(c.split("=") for c in changes)
    collected = changed.pop("collect", None)
    at = [int(n) for n in collected.split(",") if n] if collected is not None else []
    if collected is not None:
        gc.disable()
    count = iter(range(1 << 30))

    def run(extra_benchmark_configs, bench_test_fn, **more):
        for config in extra_benchmark_configs:
            config.update((key, int(value)) for key, value in changed.items())

        def bench_test(one):
            if next(count) in at:
                gc.collect()
            return bench_test_fn(one)

        measure(extra_benchmark_configs=extra_benchmark_configs, bench_test_fn=bench_test, **more)

    triton.testing.do_bench = bench
    measure = utils.run_benchmarks
    utils.run_benchmarks = run
    utils.update_benchmark_data_csv = say
    utils.print_benchmark_data = lambda data: None
    path = os.path.join(checkout, "benchmark", "scripts", script)
    sys.argv = [path]
    runpy.run_path(path, run_name="__main__")


main()
