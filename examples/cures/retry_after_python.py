"""Waits as long as `Retry-After` requests, for the MCP Python SDK."""

import asyncio
import random
import time
from email.utils import parsedate_to_datetime

import httpx2  # for mcp 1: httpx
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


class PatientTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request):
        for tries in range(1, 5):
            response = await super().handle_async_request(request)
            pause = retry_after(response)
            if pause is None or pause > 60 or tries == 4:
                return response
            await response.aclose()
            # Adds jitter, so that clients do not retry at once; never waits less than requested.
            await asyncio.sleep(pause * random.uniform(1, 1.1) + 0.01)


def retry_after(response) -> float | None:
    text = response.headers.get("retry-after")
    if text is None or response.status_code not in (429, 503):
        return None
    if text.isdigit():
        return float(text)
    return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())


async def search(url: str, query: str):
    timeout = httpx2.Timeout(30, read=300)
    async with httpx2.AsyncClient(transport=PatientTransport(), timeout=timeout) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            return await client.call_tool("search_docs", {"query": query})
