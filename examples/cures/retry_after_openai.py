"""Waits as long as `Retry-After` requests, for OpenAI Agents."""

import httpx2
from agents.mcp import MCPServerStreamableHttp

from retry_after_python import PatientTransport


def patient_http(**options) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=PatientTransport(), **options)


def patient_server(url: str) -> MCPServerStreamableHttp:
    return MCPServerStreamableHttp(
        params={"url": url, "httpx_client_factory": patient_http},
        cache_tools_list=True,
        # Includes the waits; the default is 5 s.
        client_session_timeout_seconds=90,
    )
