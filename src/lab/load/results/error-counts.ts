import type { ErrorCount, ErrorKind, Origin } from './result.ts'

/** More different codes than this are counted without their code: servers choose them. */
const MAX_DIFFERENT = 200

/** Counts errors by kind, origin and code. */
export class ErrorCounts {
  readonly #counts = new Map<string, ErrorCount>()

  add(kind: ErrorKind, origin: Origin, code: number | undefined, count = 1): void {
    const exact = `${kind} ${origin} ${code ?? ''}`
    const room = this.#counts.has(exact) || this.#counts.size < MAX_DIFFERENT
    const key = room ? exact : `${kind} ${origin} `
    const before = this.#counts.get(key)?.count ?? 0
    const coded = room && code !== undefined ? { code } : {}
    this.#counts.set(key, { kind, origin, ...coded, count: before + count })
  }

  addAll(counts: readonly ErrorCount[]): void {
    for (const { kind, origin, code, count } of counts) this.add(kind, origin, code, count)
  }

  /** The most frequent first. */
  list(): ErrorCount[] {
    const text = ({ kind, origin, code }: ErrorCount): string => `${kind} ${origin} ${code ?? ''}`
    return [...this.#counts.values()].sort((a, b) =>
      a.count === b.count ? (text(a) < text(b) ? -1 : 1) : b.count - a.count,
    )
  }
}
