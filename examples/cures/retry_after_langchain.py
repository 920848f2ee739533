"""Waits as long as `Retry-After` requests, for LangChain."""

import asyncio
import random
import time
from email.utils import parsedate_to_datetime

import httpx
from langchain_mcp_adapters.client import MultiServerMCPClient


class PatientTransport(httpx.AsyncHTTPTransport):
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


def patient_http(**options) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=PatientTransport(), **options)


def patient_client(url: str) -> MultiServerMCPClient:
    how = {"transport": "streamable_http", "httpx_client_factory": patient_http}
    return MultiServerMCPClient({"shop": {"url": url, **how}})
