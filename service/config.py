"""Configuration: a TOML file, then REDRAFT_* environment variables, then command-line flags; the last wins.

Nested fields are named with two underscores in the environment: REDRAFT_SERVER__PORT=50051.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from service.agreement import AgreementPolicy
from service.drafter_config import CopyDrafterConfig, DrafterConfig, NoDrafterConfig

EMBEDDED_MODEL_PATH = Path(os.path.abspath(__file__)).parent / "embedded"


class ConfigError(ValueError):
    """The configuration cannot be used; the message names the values at fault."""


class PromptFormatName(StrEnum):
    """How a model wants to be asked, and how its answer is cut out."""

    EMBEDDED = "embedded"
    CHAT = "chat"
    UPDATED_CODE = "updated_code"
    BARE_FILE = "bare_file"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerConfig(_Section):
    host: str = "127.0.0.1"
    port: int = Field(default=50051, ge=0, le=65535, description="0 takes a free port.")
    max_file_bytes: PositiveInt = 2_000_000
    max_edit_bytes: PositiveInt = 1_000_000
    max_queued_requests: PositiveInt = 256
    max_batch_in_flight: PositiveInt = Field(
        default=8, description="Items of one batch call that are worked on at once; the others are read later."
    )
    drain_seconds: float = Field(default=30.0, ge=0, description="How long requests in flight may take on SIGTERM.")
    health_check_seconds: float = Field(default=5.0, gt=0, description="Between two looks at the engine.")
    address_file: Path | None = Field(default=None, description="HOST:PORT is written here once the port is open.")
    stop_on_stdin_eof: bool = Field(default=False, description="For parents that must not leave a server behind.")


class ModelConfig(_Section):
    """The embedded model is called redraft-embedded, any other as its directory, unless a name is given.

    Models of the embedded format, a copy or an own training run of the embedded model, run in float32 unless told
    otherwise: they are made for it, and "auto" would round their every step.
    """

    path: Path = Field(default=EMBEDDED_MODEL_PATH, description="Directory of the model.")
    name: str = Field(default="redraft-embedded", min_length=1, description="What callers call the model.")
    prompt_format: PromptFormatName = PromptFormatName.EMBEDDED
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto",
        description="auto takes what the model's config.json says, float32 aside: that becomes bfloat16 or float16.",
    )
    max_model_len: PositiveInt | None = Field(default=None, description="Tokens; None takes the model's own.")
    tensor_parallel_size: PositiveInt = 1

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_model(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        path = values.get("path", EMBEDDED_MODEL_PATH)
        if not isinstance(path, str | os.PathLike):
            return values
        folder = Path(os.path.abspath(path))
        defaults: dict[str, Any] = {}
        if folder != EMBEDDED_MODEL_PATH:
            defaults["name"] = folder.name or "model"
        if values.get("prompt_format", PromptFormatName.EMBEDDED) == PromptFormatName.EMBEDDED:
            defaults["dtype"] = "float32"
        return {**defaults, **values}


class EngineConfig(_Section):
    kv_cache_gib: PositiveInt = Field(default=2, description="CPU only.")
    max_num_seqs: PositiveInt = 16
    max_num_batched_tokens: PositiveInt = 8192
    enforce_eager: bool = True
    prefix_caching: bool = Field(
        default=False,
        description="Reuse the cache of equal prompt beginnings. Off: a reused prefix is computed in other shapes, so "
        "answers may depend on what was asked before, and the second run of a comparison gets its prompt for free.",
    )
    cpu_threads: PositiveInt | None = Field(
        default=None,
        description="CPU only: threads of the model. None takes one for each core in one process; else vLLM chooses.",
    )
    one_process: bool | None = Field(
        default=None,
        description="CPU only: the model runs in the engine's process, where the engine needs no core of its own. "
        "None: on up to 8 cores, and not where VLLM_CPU_OMP_THREADS_BIND names cores.",
    )
    start_seconds: float = Field(default=600.0, gt=0, description="How long the engine may take to start.")


MAX_DRAFT_TOKENS: Final = 512
"""The longest draft of redraft's own drafter that is verified in one pass."""
VLLM_DRAFT_TOKENS: Final = 128
"""The same for vLLM's own drafters (its MAX_SPEC_LEN)."""


class AgreementConfig(_Section):
    policy: AgreementPolicy = Field(
        default=AgreementPolicy.MODEL,
        description="What to answer where the model's text is not the one that aligning the edit predicts: the "
        "model's, the plan's where the plan is sure, or nothing (refuse).",
    )
    min_confidence: float = Field(
        default=0.9, gt=0, le=1, description="How sure a plan must be to be answered by policy plan."
    )


def _most_draft_tokens(drafter: DrafterConfig | None) -> int:
    return MAX_DRAFT_TOKENS if isinstance(drafter, CopyDrafterConfig | NoDrafterConfig) else VLLM_DRAFT_TOKENS


class DraftingConfig(_Section):
    enabled: bool = Field(default=True, description="Off is the drafter of kind none, whatever else is set.")
    drafter: DrafterConfig = Field(default_factory=CopyDrafterConfig, description="What drafts: drafter.kind.")
    max_draft_tokens: int = Field(
        default_factory=lambda data: _most_draft_tokens(data.get("drafter")),
        ge=1,
        le=MAX_DRAFT_TOKENS,
        description="k of one request in one target pass: at most 512, and of vLLM's own drafters 128.",
    )

    @model_validator(mode="after")
    def _verifiable(self) -> Self:
        most = _most_draft_tokens(self.drafter)
        if self.max_draft_tokens > most:
            raise ValueError(
                f"max_draft_tokens is {self.max_draft_tokens}, but of a drafter of kind {self.drafter.kind} vLLM "
                f"verifies at most {most} draft tokens in one pass"
            )
        return self

    @property
    def method(self) -> str:
        """The kind of drafter."""
        return self.drafter.kind


class MetricsConfig(_Section):
    """Prometheus metrics over HTTP. On loopback unless told otherwise: they are for the operator, not for callers."""

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int = Field(default=9464, ge=0, le=65535, description="0 takes a free port.")


class TracingConfig(_Section):
    enabled: bool = Field(
        default=True, description="Send OpenTelemetry traces where the standard OTEL_* variables name an exporter."
    )


class LogConfig(_Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] = "console"


class Settings(BaseSettings):
    """The whole configuration of `redraft serve`."""

    model_config = SettingsConfigDict(
        env_prefix="REDRAFT_", env_nested_delimiter="__", extra="forbid", frozen=True, toml_file=None
    )

    server: ServerConfig = Field(default_factory=ServerConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    engine: EngineConfig = Field(default_factory=EngineConfig)
    drafting: DraftingConfig = Field(default_factory=DraftingConfig)
    agreement: AgreementConfig = Field(default_factory=AgreementConfig)
    metrics: MetricsConfig = Field(default_factory=MetricsConfig)
    tracing: TracingConfig = Field(default_factory=TracingConfig)
    log: LogConfig = Field(default_factory=LogConfig)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @classmethod
    def load(cls, config: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
        """Settings from a TOML file (none: defaults), the environment, and flags as nested mappings; the last wins.

        Raises ConfigError for a file that cannot be read and for every bad value.
        """
        try:
            if config is None:
                return cls(**(flags or {}))
            config.read_bytes()  # pydantic-settings takes a missing file for an empty one.
            return _from_file(config)(**(flags or {}))
        except OSError as error:
            raise ConfigError(f"cannot read {config}: {error.strerror}") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{config} is not TOML: {error}") from error
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise ConfigError("; ".join(problems)) from error
        except SettingsError as error:
            raise ConfigError(str(error)) from error


def _from_file(path: Path) -> type[Settings]:
    class SettingsFromFile(Settings):
        model_config = SettingsConfigDict(toml_file=path)

    return SettingsFromFile
