import { jsonHash } from '../base/json/json-hash.ts'
import { fieldsOf, jsonInText } from '../base/values.ts'
import { canonical, type Reader, readValue } from '../base/text/written-values.ts'
import type { RequestCall } from '../mcp/call.ts'
import { deferredArguments } from '../mcp/deferred-arguments.ts'
import { toolLabel } from '../telemetry/text-format.ts'
import type { ServerTools, ToolHint } from './server-tools.ts'

/** Calls of a tool with a value that a result of another one had. */
export interface DataFlow {
  readonly from: string
  readonly to: string
  /** The effect that the called tool declares. */
  readonly hint: ToolHint
  readonly calls: number
}

/** The conversations that are read at the same time, and the calls of each. */
const MAX_FOLLOWED = 16
const MAX_CALLS = 64
/** At most one conversation begins in this time: a busy sidecar reads some six calls a second. */
const PAUSE_MS = 10_000
/** A conversation without calls for this long makes place for another one. */
const IDLE_MS = 300_000
/** The values of a conversation; further ones have no source. */
const MAX_VALUES = 500
const MAX_FLOWS = 200
/** The characters and the JSON values that are read of one message. */
const MAX_TEXT = 8 * 1024
const MAX_READ = 500
/** Shorter values occur by chance. */
const LEAST = { digits: 5, chars: 6 }
const MAX_PHRASE = 200

/** The source of values that the agent had before a tool returned them. */
const AGENT = ''

/** One conversation: its values as hashes, with the tools that returned them first. */
class Conversation {
  readonly #sources = new Map<number, string>()
  calls = 0
  usedAt = 0

  /** Returns the source of a value, which is the given one for a new value. */
  sourceOf(hash: number, source: string): string {
    const known = this.#sources.get(hash)
    if (known === undefined && this.#sources.size < MAX_VALUES) this.#sources.set(hash, source)
    return known ?? source
  }
}

/**
 * Finds which tools get values from the results of which others, in a sample of the conversations.
 * Keeps keyed hashes for the time of a conversation, and then only the names of tools.
 */
export class DataFlows {
  readonly #followed = new Map<unknown, Conversation>()
  readonly #calls = new WeakMap<RequestCall, Conversation>()
  readonly #flows = new Map<string, DataFlow>()
  #nextAt = -Infinity

  /** Takes a call that arrives; `by` names its conversation. */
  asked(call: RequestCall, by: unknown, server: ServerTools, now: number): void {
    const { method, name, params } = call
    if (method !== 'tools/call' || name === undefined) return
    const own = this.#followed.get(by) ?? this.#begin(by, now)
    // Arguments are deferred where they are large.
    if (own === undefined || deferredArguments(params) !== undefined) return
    own.usedAt = now
    if (++own.calls >= MAX_CALLS) this.#followed.delete(by)
    this.#calls.set(call, own)
    const sources = new Set<string>()
    for (const hash of valuesIn(fieldsOf(params)['arguments']))
      sources.add(own.sourceOf(hash, AGENT))
    sources.delete(AGENT)
    for (const from of sources) this.#count(from, toolLabel(name), server.hintOf(name))
  }

  /** Takes the result of a call. */
  responded(call: RequestCall, result: unknown): void {
    const own = this.#calls.get(call)
    if (own === undefined) return
    const { structuredContent, content } = fieldsOf(result)
    const tool = toolLabel(call.name ?? '')
    for (const hash of valuesIn(structuredContent ?? content)) own.sourceOf(hash, tool)
  }

  /** The most frequent first. */
  get list(): readonly DataFlow[] {
    return [...this.#flows.values()].sort((a, b) => b.calls - a.calls)
  }

  #begin(by: unknown, now: number): Conversation | undefined {
    if (now < this.#nextAt) return undefined
    this.#nextAt = now + PAUSE_MS
    for (const [key, { usedAt }] of this.#followed) {
      if (now - usedAt > IDLE_MS) this.#followed.delete(key)
    }
    if (this.#followed.size >= MAX_FOLLOWED) return undefined
    const own = new Conversation()
    this.#followed.set(by, own)
    return own
  }

  #count(from: string, to: string, hint: ToolHint): void {
    const key = JSON.stringify([from, to])
    const { calls } = this.#flows.get(key) ?? { calls: 0 }
    if (calls > 0 || this.#flows.size < MAX_FLOWS)
      this.#flows.set(key, { from, to, hint, calls: calls + 1 })
  }
}

/** Returns hashes of the values that hardly occur by chance: long numbers, ids and phrases. */
function valuesIn(root: unknown): ReadonlySet<number> {
  const found = new Set<number>()
  const hasDigits = (form: string): boolean => form.indexOf('e') >= LEAST.digits
  const reader: Reader = {
    wantsWords: true,
    words(words) {
      for (const word of words) {
        const isLong = /^\d+$/.test(word)
          ? hasDigits(canonical(word))
          : word.length >= LEAST.chars && /\d/.test(word)
        if (isLong) found.add(jsonHash(word))
      }
    },
    number: (form) => hasDigits(form) && found.add(jsonHash(form)),
  }
  const left = [root]
  let chars = MAX_TEXT
  for (let read = 0; read < MAX_READ && left.length > 0; read++) {
    const value = left.pop()
    if (typeof value === 'object' && value !== null) {
      // Keys are the same in results and arguments of many tools.
      for (const each of Object.values(value).slice(0, MAX_READ)) left.push(each)
      continue
    }
    if (typeof value !== 'string') {
      readValue(value, reader)
      continue
    }
    chars -= value.length
    if (chars < 0) break
    const json = jsonInText(value)
    if (json !== undefined) {
      left.push(json)
      continue
    }
    readValue(value, reader)
    const phrase = value.trim().toLowerCase()
    const isPhrase = phrase.length >= LEAST.chars && phrase.length <= MAX_PHRASE
    if (isPhrase && /[\s@]/.test(phrase)) found.add(jsonHash(phrase))
  }
  return found
}
