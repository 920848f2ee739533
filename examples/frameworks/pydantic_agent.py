"""Runs a Pydantic AI agent with default settings."""

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from script import Script

script = Script()


def scripted(messages, _):
    call = script.next(messages[-1].parts[-1].content)
    return ModelResponse([TextPart("done") if call is None else ToolCallPart(*call)])


async def main():
    agent = Agent(FunctionModel(scripted), toolsets=[MCPToolset(os.environ["MCP_URL"])])
    async with agent:
        await agent.run("Book a trip to Lisbon.")


asyncio.run(main())
