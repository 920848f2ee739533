import { fileURLToPath } from 'node:url'
import { startProgram } from '../support/commands.ts'
import { expectedOf } from '../matrix/measured.ts'
import type { Kind, Met } from '../matrix/run-cells.ts'
import { systemTool } from './tools.ts'

const script = fileURLToPath(new URL('./python_matrix.py', import.meta.url))
/** In seconds. */
const LONG = 10

/** The client of the Python SDK. */
export function pythonKind(): Kind {
  return {
    expected: (variant, setting) => expectedOf(variant, setting, 'python'),
    listsAfterResult: true,
    async meetAll(_, meetings, { atOnce, patience }) {
      const asked = meetings.map(({ cell, variant, expected: wanted, origin, headers }) => ({
        cell,
        headers,
        url: `${origin}/mcp`,
        method: variant.method,
        before: variant.before,
        patience: wanted?.says === 'timeout' ? patience / 1000 : LONG,
      }))
      const python = systemTool('venv/bin/python', 'The Python SDK')
      const input = JSON.stringify({ atOnce, meetings: asked })
      const env = { PYTHONIOENCODING: 'utf-8' }
      const { stdout, stderr } = await startProgram([script], env, {
        program: python,
        input,
      }).finished()
      if (stdout === '') throw new Error(stderr.slice(-4096))
      return new Map(Object.entries(JSON.parse(stdout) as Record<string, Met>))
    },
  }
}
