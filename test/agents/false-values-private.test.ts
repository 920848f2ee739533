import { afterAll, expect, it } from 'vitest'
import { closeStack } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { shop } from '../fixtures/shop-tools.mjs'
import type { RequestListener } from 'node:http'

const { open, closeAll } = closeStack()
afterAll(closeAll)

const RULES = `rules:
  - { name: wrong-price, match: { tool: get_quote }, faults: [falsify: { number: { by: 5% }, at: /price }] }
`

interface Result {
  readonly structuredContent?: { readonly price: number }
}

function server(): RequestListener {
  const respond = shop()
  return (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const { id, ...asked } = JSON.parse(body) as { id: number; method: string }
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id, result: respond(asked) }))
    })
  }
}

it('shows what agents did with false values, and nothing of arguments and results', async () => {
  const flags = ['--task-window', '2s']
  const { squall } = open(await startSquall({ rules: RULES, upstream: server(), flags }))
  const call = async (task: string, name: string, args: object): Promise<number> => {
    const params = { name, arguments: args }
    const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-task-id': task,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    const { result } = (await response.json()) as { result: Result }
    return result.structuredContent?.price ?? NaN
  }
  // The first call of a process takes longest, and is no part of the tasks below.
  await call('first', 'search', {})
  // The agent of this task looks again, and pays the true price.
  const asked = { id: 'Q-1', task: 'careful' }
  expect(await call('careful', 'get_quote', asked)).not.toBe(3987.84)
  const price = await call('careful', 'get_quote', asked)
  expect(price).toBe(3987.84)
  await call('careful', 'pay', { amount: price, to: 'Anna Schneider' })
  for (const task of ['a', 'b']) {
    const amount = await call(task, 'get_quote', { id: 'Q-1', task })
    expect([4187.23, 3788.45]).toContain(amount)
    await call(task, 'pay', { amount, to: 'Anna Schneider' })
  }
  const read = async (path: string): Promise<string> =>
    (await fetch(`${squall.admin}${path}`)).text()
  const falsified =
    /squall_falsified_total\{rule="wrong-price",tool="get_quote",verdict="(\w+)"\} (\d)/g
  await expect
    .poll(
      async () =>
        [...(await read('/metrics')).matchAll(falsified)].map(
          ([, verdict, n]) => `${verdict} ${n}`,
        ),
      { timeout: 20_000 },
    )
    .toEqual(['used_blocked 2', 'verified 1'])
  const shown = await Promise.all(
    ['/metrics', '/api/tasks', '/api/agents?all=true', '/api/rules'].map(read),
  )
  expect(shown[0]).toContain('squall_falsified_used_total{tool="pay",hint="unknown"} 2')
  expect(JSON.parse(shown[1]!)).toMatchObject({
    falsified: [
      { tool: 'get_quote', verdict: 'used_blocked', count: 2 },
      { tool: 'get_quote', verdict: 'verified', count: 1 },
    ],
    falseUses: [{ tool: 'pay', hint: 'unknown', count: 2 }],
  })
  const { findings } = JSON.parse(shown[2]!) as {
    findings: readonly { kind: string; sentence: string; advice: string }[]
  }
  const found = findings.find(({ kind }) => kind === 'used_false_value')
  expect(found?.sentence).toBe(
    'In 2 of 3 tasks, the agent used a wrong value that get_quote had returned; in 1, it looked the value up again first.',
  )
  expect(found?.advice).toMatch(/^Look the value up by ID before you pay,/)
  const all = [...shown, JSON.stringify(squall.logs)].join('\n')
  for (const secret of ['4187.23', '3788.45', '3987.84', 'Schneider', 'Q-1'])
    expect(all).not.toContain(secret)
})
