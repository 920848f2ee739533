import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { conformanceSession } from '../support/wire/servers/conformance-server.ts'

// The server of the conformance suite on stdio, where no request has a stream of its own.
await conformanceSession(() => undefined).connect(new StdioServerTransport())
