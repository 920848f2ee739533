"""Times out after 10 s, instead of 300 s without a byte."""

from datetime import timedelta

from langchain_mcp_adapters.client import MultiServerMCPClient


def limited_client(url: str) -> MultiServerMCPClient:
    limit = {"read_timeout_seconds": timedelta(seconds=10)}
    shop = {"transport": "streamable_http", "url": url, "session_kwargs": limit}
    return MultiServerMCPClient({"shop": shop})
