import { expect } from 'vitest'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { Held } from '../accounting/held.ts'
import { json, POLL, result, Stage } from '../accounting/stage.ts'
import { type AppExchange, type RawClient, response, type StartOptions } from '../support/wire.ts'
import { closers } from '../support/closers.ts'
import { oneFault } from './one-fault.ts'

/** The header line of a session. */
export const SESSION = 'Mcp-Session-Id: s1\r\n'
/** Holds calls of `echo` until they are given up. */
export const LATE = oneFault('delay: { fixed: 1h, max: 1h }')

const ACCEPTED = response('202 Accepted', [], '')

/** An upstream with a sidecar before it whose faults hold calls, until they are given up. */
export class HeldCalls {
  readonly stage: Stage
  /** Requests to which the test responds: streams and the ends of sessions. */
  readonly app: Held

  private constructor(stage: Stage, app: Held) {
    this.stage = stage
    this.app = app
  }

  /** The upstream responds to calls, accepts notifications, and leaves all else to the test. */
  static async open(rules: readonly RuleSpec[], options: Partial<StartOptions> = {}) {
    const app = new Held()
    const script = (exchange: AppExchange): void => {
      const { method, target, body } = exchange.request
      if (method !== 'POST') return app.push(exchange)
      const message = JSON.parse(body.toString()) as object
      const calls = [message].flat().filter((each) => 'id' in each && 'method' in each)
      if (calls.length === 0 || target.startsWith('/message')) {
        return void exchange.write(ACCEPTED)
      }
      const results = calls.map((each) => result((each as { id: unknown }).id))
      return void exchange.write(json(Array.isArray(message) ? results : results[0]))
    }
    return new HeldCalls(await Stage.open(script, { ...options, rules }), app)
  }

  /** Sends a request and waits until so many faults hold something. */
  async holds(bytes: string, faults = 1): Promise<RawClient> {
    const client = await this.stage.send(bytes)
    await expect.poll(() => this.stage.squall.faults!.active, POLL).toBe(faults)
    return client
  }

  /** Faults let go of what they hold. */
  free(): void {
    this.stage.squall.faults!.take([])
  }

  /** The requests that the upstream got: bodies of POSTs, methods of all others. */
  get seen(): readonly unknown[] {
    return this.stage.app.requests.map(({ method, body }) =>
      method === 'POST' ? (JSON.parse(body.toString()) as unknown) : method,
    )
  }

  /** The exchange of a cancelled call ends without a response. */
  async endsEmpty(client: RawClient, status = 200): Promise<void> {
    const given = await client.response()
    expect(given!.status).toBe(status)
    expect(given!.body.toString()).toBe(status === 200 ? '' : 'Accepted')
    expect(this.stage.squall.faults!.active).toBe(0)
  }
}

/** Opens held calls for the tests of a file, and closes them after each. Call once at its top. */
export function heldCalls() {
  const opened = closers()
  return async (...options: Parameters<typeof HeldCalls.open>) => {
    const held = await HeldCalls.open(...options)
    return { held, stage: opened(held.stage) }
  }
}

/** The notification by which a client gives a call up. */
export function giveUp(requestId: unknown, reason = 'Request timed out') {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } }
}
