import { expect, it } from 'vitest'
import { ServerProcess, StartError } from '../../../src/listener/stdio/server-process.ts'

it('a command line above the limit of the system is a command that cannot be started', async () => {
  const server = { command: 'true', args: ['x'.repeat(4 * 1024 * 1024)] }
  await expect(ServerProcess.start(server)).rejects.toThrow(new StartError('E2BIG'))
})
