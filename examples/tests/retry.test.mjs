// Tests retries under faults. Set MCP_URL to the URL of your MCP server, and run: node --test retry.test.mjs
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createSquall } from 'mcp-squall'

const squall = await createSquall({ upstream: process.env.MCP_URL ?? 'http://127.0.0.1:3000/mcp' })
after(() => squall.close())

// After a failed test, reports which errors were injected.
function whatWasInjected() {
  const counts = squall.rules().map(({ rule, injected: count }) => `${count} by the rule ${rule}`)
  return `errors that Squall injected, not the server: ${counts.join(', ')}`
}

// Replace with the code under test.
async function callTool(name, tries) {
  const response = await fetch(squall.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  return response.status === 503 && tries > 1 ? callTool(name, tries - 1) : response.status
}

test('a call is made again after a 503', async (t) => {
  t.after(() => t.diagnostic(whatWasInjected()))
  await squall.setRules({
    rules: [
      {
        name: 'down-at-first',
        match: { tool: 'search_docs' },
        times: 2,
        faults: [{ abort: { status: 503 } }],
      },
    ],
  })
  assert.equal(await callTool('search_docs', 3), 200)
  assert.equal(squall.faults().length, 2)
})

test('after three failures the call fails', async (t) => {
  t.after(() => t.diagnostic(whatWasInjected()))
  await squall.setRules({
    rules: [{ name: 'down', match: { tool: 'search_docs' }, faults: [{ abort: { status: 503 } }] }],
  })
  assert.equal(await callTool('search_docs', 3), 503)
  assert.deepEqual(
    squall.rules().map(({ rule, injected }) => ({ rule, injected })),
    [{ rule: 'down', injected: 3 }],
  )
})
