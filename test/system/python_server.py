"""An MCP server of the Python SDK on a free port of loopback: each tool says that it ran."""

import socket

import uvicorn
from mcp.server import MCPServer

server = MCPServer("python")


def tool(name: str) -> None:
    @server.tool(name=name)
    def run() -> str:
        return f"ran:{name};"


for each in ("pay", "look", "5"):
    tool(each)

app = server.streamable_http_app(stateless_http=True, json_response=True)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
