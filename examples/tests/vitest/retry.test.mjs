// Tests retries under faults with vitest. Set MCP_URL to the URL of your MCP server, and run: npx vitest run
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createSquall } from 'mcp-squall'

let squall

beforeAll(async () => {
  squall = await createSquall({ upstream: process.env.MCP_URL ?? 'http://127.0.0.1:3000/mcp' })
})
afterAll(() => squall.close())
// After a failed test, reports which errors were injected.
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  for (const { rule, injected } of squall.rules()) {
    process.stderr.write(`Squall injected ${injected} errors by the rule ${rule}\n`)
  }
})

// Replace with the code under test.
async function callTool(name, tries) {
  const response = await fetch(squall.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { query: 'refunds' } },
    }),
  })
  return response.status === 503 && tries > 1 ? callTool(name, tries - 1) : response.status
}

test('a call is made again after a 503', async () => {
  await squall.setRules(`
    rules:
      - name: down-at-first
        match: { tool: search_docs }
        times: 2
        faults: [abort: { status: 503 }]
  `)
  expect(await callTool('search_docs', 3)).toBe(200)
  expect(squall.faults()).toHaveLength(2)
})

test('after three failures the call fails', async () => {
  await squall.setRules({
    rules: [{ name: 'down', match: { tool: 'search_docs' }, faults: [{ abort: { status: 503 } }] }],
  })
  expect(await callTool('search_docs', 3)).toBe(503)
  expect(squall.rules()).toMatchObject([{ rule: 'down', injected: 3 }])
})
