"""Repeats a call in a new session when the session of the run is lost, for Pydantic AI."""

from mcp import MCPError
from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset

# Matches the message of the SDK for 404, or the message of the server.
LOST = ("Session terminated", "Session not found")


def session_toolset(url: str) -> MCPToolset:
    async def in_new_session(ctx, call_tool, name, arguments):
        try:
            return await call_tool(name, arguments)
        except ModelRetry as error:
            cause = error.__cause__
            if not isinstance(cause, MCPError) or cause.message not in LOST:
                raise
        async with MCPToolset(url) as fresh:
            return await fresh.direct_call_tool(name, arguments)

    # Each run has its own session, unless `async with agent:` wraps several runs.
    return MCPToolset(url, process_tool_call=in_new_session)
