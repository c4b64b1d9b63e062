"""Prometheus metrics of the service: `recorder` turns the facts of requests into numbers, `endpoint` serves them."""

from __future__ import annotations

from service.metrics.endpoint import MetricsEndpoint
from service.metrics.recorder import Metrics

__all__ = ["Metrics", "MetricsEndpoint"]
