"""An agent with a script in place of a model: searches, and fails where the search fails twice."""

import asyncio
import os
import sys

from mcp import Client


async def search() -> bool:
    async with Client(os.environ["MCP_URL"]) as client:
        for _ in range(1 if "--gives-up" in sys.argv else 2):
            result = await client.call_tool("search_docs", {"query": "refunds"})
            if not result.is_error:
                print("found", result.content[0].text)
                return True
    return False


# The exit comes after the client has closed: raised in its block, it would be an exception group.
if not asyncio.run(search()):
    sys.exit("the search failed")
