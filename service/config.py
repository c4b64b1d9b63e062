"""Configuration: a TOML file, then REDRAFT_* environment variables, then command-line flags; the last wins.

Nested fields are named with two underscores in the environment: REDRAFT_SERVER__PORT=50051.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

EMBEDDED_MODEL_PATH = Path(__file__).parent / "embedded"


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
    drain_seconds: float = Field(default=30.0, ge=0)


class ModelConfig(_Section):
    path: Path = EMBEDDED_MODEL_PATH
    name: str = "redraft-embedded"
    prompt_format: PromptFormatName = PromptFormatName.EMBEDDED
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "float32"
    max_model_len: PositiveInt | None = Field(default=None, description="Tokens; None takes the model's own.")
    tensor_parallel_size: PositiveInt = 1


class EngineConfig(_Section):
    kv_cache_gib: PositiveInt = Field(default=2, description="CPU only.")
    max_num_seqs: PositiveInt = 16
    max_num_batched_tokens: PositiveInt = 8192
    enforce_eager: bool = True


class DraftingConfig(_Section):
    enabled: bool = True
    max_draft_tokens: int = Field(default=128, ge=1, le=1024, description="k of one request in one target pass.")
    max_batch_draft_tokens: PositiveInt = Field(
        default=1024, description="Sum of k over the batch in one target pass: logits are computed for each of them."
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
