// part: clients
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ECHO, oneFault } from '../faults/one-fault.ts'
import { metricValue, startSidecar } from '../support/wire.ts'
import { startProgram } from '../support/commands.ts'
import { systemTool } from './tools.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./python_mount.py', import.meta.url))

const EVERY_OTHER = oneFault('abort: { toolError: injected }', `${ECHO}\n    every: 2`)

it('calls of the Python SDK to a server mounted in Starlette are sampled and counted once', async () => {
  const python = systemTool('venv/bin/python', 'The Python SDK')
  const server = startProgram([script], {}, { program: python })
  try {
    const upstream = `http://127.0.0.1:${await server.firstLine()}`
    const squall = await startSidecar({ upstream, rules: [EVERY_OTHER] })
    try {
      const { stdout } = await run(python, [script, `${squall.url}/mcp`], { timeout: 60_000 })
      expect(JSON.parse(stdout)).toEqual({ failed: 10, calls: 20 })
      const text = await squall.metrics()
      const called = (labels: Record<string, string>): number =>
        metricValue(text, 'squall_calls_total', { method: 'tools/call', ...labels })
      expect(called({})).toBe(20)
      expect(called({ origin: 'injected' })).toBe(10)
      expect(called({ outcome: 'ok' })).toBe(10)
    } finally {
      await squall.close()
    }
  } finally {
    await server.kill()
  }
})
