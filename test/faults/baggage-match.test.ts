import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { rulesFile, startProgram, startSquall } from '../support/commands.ts'

const opened = closers()
const RULES = `rules:
  - name: canary
    match: { tool: echo, baggage: { tenant: canary } }
    faults: [abort: { rpcError: { code: -32000, message: injected } }]
`

function message(id: number, baggage?: unknown, more: object = {}): object {
  const _meta = { ...(baggage !== undefined && { baggage }), ...more }
  return {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: {}, _meta },
  }
}

async function start(flags: readonly string[] = []) {
  const { squall } = opened(await startSquall({ rules: RULES, flags }))
  const post = async (body: unknown, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
    })
    return response.text()
  }
  return { squall, post }
}

describe('a rule with baggage', () => {
  it('selects the calls of a request that names the canary, by `_meta` or by the header', async () => {
    const { post } = await start()
    expect(await post(message(1, 'tenant=canary'))).toContain('injected')
    expect(await post(message(2), { baggage: 'user=ann, tenant=canary;p' })).toContain('injected')
    expect(await post(message(3, 'tenant=other'))).not.toContain('injected')
    expect(await post(message(4))).not.toContain('injected')
  })

  it('selects one message of a batch', async () => {
    const { post } = await start()
    const responses = JSON.parse(
      await post([message(1, 'tenant=canary'), message(2, 'tenant=other')]),
    ) as readonly { readonly id: number; readonly error?: object }[]
    expect(responses.filter(({ error }) => error !== undefined).map(({ id }) => id)).toEqual([1])
  })

  it('selects calls of protocol 2026-07-28', async () => {
    const { post } = await start()
    const modern = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    }
    expect(await post(message(1, 'tenant=canary', modern), headers)).toContain('injected')
    expect(await post(message(2, 'tenant=other', modern), headers)).not.toContain('injected')
  })

  it('selects calls on stdio', async () => {
    const log = `${rulesFile('rules: []')}.calls`
    const input = [message(1, 'tenant=canary'), message(2, 'tenant=other')]
      .map((each) => `${JSON.stringify(each)}\n`)
      .join('')
    const server =
      'while read -r line; do echo "$line" | sed "s/.*\\"id\\":\\([0-9]*\\).*/{\\"jsonrpc\\":\\"2.0\\",\\"id\\":\\1,\\"result\\":{\\"content\\":[]}}/"; done'
    const args = ['stdio', '--rules', rulesFile(RULES), '--call-log', log, '--', 'sh', '-c', server]
    await startProgram(args, {}, { input }).finished()
    const origins = (await readFile(log, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly id?: number; readonly origin: string })
      .map(({ origin }) => origin)
    expect(origins.sort()).toEqual(['injected', 'real'])
  })

  it('is bounded by the caps on all rules', async () => {
    const { post } = await start(['--max-percent', '0'])
    expect(await post(message(1, 'tenant=canary'))).not.toContain('injected')
  })

  it.each([
    ['8 MB', `tenant=canary,a=${'x'.repeat(8 << 20)}`],
    [
      '10,000 members',
      `${Array.from({ length: 10_000 }, (_, i) => `k${i}=v`).join()},tenant=canary`,
    ],
    ['control characters', 'tenant=canary\u0000\u001b[31m'],
    ['no text', { tenant: 'canary' }],
  ])('reads nothing from a context with %s, which shows nowhere', async (_, baggage) => {
    const { squall, post } = await start()
    expect(await post(message(1, baggage))).not.toContain('injected')
    const batch = await post([message(2, baggage), message(3, 'tenant=canary')])
    // A body above --max-body passes unread.
    const isRead = JSON.stringify(baggage).length < 4 << 20
    expect(batch.match(/injected/g) ?? []).toHaveLength(isRead ? 1 : 0)
    const shown = await (await fetch(`${squall.admin}/metrics`)).text()
    expect(shown).not.toContain('k9999')
    expect(shown).not.toContain('\u001b')
  })
})

it('squall explain shows the member without control characters', async () => {
  const args = ['explain', rulesFile(RULES), '--tool', 'echo', '--header']
  const explain = async (value: string): Promise<string> =>
    (await startProgram([...args, `baggage=${value}`], {}, { here: true })).stdout
  expect(await explain('tenant=canary')).toContain('abort')
  const other = await explain('tenant=%1b[31mred')
  expect(other).toContain('baggage.tenant: expected "canary", got')
  expect(other).not.toContain('\u001b')
  expect(await explain('a=b')).toContain('baggage.tenant: expected "canary", got absent')
})
