// part: slow
import { afterEach, expect, test } from 'vitest'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'
import { startSquall } from '../../../../test/support/commands.ts'

const open = closeAll(afterEach)

const kinds = ['lean', 'sdk-v1', 'sdk-v2'] as const

for (const client of kinds) {
  test(`${client}: failures have the same kind and origin whichever client meets them`, async () => {
    const steps = [
      'ok',
      'tool error',
      'rpc error',
      'status 503',
      'reset',
      'hang',
      'no json',
    ] as const
    const server = open(
      await startUpstream('scripted', [
        ...steps,
        { ending: 'rpc error', marker: 'r/abort' },
        'stream ok',
      ]),
    )
    const result = await load({
      url: server.url,
      client,
      work: { tools: ['work'] },
      pace: { clients: 1, tasks: 9 },
      resilience: { timeoutMs: 3_000 },
    })
    const errors = result.errors.map(({ kind, origin, code = '' }) => `${kind} ${code} ${origin}`)
    expect(errors.toSorted()).toEqual([
      'http 503 real',
      'malformed  real',
      'reset  unattributed',
      'rpc -32603 injected',
      'rpc -32603 real',
      'timeout  unattributed',
      'tool  real',
    ])
    // The mark of the last one is a comment in an event stream, which SDKs do not show.
    const seen = result.faults.map(({ rule, fault, seen: times }) => `${rule}/${fault} ${times}`)
    expect(seen.toSorted()).toEqual(['r/abort 1', 'rule/delay 1'])
    expect(result.counts).toMatchObject({ calls: 9, success: 2 })
    expect(result.run).toMatchObject({ client, server: 'scripted 1.0.0' })
  })
}

for (const client of ['lean', 'sdk-v2'] as const) {
  test(`${client}: speaks the newest protocol version where the server does`, async () => {
    const server = open(await startUpstream('modern'))
    const result = await load({
      url: new URL(server.url),
      client,
      work: { tools: ['echo', 'add'] },
      pace: { clients: 2, tasks: 10 },
    })
    expect(result.run.protocolVersion).toBe('2026-07-28')
    expect(result.counts).toMatchObject({ calls: 10, success: 10, schemaOk: 10 })
  })
}

test('an older protocol version can be asked for', async () => {
  const server = open(await startUpstream('modern'))
  const asked = {
    url: new URL(server.url),
    work: { tools: ['echo'] },
    pace: { clients: 1, tasks: 2 },
  }
  const result = await load({ ...asked, protocolVersion: '2025-06-18' })
  expect(result.run.protocolVersion).toBe('2025-06-18')
  expect(result.counts.success).toBe(2)
})

test('a fault on the way is known by its mark in an event stream too', async () => {
  const rules = `rules:
  - name: slow
    match: { tool: work }
    faults: [delay: { fixed: 1ms }]
`
  const ruled = open(await startSquall({ rules, upstream: scriptedListener(() => 'ok') }))
  const result = await load({
    url: new URL(`http://127.0.0.1:${ruled.squall.port}/mcp`),
    work: { tools: ['work'] },
    pace: { clients: 1, tasks: 5 },
  })
  expect(result.faults).toMatchObject([{ rule: 'slow', fault: 'delay', seen: 5, errors: 0 }])
  expect(result.counts).toMatchObject({ hitTasks: 5, failedTasks: 0, silentFailures: 0 })
})
