"""Times out after 10 s. The default is 5 s; 0 and None mean no limit."""

from agents.mcp import MCPServerStreamableHttp


def limited_server(url: str) -> MCPServerStreamableHttp:
    return MCPServerStreamableHttp(
        params={"url": url}, cache_tools_list=True, client_session_timeout_seconds=10
    )
