"""Starts a new session when the server has lost the old one, for the MCP Python SDK."""

from contextlib import AsyncExitStack

from mcp import Client, MCPError

# Matches the message of the SDK for 404, or the message of the server.
LOST = ("Session terminated", "Session not found")


class SessionClient(AsyncExitStack):
    """async with SessionClient(url) as client: await client.call_tool(name, arguments)"""

    def __init__(self, url: str):
        super().__init__()
        self._url = url
        self._client: Client | None = None

    async def call_tool(self, name: str, arguments: dict):
        try:
            return await (await self._connected()).call_tool(name, arguments)
        except MCPError as error:
            if error.message not in LOST:
                raise
        self._client = None
        await self.aclose()
        return await (await self._connected()).call_tool(name, arguments)

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = await self.enter_async_context(Client(self._url))
        return self._client
