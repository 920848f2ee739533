import { LruMap } from '../base/lru-map.ts'
import { type ClientInfo, toolOf } from '../mcp/call.ts'
import { shownClient } from '../telemetry/call-line.ts'
import type { ShownTask } from '../telemetry/shown-ids.ts'
import { isHandshake, isList } from './action.ts'
import { DataFlows } from './data-flows.ts'
import type { FalsifiedVerdict } from './falsified-verdicts.ts'
import type { FaultEvent } from './fault-event.ts'
import { FINDING_NAMES, type FindingFacts, type FindingKind, STORM } from './finding-kinds.ts'
import { habitsOf } from './habits.ts'
import type { KeyKind } from './key-kinds.ts'
import { Tally } from './tally.ts'
import type { Action, Task } from './task.ts'

/** A call that shows a kind of behaviour. */
interface ShownCall {
  readonly tool: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly task: ShownTask
}

/** A client, and the tool with which it behaves so. */
interface Subject {
  /** Name and version; undefined for a client that states none. */
  readonly client: string | undefined
  readonly taskKind: KeyKind
  readonly tool: string
}

/** One kind of behaviour of one subject. */
export interface Finding extends Subject, FindingFacts {
  readonly kind: FindingKind
  /** The last calls, oldest first. */
  readonly calls: readonly ShownCall[]
}

interface Case extends ShownCall {
  readonly client: ClientInfo | undefined
  readonly count?: number
  readonly of?: number
  readonly waited?: number | undefined
  readonly asked?: number | undefined
  readonly most?: number
  readonly again?: number
}

const MAX_SUBJECTS = 500
const MAX_CALLS = 5

/** The cases of one kind of behaviour of one subject. */
class Cases {
  readonly tally = new Tally()
  readonly calls: ShownCall[] = []

  add({ tool, at, task, count = 0, of = 1, waited = 0, asked = 0, most = 0, again = 0 }: Case) {
    const times = count === 0 ? {} : { waited, asked }
    this.tally.add(at, { count, of, most, again, ...times })
    if (count === 0) return
    this.calls.push({ tool, at, task })
    if (this.calls.length > MAX_CALLS) this.calls.shift()
  }
}

interface Counted extends Subject {
  readonly kinds: Map<FindingKind, Cases>
}

/** Counts how agents behave by client, kind of task and tool, in bounded memory. */
export class Findings {
  readonly flows = new DataFlows()
  readonly #window: number
  readonly #maxRetries: number
  /** Names are of clients: those that were seen last are kept. */
  readonly #subjects = new LruMap<Counted>(MAX_SUBJECTS)

  constructor({ window, maxRetries }: { readonly window: number; readonly maxRetries: number }) {
    this.#window = window
    this.#maxRetries = maxRetries
  }

  /** Takes an event that has its verdict. */
  decided(task: Task, event: FaultEvent): void {
    const { action, date: at, client = task.conduct.client } = event.facts
    const tool = toolOf(action) ?? action.method
    const most = this.#maxRetries
    for (const { kind, isCase, waited, asked } of habitsOf(event, this.#window)) {
      this.#add(kind, { tool, at, task, client, count: isCase ? 1 : 0, waited, asked, most })
    }
  }

  /** Takes what became of a result of a tool with false values. */
  falsified(task: Task, tool: string, verdict: FalsifiedVerdict): void {
    if (verdict === 'untracked') return
    const { client } = task.conduct
    const count = verdict.startsWith('used') ? 1 : 0
    const again = verdict === 'verified' ? 1 : 0
    this.#add('used_false_value', { tool, at: Date.now(), task, client, count, of: 1, again })
  }

  /** Takes the end of a call, for what shows without an error. */
  ended(action: Action, dateOf: (at: number) => number, endedAt: number): void {
    const { task, method, name, isOk, others } = action
    const { conduct } = task
    const { client } = conduct
    if (isHandshake(method)) {
      const { restarts: most, shownRestarts } = conduct
      // The first one beyond the limit shows that those before were of a loop.
      const count = most - shownRestarts
      if (most > this.#maxRetries && count > 0) {
        conduct.shownRestarts = most
        const one = { tool: method, at: dateOf(endedAt), task, client, count, of: count, most }
        this.#add('session_loop', one)
      }
    } else if (isOk && !isList(method)) Object.assign(conduct, { restarts: 0, shownRestarts: 0 })
    // Many users may share what names a client.
    if (others < STORM - 1 || task.kind === 'client') return
    const tool = name ?? method
    const most = others + 1
    const at = dateOf(endedAt)
    this.#add('parallel_storm', { tool, at, task, client, count: 1, of: 1, most })
  }

  /** Returns what was counted since a time, also too few cases for a finding; the most harmful first. */
  list(since = 0): readonly Finding[] {
    return FINDING_NAMES.flatMap((kind) => {
      const found: Finding[] = []
      for (const { kinds, ...subject } of this.#subjects.values()) {
        const cases = kinds.get(kind)
        if (cases === undefined) continue
        const sums = cases.tally.since(since)
        if (sums.of === 0) continue
        const calls = cases.calls.filter(({ at }) => at >= since)
        found.push({ ...subject, kind, ...sums, calls })
      }
      return found.sort((a, b) => b.count - a.count)
    })
  }

  #add(kind: FindingKind, seen: Case): void {
    const { kind: taskKind, key } = seen.task
    const { kinds } = this.#subject({
      client: shownClient(seen.client),
      taskKind: taskKind as KeyKind,
      tool: seen.tool,
    })
    let cases = kinds.get(kind)
    if (cases === undefined) kinds.set(kind, (cases = new Cases()))
    // A task is not kept alive by its calls.
    cases.add({ ...seen, task: { kind: taskKind, key } })
  }

  #subject(subject: Subject): Counted {
    const { client, taskKind, tool } = subject
    const id = `${client ?? ''}\n${taskKind}\n${tool}`
    const known = this.#subjects.get(id)
    if (known !== undefined) return known
    const made = { ...subject, kinds: new Map<FindingKind, Cases>() }
    this.#subjects.set(id, made)
    return made
  }
}
