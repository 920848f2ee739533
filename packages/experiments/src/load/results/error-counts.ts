import { oneLine } from '#base'
import { redactText } from '#sidecar'
import { type CallResponse, causesOf } from '../clients/load-client.ts'
import {
  type ErrorCount,
  type ErrorKind,
  type ErrorSample,
  noErrors,
  type Origin,
} from './result.ts'

/**
 * Limits the distinct codes, because servers choose them; further errors are counted without a
 * code.
 */
const MAX_DIFFERENT = 200
const MAX_SAMPLES = 3
/** The first errors of a kind are looked at, and then one in this time. */
const FIRST_ERRORS = 20
const EVERY_MS = 1_000
const MAX_READ = 2_000
const MAX_MESSAGE = 200

interface Counted extends ErrorCount {
  count: number
  samples?: readonly ErrorSample[]
}

/** Counts errors by kind, origin and code, and keeps some of their messages. */
export class ErrorCounts {
  readonly #counts = new Map<string, Counted>()

  add(kind: ErrorKind, origin: Origin, code: number | undefined): void {
    this.#of(kind, origin, code).count++
  }

  /** Counts the error of a response, and keeps its message unless there are many of its kind. */
  addOf(response: CallResponse, kind: ErrorKind, origin: Origin): void {
    const { code, message, trace } = response
    const counted = this.#of(kind, origin, code)
    counted.count++
    const now = Date.now()
    const last = Date.parse(counted.samples?.[0]?.at ?? '')
    if (counted.count > FIRST_ERRORS && now - last < EVERY_MS) return
    const [by] = causesOf(response)
    addSamples(counted, [
      {
        at: new Date(now).toISOString(),
        message: oneLine(redactText((message ?? '').slice(0, MAX_READ)), MAX_MESSAGE),
        ...(by !== undefined && { by }),
        ...(trace !== undefined && { trace }),
      },
    ])
  }

  addAll(counts: readonly ErrorCount[]): void {
    for (const { kind, origin, code, count, samples = [] } of counts) {
      const counted = this.#of(kind, origin, code)
      counted.count += count
      if (samples.length > 0) addSamples(counted, samples)
    }
  }

  byOrigin(): Readonly<Record<Origin, number>> {
    const sums = noErrors()
    for (const { origin, count } of this.#counts.values()) sums[origin] += count
    return sums
  }

  /** Returns the counts, the most frequent first. */
  list(): ErrorCount[] {
    const text = ({ kind, origin, code }: ErrorCount): string => `${kind} ${origin} ${code ?? ''}`
    return [...this.#counts.values()].sort((a, b) =>
      a.count === b.count ? (text(a) < text(b) ? -1 : 1) : b.count - a.count,
    )
  }

  #of(kind: ErrorKind, origin: Origin, code: number | undefined): Counted {
    const exact = `${kind} ${origin} ${code ?? ''}`
    const room = this.#counts.has(exact) || this.#counts.size < MAX_DIFFERENT
    const key = room ? exact : `${kind} ${origin} `
    const known = this.#counts.get(key)
    if (known !== undefined) return known
    const made = { kind, origin, ...(room && code !== undefined && { code }), count: 0 }
    this.#counts.set(key, made)
    return made
  }
}

/** Keeps the newest samples with different messages. */
function addSamples(counted: Counted, more: readonly ErrorSample[]): void {
  const all = [...more, ...(counted.samples ?? [])].sort((a, b) =>
    a.at < b.at ? 1 : a.at > b.at ? -1 : 0,
  )
  counted.samples = all
    .filter(({ message }, i) => all.findIndex((each) => each.message === message) === i)
    .slice(0, MAX_SAMPLES)
}
