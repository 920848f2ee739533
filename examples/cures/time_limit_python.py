"""Times out after 10 s, instead of 300 s without a byte."""

from mcp import Client


def limited_client(url: str) -> Client:
    return Client(url, read_timeout_seconds=10)


async def search(client: Client, query: str):
    # Overrides the timeout for one call.
    return await client.call_tool("search_docs", {"query": query}, read_timeout_seconds=10)
