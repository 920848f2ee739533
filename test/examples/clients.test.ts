import { readdir, readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { blocksOf, ROOT } from '../docs/blocks.ts'

const URL_TEXT = { type: 'string', const: 'http://127.0.0.1:15300/mcp' }

function servers(key: string, server: object): object {
  return {
    type: 'object',
    required: [key],
    additionalProperties: false,
    properties: {
      [key]: { type: 'object', minProperties: 1, additionalProperties: server },
    },
  }
}

function closed(properties: Record<string, object>): object {
  return {
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties,
  }
}

/** The forms that the documents of the clients describe. */
const FORMS: Readonly<Record<string, object>> = {
  'claude-code.json': servers('mcpServers', closed({ type: { const: 'http' }, url: URL_TEXT })),
  'cursor.json': servers('mcpServers', closed({ url: URL_TEXT })),
  'vscode.json': servers('servers', closed({ type: { const: 'http' }, url: URL_TEXT })),
  'claude-desktop.json': servers(
    'mcpServers',
    closed({
      command: { const: 'npx' },
      args: { type: 'array', items: { type: 'string' }, contains: URL_TEXT },
    }),
  ),
}

it('every file of a client has the form that its client reads', async () => {
  expect(await readdir(`${ROOT}examples/clients`)).toEqual(Object.keys(FORMS).sort())
  const ajv = new Ajv({ strict: false })
  for (const [name, form] of Object.entries(FORMS)) {
    const value: unknown = JSON.parse(await readFile(`${ROOT}examples/clients/${name}`, 'utf8'))
    const isValid = ajv.validate(form, value)
    expect(isValid, `${name}: ${ajv.errorsText()}`).toBe(true)
  }
})

it('the page about clients shows these files', async () => {
  const shown = (await blocksOf('docs/get-started/agents.md')).filter(
    ({ language }) => language === 'json',
  )
  const files = await Promise.all(
    Object.keys(FORMS).map((name) => readFile(`${ROOT}examples/clients/${name}`, 'utf8')),
  )
  expect(shown.map(({ text }) => text)).toEqual(files)
})
