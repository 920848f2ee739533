"""A session for each call, and a second one for a call whose session was lost."""

from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import McpError


async def in_new_session(request, handler):
    try:
        return await handler(request)
    except McpError as error:
        if str(error) != "Session terminated":
            raise
        return await handler(request)


def session_client(url: str) -> MultiServerMCPClient:
    # Use `await client.get_tools()`: tools of `load_mcp_tools(session)` stay in one session.
    shop = {"transport": "streamable_http", "url": url}
    return MultiServerMCPClient({"shop": shop}, tool_interceptors=[in_new_session])
