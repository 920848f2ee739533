"""Plays a client with or without each cure of examples/cures, all at the same time.

usage: cures.py CLIENT, with a JSON list of {url, topic, cured, tool, args, times} on standard input; prints a JSON list
that says of each whether it ended by itself
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Awaitable, Callable

from agent_frameworks import langchain_model, openai_model, pydantic_model

sys.path.append(str(Path(__file__).parents[2] / "examples/cures"))

# For what ends by itself; a busy machine is slow.
PATIENCE = 60

Args = dict[str, Any]


async def repeat(times: int, call: Callable[[], Awaitable[Any]]) -> None:
    """Calls again at once, whatever became of the call before."""
    for _ in range(times):
        try:
            await call()
        except Exception as error:
            print(repr(error), error.__cause__, file=sys.stderr)


async def python(url: str, cure: Any, topic: str, tool: str, args: Args, times: int) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    if topic == "retry-after" and cure:
        return await repeat(times, lambda: cure.search(url, **args))
    if topic == "connection" and cure:
        http = cure.sturdy_http()
        async with Client(streamable_http_client(url, http_client=http)) as client:
            return await repeat(times, lambda: client.call_tool(tool, args))
    opened = {"time-limit": "limited_client", "session": "SessionClient"}.get(topic, "")
    async with getattr(cure, opened, Client)(url) as client:
        if opened != "SessionClient" or not cure:
            # Squall reads in the list what the tools declare.
            await client.list_tools()
        call = client.call_tool
        if topic == "back-off" and cure:
            call = lambda *params: cure.call_tool(client, *params)
        if topic == "idempotency-key" and cure:
            call = lambda _, params: cure.create_ticket(client, **params)
        await repeat(times, lambda: call(tool, args))


async def langchain(url: str, cure: Any, topic: str, tool: str, args: Args, times: int) -> None:
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    client = MultiServerMCPClient({"shop": {"transport": "streamable_http", "url": url}})
    if topic == "idempotency-key" and cure:
        client = cure.client_of("run-1", url)
    for create in ("patient_client", "limited_client", "session_client"):
        if hasattr(cure, create):
            client = getattr(cure, create)(url)

    async def play(tools: list[Any]) -> None:
        create = getattr(cure, "create_patient_agent", create_agent)
        # An error ends the run.
        run = lambda: create(langchain_model([(tool, args)]), tools).ainvoke({"messages": ["go"]})
        await repeat(times, run)

    if topic == "session" and not cure:
        async with client.session("shop") as session:
            return await play(await load_mcp_tools(session))
    await play(await client.get_tools())


async def openai(url: str, cure: Any, topic: str, tool: str, args: Args, times: int) -> None:
    from agents import Agent, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp

    set_tracing_disabled(True)
    options: Args = {"params": {"url": url}, "cache_tools_list": True}
    if topic == "idempotency-key" and cure:
        server = cure.KeyedServer("run-1", **options)
    elif topic == "session" and cure:
        server = cure.SessionServer(**options)
    elif topic == "connection" and cure:
        options["params"]["httpx_client_factory"] = cure.sturdy_http
        server = MCPServerStreamableHttp(**options)
    elif cure:
        server = getattr(cure, "limited_server", None) or cure.patient_server
        server = server(url)
    else:
        seconds = None if topic == "time-limit" else 5
        server = MCPServerStreamableHttp(**options, client_session_timeout_seconds=seconds)
    async with server:
        agent = Agent(name="a", model=openai_model([(tool, args)] * times), mcp_servers=[server])
        await Runner.run(agent, "go", max_turns=20)


async def pydantic(url: str, cure: Any, topic: str, tool: str, args: Args, times: int) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset

    toolset = MCPToolset(url)
    if topic == "connection" and cure:
        toolset = MCPToolset(url, http_client=cure.sturdy_http())
    for create in ("patient_toolset", "keyed_toolset", "limited_toolset", "session_toolset"):
        if hasattr(cure, create):
            toolset = getattr(cure, create)(url)
    agent = Agent(pydantic_model([(tool, args)] * times), toolsets=[toolset], retries=9)
    await agent.run("go")


CLIENTS = {"python": python, "langchain": langchain, "openai": openai, "pydantic": pydantic}


async def play(client: str, url: str, topic: str, cured: bool, **call: Any) -> None:
    cure = cure_of(client, topic) if cured else None
    try:
        await asyncio.wait_for(CLIENTS[client](url, cure, topic, **call), PATIENCE)
    except Exception as error:
        print(topic, cured, repr(error), file=sys.stderr)


def cure_of(client: str, topic: str) -> Any:
    by = "python" if topic == "connection" else client
    return import_module(f"{topic.replace('-', '_')}_{by}")


async def main(client: str) -> None:
    plays = json.load(sys.stdin)
    # Loading takes seconds, in which no clock of a client should run.
    for asked in plays:
        cure_of(client, asked["topic"])
    tasks = [asyncio.create_task(play(client, **asked)) for asked in plays]
    may_wait = [asked["topic"] == "time-limit" and not asked["cured"] for asked in plays]
    await asyncio.wait([task for task, waits in zip(tasks, may_wait) if not waits])
    print(json.dumps([task.done() for task in tasks]))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
