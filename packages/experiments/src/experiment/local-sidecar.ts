import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Rule, SidecarAdmin } from '#admin-api'
import { tasksReader } from '../load/sidecar-tasks.ts'
import { CLAIM_PREFIX } from './armed-rules.ts'
import { processKilling } from './kill.ts'
import type { LockHolder } from './lock.ts'
import type { ServerProcesses } from './monitor/server-processes.ts'
import type { LocalSpec } from './plan.ts'
import { restoreFile, RulesFile } from './rules-file.ts'
import { askRules, askState } from './sidecar-admin.ts'
import {
  type Counts,
  type Killing,
  type ReplacedRules,
  type Sidecars,
  type SidecarState,
  totalsOf,
} from './sidecars.ts'

const WAIT_MS = 3000
const POLL_MS = 50
/** The difference between two readings of the same process. */
const SLACK_MS = 1000

/** A sidecar of this machine that reads a rules file. */
export class LocalSidecar implements Sidecars {
  readonly #admin: SidecarAdmin
  readonly #rulesFile: string
  readonly forLoad: Sidecars['forLoad']
  readonly processes: ServerProcesses
  readonly rulesSource = { name: 'rules file', setting: 'sidecar.rulesFile' }
  // A sidecar polls its rules file where it has no inotify.
  readonly paces = {
    activationMs: 10_000,
    activationPollMs: 25,
    pollMs: 300,
    versions: 2,
    lostMs: 3000,
  }
  readonly ready = undefined
  readonly killing: Killing | undefined

  constructor({ admin, rulesFile, victim }: Omit<LocalSpec, 'kind'>) {
    this.#admin = admin
    this.#rulesFile = rulesFile
    this.killing = victim && processKilling(victim)
    this.forLoad = { sidecars: [admin], readTasks: tasksReader([admin]) }
    this.processes = stdioServer(admin)
  }

  async states(signal?: AbortSignal): Promise<readonly SidecarState[]> {
    return [await askState(this.#admin, signal)]
  }

  async isGuarded(): Promise<boolean> {
    return (await askState(this.#admin)).reasons.some(({ by }) => by === 'guard')
  }

  rules(signal?: AbortSignal): Promise<readonly Rule[]> {
    return askRules(this.#admin, signal)
  }

  async counts(names: ReadonlySet<string>, signal?: AbortSignal): Promise<Counts> {
    const rules = (await this.rules(signal)).filter(({ name }) => names.has(name))
    return rules.map((rule) => [rule.name, totalsOf(rule)])
  }

  /** Ignores failures, because the rules expire by themselves. */
  async recover(dead: LockHolder | undefined): Promise<string | undefined> {
    if (dead?.backup === undefined) return undefined
    const { backup, id } = dead
    try {
      const now = await readFile(backup.path, 'utf8')
      if (!now.includes(`"${CLAIM_PREFIX}${id}"`)) return undefined
      const before = (await askState(this.#admin)).rules.digest
      const { path, bytes, ...rest } = backup
      const previous = bytes === null ? undefined : Buffer.from(bytes, 'base64')
      await restoreFile(path, { ...rest, bytes: previous })
      for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        if ((await askState(this.#admin)).rules.digest !== before) break
        await sleep(POLL_MS)
      }
      return id
    } catch {
      return undefined
    }
  }

  open(): Promise<ReplacedRules> {
    return RulesFile.open(this.#rulesFile)
  }
}

/** Reads the process of the server of `squall stdio`, which starts and ends with the sidecar. */
function stdioServer(admin: SidecarAdmin): ServerProcesses {
  let before = { startedAt: 0, uptime: 0, at: Infinity }
  let restarts = 0
  return async (signal) => {
    const { listeners = [], ...state } = await askState(admin, signal)
    if (!listeners.some(({ listen }) => listen === 'stdio')) return undefined
    const uptime = state.uptimeSeconds * 1000
    const startedAt = Date.parse(state.startedAt ?? '')
    const at = performance.now()
    // A clock that was set moves the start, but not the uptime; a late response has both of before.
    const isLater = startedAt > before.startedAt + SLACK_MS
    if (isLater && uptime < before.uptime + at - before.at - SLACK_MS) restarts++
    before = { startedAt, uptime, at }
    return { now: startedAt + uptime, processes: [{ id: 'stdio', restarts, startedAt }] }
  }
}
