"""Waits as long as `Retry-After` requests, for Pydantic AI: pip install "pydantic-ai-slim[mcp,retries]" """

import httpx2
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after
from tenacity import retry_if_exception_type, stop_after_attempt, wait_random

# Adds jitter, so that clients do not retry at once; never waits less than requested.
PATIENT = RetryConfig(
    retry=retry_if_exception_type(httpx2.HTTPStatusError),
    wait=wait_retry_after(max_wait=60) + wait_random(0.01, 0.2),  # at most 60 s
    stop=stop_after_attempt(4),
    reraise=True,
)


def check(response: httpx2.Response) -> None:
    if response.status_code in (429, 503):
        response.raise_for_status()


def patient_toolset(url: str) -> MCPToolset:
    transport = AsyncHTTPX2TenacityTransport(PATIENT, validate_response=check)
    timeout = httpx2.Timeout(30, read=300)
    return MCPToolset(url, http_client=httpx2.AsyncClient(transport=transport, timeout=timeout))
