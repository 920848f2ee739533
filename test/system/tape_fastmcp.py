"""Plays with FastMCP's client and prints, as JSON, all that it saw: tape_fastmcp.py URL"""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client


async def play(url: str) -> dict[str, Any]:
    steps: list[Any] = []

    async def progress(done: float, total: float | None, _message: str | None) -> None:
        steps.append([done, total])

    async with Client(url, progress_handler=progress) as client:
        called = {
            name: await client.call_tool_mcp(name, args)
            for name, args in {
                "echo": {"message": "grüße 🌊"},
                "get-structured-content": {"location": "Chicago"},
                "trigger-long-running-operation": {"duration": 0.3, "steps": 3},
                "no-such-tool": {},
            }.items()
        }
        return {
            "tools": [tool.model_dump(mode="json") for tool in await client.list_tools()],
            "called": {name: each.model_dump(mode="json") for name, each in called.items()},
            "progress": steps[:2],
        }


print(json.dumps(asyncio.run(play(sys.argv[1]))))
