import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explainCommand, type ExplainRequest } from '../../../src/cli/rules/explain.ts'
import { asked } from '../../support/asked.ts'

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
  expect(() => asked(['explain', file, '--outbound', 'api'])).toThrow('is not a dependency')
  await rm(directory, { recursive: true })
})
