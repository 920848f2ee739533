"""An MCP server of the Python SDK that speaks stdio."""

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("python-stdio", instructions="Say hello.")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@server.tool()
async def count(steps: int, context: Context) -> str:
    for step in range(steps):
        await context.report_progress(step + 1, steps)
        # The SDKs may overlook a step that comes in one piece with the response.
        await anyio.sleep(0.3)
    return "counted"


@server.tool()
def fail() -> str:
    raise ValueError("no disk")


server.run("stdio")
