import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Kind, Met } from '../matrix/run-cells.ts'
import { systemTool } from './tools.ts'

const script = fileURLToPath(new URL('./python_matrix.py', import.meta.url))
/** In seconds. */
const LONG = 10

/** The client of the Python SDK. */
export function pythonKind(expected: Kind['expected']): Kind {
  return {
    expected,
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
      const child = spawn(python, [script], {
        env: { PATH: process.env['PATH'] ?? '', PYTHONIOENCODING: 'utf-8' },
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const exited = once(child, 'exit')
      child.stdin.end(JSON.stringify({ atOnce, meetings: asked }))
      const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
      await exited
      if (said === '') throw new Error(complaints.slice(-4096))
      return new Map(Object.entries(JSON.parse(said) as Record<string, Met>))
    },
  }
}
