"""Plays agents of a framework whose model is a script, one after another.

usage: agent_frameworks.py FRAMEWORK, with a JSON list of {url, steps} on standard input, where each
step is [tool, arguments]
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

Steps = list[tuple[str, dict[str, Any]]]


def langchain_model(steps: Steps) -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    left = iter(enumerate(steps))

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **_: Any) -> Scripted:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
            index, step = next(left, (0, None))
            message = AIMessage("done")
            if step is not None:
                call = {"name": step[0], "args": step[1], "id": f"call-{index}"}
                message = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


async def langchain(url: str, steps: Steps) -> None:
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient

    # Its default: a session for each call.
    client = MultiServerMCPClient({"squall": {"transport": "streamable_http", "url": url}})
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

    left = iter(enumerate(steps))

    class Scripted(Model):
        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            index, step = next(left, (0, None))
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
                    call_id=f"call-{index}",
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Scripted()


async def openai(url: str, steps: Steps) -> None:
    from agents import Agent, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp

    set_tracing_disabled(True)
    # Without the cache the SDK lists the tools before each turn of the model.
    async with MCPServerStreamableHttp(params={"url": url}, cache_tools_list=True) as server:
        agent = Agent(name="scripted", model=openai_model(steps), mcp_servers=[server])
        await Runner.run(agent, "go", max_turns=50)


def pydantic_model(steps: Steps) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    left = iter(steps)

    def scripted(_: Any, __: Any) -> ModelResponse:
        step = next(left, None)
        return ModelResponse([TextPart("done") if step is None else ToolCallPart(*step)])

    return FunctionModel(scripted)


async def pydantic(url: str, steps: Steps) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset

    agent = Agent(pydantic_model(steps), toolsets=[MCPToolset(url, max_retries=50)])
    async with agent:
        await agent.run("go")


async def play_all(framework: str) -> None:
    play = {"langchain": langchain, "openai": openai, "pydantic": pydantic}[framework]
    for asked in json.load(sys.stdin):
        await play(asked["url"], asked["steps"])
    print("all done")


if __name__ == "__main__":
    asyncio.run(play_all(sys.argv[1]))
