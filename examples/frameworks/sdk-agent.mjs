// Runs a loop around the TypeScript SDK v2 client with default settings: the model gets what a call
// returns or throws.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Script } from './script.mjs'

const script = new Script()
const client = new Client({ name: 'trips', version: '1' })
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.MCP_URL)))
await client.listTools()
let result
for (let call = script.next(); call !== undefined; call = script.next(result)) {
  try {
    result = await client.callTool({ name: call.name, arguments: call.args })
    if (result.isError) result = `error: ${JSON.stringify(result.content)}`
  } catch (error) {
    result = `error: ${String(error)}`
  }
}
await client.close()
