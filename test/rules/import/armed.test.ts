// Each fault of mcp-chaos and mcp-chaos-monkey, converted, then seen by a client of the proxy.
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { importFaults } from '../../../src/rules/import/import.ts'
import { resultText, whenAsked } from '../../faults/apps.ts'
import { call, callMessage } from '../../support/http-call.ts'
import { closers } from '../../support/closers.ts'
import { startSidecar } from '../../support/sidecar.ts'
import { accepted } from '../rules-text.ts'

const opened = closers()

const DATA = '{"value":7,"unit":"C","items":[1,2,3,4]}'

/** An upstream whose tools respond with JSON in a text. */
const json: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    res.setHeader('content-type', 'application/json')
    res.end(resultText(message?.id ?? 0, DATA))
  })
}
const sse: RequestListener = (req, res) => {
  whenAsked(req, ([message]) => {
    res.setHeader('content-type', 'text/event-stream')
    res.end(`event: message\ndata: ${resultText(message?.id ?? 0, DATA)}\n\n`)
  })
}

/** The response to a call. */
interface Met {
  readonly status: number
  readonly type: string
  readonly retryAfter: string | undefined
  /** The message of the body or of the last event; undefined when it is no JSON. */
  readonly message: unknown
  readonly text: string
  readonly ms: number
  /** True when the server got the call. */
  readonly executed: boolean
}

type Expected = (met: Met | 'cut', executed: boolean) => void

const failsWith =
  (message: string): Expected =>
  (met, executed) => {
    expect(met).toMatchObject({ status: 200, message: { error: { code: -32000, message } } })
    expect(executed).toBe(true)
  }
const isCut =
  (byServer: boolean): Expected =>
  (met, executed) => {
    expect(met).toBe('cut')
    expect(executed).toBe(byServer)
  }
const isLate =
  (ms: number): Expected =>
  (met, executed) => {
    expect(met).toMatchObject({ status: 200, message: { result: {} } })
    expect(met !== 'cut' && met.ms).toBeGreaterThanOrEqual(ms - 2)
    expect(executed).toBe(true)
  }

/** Returns the value that the text of the result holds. */
function dataOf(met: Met | 'cut'): unknown {
  const text = /"text":("(?:[^"\\]|\\.)*")/.exec(met === 'cut' ? '' : met.text)?.[1]
  return JSON.parse(JSON.parse(text ?? '""') as string)
}

const PLANS: readonly (readonly [string, Expected])[] = [
  ['type: latency, added_ms: 40', isLate(40)],
  ['type: latency, added_ms: 30, jitter_ms: 10', isLate(30)],
  ['type: error_injection, rate: 1', failsWith('injected error')],
  ['type: burst_error, rate: 1', failsWith('injected burst error')],
  ['type: drop_tool, tools: [echo]', failsWith("tool 'echo' unavailable")],
  [
    'type: registry_inconsistency, tools: [echo]',
    failsWith("tool 'echo' not found (registry inconsistency)"),
  ],
  [
    'type: server_degradation, tools: [echo], episode_rate: 0.5, episode_len: 4',
    failsWith("server hosting 'echo' degraded"),
  ],
  ['type: schema_drift', (met) => expect(dataOf(met)).not.toEqual(JSON.parse(DATA))],
  [
    'type: partial_result',
    (met) => expect(dataOf(met)).toEqual({ ...(JSON.parse(DATA) as object), items: [1, 2] }),
  ],
]

const MONKEY: readonly (readonly [string, Expected])[] = [
  ['type: latency, delayMs: 40', isLate(40)],
  [
    'type: error, status_code: 503, message: down',
    (met, executed) => {
      expect(met).toMatchObject({ status: 503, type: 'application/json', text: '{"error":"down"}' })
      expect(executed).toBe(false)
    },
  ],
  ['type: timeout, hangMs: 30', isCut(false)],
  [
    'type: malformed, corruptResponse: true',
    (met) => expect(met).toMatchObject({ status: 200, message: undefined }),
  ],
  ['type: connection-refused', isCut(false)],
  ['type: connection-drop', isCut(true)],
  ['type: connection-drop, after_bytes: 5', isCut(true)],
  ['type: connection-drop, afterMs: 5', isCut(true)],
  [
    'type: rate-limit, retryAfterSeconds: 30',
    (met, executed) => {
      const text = '{"error":"Too Many Requests"}'
      expect(met).toMatchObject({ status: 429, retryAfter: '30', type: 'application/json', text })
      expect(executed).toBe(false)
    },
  ],
  [
    'type: schema-mismatch, missingFields: [value]',
    (met) => expect(dataOf(met)).toEqual({ unit: 'C', items: [1, 2, 3, 4] }),
  ],
]

const APPS = { JSON: json, SSE: sse }
const CASES = (['JSON', 'SSE'] as const).flatMap((kind) => [
  ...PLANS.map(([fault, expected]) => ({
    fault,
    kind,
    expected,
    text: `seed: 1\nfaults: [{ ${fault} }]`,
  })),
  ...MONKEY.map(([fault, expected]) => {
    const text = `name: s\nfaults: [{ target: echo, config: { ${fault} } }]`
    return { fault: `${fault} (monkey)`, kind, expected, text }
  }),
])

it.each(CASES)('$fault acts on a response of $kind', async ({ kind, text, expected }) => {
  const imported = importFaults(text)
  if (!imported.ok) throw new Error(JSON.stringify(imported.problems))
  const { rules } = accepted(imported.text)
  let executed = false
  const upstream: RequestListener = (req, res) => {
    executed = true
    APPS[kind](req, res)
  }
  const stage = opened(await startSidecar({ rules, upstream }))
  const since = performance.now()
  const met = await call(stage, callMessage(1)).then(
    ({ status, headers, text: body }): Met => ({
      status,
      type: headers['content-type'] ?? '',
      retryAfter: headers['retry-after'],
      message: messageOf(body),
      text: body,
      ms: performance.now() - since,
      executed,
    }),
    () => 'cut' as const,
  )
  expected(met, executed)
  await stage.settled()
  expect(stage.counts().injected).toBe(1)
  expect(stage.broken).toEqual([])
})

function messageOf(body: string): unknown {
  try {
    return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body)
  } catch {
    return undefined
  }
}
