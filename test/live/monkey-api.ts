import { closers } from '../support/closers.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

export const opened = closers()
export const SQUALL_ADMIN_TOKEN = 'a-token-of-the-other-project'
const WEATHER = { temperature: 21, humidity: 40, 'wind/speed': 3 }

export interface Stage extends RuledSquall {
  /** The calls that reached the upstream. */
  readonly reached: { count: number }
}

/** Starts a sidecar with that API, before an upstream with one tool. */
export async function start(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  const reached = { count: 0 }
  const setup = await startSquall({
    rules: undefined,
    flags: ['--compat-api', 'chaos-monkey', ...flags],
    env: { SQUALL_ADMIN_TOKEN, ...env },
    upstream: (req, res) => {
      reached.count++
      let text = ''
      req.on('data', (part) => (text += String(part)))
      req.on('end', () => {
        const { id } = JSON.parse(text) as { id: number }
        const content = [{ type: 'text', text: JSON.stringify(WEATHER) }]
        const result = { content, structuredContent: WEATHER }
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    },
  })
  return opened({ ...setup, reached })
}

/** Asks a path below `/chaos`; returns the status and the JSON. */
export async function chaos({ squall }: RuledSquall, path: string, body?: unknown, token?: string) {
  const response = await fetch(`${squall.admin}/chaos/${path}`, {
    method: path === 'status' ? 'GET' : 'POST',
    headers: {
      authorization: token ?? `Bearer ${SQUALL_ADMIN_TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}
