import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RareLog } from '../rare-log.ts'
import { bind } from './bind.ts'
import { stopListening } from './drain.ts'

/** A port that was taken is tried again after this time, in milliseconds. */
const RETRY = 500

/** Closes a listener for a time: only the kernel can refuse a connection. */
export class ClosedPort {
  readonly #server: Server
  readonly #closing: AbortSignal
  readonly #rareLog: RareLog
  #isActive = false

  constructor(server: Server, closing: AbortSignal, rareLog: RareLog) {
    this.#server = server
    this.#closing = closing
    this.#rareLog = rareLog
  }

  /**
   * Returns what refuses new connections until the rule is retired, but at most for a time;
   * undefined without an open TCP port. Open connections stay.
   */
  get close(): ((ms: number, retired: AbortSignal) => void) | undefined {
    const address = this.#server.address()
    if (this.#isActive || address === null || typeof address === 'string') return undefined
    const { address: host, port } = address
    return (ms, retired) =>
      void this.#refuse(AbortSignal.any([retired, this.#closing]), ms, host, port)
  }

  async #refuse(over: AbortSignal, ms: number, host: string, port: number): Promise<void> {
    this.#isActive = true
    // Connections that the kernel has accepted would be reset.
    await stopListening(this.#server)
    await pause(ms, over)
    while (!this.#closing.aborted) {
      try {
        await bind(this.#server, { kind: 'tcp', host, port })
        break
      } catch (error) {
        this.#rareLog.warn('listener', (error as Error).message, 'retrying to open a listener')
        await pause(RETRY, this.#closing)
      }
    }
    if (this.#closing.aborted) NetServer.prototype.close.call(this.#server)
    this.#isActive = false
  }
}

async function pause(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over, ref: false }).catch(() => undefined)
}
