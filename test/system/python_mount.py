"""Serves MCP as the examples of the Python SDK do: mounted below `/mcp` in an app of Starlette, which
redirects `/mcp` to `/mcp/` with 307. Prints its port.

With a URL it is the client: it calls a tool 20 times and prints, as JSON, how often that failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys

import uvicorn
from mcp import Client
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.routing import Mount

CALLS = 20


async def serve() -> None:
    mcp = MCPServer("mounted")

    @mcp.tool()
    def echo(message: str) -> str:
        return message

    inner = mcp.streamable_http_app(streamable_http_path="/")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette):
        async with mcp.session_manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=inner)], lifespan=lifespan)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listener])


async def call(url: str) -> None:
    failed = 0
    async with Client(url) as client:
        for i in range(CALLS):
            result = await client.call_tool("echo", {"message": str(i)})
            failed += result.is_error
    print(json.dumps({"failed": failed, "calls": CALLS}))


asyncio.run(call(sys.argv[1]) if len(sys.argv) > 1 else serve())
