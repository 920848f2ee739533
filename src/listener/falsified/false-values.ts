import { LruMap } from '../../base/lru-map.ts'
import type { ByteBudget, CacheBudget, EvictableCache } from '../../base/byte-budget.ts'
import { fieldsOf } from '../../base/values.ts'
import type { FalseValue } from '../../filters/fault.ts'
import type { Call, RequestCall } from '../../mcp/call.ts'
import type { Message } from '../../mcp/json-rpc.ts'
import { hashOf } from '../../agents/action.ts'
import type { FalsifiedVerdict } from '../../agents/falsified-verdicts.ts'
import type { ToolHint } from '../../agents/server-tools.ts'
import type { Task } from '../../agents/task.ts'
import { readText, readValue } from '../../base/text/written-values.ts'
import { formsOf, type ValueForms } from './value-forms.ts'
import { Occurred, OCCURRED_BYTES, WatchedValues } from './watched-values.ts'

/** The fault that sent false values, and the tool in whose result. */
export interface Falsification {
  readonly rule: string
  readonly fault: string
  readonly marked: boolean
  readonly tool: string
}

/** A call whose arguments hold a false value. */
export interface FalseUse {
  readonly by: Falsification
  readonly hint: ToolHint
  readonly isBlocked: boolean
  /** True for a call that has too many numbers to look for a false value. */
  readonly isUnread?: boolean
}

/** The conversation of a call: its task, or else its session or client. */
export interface Asker {
  /** Several while the task is not clear: false values are looked for in all that it may be. */
  readonly keys: readonly string[]
  /** Returns the task once it is clear. */
  readonly task: () => Task | undefined
  /** Its session, or else its client. */
  readonly party: string
  readonly hint: ToolHint
}

/** Receives each verdict once. */
export type OnFalsified = (
  by: Falsification,
  verdict: FalsifiedVerdict,
  task: Task | undefined,
) => void

/** One result with false values. */
interface Lie {
  readonly by: Falsification
  readonly onUse: 'block' | 'allow' | undefined
  /** Identifies the call, so that it is recognized when the agent repeats it. */
  readonly callKey: string
  readonly task: Asker['task']
  isVerified: boolean
  isDecided: boolean
}

interface Mark {
  readonly lie: Lie
  readonly isTrue: boolean
}

/** Conversations with false values, and such results in each; no further ones are falsified. */
const MAX_FOLLOWED = 1_000
const MAX_LIES = 16
const MAX_OCCURRED = 2_000
/** False values are looked for this long after the last call, in milliseconds. */
const RETENTION = 3_600_000
/** The pause that ends a conversation without tasks. */
const WINDOW = 30_000
/** Bytes of a form with its place in a map, and of what belongs to each lie. */
const FORM_BYTES = 200
const LIE_BYTES = 1_000
const MAX_PARTIES = 256
/** Larger results are not searched. Those above 16 KiB are not parsed, and searched as text. */
export const MAX_RESULT = 1024 * 1024

/** The conversations that a call may be of. */
export interface Followed {
  readonly task: Asker['task']
  readonly owns: readonly Conversation[]
}

/** A call, with what is followed in its conversations once it has arrived. */
export interface FollowedCall {
  readonly call: Call
  followed: Followed | undefined
}

/** The calls of one task, session or client, in which false values are looked for. */
class Conversation {
  readonly key: string
  readonly lies: Lie[] = []
  readonly values = new WatchedValues<Mark>()
  /** The sessions and callers that took part. */
  readonly parties = new Set<string>()
  /** The calls that repeat one with a false result; those with one repeat nothing. */
  readonly again = new WeakMap<Call, readonly Lie[] | 'falsified'>()
  usedAt = 0
  bytes = 0

  constructor(key: string) {
    this.key = key
  }
}

/**
 * Follows the false values that a fault put into results: looks for them in the arguments of later
 * calls of the same task, and for the true ones in later results. Keeps hashes, and no text.
 */
export class FalseValues implements EvictableCache {
  readonly #followed = new Map<string, Conversation>()
  readonly #others = new LruMap<Conversation>(MAX_OCCURRED, (_, own) => this.#forget(own))
  readonly #onVerdict: OnFalsified
  #memory: (ByteBudget & { readonly cacheBudget: CacheBudget }) | undefined

  constructor(onVerdict: OnFalsified) {
    this.#onVerdict = onVerdict
  }

  /** Sets the budget that bounds what is kept. */
  bound(memory: ByteBudget & { readonly cacheBudget: CacheBudget }): void {
    this.#memory = memory
  }

  /** True while there is a value to look for. */
  get areOut(): boolean {
    return this.#followed.size > 0
  }

  /**
   * Takes a call before the upstream gets it; returns its use of a false value, if any. With
   * `records`, remembers what occurs, because a fault may falsify later results.
   */
  asked(entry: FollowedCall, asker: Asker, records: boolean): FalseUse | undefined {
    const { keys, task, hint } = asker
    const owns: Conversation[] = []
    const used = new Set<Lie>()
    const unread: Lie[] = []
    for (const key of keys) {
      const own = this.#conversation(key, records)
      if (own === undefined) continue
      owns.push(own)
      const read = readCall(own, entry.call as RequestCall, asker)
      for (const lie of read.used) used.add(lie)
      unread.push(...read.unread)
    }
    if (owns.length === 0) return undefined
    entry.followed = { task, owns }
    const use = used.size > 0 ? this.#used([...used], hint) : undefined
    if (use?.isBlocked === true) return use
    const may = unread.find((lie) => isBlocking(lie, hint))
    return may ? { by: may.by, hint, isBlocked: true, isUnread: true } : use
  }

  /**
   * Takes the false values in the result of a call that is about to be sent. Returns false when a
   * value that could be recognized cannot be followed wherever the call may belong.
   */
  falsified(
    { call, followed }: FollowedCall,
    by: Falsification,
    values: readonly FalseValue[],
    onUse: Lie['onUse'],
  ): boolean {
    const { owns = [], task = () => undefined } = followed ?? {}
    const all = values.flatMap((value) => formsOf(value) ?? [])
    if (all.length > 0 && !(owns.length > 0 && owns.every(hasPlace))) return false
    const isNew = ({ kind, falsified: [form] }: ValueForms) =>
      !owns.some((own) => hasOccurred(own, kind, form!))
    // Ids, names and dates may be those of an earlier result; numbers are invented.
    const forms = all.filter((each) => each.kind === 'number' || isNew(each))
    if (forms.length > 0 && !(forms.every(isNew) && this.#follow(owns, forms))) return false
    if (forms.length === 0) this.#onVerdict(by, 'untracked', task())
    const callKey = keyOf(call as RequestCall)
    const lie = { by, onUse, callKey, task, isVerified: false, isDecided: false }
    for (const own of owns) {
      own.again.set(call, 'falsified')
      if (forms.length > 0) own.lies.push(lie)
      for (const { kind, falsified, trueForm } of forms) {
        for (const form of falsified.filter((each) => !hasOccurred(own, kind, each)))
          watch(own, kind, form, { lie, isTrue: false })
        if (trueForm !== undefined) watch(own, kind, trueForm, { lie, isTrue: true })
      }
    }
    return true
  }

  /** Takes the response to a call as its client gets it; `raw` is its text where it was not parsed. */
  responded(
    { call, followed }: FollowedCall,
    message: Message,
    raw: () => string | undefined,
  ): void {
    if (message.kind !== 'result' || followed === undefined) return
    for (const own of followed.owns) respondedIn(own, call, message.result, raw)
  }

  /** Returns the fault whose value a request may use that cannot be read, by the keys of its head. */
  unreadMayUse(keys: readonly string[]): Falsification | undefined {
    for (const { key, parties, lies } of this.#followed.values()) {
      const isNamed = (each: string) => each === key || parties.has(each)
      // Further parties are not kept.
      const isOwn = parties.size >= MAX_PARTIES || keys.some(isNamed)
      const lie = isOwn ? lies.find(({ onUse }) => onUse !== 'allow') : undefined
      if (lie !== undefined) return lie.by
    }
    return undefined
  }

  /** Decides what became of values whose task has ended, and forgets those of long ago. */
  sweep(): void {
    const now = performance.now()
    for (const own of this.#followed.values()) {
      const { usedAt, key, bytes, lies } = own
      const isOver = now - usedAt > RETENTION
      for (const lie of lies) {
        const task = lie.task()
        const hasEnded = task === undefined ? now - usedAt > WINDOW : task.isEnded
        if (isOver || hasEnded) this.#decide(lie, lie.isVerified ? 'verified' : 'not_seen')
      }
      if (!isOver) continue
      this.#followed.delete(key)
      this.#forget(own)
      this.#memory?.give(bytes)
    }
  }

  /** Drops what has occurred: nothing more is falsified in these conversations. */
  evict(): void {
    for (const own of [...this.#followed.values(), ...this.#others.values()])
      own.values.occurred = undefined
  }

  #forget(own: Conversation): void {
    if (own.values.occurred !== undefined) this.#memory?.cacheBudget.release(this, OCCURRED_BYTES)
    own.values.occurred = undefined
  }

  #conversation(key: string, records: boolean): Conversation | undefined {
    const followed = this.#followed.get(key)
    if (followed !== undefined || !records) return followed
    let own = this.#others.get(key)
    if (own === undefined) {
      own = new Conversation(key)
      if (this.#memory?.cacheBudget.keep(this, OCCURRED_BYTES) !== false)
        own.values.occurred = new Occurred()
      this.#others.set(key, own)
    }
    return own
  }

  /** Reserves what the forms take; returns false where too much is followed. */
  #follow(owns: readonly Conversation[], forms: readonly ValueForms[]): boolean {
    const added = owns.filter(({ key }) => !this.#followed.has(key)).length
    if (this.#followed.size + added > MAX_FOLLOWED) return false
    const count = forms.reduce((sum, { falsified }) => sum + falsified.length + 1, 0)
    const bytes = LIE_BYTES + FORM_BYTES * count
    if (this.#memory?.take(bytes * owns.length) === false) return false
    for (const own of owns) {
      own.bytes += bytes
      this.#followed.set(own.key, own)
      this.#others.delete(own.key)
    }
    return true
  }

  #used(lies: readonly Lie[], hint: ToolHint): FalseUse {
    const isBlocked = lies.some((lie) => isBlocking(lie, hint))
    for (const lie of lies) {
      const first = isBlocked ? 'used_blocked' : 'used'
      this.#decide(lie, lie.isVerified ? 'used_after_verification' : first)
    }
    return { by: lies[0]!.by, hint, isBlocked }
  }

  #decide(lie: Lie, verdict: FalsifiedVerdict): void {
    if (lie.isDecided) return
    lie.isDecided = true
    this.#onVerdict(lie.by, verdict, lie.task())
  }
}

/** Returns true when a tool with this hint must not get the false value. */
function isBlocking({ onUse }: Lie, hint: ToolHint): boolean {
  const isUnsafe = hint === 'destructive' || hint === 'unknown'
  return (onUse ?? (isUnsafe ? 'block' : 'allow')) === 'block'
}

/** The results whose false values a call holds, or may hold because it was not read to its end. */
interface CallRead {
  readonly used: readonly Lie[]
  readonly unread: readonly Lie[]
}

const NONE: readonly never[] = []
const NOTHING: CallRead = { used: NONE, unread: NONE }

/** Looks for false values in a call. */
function readCall(own: Conversation, call: RequestCall, { party }: Asker): CallRead {
  own.usedAt = performance.now()
  if (own.parties.size < MAX_PARTIES) own.parties.add(party)
  if (call.method !== 'tools/call') return NOTHING
  const { values, lies } = own
  readValue(fieldsOf(call.params)['arguments'], values)
  const rest = values.isCut ? lies : []
  const found = [...(values.take() ?? NONE)]
  if (lies.length === 0) return NOTHING
  const key = keyOf(call)
  const again = lies.filter(({ callKey }) => callKey === key)
  if (again.length > 0) own.again.set(call, again)
  return { used: found.flatMap(({ lie, isTrue }) => (isTrue ? [] : [lie])), unread: rest }
}

/** Looks for false and true values in a result. */
function respondedIn(
  own: Conversation,
  call: Call,
  result: unknown,
  raw: () => string | undefined,
): void {
  const { values, lies } = own
  const isOpen = lies.some(({ isDecided, isVerified }) => !isDecided && !isVerified)
  if (!isOpen && values.occurred === undefined) return
  const text = raw()
  if (text === undefined) readValue(result, values)
  else readText(text, values)
  const { isCut } = values
  const found = [...(values.take() ?? NONE)]
  const again = own.again.get(call) ?? []
  // The rest of a result may have the false value.
  if (!isOpen || isCut || again === 'falsified' || fieldsOf(result)['isError'] === true) return
  for (const lie of lies) {
    const has = (isTrue: boolean) =>
      found.some((mark) => mark.lie === lie && mark.isTrue === isTrue)
    if ((again.includes(lie) || has(true)) && !has(false)) lie.isVerified = true
  }
}

function watch(own: Conversation, kind: FalseValue['kind'], form: string, mark: Mark): void {
  if (kind === 'text') own.values.addText(form, mark)
  else own.values.addNumber(form, mark)
}

function keyOf(call: RequestCall): string {
  return `${call.name}\n${call.method}\n${hashOf(call)}`
}

/** Returns true where a further false value can be followed. */
function hasPlace({ lies, values }: Conversation): boolean {
  return lies.length < MAX_LIES && values.occurred?.isFull === false
}

/** Returns true for a form that may have occurred, other than as a false value that is followed. */
function hasOccurred({ values }: Conversation, kind: FalseValue['kind'], form: string): boolean {
  const { occurred } = values
  if (occurred === undefined || values.ownersOf(form).some(({ isTrue }) => !isTrue)) return false
  return kind === 'text' ? occurred.hasWords(form) : occurred.hasNumber(form)
}
