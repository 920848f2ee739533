"""Plays agents of a framework whose model is a script, all at the same time.

usage: agent_frameworks.py FRAMEWORK, with a JSON list of {url, steps, headers} on standard input, where each
step is [tool, arguments]; $1 in an argument is the price in the first result
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any, Iterable, Iterator

Steps = list[tuple[str, dict[str, Any]]]
Headers = dict[str, str]


def price(result: Any) -> float:
    return float(re.search(r"\d+\.\d+", str(result)).group())


def filled(value: Any, results: list[Any]) -> Any:
    if not isinstance(value, str):
        return value
    text = re.sub(r"\$(\d)", lambda match: str(price(results[int(match[1]) - 1])), value)
    return float(text) if re.fullmatch(r"\$\d", value) else text


def next_step(left: Iterator[tuple[str, dict[str, Any]]], results: Iterable[Any]) -> Any:
    """The next call of the script, with what the model has read in results; None at its end."""
    step = next(left, None)
    if step is None:
        return None
    seen = list(results)
    return step[0], {name: filled(value, seen) for name, value in step[1].items()}


def langchain_model(steps: Steps) -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    left = iter(steps)

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Scripted:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            results = [message.content for message in messages if message.type == "tool"]
            step = next_step(left, results)
            message = AIMessage("done")
            if step is not None:
                call = {"name": step[0], "args": step[1], "id": f"call-{len(messages)}"}
                message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


async def langchain(url: str, steps: Steps, headers: Headers) -> None:
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient

    # Its default: a session for each call.
    server = {"transport": "streamable_http", "url": url, "headers": headers}
    client = MultiServerMCPClient({"squall": server})
    tools = await client.get_tools()
    for tool in tools:
        tool.handle_tool_error = True
    agent = create_agent(langchain_model(steps), tools)
    await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 100})


def openai_model(steps: Steps) -> Any:
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    left = iter(steps)

    class Scripted(Model):
        async def get_response(self, *, input: Any, **_: Any) -> ModelResponse:
            step = next_step(left, [item["output"] for item in input if "output" in item])
            if step is None:
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                item: Any = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            else:
                item = ResponseFunctionToolCall(
                    type="function_call",
                    name=step[0],
                    arguments=json.dumps(step[1]),
                    call_id=f"call-{len(input)}",
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Scripted()


async def openai(url: str, steps: Steps, headers: Headers) -> None:
    from agents import Agent, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp

    set_tracing_disabled(True)
    # Without the cache the SDK lists the tools before each turn of the model.
    params = {"url": url, "headers": headers}
    async with MCPServerStreamableHttp(params=params, cache_tools_list=True) as server:
        agent = Agent(name="scripted", model=openai_model(steps), mcp_servers=[server])
        await Runner.run(agent, "go", max_turns=50)


def pydantic_model(steps: Steps) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    left = iter(steps)

    def scripted(messages: Any, _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        step = next_step(left, [part.content for part in parts if part.part_kind == "tool-return"])
        return ModelResponse([TextPart("done") if step is None else ToolCallPart(*step)])

    return FunctionModel(scripted)


async def pydantic(url: str, steps: Steps, headers: Headers) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset

    agent = Agent(pydantic_model(steps), toolsets=[MCPToolset(url, max_retries=50, headers=headers)])
    async with agent:
        await agent.run("go")


async def play_all(framework: str) -> None:
    play = {"langchain": langchain, "openai": openai, "pydantic": pydantic}[framework]
    asked = json.load(sys.stdin)
    await asyncio.gather(*(play(each["url"], each["steps"], each.get("headers", {})) for each in asked))
    print("all done")


if __name__ == "__main__":
    asyncio.run(play_all(sys.argv[1]))
