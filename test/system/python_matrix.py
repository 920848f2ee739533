"""Has clients of the Python SDK meet failures, and prints, as JSON, what each reports.

Reads from its input {"atOnce": n, "meetings": [{cell, url, headers, method, before, patience}]}.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Awaitable

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

REQUEST_TIMEOUT = -32001


def expected(n: int) -> dict[str, Any]:
    return {"n": n, "city": "Oslo", "temperature": 21, "items": [1, 2, 3, 4, 5, 6]}


def deepest(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def word_of_error(error: BaseException) -> str:
    code = getattr(error, "code", None)
    if code == REQUEST_TIMEOUT and "timed out" in str(error):
        return "timeout"
    return type(error).__name__ + (f" {code}" if isinstance(code, int) else "")


async def word(call: Awaitable[Any], fine: Any) -> str:
    try:
        result = await call
    except Exception as error:
        return word_of_error(error)
    if getattr(result, "is_error", False):
        return "tool error"
    if hasattr(result, "tools"):
        return "ok" if [tool.name for tool in result.tools] == fine else "ok (changed)"
    texts = [json.loads(result.content[0].text) if readable(result) else None]
    return "ok" if texts == [fine] and result.structured_content == fine else "ok (changed)"


def readable(result: Any) -> bool:
    try:
        json.loads(result.content[0].text)
        return True
    except (ValueError, IndexError):
        return False


async def on_progress(*_: Any) -> None:
    pass


async def meet(meeting: dict[str, Any]) -> dict[str, str]:
    says, follows, patience = None, "–", meeting["patience"]
    tool = meeting["cell"]

    def call(name: str, n: int, seconds: float) -> Awaitable[Any]:
        return client.call_tool(
            name, {"n": n}, read_timeout_seconds=seconds, progress_callback=on_progress
        )

    try:
        async with create_mcp_http_client(headers=meeting["headers"]) as http_client:
            streams = streamable_http_client(meeting["url"], http_client=http_client)
            async with Client(streams) as client:
                if meeting.get("before") == "list":
                    await client.list_tools()
                if meeting.get("before") == "call":
                    await call(tool, 1, 10)
                if meeting.get("method") == "tools/list":
                    says = await word(client.list_tools(), [tool])
                else:
                    says = await word(call(tool, 2, patience), expected(2))
                follows = await word(call("next", 3, 10), expected(3))
    except Exception as error:
        if says is None:
            says = f"client dies: {word_of_error(deepest(error))}"
    return {"says": says or "nothing", "next": follows}


async def main() -> None:
    asked = json.load(sys.stdin)
    limit = anyio.CapacityLimiter(asked["atOnce"])
    met: dict[str, dict[str, str]] = {}

    async def one(meeting: dict[str, Any]) -> None:
        async with limit:
            # A client that dies cancels the task that it lives in.
            met[meeting["cell"]] = await asyncio.create_task(meet(meeting))

    async with anyio.create_task_group() as tasks:
        for meeting in asked["meetings"]:
            tasks.start_soon(one, meeting)
    json.dump(met, sys.stdout)


asyncio.run(main())
