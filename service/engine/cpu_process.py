"""Where a model on CPUs runs, in the engine's own process or in one beside it, and its processes' environment. Pure.

Beside it, vLLM binds threads to cores and leaves the last core to its scheduler, which waits for the model in a busy
loop. Of two cores that is half the machine: in one process the model has both, and there is one process fewer to start.
Of many cores it is little, and binding the threads matters more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from service.config import EngineConfig

MAX_CORES: Final = 8
"""With more physical cores than these, vLLM's own arrangement is used, unless the configuration asks otherwise."""

ONE_PROCESS: Final = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
_BIND: Final = "VLLM_CPU_OMP_THREADS_BIND"
_THREADS: Final = "OMP_NUM_THREADS"
_WAIT_POLICY: Final = "OMP_WAIT_POLICY"

_SPINS: Final = {"GOMP_SPINCOUNT": "2000"}
"""For torch's OpenMP (libgomp): a thread that waits for the others sleeps after some microseconds. Left to itself it
keeps its core busy for milliseconds, which another program on that core makes very slow: hundreds a pass.
"""

_ALLOCATOR: Final = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(512 << 20)}
"""For glibc, which otherwise gives a pass's large tensors back to the system and fetches them anew, page by page."""


def runs_in_one_process(
    engine: EngineConfig, *, cores: int, tensor_parallel_size: int, variables: Mapping[str, str]
) -> bool:
    """cores: physical ones that this process may use. variables: the environment; threads that an operator binds there
    are vLLM's to bind, and each part of a model that is split needs a process."""
    if tensor_parallel_size > 1 or variables.get(_BIND, "nobind") != "nobind":
        return False
    return engine.one_process if engine.one_process is not None else cores <= MAX_CORES


def arguments_and_variables(
    engine: EngineConfig, *, cores: int, tensor_parallel_size: int, variables: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """vLLM's engine arguments, none for vLLM's own arrangement, and the environment of its processes.

    What the environment names already is kept.
    """
    found: dict[str, Any] = {}
    wanted = dict(_ALLOCATOR)
    if runs_in_one_process(engine, cores=cores, tensor_parallel_size=tensor_parallel_size, variables=variables):
        found["distributed_executor_backend"] = ONE_PROCESS
        wanted[_THREADS] = str(engine.cpu_threads or cores)
        if _WAIT_POLICY not in variables:
            wanted |= _SPINS
    return found, {name: value for name, value in wanted.items() if name not in variables}
