"""Limits a lost connection to an error of one call, for clients of the MCP Python SDK 2.

    Client(streamable_http_client(url, http_client=sturdy_http(timeout=httpx2.Timeout(30, read=300))))
    MCPServerStreamableHttp(params={"url": url, "httpx_client_factory": sturdy_http})
    MCPToolset(url, http_client=sturdy_http(timeout=httpx2.Timeout(30, read=300)))
"""

import httpx2


class SturdyTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request):
        try:
            return await super().handle_async_request(request)
        except httpx2.TransportError:
            # Returns the status that a gateway would; an exception would terminate the client.
            return httpx2.Response(502, request=request)


def sturdy_http(**options) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=SturdyTransport(), **options)
