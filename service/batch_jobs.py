"""The jobs of `redraft batch`: JSON lines, one edit of one file each. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from drafts.align.plan import Instruction, UnifiedDiff, UpdateSnippet
from service.client_codec import ClientEdit, EditCall, SearchReplaceText
from service.types import DraftOptions

_SHOWN: Final = 10
"""More faults of a file of jobs than this are only counted."""


class JobsError(ValueError):
    """Lines that are no jobs; says which, and what is wrong, without quoting them."""


class Job(BaseModel):
    """One line: a file, and one of update (a snippet), patch (a unified diff), blocks (search/replace) and instruction;
    an instruction may also accompany one of the others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path
    update: str | None = None
    patch: str | None = None
    blocks: str | None = None
    instruction: str | None = None
    language: str = ""

    @property
    def edit(self) -> ClientEdit | None:
        """None where there is not exactly one."""
        edits: list[ClientEdit] = [
            *([UpdateSnippet(self.update)] if self.update is not None else []),
            *([UnifiedDiff(self.patch)] if self.patch is not None else []),
            *([SearchReplaceText(self.blocks)] if self.blocks is not None else []),
        ]
        if not edits and self.instruction is not None:
            return Instruction(self.instruction)
        return edits[0] if len(edits) == 1 else None

    def call(self, content: bytes, path: str, *, drafting: bool) -> EditCall:
        """path: as the service is to see it. Raises ValueError for a job without exactly one edit."""
        edit = self.edit
        if edit is None:
            raise ValueError("a job has exactly one edit")
        return EditCall(
            path=path,
            content=content,
            edit=edit,
            instruction="" if isinstance(edit, Instruction) else self.instruction or "",
            language=self.language,
            draft=DraftOptions(enabled=drafting),
        )


def read_jobs(lines: Iterable[str]) -> list[Job]:
    """Empty lines are skipped. Raises JobsError with every fault, also for two edits of one file: each would be made on
    the file without the other.
    """
    jobs: list[Job] = []
    faults: list[str] = []
    first: dict[Path, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            job = Job.model_validate_json(line)
        except ValidationError as error:
            faults.append(f"line {number}: {_fault(error)}")
            continue
        if job.edit is None:
            faults.append(f"line {number}: needs one of update, patch and blocks, or an instruction alone")
        elif (earlier := first.setdefault(Path(os.path.abspath(job.file)), number)) != number:
            faults.append(f"line {number}: another edit of the file of line {earlier}: make them one, or two batches")
        jobs.append(job)
    if not faults and not jobs:
        faults.append("there is no job in it")
    if faults:
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise JobsError("\n".join(f"  {fault}" for fault in faults[:_SHOWN] + more))
    return jobs


def _fault(error: ValidationError) -> str:
    """Kinds and names only: pydantic's own message quotes the line."""
    found = []
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        name = ".".join(map(str, one["loc"])) if one["type"] != "extra_forbidden" else "a field"
        found.append(
            {
                "json_invalid": "not JSON",
                "missing": f"no {name}",
                "extra_forbidden": "a field that is none of file, update, patch, blocks, instruction, language",
            }.get(one["type"], f"{name or 'the line'}: {one['type']}")
        )
    return "; ".join(dict.fromkeys(found))
