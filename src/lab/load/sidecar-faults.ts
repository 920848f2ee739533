import { setTimeout as sleep } from 'node:timers/promises'
import { API, type Faults } from '../../admin/api.ts'
import { AdminError, type SidecarAdmin, askAdmin } from '../../admin/api-client.ts'
import { plain } from '../../base/text/foreign-text.ts'
import { LoadError } from './load-error.ts'

const POLL_MS = 100
/** Faults of more calls than these are forgotten, the oldest first. */
const MAX_CALLS = 20_000

/** Asks a sidecar which faults it has injected, for answers that carry no mark. */
export class SidecarFaults {
  readonly #admin: SidecarAdmin
  readonly #closing = new AbortController()
  readonly #markers = new Map<string, string[]>()
  #waiting: (() => void)[] = []
  #total = 0
  #missed = 0

  private constructor(admin: SidecarAdmin) {
    this.#admin = admin
  }

  /** Begins to ask. Throws a `LoadError` when the sidecar does not answer. */
  static async open(admin: SidecarAdmin): Promise<SidecarFaults> {
    const faults = new SidecarFaults(admin)
    try {
      faults.#total = (await faults.#ask()).total
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      const wrong = `the sidecar cannot be asked at ${admin.url.origin}: ${error.message}`
      throw new LoadError('UNREACHABLE', wrong, 'check --sidecar')
    }
    void faults.#run()
    return faults
  }

  /** Faults that came and went between two looks. */
  get missed(): number {
    return this.#missed
  }

  /** Returns the faults of a call that has ended, as marks; waits for the next look where it has to. */
  async marksOf(tool: string, id: number): Promise<readonly string[]> {
    const key = keyOf(plain(tool), id)
    if (!this.#markers.has(key) && !this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    return this.#markers.get(key) ?? []
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
        // Without the sidecar the errors keep their origin.
        if (!(error instanceof AdminError)) throw error
      }
      for (const resolve of waiting) resolve()
      await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    }
    for (const resolve of this.#waiting) resolve()
  }

  async #ask(): Promise<Faults> {
    const options = { client: 'load', signal: this.#closing.signal }
    return (await askAdmin(this.#admin, API.faults, options)).value
  }

  #take({ total, faults }: Faults): void {
    // A smaller number is that of a sidecar that was started again.
    const more = total < this.#total ? total : total - this.#total
    this.#total = total
    this.#missed += Math.max(0, more - faults.length)
    for (const { tool, id, rule, fault } of faults.slice(0, more).toReversed()) {
      if (typeof id !== 'number' || tool === undefined) continue
      const key = keyOf(tool, id)
      const markers = this.#markers.get(key) ?? []
      markers.push(`${rule}/${fault}`)
      this.#markers.set(key, markers)
      if (this.#markers.size > MAX_CALLS) this.#markers.delete(this.#markers.keys().next().value!)
    }
  }
}

function keyOf(tool: string, id: number): string {
  return `${id} ${tool}`
}

/** The faults of calls whose responses carry no mark, as sidecars know them. */
export type UnmarkedFaults = Pick<SidecarFaults, 'marksOf' | 'missed' | 'close'>

/**
 * Begins to ask several sidecars, since a load does not know which of them a call went through;
 * undefined for none. Throws a `LoadError` when one does not answer.
 */
export async function openFaults(
  admins: readonly SidecarAdmin[],
): Promise<UnmarkedFaults | undefined> {
  if (admins.length === 0) return undefined
  const opened = await Promise.allSettled(admins.map((admin) => SidecarFaults.open(admin)))
  const all = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = (): void => {
    for (const each of all) each.close()
  }
  const failed = opened.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    close()
    throw failed.reason
  }
  return {
    get missed() {
      return all.reduce((sum, { missed }) => sum + missed, 0)
    },
    marksOf: async (tool, id) =>
      (await Promise.all(all.map((each) => each.marksOf(tool, id)))).flat(),
    close,
  }
}
