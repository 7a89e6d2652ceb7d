"""Times and memory of several functions, alternating."""

import ctypes
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

import torch

from rapt import _core
from rapt._command import output

_HIP = 10  # DLPack's number for AMD's devices


class Times(NamedTuple):
    ms: float
    """the median"""
    ms_p20: float
    """a fifth of the runs were faster"""
    runs: int


def alternate(functions: dict[str, Callable], device: str, seconds: float) -> dict[str, Times]:
    """One run of each in turn, repeatedly, for about `seconds` each and at least 3 runs.

    A run is as many calls as take a millisecond; the first calls, which may allocate and load, do not count.
    """
    calls, found = {}, {name: [] for name in functions}
    for name, function in functions.items():
        first = _run(function, 1, device)
        again = _run(function, 1, device) if first < 1 else first
        calls[name] = max(1, round(1e-3 / max(again, 1e-6)))
    spent = dict.fromkeys(functions, 0.0)
    while active := [name for name in functions if spent[name] < seconds or len(found[name]) < 3]:
        for name in active:
            elapsed = _run(functions[name], calls[name], device)
            spent[name] += elapsed
            found[name].append(1e3 * elapsed / calls[name])
    return {name: Times(statistics.median(x), sorted(x)[len(x) // 5], len(x)) for name, x in found.items()}


def simulated_gpu(device: str) -> dict | None:
    """Rapt's facts about the device if it is a simulated GPU, where the host's seconds mean nothing; else None."""
    if device == "cpu" or not torch.version.hip:
        return None
    gpu = _core.devices(_HIP)[torch.cuda.current_device()]
    return gpu if gpu["simulator"] else None


def time_model(device: str) -> str:
    """The model that forecasts a simulated GPU's times; "" where times are measured. RuntimeError without a model."""
    gpu = simulated_gpu(device)
    if gpu and not gpu["time_model"]:
        raise RuntimeError("the GPU is simulated without a time model: RAPT_SIM_TIME=1 asks for forecasts")
    return gpu["time_model"] if gpu else ""


def forecast(functions: dict[str, Callable]) -> dict[str, Times]:
    """One call of each on a simulated GPU, by its events: forecasts do not vary."""
    times = {}
    for name, function in functions.items():
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        ms = start.elapsed_time(end)
        times[name] = Times(ms, ms, 1)
    return times


def captured(function: Callable) -> Callable:
    """The call as a CUDA graph, which costs the host one launch."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        function()  # which may load kernels
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        function()
    return graph.replay


def card(device: str) -> dict[str, str]:
    """The GPU's name, driver and clocks now, as its own tool tells them; empty on a CPU."""
    if device == "cpu":
        return {}
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    found = {"name": properties.name}
    if torch.version.hip:
        return found | {"hip": torch.version.hip}
    asked = ("driver_version", "clocks.sm", "clocks.mem", "temperature.gpu")
    command = ["nvidia-smi", f"--id=GPU-{properties.uuid}", f"--query-gpu={','.join(asked)}"]
    try:
        run = subprocess.run([*command, "--format=csv,noheader"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return found | {"driver": f"not known: {error}"}
    return found | dict(
        zip(("driver", "sm clock", "memory clock", "temperature"), run.stdout.strip().split(", "), strict=True)
    )


def peak_bytes(function: Callable, device: str) -> int | None:
    """Memory that a call adds at its peak, its results included: GPU memory, or the process's resident memory.

    None if the system does not report it.
    """
    if device != "cpu":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        function()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    if not sys.platform.startswith("linux"):
        return None
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak counts from here
    before = resident_bytes("VmRSS")
    function()
    return max(0, resident_bytes("VmHWM") - before)


def resident_bytes(name: str) -> int:
    """VmRSS, this process's memory, or VmHWM, the most that it had. Only Linux has them."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":"))


def probed_peak(threads: int) -> str:
    """The machine's arithmetic peaks, as the command rapt probes them on that many threads."""
    try:
        lines = output("bench", "peaks", "--threads", str(threads)).splitlines()
    except RuntimeError as error:
        return f"probed peak: not known: {error}"
    return next(line for line in lines if line.startswith("probed peak"))


def free_bytes(device: str) -> float:
    if device != "cpu":
        return torch.cuda.mem_get_info()[0]
    try:
        with open("/proc/meminfo") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    except FileNotFoundError:
        return float("inf")


@contextmanager
def pinned(threads: int | None):
    """Binds this thread and the threads that it starts to that many CPUs; PyTorch and Rapt then use that many threads.

    None: no change. Use descending counts, because a pool's threads keep the CPUs that they were started with.
    """
    if threads is None:
        yield
        return
    before, count = os.sched_getaffinity(0), torch.get_num_threads()
    if threads > len(before):
        raise ValueError(f"threads is {threads}; this process may use {len(before)} CPUs")
    os.sched_setaffinity(0, sorted(before)[:threads])
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        torch.set_num_threads(count)


def _run(function, calls, device):
    """Seconds that the calls take: of the host's clock on a CPU, of the device's own on a GPU."""
    if device == "cpu":
        start = time.perf_counter()
        for _ in range(calls):
            function()
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    hide_host()
    start.record()
    for _ in range(calls):
        function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def hide_host(ms: float = 1):
    """Keeps the GPU busy for about `ms` milliseconds, in which the host queues what is to be timed."""
    torch.cuda.synchronize()
    torch.cuda._sleep(int(2_000_000 * ms))  # cycles of its clock
