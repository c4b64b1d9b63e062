"""Writes the report as one HTML file: templates, style, the plotting library and the data, all of it inline."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evals.html.model import PageReport, Table
from evals.html.plots import specification
from evals.html.strip_plot import strip_specification


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script. Takes some seconds, once in a process."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script


def page(report: PageReport) -> str:
    """The whole file. The policy in its head lets it run its own scripts and load nothing, from anywhere."""
    environment = Environment(
        loader=PackageLoader("evals.html", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = [library(), _asset("page.js")]
    plots = {
        block.name: specification(block)
        for section in report.sections
        for block in section.blocks
        if not isinstance(block, Table)
    }
    return environment.get_template("page.html.j2").render(
        report=report,
        style=Markup(_asset("page.css")),
        scripts=[Markup(_inline(script)) for script in scripts],
        policy=_policy([_inline(script) for script in scripts]),
        plots=plots,
        strips={edit.key: strip_specification(edit.strip) for edit in report.edits if edit.strip is not None},
        is_table=lambda block: isinstance(block, Table),
        json=_json,
    )


def _asset(name: str) -> str:
    return (resources.files("evals.html") / "assets" / name).read_text(encoding="utf-8")


def _inline(script: str) -> str:
    """Safe between <script> and </script>: the end tag can stand only in strings, where the escape means the same."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _json(value: Any) -> Markup:
    """JSON that can stand in a script element, whatever its strings hold."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _policy(scripts: list[str]) -> str:
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
