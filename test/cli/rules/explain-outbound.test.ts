import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ExplainRequest } from '../../../src/cli/commands/explain.ts'
import { explainCommand } from '../../../src/cli/rules/explain.ts'
import { asked } from '../../support/commands/command-line.ts'

const MATCH = '{ tool: search, outbound: { host: api, port: 443 } }'
const RULES = `rules: [{ name: far, match: ${MATCH}, faults: [{ abort: { status: 503 } }] }]`

interface Report {
  readonly explained: readonly [{ readonly rules: readonly [{ readonly result?: string }] }]
}

test('a call to a dependency is explained by its route', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall-explain-'))
  const file = join(directory, 'rules.yaml')
  await writeFile(file, RULES)
  const resultOf = async (...args: readonly string[]): Promise<string | undefined> => {
    let text = ''
    const request = asked(['explain', file, '--json', '--tool', 'search', ...args])
    await explainCommand(request as ExplainRequest, (part) => void (text += part))
    return (JSON.parse(text) as Report).explained[0].rules[0].result
  }
  expect(await resultOf('--outbound', 'api:443')).toBe('sampled')
  expect(await resultOf('--outbound', 'other:443')).toBeUndefined()
  expect(await resultOf()).toBeUndefined()
  expect(() => asked(['explain', file, '--outbound', 'api'])).toThrow('is not a valid dependency')
  await rm(directory, { recursive: true })
})

const CONNECTION_RULES = `rules:
  - { name: gone, match: { outbound: { host: db } }, faults: [{ connection: { refuse: true } }], then: stop }
  - { name: near, match: { outbound: { cidr: 10.0.0.0/8 } }, faults: [{ connection: { reset: true } }] }
  - { name: slow, match: { outbound: { port: 5432 } }, faults: [{ connection: { latency: 1s } }] }
`

interface ConnectionReport {
  readonly connection?: {
    readonly rules: readonly { readonly rule: string; readonly result?: string }[]
  }
}

test('rules about connections are explained by the dependency', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall-explain-'))
  const file = join(directory, 'rules.yaml')
  await writeFile(file, CONNECTION_RULES)
  const explained = async (...args: readonly string[]): Promise<string> => {
    let text = ''
    const request = asked(['explain', file, ...args])
    await explainCommand(request as ExplainRequest, (part) => void (text += part))
    return text
  }
  const results = async (...args: readonly string[]): Promise<unknown> => {
    const { connection } = JSON.parse(await explained('--json', ...args)) as ConnectionReport
    return (
      connection && Object.fromEntries(connection.rules.map(({ rule, result }) => [rule, result]))
    )
  }
  expect(await results('--outbound', 'db:5432')).toEqual({ gone: 'sampled', slow: 'stopped' })
  expect(await results('--outbound', '10.1.2.3:5432')).toEqual({ near: 'sampled', slow: 'sampled' })
  expect(await results('--outbound', 'db:5432', '--environment', 'production')).toEqual({
    gone: 'disarmed',
    slow: 'disarmed',
  })
  const inProduction = await explained('--outbound', 'db:5432', '--environment', 'production')
  expect(inProduction.match(/Faults are disarmed/g)).toHaveLength(1)
  expect(await results()).toBeUndefined()
  expect(await explained('--outbound', 'db:5432')).toContain(
    'gone: matches, and samples this connection\n  connection: { refuse: true }',
  )
  expect(await explained()).toContain('use --outbound host:port to explain them')
  await rm(directory, { recursive: true })
})
