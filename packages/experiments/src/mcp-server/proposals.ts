import { randomBytes } from 'node:crypto'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord, makeDirectory, readJsonFile, replaceText } from '#base'
import { DeniedError } from '../policy/denied-error.ts'

/** Everything that a search depends on. */
export interface ProposedSearch {
  readonly plan: string
  readonly vary: readonly string[]
  readonly until: string
  readonly maxRuns: number
  readonly maxMinutes: number
}

/** A plan that passed all checks, waiting for its run. */
export interface Proposal {
  readonly id: string
  /** The digest of everything that determines the experiment. */
  readonly digest: string
  readonly plan: string
  /** The search that the plan is the strongest run of; undefined for a single run. */
  readonly search?: ProposedSearch
  readonly target: string
  /** Describes the plan to the person who approves it. */
  readonly summary: readonly string[]
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The approval of a proposal by a person. */
export interface Approval {
  readonly digest: string
  readonly by: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The end of a proposal: an approval is for one run. */
interface Used {
  readonly how: 'was used for a run' | 'was declined by a person'
  readonly at: string
}

export const PROPOSAL_MS = 3_600_000
export const APPROVAL_MS = 15 * 60_000
const MAX_PROPOSALS = 100
const ID = /^[0-9a-f]{10}$/

/** Keeps proposals and their approvals as files that only their user can read. */
export class Proposals {
  readonly #directory: string
  readonly #now: () => number

  constructor(stateDirectory: string, now: () => number = Date.now) {
    this.#directory = join(stateDirectory, 'proposals')
    this.#now = now
  }

  /** Stores a proposal. The oldest ones make room for it. */
  async add(proposal: Omit<Proposal, 'id' | 'expiresAt'>): Promise<Proposal> {
    await makeDirectory(this.#directory, 0o700)
    await this.#prune()
    const id = randomBytes(5).toString('hex')
    const kept = { ...proposal, id, expiresAt: this.#now() + PROPOSAL_MS }
    await this.#write(`${id}.json`, kept)
    return kept
  }

  /** Returns a proposal. Throws a `DeniedError` for one that is unknown, used or expired. */
  async find(id: string): Promise<Proposal> {
    const found = ID.test(id) ? await this.#read<Proposal>(`${id}.json`) : undefined
    if (found === undefined) {
      const used = ID.test(id) ? await this.#read<Used>(`${id}.used`) : undefined
      if (used !== undefined) throw new DeniedError(usedText(id, used))
      throw new DeniedError(
        'proposal not found; call propose_experiment, or approve with the --state-dir of the server',
      )
    }
    if (this.#lasts(found, PROPOSAL_MS)) return found
    throw new DeniedError(`the proposal ${id} has expired; call propose_experiment again`)
  }

  /** Approves one run of a proposal. Throws a `DeniedError`. */
  async approve(id: string, by: string): Promise<Approval> {
    const { digest } = await this.find(id)
    const approval = { digest, by, expiresAt: this.#now() + APPROVAL_MS }
    await this.#write(`${id}.approved`, approval)
    return approval
  }

  /** Returns the approval of a proposal, unless it has expired or is for another plan. */
  async approvalOf({ id, digest }: Proposal): Promise<Approval | undefined> {
    const found = await this.#read<Approval>(`${id}.approved`)
    return found?.digest === digest && this.#lasts(found, APPROVAL_MS) ? found : undefined
  }

  /** Uses a proposal and its approval up. Throws a `DeniedError` when another call did. */
  async take({ id }: Proposal, how: Used['how'] = 'was used for a run'): Promise<void> {
    const used = { how, at: new Date(this.#now()).toISOString() }
    try {
      await unlink(join(this.#directory, `${id}.json`))
    } catch {
      throw new DeniedError(usedText(id, used))
    }
    await this.#write(`${id}.used`, { ...used, expiresAt: this.#now() + PROPOSAL_MS })
  }

  /** Makes a used proposal and its approval available again, because no run has begun. */
  async giveBack(proposal: Proposal): Promise<void> {
    await this.#write(`${proposal.id}.json`, proposal)
    await this.#remove(`${proposal.id}.used`)
  }

  /** Returns false also for an end that is too far ahead: the clock was set back since. */
  #lasts({ expiresAt }: Pick<Approval, 'expiresAt'>, ms: number): boolean {
    const left = expiresAt - this.#now()
    return left > 0 && left <= ms
  }

  async #prune(): Promise<void> {
    const names = (await readdir(this.#directory)).filter((name) => /\.(?:json|used)$/.test(name))
    const all = []
    for (const name of names) {
      all.push({ name, expiresAt: (await this.#read<Proposal>(name))?.expiresAt ?? 0 })
    }
    all.sort((one, other) => other.expiresAt - one.expiresAt)
    for (const [index, { name, expiresAt }] of all.entries()) {
      if (expiresAt > this.#now() && index < MAX_PROPOSALS - 1) continue
      await this.#remove(name)
      await this.#remove(name.replace(/(?:json|used)$/, 'approved'))
    }
  }

  async #read<T>(name: string): Promise<T | undefined> {
    const value = await readJsonFile(join(this.#directory, name))
    return isRecord(value) ? (value as T) : undefined
  }

  async #write(name: string, value: object): Promise<void> {
    await replaceText(join(this.#directory, name), JSON.stringify(value), 0o600)
  }

  async #remove(name: string): Promise<void> {
    await unlink(join(this.#directory, name)).catch(() => {})
  }
}

function usedText(id: string, { how, at }: Used): string {
  return `the proposal ${id} ${how} at ${at}, and an approval covers one run; call propose_experiment again`
}
