import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ExplainRequest } from '../../../src/cli/commands/explain.ts'
import { explainCommand } from '../../../src/cli/rules/explain.ts'
import type { RuleOutlook } from '../../../src/rules/explain/explain.ts'
import { asked } from '../../support/commands/command-line.ts'
import { callMessage } from '../../support/wire.ts'

const RULES = `rules:
  - name: whole
    match: { http: { path: /mcp }, tool: pay }
    faults: [reset]
`

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'squall-explain-'))
})
afterAll(() => rm(dir, { recursive: true }))

it('a rule about HTTP matches all calls of a batch by the tool of one', async () => {
  const [file, request] = [join(dir, 'rules.yaml'), join(dir, 'request')]
  await writeFile(file, RULES)
  await writeFile(request, JSON.stringify([callMessage(1, 'pay'), callMessage(2, 'other')]))
  let text = ''
  const args = asked(['explain', file, '--json', '--request', request]) as ExplainRequest
  await explainCommand(args, (part) => void (text += part))
  const { explained } = JSON.parse(text) as { explained: { rules: readonly RuleOutlook[] }[] }
  expect(explained.map(({ rules }) => rules[0]!.result)).toEqual(['sampled', 'sampled'])
})
