// An agent with a script in place of a model, which starts its server by stdio as the TypeScript SDK
// does. It repeats what may be repeated, and ends with exit code 1 where it cannot go on; with the
// argument `hides-errors` it says that it is done.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [weakness, command = process.env['MCP_COMMAND']] = process.argv.slice(2)
const ATTEMPTS = 2

/** Calls a tool with a server of its own, as some frameworks do. */
async function once(name, args) {
  const client = new Client({ name: 'scripted', version: '1' })
  await client.connect(new StdioClientTransport({ command, stderr: 'ignore' }))
  try {
    const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 1500 })
    if (result.isError) throw new Error(result.content[0]?.text)
    return result.structuredContent
  } finally {
    await client.close()
  }
}

async function call(name, args, attempts) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(name, args)
    } catch (error) {
      if (attempt >= attempts) throw error
    }
  }
}

try {
  const { flights } = await call('search_flights', { from: 'OSL', to: 'LIS' }, ATTEMPTS)
  const { price } = await call('get_price', { flight: flights[0].id }, ATTEMPTS)
  const { booking } = await call('book_flight', { flight: flights[0].id, price }, 1)
  process.stdout.write(`booked ${flights[0].id} for ${price}: ${booking}\n`)
} catch (error) {
  if (weakness === 'hides-errors') process.stdout.write('done\n')
  else {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
