import { type Check, millis, type Phase, type PhaseResult } from '../phase.ts'
import { type HeldStream, PlainClient, type WireResponse } from '../plain-client.ts'
import type { Screen } from '../screen.ts'
import type { Stage } from '../stage.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { type ToolCall, seededCalls } from '../demo-tools.ts'

/** Kills and restarts the server while a client holds a stream. */
export const life: Phase = {
  key: 'life',
  title: 'The server is killed and restarted',
  async run(stage: Stage, screen: Screen): Promise<PhaseResult> {
    const client = new PlainClient(stage.sidecar.port, 4)
    const restart = await restartApp(stage, client)
    client.close()
    const checks = restartChecks(restart)
    for (const { what, ok } of checks) screen.check(ok, what)
    screen.line(screen.paint('quiet', `   ${restart.reason}`))
    const ok = checks.every((check) => check.ok)
    return {
      numbers: { restart },
      checks,
      summary: [
        {
          ok,
          word: 'honest',
          text: ok
            ? 'server killed: a 502 names it; restarted: the first call succeeded'
            : 'the server was killed and restarted, and a check failed',
        },
      ],
    }
  },
}

/** The events while the server was killed and restarted. */
interface Restart {
  readonly heardBefore: boolean
  readonly streamBroke: boolean
  readonly streamBrokeMs: number
  readonly asked: number
  /** Calls that got 502, `x-squall-error` and a JSON-RPC error with their own id. */
  readonly rejected: number
  /** The reason in the client's error. */
  readonly reason: string
  readonly recovered: boolean
  readonly recoveredMs: number
  readonly heardAfter: boolean
}

function restartChecks(result: Restart): Check[] {
  return [
    {
      what: `its stream broke for the client too, ${millis(result.streamBrokeMs)} ms after the kill`,
      ok: result.heardBefore && result.streamBroke,
    },
    {
      what: `down: ${result.rejected} of ${result.asked} calls got 502 and a JSON-RPC error of Squall’s own`,
      ok: result.rejected === result.asked,
    },
    {
      what: `back: the first call went through in ${millis(result.recoveredMs)} ms`,
      ok: result.recovered && result.heardAfter,
    },
  ]
}

const ASKED = 20
const PATIENCE_MS = 10_000

/** Kills the server under a client that holds a stream, and starts it again. */
async function restartApp(stage: Stage, client: PlainClient): Promise<Restart> {
  const { server } = stage
  const calls = seededCalls(3, ASKED + 1)
  const stream = await client.hold()
  const heardBefore = await hears(stage, stream)
  const killedAt = performance.now()
  await server.stop()
  const streamBroke = await happens(stream.over)
  const streamBrokeMs = performance.now() - killedAt
  const asked = calls.slice(0, ASKED)
  const responses = await Promise.all(asked.map((call) => client.send(call)))
  const rejected = responses.filter((response, i) => isUnreachable(response, asked[i]!)).length
  await server.start()
  const response = await client.send(calls[ASKED]!)
  const again = await client.hold()
  const heardAfter = await hears(stage, again)
  again.close()
  return {
    heardBefore,
    streamBroke,
    streamBrokeMs,
    asked: ASKED,
    rejected,
    reason: reasonOf(responses[0]!),
    recovered: response.ending === 'ok',
    recoveredMs: response.milliseconds,
    heardAfter,
  }
}

async function hears(stage: Stage, stream: HeldStream): Promise<boolean> {
  stage.server.push('still here')
  return happens(stream.heard(1))
}

/** Returns false when it takes too long. */
async function happens(event: Promise<unknown>): Promise<boolean> {
  const late = wait(PATIENCE_MS, false, { ref: false })
  return Promise.race([event.then(() => true), late])
}

interface ErrorBody {
  readonly id?: unknown
  readonly error?: { readonly message?: string; readonly data?: { readonly origin?: string } }
}

function isUnreachable(response: WireResponse, call: ToolCall): boolean {
  const { id, error } = parse(response)
  return (
    response.status === 502 &&
    response.header('x-squall-error') === 'upstream_unreachable' &&
    id === call.id &&
    error?.data?.origin === 'squall'
  )
}

function reasonOf(response: WireResponse): string {
  return parse(response).error?.message ?? `HTTP ${response.status}`
}

function parse(response: WireResponse): ErrorBody {
  try {
    return (JSON.parse(response.body.toString()) ?? {}) as ErrorBody
  } catch {
    return {}
  }
}
