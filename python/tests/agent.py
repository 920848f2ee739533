"""An agent with a script in place of a model: searches, and fails where the search fails twice."""

import asyncio
import os
import sys

from mcp import Client


async def main() -> None:
    async with Client(os.environ["MCP_URL"]) as client:
        for left in (1, 0):
            result = await client.call_tool("search_docs", {"query": "refunds"})
            if not result.is_error:
                print("found", result.content[0].text)
                return
            if left == 0 or "--gives-up" in sys.argv:
                sys.exit("the search failed")


asyncio.run(main())
