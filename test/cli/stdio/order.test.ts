// part: slow
import { writeFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { rulesFile, startProgram } from '../../support/commands.ts'

const call = (id: number, name: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
const A = call(1, 'bad')
const B = call(2, 'good')

/** Writes a rule about the tool `bad`. */
const ruled = (fault: string): string =>
  rulesFile(`rules: [{ name: r, match: { tool: bad }, faults: [${fault}] }]`)

describe.concurrent('the lines of a client', () => {
  it('stay whole when a held one follows the last, which has no line feed', async ({ expect }) => {
    const args = ['stdio', '--rules', ruled('{ delay: { fixed: 3s } }'), '--', 'cat']
    const program = startProgram(args, {}, { input: `${A}\n${B}` })
    expect((await program.finished()).stdout).toBe(`${B}\n${A}\n`)
  })

  it.for(['\n', ''])(
    'stay whole when a held one is released within a long one',
    async (end, { expect }) => {
      const rules = ruled('{ delay: { fixed: 1h } }')
      const args = ['stdio', '--rules', rules, '--max-body', '1KiB', '--', 'cat']
      const half = 'x'.repeat(1_500_000)
      const program = startProgram(args, {}, { open: true, input: `${A}\n${half}` })
      const came = (): number => program.stdout().length
      await expect.poll(came, { timeout: 20_000 }).toBeGreaterThanOrEqual(half.length)
      writeFileSync(rules, 'rules: []')
      await expect.poll(() => program.stderr(), { timeout: 20_000 }).toContain('"generation":2')
      program.child.stdin?.end(half + end)
      const { stdout } = await program.finished()
      expect(stdout === `${half}${half}\n${A}\n`, stdout.slice(-2_000)).toBe(true)
    },
  )

  it('keep their order when a fault holds none', async ({ expect }) => {
    const args = ['stdio', '--rules', ruled('{ process: { print: Listening } }'), '--', 'cat']
    const program = startProgram(args, {}, { input: `${A}\n${B}\n` })
    const { stdout } = await program.finished()
    expect(stdout.replace('Listening\n', '')).toBe(`${A}\n${B}\n`)
  })
})
