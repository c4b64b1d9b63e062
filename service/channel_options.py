"""How a channel to an address is to be opened."""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

Options: TypeAlias = tuple[tuple[str, int], ...]

_DIRECT: Final[Options] = (("grpc.enable_http_proxy", 0),)


def direct_if_loopback(address: str) -> Options:
    """Around any proxy of the environment where the address is this machine's own: no proxy reaches it."""
    return _DIRECT if is_loopback(address) else ()


def is_loopback(address: str) -> bool:
    """address: HOST:PORT, [IPV6]:PORT, or either after a scheme such as "dns:///"; Unix sockets are no matter."""
    host = address.rpartition("/")[2]
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
