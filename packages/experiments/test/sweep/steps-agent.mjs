// An agent without a model that needs a tenth of a second: calls a tool in 25 steps, goes on where
// one fails, and prints the number of those that succeeded.
const STEPS = 25

async function call(step) {
  const params = { name: 'step', arguments: { step } }
  const response = await fetch(process.env['MCP_URL'], {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: step, method: 'tools/call', params }),
  })
  const { result } = await response.json()
  return result.isError !== true
}

let succeeded = 0
for (let step = 1; step <= STEPS; step++) {
  if (await call(step).catch(() => false)) succeeded++
}
process.stdout.write(`${succeeded}\n`)
