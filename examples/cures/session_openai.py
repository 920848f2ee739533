"""Starts a new session when the server has lost the old one, for OpenAI Agents."""

from agents.mcp import MCPServerStreamableHttp
from mcp import MCPError

# Matches the message of the SDK for 404, or the message of the server.
LOST = ("Session terminated", "Session not found")


class SessionServer(MCPServerStreamableHttp):
    async def call_tool(self, tool_name, arguments, *rest, **more):
        try:
            return await super().call_tool(tool_name, arguments, *rest, **more)
        except MCPError as error:
            if error.message not in LOST:
                raise
        await self.cleanup()
        await self.connect()
        return await super().call_tool(tool_name, arguments, *rest, **more)
