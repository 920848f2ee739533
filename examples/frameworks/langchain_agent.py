"""Runs a LangChain agent with default settings."""

import asyncio
import os

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from script import Script

script = Script()


class Scripted(BaseChatModel):
    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *_, **__):
        call = script.next(messages[-1].content)
        message = AIMessage("done")
        if call is not None:
            name, args = call
            message = AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{len(messages)}"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def main():
    client = MultiServerMCPClient({"trips": {"transport": "streamable_http", "url": os.environ["MCP_URL"]}})
    agent = create_agent(Scripted(), await client.get_tools())
    await agent.ainvoke({"messages": [("user", "Book a trip to Lisbon.")]})


asyncio.run(main())
