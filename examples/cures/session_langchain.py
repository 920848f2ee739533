"""Opens a session for each call, and a second one if the session is lost."""

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
    # Requires `await client.get_tools()`: tools from `load_mcp_tools(session)` share one session.
    shop = {"transport": "streamable_http", "url": url}
    return MultiServerMCPClient({"shop": shop}, tool_interceptors=[in_new_session])
