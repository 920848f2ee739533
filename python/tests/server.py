"""An MCP server of the Python SDK on a free port of loopback, which it prints."""

import socket

import uvicorn
from mcp.server import MCPServer

server = MCPServer("shop")


@server.tool()
def search_docs(query: str) -> str:
    return f"found: {query}"


@server.tool()
def query_db() -> str:
    raise RuntimeError("the database is away")


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = server.streamable_http_app()
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
