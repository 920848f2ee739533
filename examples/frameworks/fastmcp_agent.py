"""Runs a loop around the FastMCP client with default settings: the model gets what a call returns or raises."""

import asyncio
import os

from fastmcp import Client
from script import Script

script = Script()


async def main():
    async with Client(os.environ["MCP_URL"]) as client:
        await client.list_tools()
        result = None
        while (call := script.next(result)) is not None:
            try:
                result = (await client.call_tool(*call)).content
            except Exception as error:
                result = f"error: {error!r}"


asyncio.run(main())
