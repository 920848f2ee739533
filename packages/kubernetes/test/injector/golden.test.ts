import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { injectCommand } from '../../src/cli/inject.ts'
import type { InjectRequest } from '../../src/commands/inject.ts'
import { askedBy } from '../../../../test/support/commands/command-line.ts'

const STALE = 'if this change is right, run npm run generate'
const DIRECTORY = new URL('golden/', import.meta.url)
const NAMES = readdirSync(DIRECTORY)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.slice(0, -'.in.yaml'.length))

/** Returns the options of the command in the first line of an input. */
function optionsOf(text: string): Map<string, string[]> {
  const line = /^# squall inject (.*)$/m.exec(text)?.[1] ?? ''
  const options = new Map<string, string[]>()
  for (const [, name = '', value = ''] of line.matchAll(/--([a-z-]+) (\S+)/g)) {
    options.set(name, [...(options.get(name) ?? []), value])
  }
  return options
}

describe('the manifest with the sidecar', () => {
  it.each(NAMES)('%s', async (name) => {
    const path = new URL(`${name}.in.yaml`, DIRECTORY)
    const options = optionsOf(readFileSync(path, 'utf8'))
    const request = askedBy('inject', {
      ...Object.fromEntries(options),
      filename: path.pathname,
    }) as InjectRequest
    let result = ''
    let told = ''
    const code = await injectCommand(
      { ...request, image: 'squall:test' },
      { write: async (text) => void (result += text), note: async (text) => void (told += text) },
    )
    expect(code).toBe(0)
    const steady = result.replace(/"version":"[^"]*"/g, '"version":"test"')
    await expect(steady, STALE).toMatchFileSnapshot(`golden/${name}.out.yaml`)
    await expect(told, STALE).toMatchFileSnapshot(`golden/${name}.notes.txt`)
  })
})
