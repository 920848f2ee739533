import { expect, test } from 'vitest'
import { startProgram } from '../support/commands.ts'
import { COMMANDS, parseCommandLine } from '../support/commands/command-line.ts'

/** Options that a command needs besides its operands, or instead of them. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  'experiment search': ['--resume', '20261125-180412-3fa9c1'],
  sweep: ['--tape', 'book-flight.tape'],
  try: ['--url', 'http://127.0.0.1:1/mcp'],
}

test.each(
  COMMANDS.flatMap(({ name, operands }) => (operands ? [[name, operands.form] as const] : [])),
)('the usage of %s %s has brackets where the words may be left out', (name, form) => {
  const words = name.split(' ')
  const help = parseCommandLine([...words, '--help'], {}, '0.0.0')
  const usage = `Usage: squall ${name} [options] ${form}\n`
  expect(help).toMatchObject({ kind: 'print', text: expect.stringContaining(usage) as string })
  const parse = (): unknown => parseCommandLine([...words, ...(MORE[name] ?? [])], {}, '0.0.0')
  if (form.startsWith('[')) expect(parse()).toMatchObject({ kind: 'command', name })
  else expect(parse).toThrow(expect.objectContaining({ code: 'MISSING_VALUE' }) as Error)
})

test('a missing pod is reported with the command that shows the pods', async () => {
  const { code, stderr } = await startProgram(['attach'], {}, { here: true })
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'squall: no pod; name a pod: kubectl get pods\n',
  })
})
