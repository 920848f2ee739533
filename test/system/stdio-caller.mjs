import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

/** A client that calls the tool `echo` of a server without end, and ends with its pipe. */
const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'caller', version: '1.0.0' })
Object.assign(client, { onclose: () => process.exit(0) })
await client.connect(
  new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }),
)
process.stdout.write('connected\n')
for (;;) {
  const text = 'x'.repeat(Math.random() < 0.1 ? 100_000 : 100)
  await client.callTool({ name: 'echo', arguments: { text } })
}
