"""Times out after 10 s, instead of 300 s."""

from pydantic_ai.mcp import MCPToolset


def limited_toolset(url: str) -> MCPToolset:
    return MCPToolset(url, read_timeout=10)
