import { setTimeout as wait } from 'node:timers/promises'
import type { HeldStream, PlainClient, WireResponse } from '../plain-client.ts'
import { seededCalls, type ToolCall } from '../seeded-calls.ts'
import type { Stage } from '../stage.ts'

/** The events while the app was killed and restarted. */
export interface RestartResult {
  readonly heardBefore: boolean
  readonly streamBrokeMs: number
  readonly asked: number
  /** Calls that got 502, `x-squall-error` and a JSON-RPC error with their own id. */
  readonly refused: number
  /** The reason in the client's error. */
  readonly reason: string
  readonly recovered: boolean
  readonly recoveredMs: number
  readonly heardAfter: boolean
}

const ASKED = 20
const PATIENCE_MS = 3_000

/** Kills the app under a client that holds a stream, and starts it again. */
export async function restartApp(stage: Stage, client: PlainClient): Promise<RestartResult> {
  const { app } = stage
  const calls = seededCalls(3, ASKED + 1)
  const stream = await client.hold()
  const heardBefore = await hears(stage, stream)
  const killedAt = performance.now()
  await app.stop()
  await Promise.race([stream.over, wait(PATIENCE_MS, undefined, { ref: false })])
  const streamBrokeMs = performance.now() - killedAt
  const asked = calls.slice(0, ASKED)
  const responses = await Promise.all(asked.map((call) => client.send(call)))
  const refused = responses.filter((response, i) => isRefusal(response, asked[i]!)).length
  await app.start()
  const response = await client.send(calls[ASKED]!)
  const again = await client.hold()
  const heardAfter = await hears(stage, again)
  again.close()
  return {
    heardBefore,
    streamBrokeMs,
    asked: ASKED,
    refused,
    reason: reasonOf(responses[0]!),
    recovered: response.ending === 'ok',
    recoveredMs: response.milliseconds,
    heardAfter,
  }
}

async function hears(stage: Stage, stream: HeldStream): Promise<boolean> {
  stage.app.push('still here')
  const late = wait(PATIENCE_MS, false, { ref: false })
  return Promise.race([stream.heard(1).then(() => true), late])
}

interface RefusalBody {
  readonly id?: unknown
  readonly error?: { readonly message?: string; readonly data?: { readonly origin?: string } }
}

function isRefusal(response: WireResponse, call: ToolCall): boolean {
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

function parse(response: WireResponse): RefusalBody {
  try {
    return (JSON.parse(response.body.toString()) ?? {}) as RefusalBody
  } catch {
    return {}
  }
}
