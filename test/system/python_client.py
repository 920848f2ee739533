"""Plays a scenario with the Python SDK and prints, as JSON, all that it saw.

usage: python_client.py SCENARIO URL [sse] [INPUT] or SCENARIO COMMAND_AS_JSON stdio
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import AsyncExitStack
from typing import Any, Awaitable

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")

# They describe one connection, and each side of a proxy has its own.
OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "date"}


class Seen:
    """What the servers sent: the heads of all answers, and messages of their own accord."""

    def __init__(self) -> None:
        self.heads: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self.changed = asyncio.Condition()

    async def add(self, method: str, params: Any) -> None:
        self.received.append({"method": method, "params": plain(params)})
        async with self.changed:
            self.changed.notify_all()

    async def until(self, method: str) -> None:
        with anyio.fail_after(10):
            async with self.changed:
                await self.changed.wait_for(
                    lambda: any(message["method"] == method for message in self.received)
                )

    async def head(self, response: Any) -> None:
        request = response.request
        self.heads.append(
            {
                "request": f"{request.method} {request.url.raw_path.decode()}",
                "status": response.status_code,
                "headers": {
                    name: value
                    for name, value in response.headers.items()
                    if name not in OF_THE_CONNECTION
                },
            }
        )

    def http_client(self, **options: Any) -> Any:
        client = create_mcp_http_client(**options)
        client.event_hooks = {"response": [self.head]}
        return client


def plain(value: Any) -> Any:
    """Turns a model of the SDK into what JSON can carry."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


async def outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return {"result": plain(await awaitable)}
    except Exception as error:
        return {"error": {"name": type(error).__name__, "message": str(error)}}


async def open_client(stack: AsyncExitStack, url: str, transport: str, seen: Seen) -> Client:
    async def elicit(_context: Any, params: Any) -> types.ElicitResult:
        await seen.add("elicitation/create", params)
        content = {"name": "Ada", "city": "London", "check": True, "integer": 7}
        if params.requested_schema["properties"].keys() == {"approve"}:
            content = {"approve": True}
        return types.ElicitResult(action="accept", content=content)

    async def sample(_context: Any, params: Any) -> types.CreateMessageResult:
        await seen.add("sampling/createMessage", params)
        text = types.TextContent(type="text", text="a completion")
        return types.CreateMessageResult(role="assistant", content=text, model="no model")

    async def roots(_context: Any) -> types.ListRootsResult:
        await seen.add("roots/list", None)
        return types.ListRootsResult(roots=[types.Root(uri="file:///srv/data", name="data")])

    async def log(params: Any) -> None:
        await seen.add("notifications/message", params)

    if transport == "stdio":
        command, *args = json.loads(url)
        streams = stdio_client(StdioServerParameters(command=command, args=args))
    elif transport == "sse":
        streams = sse_client(url, httpx_client_factory=seen.http_client)
    else:
        http_client = await stack.enter_async_context(seen.http_client())
        streams = streamable_http_client(url, http_client=http_client)
    return await stack.enter_async_context(
        Client(
            streams,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
            logging_callback=log,
            log_level="debug",
            read_timeout_seconds=20,
        )
    )


def handshake(client: Client) -> dict[str, Any]:
    return {
        "version": client.protocol_version,
        "server": plain(client.server_info),
        "capabilities": plain(client.server_capabilities),
        "instructions": client.instructions,
    }


async def give_up(call: Awaitable[Any]) -> str:
    with anyio.move_on_after(2):
        await call
        return "answered"
    return "gave up"


def step_collector() -> tuple[list[Any], Any]:
    steps: list[Any] = []

    async def progress(done: float, total: float | None, _message: str | None) -> None:
        steps.append([done, total])

    return steps, progress


async def play_everything(client: Client, seen: Seen) -> dict[str, Any]:
    steps, progress = step_collector()
    level = plain(await client.set_logging_level("debug"))
    await seen.until("notifications/message")
    long = "trigger-long-running-operation"
    return {
        "handshake": handshake(client),
        "level": level,
        "tools": plain(await client.list_tools()),
        "cancelled": await give_up(client.call_tool(long, {"duration": 5, "steps": 1})),
        "echo": plain(await client.call_tool("echo", {"message": "grüße 🌊"})),
        "structured": plain(await client.call_tool("get-structured-content", {"location": "Chicago"})),
        "long": plain(
            await client.call_tool(long, {"duration": 0.3, "steps": 3}, progress_callback=progress)
        ),
        # A last step may come in one piece with the answer.
        "progress": steps[:2],
        "elicited": plain(await client.call_tool("trigger-elicitation-request")),
        "sampled": plain(await client.call_tool("trigger-sampling-request", {"prompt": "hi"})),
        "unknownTool": await outcome(client.call_tool("no-such-tool")),
        "invalidArguments": await outcome(client.call_tool("echo", {})),
        "unknownResource": await outcome(client.read_resource("demo://nowhere")),
    }


async def play_modern(client: Client, _seen: Seen) -> dict[str, Any]:
    steps, progress = step_collector()
    seen = {
        "handshake": handshake(client),
        "tools": plain(await client.list_tools()),
        "echo": plain(await client.call_tool("echo", {"message": "grüße 🌊"})),
        "structured": plain(await client.call_tool("add", {"a": 2, "b": 3})),
        "counted": plain(await client.call_tool("count", {"steps": 4}, progress_callback=progress)),
        "progress": steps[:3],
        "foreign": plain(await client.get_prompt("日本")),
        "chat": plain(await client.call_tool("chat")),
        "asked": plain(await client.call_tool("ask")),
        "failed": plain(await client.call_tool("fail")),
        "unknownTool": await outcome(client.call_tool("no-such-tool")),
        "invalidArguments": await outcome(client.call_tool("echo", {})),
        "cancelled": await give_up(client.call_tool("wait")),
    }
    async with client.listen(tools_list_changed=True) as subscription:
        await client.call_tool("announce")
        async for event in subscription:
            seen["event"] = type(event).__name__
            break
    return seen


async def play_stdio(client: Client, _seen: Seen) -> dict[str, Any]:
    steps, progress = step_collector()
    return {
        "handshake": handshake(client),
        "tools": plain(await client.list_tools()),
        "echo": plain(await client.call_tool("echo", {"text": "grüße 🌊"})),
        "large": plain(await client.call_tool("echo", {"text": "🌊" * 50_000})),
        "structured": plain(await client.call_tool("add", {"a": 2, "b": 3})),
        "counted": plain(await client.call_tool("count", {"steps": 4}, progress_callback=progress)),
        "progress": steps[:3],
        "failed": plain(await client.call_tool("fail")),
    }


async def play_files(client: Client, _seen: Seen) -> dict[str, Any]:
    calls = json.loads(sys.argv[4])
    return {
        "handshake": handshake(client),
        "tools": plain(await client.list_tools()),
        "calls": [await outcome(client.call_tool(name, args)) for name, args in calls],
    }


async def play_session(client: Client, _seen: Seen) -> dict[str, Any]:
    return {
        "handshake": handshake(client),
        "ended": plain(await client.call_tool("end the stream")),
        "cancelled": await give_up(client.call_tool("wait")),
        "tools": plain(await client.list_tools()),
    }


async def play_given_up(client: Client, _seen: Seen) -> dict[str, Any]:
    return {
        "late": await outcome(client.call_tool("wait", read_timeout_seconds=0.5)),
        "stopped": await give_up(client.call_tool("wait")),
        "tools": plain(await client.list_tools()),
    }


async def play_long(client: Client, _seen: Seen) -> dict[str, Any]:
    steps: list[float] = []

    async def progress(done: float, _total: float | None, _message: str | None) -> None:
        steps.append(done)

    long = {"duration": 0.6, "steps": 3}
    await client.call_tool("trigger-long-running-operation", long, progress_callback=progress)
    return {"steps": len(steps), "firsts": steps.count(1)}


async def play_elicit(client: Client, _seen: Seen) -> dict[str, Any]:
    call = client.call_tool("trigger-elicitation-request", read_timeout_seconds=8)
    return await outcome(call)


async def play_sample(client: Client, _seen: Seen) -> dict[str, Any]:
    return await outcome(client.call_tool("trigger-sampling-request", {"prompt": "hi"}))


async def play_texts(client: Client, _seen: Seen) -> dict[str, Any]:
    resource = "demo://resource/static/document/features.md"
    return {
        "prompt": plain(await client.get_prompt("simple-prompt")),
        "resource": plain(await client.read_resource(resource)),
    }


async def play_handshake(client: Client, _seen: Seen) -> dict[str, Any]:
    return {"handshake": handshake(client)}


async def play_control(client: Client, _seen: Seen) -> dict[str, Any]:
    impact = json.loads(sys.argv[4])
    return {
        "tools": [tool.name for tool in (await client.list_tools()).tools],
        "policy": plain(await client.read_resource("squall://policy")),
        "prompt": plain(await client.get_prompt("design_experiments", {"goal": "is it slow"})),
        "impact": plain(await client.call_tool("run_impact", impact, read_timeout_seconds=60)),
    }


SCENARIOS = {
    "control": play_control,
    "elicit": play_elicit,
    "files": play_files,
    "handshake": play_handshake,
    "long": play_long,
    "sample": play_sample,
    "texts": play_texts,
    "everything": play_everything,
    "modern": play_modern,
    "session": play_session,
    "stdio": play_stdio,
    "given-up": play_given_up,
}


async def main(
    scenario: str, url: str, transport: str = "streamableHttp", _input: str = ""
) -> None:
    seen = Seen()
    result: dict[str, Any] | None = None
    try:
        async with AsyncExitStack() as stack:
            client = await open_client(stack, url, transport, seen)
            result = await SCENARIOS[scenario](client, seen)
    except* anyio.BrokenResourceError:
        # The SSE client of the SDK fails so when a message arrives while it closes.
        if result is None:
            raise
    assert result is not None
    result["received"] = seen.received
    # Which answer came first is a matter of chance.
    result["heads"] = sorted(seen.heads, key=json.dumps)
    sys.stdout.write(UUID.sub("<uuid>", json.dumps(result, ensure_ascii=False)))


asyncio.run(main(*sys.argv[1:]))
