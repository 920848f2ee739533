"""Sends the same key with equal calls of one run, even if the model repeats the call."""

import hashlib
import json

from langchain_mcp_adapters.client import MultiServerMCPClient


def with_keys(run_id: str, tools=("create_ticket",)):
    async def add_key(request, handler):
        if request.name not in tools:
            return await handler(request)
        # Replaces any key that the model wrote.
        arguments = {**request.args, "idempotency_key": ""}
        text = json.dumps([run_id, request.name, arguments], sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()
        return await handler(request.override(args={**arguments, "idempotency_key": key}))

    return add_key


def client_of(run_id: str, url: str) -> MultiServerMCPClient:
    shop = {"transport": "streamable_http", "url": url}
    return MultiServerMCPClient({"shop": shop}, tool_interceptors=[with_keys(run_id)])
