"""An MCP server on stdio whose SDK exports a span for each call to a collector."""

import sys

from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider(resource=Resource.create({"service.name": "tools"}))
exporter = OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces")
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

server = MCPServer("tools")


@server.tool()
def echo(message: str) -> str:
    return message


server.run(transport="stdio")
