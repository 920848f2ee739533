import { setTimeout as sleep } from 'node:timers/promises'
import { AdminError, API, askAdmin, type Faults, type SidecarAdmin } from '#admin-api'
import { plain } from '#base'
import { ShownIds } from '#sidecar'
import { LoadError } from './load-error.ts'
import type { LoadTarget } from './load-options.ts'

const POLL_MS = 100
/** Limits the calls whose faults are kept; the oldest are dropped. */
const MAX_CALLS = 20_000
const HASHED = new ShownIds('hash')

/** Polls a sidecar for injected faults, to attribute responses without a marker. */
export class SidecarFaults {
  readonly #admin: SidecarAdmin
  readonly #closing = new AbortController()
  readonly #markers = new Map<string, string[]>()
  #waiting: (() => void)[] = []
  #total = 0
  /** The number of faults that were dropped by the sidecar between two polls. */
  missed = 0

  private constructor(admin: SidecarAdmin) {
    this.#admin = admin
  }

  /** Begins to poll. Throws a `LoadError` when the sidecar does not respond. */
  static async open(admin: SidecarAdmin): Promise<SidecarFaults> {
    const faults = new SidecarFaults(admin)
    try {
      faults.#total = (await faults.#ask()).total
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      const { message, status } = error
      if (status === 404) throw withoutRules(`${admin.url.origin}: ${message}`)
      const wrong = `the sidecar cannot be reached at ${admin.url.origin}: ${message}`
      throw new LoadError('UNREACHABLE', wrong, 'check --sidecar')
    }
    void faults.#run()
    return faults
  }

  /**
   * Returns the faults of an ended call as markers. Waits for the next poll, because the last poll
   * may have come between two faults of the call.
   */
  async markersOf(tool: string, id: number): Promise<readonly string[]> {
    if (!this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    const name = plain(tool)
    // With --log-ids hash, the sidecar shows the start of a hash.
    const keys = [id, HASHED.id(id)!].map((shown) => keyOf(name, shown))
    return keys.flatMap((key) => this.#markers.get(key) ?? [])
  }

  close(): void {
    this.#closing.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const waiting = this.#waiting
      this.#waiting = []
      try {
        this.#take(await this.#ask())
      } catch (error) {
        // When the sidecar does not respond, errors keep their origin.
        if (!(error instanceof AdminError)) throw error
      }
      for (const resolve of waiting) resolve()
      await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    }
    for (const resolve of this.#waiting) resolve()
  }

  async #ask(): Promise<Faults> {
    const options = { client: 'load', signal: this.#closing.signal }
    return (await askAdmin(this.#admin, API.injections, options)).value
  }

  #take({ total, faults }: Faults): void {
    // A smaller number means that the sidecar was restarted.
    const more = total < this.#total ? total : total - this.#total
    this.#total = total
    this.missed += Math.max(0, more - faults.length)
    for (const { tool, id, rule, fault } of faults.slice(0, more).toReversed()) {
      if (id === undefined || tool === undefined) continue
      const key = keyOf(tool, id)
      const markers = this.#markers.get(key) ?? []
      markers.push(`${rule}/${fault}`)
      this.#markers.set(key, markers)
      if (this.#markers.size > MAX_CALLS) this.#markers.delete(this.#markers.keys().next().value!)
    }
  }
}

function withoutRules(found: string): LoadError {
  const fix = 'start the sidecar with --rules, or remove --sidecar'
  return new LoadError('UNREACHABLE', `there is no sidecar with rules at ${found}`, fix)
}

/** Returns the key of a call; a number and a text are different ids. */
function keyOf(tool: string, id: number | string): string {
  return `${JSON.stringify(id)} ${tool}`
}

/** Looks up the faults of calls whose responses carry no marker. */
export type FaultLookup = Pick<SidecarFaults, 'markersOf' | 'missed' | 'close'>

/**
 * Begins to poll all sidecars, because a response does not name the sidecar of its call; undefined
 * without sidecars or the lean client. Ends when calls are cut, which wait for no sidecar. Throws a
 * `LoadError` when a sidecar does not respond.
 */
export async function openFaultLookup(
  { client, sidecars = [] }: LoadTarget,
  cut: AbortSignal,
): Promise<FaultLookup | undefined> {
  if (client !== 'lean' || sidecars.length === 0) return undefined
  const opened = await Promise.allSettled(sidecars.map((admin) => SidecarFaults.open(admin)))
  const all = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = (): void => all.forEach((each) => each.close())
  cut.addEventListener('abort', close, { once: true })
  const failed = opened.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    close()
    throw failed.reason
  }
  return {
    get missed() {
      return all.reduce((sum, { missed }) => sum + missed, 0)
    },
    markersOf: async (tool, id) =>
      (await Promise.all(all.map((each) => each.markersOf(tool, id)))).flat(),
    close,
  }
}
