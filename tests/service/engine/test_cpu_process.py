"""Where a model on CPUs runs, by the configuration, the machine and the operator's environment."""

from __future__ import annotations

import pytest

from service.config import EngineConfig
from service.engine.cpu_process import MAX_CORES, ONE_PROCESS, arguments_and_variables
from service.engine.vllm import VllmEngine, use_cpus

_BIND = "VLLM_CPU_OMP_THREADS_BIND"


def test_few_cores_are_all_the_model_s() -> None:
    arguments, variables = arguments_and_variables(EngineConfig(), cores=2, tensor_parallel_size=1, variables={})
    assert arguments == {"distributed_executor_backend": ONE_PROCESS}
    assert variables["OMP_NUM_THREADS"] == "2"


def test_threads_are_those_asked_for() -> None:
    engine = EngineConfig(cpu_threads=3)
    for environment in ({}, {_BIND: "nobind"}):
        _, variables = arguments_and_variables(engine, cores=4, tensor_parallel_size=1, variables=environment)
        assert variables["OMP_NUM_THREADS"] == "3"


def test_the_operator_s_environment_is_kept() -> None:
    _, variables = arguments_and_variables(EngineConfig(), cores=2, tensor_parallel_size=1, variables={})
    environment = dict.fromkeys(variables, "1")
    assert len(environment) == 4
    found = arguments_and_variables(EngineConfig(), cores=2, tensor_parallel_size=1, variables=environment)
    assert found == ({"distributed_executor_backend": ONE_PROCESS}, {})
    _, variables = arguments_and_variables(
        EngineConfig(), cores=2, tensor_parallel_size=1, variables={"OMP_WAIT_POLICY": "active"}
    )
    assert "GOMP_SPINCOUNT" not in variables


@pytest.mark.parametrize(
    ("engine", "cores", "parts", "environment"),
    [
        (EngineConfig(), MAX_CORES + 1, 1, {}),
        (EngineConfig(one_process=False), 2, 1, {}),
        (EngineConfig(one_process=True), 2, 2, {}),
        (EngineConfig(one_process=True), 2, 1, {_BIND: "0,1"}),
        (EngineConfig(), 2, 1, {_BIND: "auto"}),
    ],
)
def test_else_it_is_vllm_s_own_arrangement(
    engine: EngineConfig, cores: int, parts: int, environment: dict[str, str]
) -> None:
    arguments, variables = arguments_and_variables(
        engine, cores=cores, tensor_parallel_size=parts, variables=environment
    )
    assert arguments == {}
    assert "OMP_NUM_THREADS" not in variables


def test_many_cores_in_one_process_when_asked_to() -> None:
    arguments, _ = arguments_and_variables(
        EngineConfig(one_process=True), cores=MAX_CORES + 1, tensor_parallel_size=1, variables={}
    )
    assert arguments == {"distributed_executor_backend": ONE_PROCESS}


@pytest.mark.engine
async def test_the_model_runs_where_it_was_told_to(engine: VllmEngine) -> None:
    """On CPUs vLLM replaces some executors that it is given."""
    expected = use_cpus(EngineConfig(cpu_threads=1), 1).get("distributed_executor_backend")
    if expected is None:
        pytest.skip("vLLM's own arrangement, on this machine")
    assert engine.llm.vllm_config.parallel_config.distributed_executor_backend == expected
